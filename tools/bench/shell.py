"""The shell on a snapshot of a million partitions in a hundred thousand topics.

Kafka's shell answers from an empty image at first, so it is asked on standard input again and again until its answer is
right; what it has used by then is read from /proc. Goals: `cat` of one broker within 0.9 s and 300 MB, with 12 times less
CPU than Kafka's; the first line of long listings within 1.5 s, in memory that does not grow with the output; what is wrong with
all partitions together within 1.5 s; `ls -lR` and `tree` of all partitions into a file within 6 s.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tools.bench.common import (
    Command,
    Run,
    alternate,
    bench_directory,
    best,
    cpu_of,
    kafka_argv,
    met,
    our_script,
    print_pair,
    snapshot_of,
)
from tools.bench.scattered import scattered

PARTITIONS = int(os.environ.get("METASHELL_BENCH_PARTITIONS", "1000000"))
RUNS = 3
BROKER = "/image/cluster/brokers/7"
RIGHT_ANSWER = b"BrokerRegistration(id=7,"
ASK_INTERVAL_S = 0.05
JUDGED_S = 1.5
UNSOUND = "find / -type partition -under-replicated"
LISTED_S = {"ls -lR /image/topics/byName": 6, "tree /image/topics": 6}


def main() -> int:
    """Measure and print every pair."""
    snapshot = snapshot_of(PARTITIONS)
    print(f"# {snapshot.stat().st_size / 1e6:.0f} MB, {PARTITIONS} partitions")
    kafka = [run for _ in range(RUNS) if (run := kafka_until_right(snapshot))]
    cat, *listings = our_commands(snapshot)
    ours = alternate([cat], RUNS) | alternate(listings, 1, warm_up=0)
    print_pair("cat of one broker", ours["cat"], kafka, goals(best(ours["cat"]), kafka))
    for name in ("ls -1", "ls -l", "find /", "tree /image/topics", "-o jsonl ls -l"):
        print_pair(name, ours[name], (), f"goal first byte 1.5 s, {growth(best(ours[name]), best(ours['cat']))}")
    for what, place in (("", snapshot), (", all placed differently", scattered(snapshot))):
        for name, runs in alternate(judgements(place), RUNS).items():
            print_pair(name + what, runs, (), f"goal {JUDGED_S} s {met(best(runs).wall_s <= JUDGED_S)}")
        for name, runs in alternate(searches(place), 1, warm_up=0).items():
            print_pair(name + what, runs, (), "no goal")
    return 0


def our_commands(snapshot: Path) -> list[Command]:
    """The commands of ours: one small answer, and the longest there are."""
    shell = (our_script("kafka-shell"), "--snapshot", str(snapshot))
    topics = "/image/topics/byName"
    return [
        Command(name="cat", argv=(*shell, "cat", BROKER)),
        Command(name="ls -1", argv=(*shell, "ls", "-1", topics), watch=True),
        Command(name="ls -l", argv=(*shell, "ls", "-l", topics), watch=True),
        Command(name="find /", argv=(*shell, "find", "/"), watch=True),
        Command(name="tree /image/topics", argv=(*shell, "tree", "/image/topics"), watch=True),
        Command(name="-o jsonl ls -l", argv=(*shell, "-o", "jsonl", "ls", "-l", topics), watch=True),
    ]


def listings(snapshot: Path) -> list[Command]:
    """What writes a line about every partition, into a file."""
    shell = (our_script("kafka-shell"), "--snapshot", str(snapshot))
    lines = (*LISTED_S, "-o jsonl ls -lR /image/topics/byName", "-o jsonl tree /image/topics", "-o json tree /image/topics", "find /")
    target = bench_directory() / "listing.out"
    return [Command(name=line, argv=(*shell, *line.split()), stdout=target) for line in lines]


def judgements(snapshot: Path) -> list[Command]:
    """What looks at every partition to say what is wrong with it."""
    shell = (our_script("kafka-shell"), "--snapshot", str(snapshot))
    lines = ("status", "health", "count", "count --by leader", "count --by rack", "count --by state", UNSOUND)
    return [Command(name=line, argv=(*shell, *line.split()), statuses=(0, 1)) for line in lines]


def searches(snapshot: Path) -> list[Command]:
    """Other questions asked of every partition, for which there is no goal."""
    shell = (our_script("kafka-shell"), "--snapshot", str(snapshot))
    lines = (f"{UNSOUND} -leader 3", "find / -type partition -leader 3", "find / -type partition -not-preferred", "grep -r nothing /")
    return [Command(name=line, argv=(*shell, *line.split()), statuses=(0, 1)) for line in lines]


def goals(ours: Run, kafka: list[Run]) -> str:
    """Whether the goals for `cat` were met, in words."""
    met = ours.wall_s <= 0.9 and ours.peak_mib * 1.048576 <= 300
    if kafka:
        met = met and best(kafka).cpu_s / ours.cpu_s >= 12
    return f"goals 0.9 s, 300 MB, 12 x cpu {met(met)}"


def growth(listing: Run, cat: Run) -> str:
    """How much more memory a long listing takes than a single answer."""
    return f"{listing.peak_mib - cat.peak_mib:+.0f} MiB over cat"


def kafka_until_right(snapshot: Path) -> Run | None:
    """Start Kafka's shell and ask for one broker until the answer is right; None without a Kafka.

    Its log lines and what it has used when it first answers rightly are of the whole process, JIT and GC threads included.
    """
    argv = kafka_argv("shell", "--snapshot", str(snapshot))
    if argv is None:
        return None
    output = bench_directory() / "kafka-shell.out"
    started = time.perf_counter()
    with open(output, "wb") as sink:
        child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=sink, stderr=subprocess.DEVNULL)
    try:
        ask_until_right(child, output)
        wall_s = time.perf_counter() - started
        return Run(wall_s=wall_s, cpu_s=cpu_of(child.pid), peak_mib=peak_mib(child.pid))
    finally:
        child.kill()
        child.wait()


def ask_until_right(child: subprocess.Popen[bytes], output: Path) -> None:
    """Write the question now and then, and return once the right answer is in the output file."""
    assert child.stdin is not None
    while RIGHT_ANSWER not in output.read_bytes():
        if child.poll() is not None:
            sys.exit(f"Kafka's shell ended with status {child.returncode}")
        child.stdin.write(f"cat {BROKER}\n".encode())
        child.stdin.flush()
        time.sleep(ASK_INTERVAL_S)


def peak_mib(pid: int) -> float:
    """The high-water mark of a running process's resident set."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0
