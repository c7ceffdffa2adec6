"""A quorum inside one process and a controller as a process: how soon they answer, and what an idle controller holds.

    python -m tools.bench embedded [RUNS]       runs of each (5)

Embedded: three controllers in a fresh interpreter that has imported metashell.quorum.embedded and all it starts; formatted, fsync on. Times
count from `start()`: until one is the active controller, and until CreateTopics is answered. The second quorum of the same process, whose
message classes are made already, is the second line. A real broker or a fake one is no part of it: the answer is that there is none.

Controller: `metashell server` on a formatted directory, from the start of the process to the first answer to CreateTopics, beside a
controller of a real Kafka with the same configuration, in turn; then both idle for some seconds, and their resident memory.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from metashell.codec import messages
from metashell.codec.error_codes import NOT_CONTROLLER
from metashell.net.addresses import Address, ConnectError
from metashell.net.client import Client
from tools.bench.common import MIB, REPOSITORY, Run, cpu_of, met, print_pair
from tools.bench.controllers import formatted, ours_argv, small_kafka_server_argv
from tools.interop.nodes import controller_settings, free_ports, write_config

RUNS = 5
IDLE_S = 10.0
LEADER_GOAL_MS = 100.0
TOPIC_GOAL_MS = 150.0
MEMORY_GOAL_MIB = 70
LIMIT_S = 60.0
PROGRAM = """
import json, time
import metashell.net.client, metashell.quorum.embedded.members, metashell.quorum.embedded.fake_brokers
from metashell.codec import messages
from metashell.quorum.embedded import EmbeddedQuorum

def measured():
    active = []
    quorum = EmbeddedQuorum(3, on_event=lambda id, line: active.append(time.perf_counter()) if "the active controller" in line else None)
    begun = time.perf_counter()
    with quorum:
        topic = messages.CreateTopicsRequest.CreatableTopic(name="first", num_partitions=1, replication_factor=1)
        answer = quorum.request(messages.CreateTopicsRequest(topics=(topic,), timeout_ms=10_000))
        ended = time.perf_counter()
    assert answer.topics[0].error_code == 38, answer  # INVALID_REPLICATION_FACTOR: there is no broker
    return (active[0] - begun) * 1000, (ended - begun) * 1000

print(json.dumps([measured(), measured()]))
"""


def main(argv: Sequence[str]) -> int:
    """Run all; status 1 where a goal was missed."""
    runs = int(argv[0]) if argv else RUNS
    is_quick = embedded(runs)
    with tempfile.TemporaryDirectory(prefix="metashell-embedded-") as folder:
        is_small = controllers(Path(folder), runs)
    return 0 if is_quick and is_small else 1


def embedded(runs: int) -> bool:
    """Print the times of embedded quorums; whether the first of a process meets both goals."""
    first, second = [], []
    for _ in range(runs):
        done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=REPOSITORY, capture_output=True, text=True, check=True)
        one, other = json.loads(done.stdout)
        first.append(one)
        second.append(other)
    _print_times("first quorum of a process", first)
    _print_times("second quorum of a process", second)
    leader, topic = (statistics.median(times) for times in zip(*first, strict=True))
    is_met = leader < LEADER_GOAL_MS and topic < TOPIC_GOAL_MS
    print(f"goals of the first: active below {LEADER_GOAL_MS:.0f} ms, answer below {TOPIC_GOAL_MS:.0f} ms: {met(is_met)}")
    return is_met


def _print_times(what: str, times: Sequence[tuple[float, float]]) -> None:
    leaders, topics = zip(*times, strict=True)
    print(
        f"{what}, three controllers: active after median {statistics.median(leaders):.0f} ms (best {min(leaders):.0f}), CreateTopics "
        f"answered after median {statistics.median(topics):.0f} ms (best {min(topics):.0f}), {len(times)} runs",
        flush=True,
    )


def controllers(folder: Path, runs: int) -> bool:
    """Print start and memory of a controller of ours and one of Kafka's; whether the memory goal is met."""
    ours, theirs = [], []
    for number in range(runs):
        ours.append(controller(folder / f"ours-{number}", ours_argv))
        if small_kafka_server_argv(Path()):
            theirs.append(controller(folder / f"kafka-{number}", small_kafka_server_argv))
    peak = max(run.peak_mib for run in ours)
    is_met = peak < MEMORY_GOAL_MIB
    print_pair("a controller, first answer, memory when idle", ours, theirs, f"goal {MEMORY_GOAL_MIB} MiB {met(is_met)}")
    return is_met


def controller(folder: Path, argv_of) -> Run:
    """Start one on a fresh directory: the time to its first answer, its CPU time then, its memory after being idle."""
    folder.mkdir()
    (port,) = free_ports(1)
    quorum = {"controller.quorum.bootstrap.servers": f"localhost:{port}"}
    config = formatted(write_config(folder / "server.properties", controller_settings(1, port, folder / "data", quorum)), "-s")
    with open(folder / "log", "ab") as log:
        begun = time.perf_counter()
        process = subprocess.Popen(argv_of(config), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            first_answer(Address("localhost", port), begun + LIMIT_S)
            wall_s = time.perf_counter() - begun
            cpu_s = cpu_of(process.pid)
            time.sleep(IDLE_S)
            return Run(wall_s=wall_s, cpu_s=cpu_s, peak_mib=resident(process.pid))
        finally:
            process.kill()
            process.wait()


def first_answer(address: Address, until: float) -> None:
    """Return when the active controller has answered CreateTopics. Errors: SystemExit when that takes too long."""
    topic = messages.CreateTopicsRequest.CreatableTopic(name="first", num_partitions=1, replication_factor=1)
    with Client([address], attempts_max=1) as client:
        while time.perf_counter() < until:
            try:
                answer = client.request(messages.CreateTopicsRequest(topics=(topic,), timeout_ms=10_000))
            except ConnectError:
                time.sleep(0.005)
                continue
            if answer.topics[0].error_code != NOT_CONTROLLER:
                return
            time.sleep(0.005)
    raise SystemExit(f"{address}: no answer within {LIMIT_S:.0f} s")


def resident(pid: int) -> float:
    """MiB of memory that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MIB
