"""Whole commands of ours on stored files, each beside Kafka's own tool where it has one. Every function is a bench.

What it yields is measured by `tools.bench.common.measure`, which prints a line for each and whether the goals are met.
"""

from __future__ import annotations

import os
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from metashell.codec.framing import whole_frames
from metashell.codec.primitives import crc32c
from metashell.metadata.history import Past
from metashell.metadata.history.sources import opener_of
from tools.bench.common import (
    MIB,
    Case,
    alternate,
    bench_directory,
    best,
    generated,
    kafka_argv,
    log_of,
    measured,
    our_script,
    ours,
    snapshot_of,
)
from tools.bench.common import Command as _Command
from tools.bench.made_logs import NAME, disk_files_folder, group_log

PARTITIONS = int(os.environ.get("METASHELL_BENCH_PARTITIONS", "1000000"))
RECORDS = int(os.environ.get("METASHELL_BENCH_RECORDS", "1000000"))
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
DECODER = "--cluster-metadata-decoder"


def startup() -> Iterator[Case]:
    """One-shot commands on small files, in turn with Kafka's tools on their smallest class path.

    Goals: any of them within 90 ms, `--version` within 25 ms, seven times faster than Kafka's.
    """
    log = str(generated("log", records=10, partitions=10))
    shell = ("--snapshot", str(generated("snapshot", partitions=10)))
    leaf = ("cat", "/image/features/metadataVersion")
    kafka_dump, kafka_ls = kafka_argv("dump-log", DECODER, "--files", log), kafka_argv("shell", *shell, "ls", "/")
    for name in ("kafka-shell", "dump-log", "kafka-dump-log", "metashell"):
        yield Case(what=f"{name} --version", ours=ours(name, "--version"), runs=15, wall_s=0.025)
    for what, command, theirs in (
        ("dump-log FILE", ours("dump-log", DECODER, log), kafka_dump),
        ("kafka-dump-log --files FILE", ours("kafka-dump-log", DECODER, "--files", log), kafka_dump),
        ("kafka-shell --snapshot FILE ls /", ours("kafka-shell", *shell, "ls", "/"), kafka_ls),
        ("kafka-shell ... ls -l /image", ours("kafka-shell", *shell, "ls", "-l", "/image"), kafka_ls),
        ("kafka-shell ... cat LEAF", ours("kafka-shell", *shell, *leaf), kafka_argv("shell", *shell, *leaf)),
        ("kafka-shell ... find /", ours("kafka-shell", *shell, "find", "/"), kafka_ls),
        ("kafka-metadata-shell ... ls /", ours("kafka-metadata-shell", *shell, "ls", "/"), kafka_ls),
        ("kafka-shell --help", ours("kafka-shell", "--help"), None),
    ):
        yield Case(what=what, ours=command, theirs=theirs, runs=15, kafka_runs=5, wall_s=0.09, times=7)


def sql() -> Iterator[Case]:
    """One question about the state of a million partitions: `metashell sql` from start to answer.

    Goal: below 3 s for an aggregate over all partitions. METASHELL_BENCH_PARTITIONS (1000000) is the size of the snapshot.
    """
    for name, text in {
        "partitions by leader": "select leader, count(*) from partitions group by all",
        "under-replicated": "select count(*) from partitions where is_under_replicated",
        "topics by size": "select partition_count, count(*) from topics group by all",
        "brokers": "select state, count(*) from brokers group by all",
    }.items():
        yield Case(what=name, ours=ours("metashell", "sql", text, str(snapshot_of(PARTITIONS))), wall_s=3)


def bundle() -> Iterator[Case]:
    """metashell bundle of a large snapshot and a long log, with names and without: all of it, with what it asks of its own copy.

    There is no goal from outside: it has to stay linear, and nobody waits for it often. Kafka has no such tool.
    """
    for what, path, records in (
        ("log of 1 000 000 records", log_of(1_000_000), 1_000_000),
        ("snapshot of 1 000 000 partitions", snapshot_of(1_000_000), 1_100_000),
    ):
        for words in ((), ("--anonymise",)):
            command = ours("metashell", "bundle", str(path), *words, "--out", "-")
            yield Case(what=", ".join((what, *words)), ours=command, records=records, warm_up=0)


def verify() -> Iterator[Case]:
    """metashell verify on logs and a snapshot, plain and with every record decoded, and the digest of a million partitions.

    Goals: below 0.6 us a record on one core, start-up included, with memory that does not grow with the file; the digest of an image of 1
    million partitions, loading included, below 5 s. Kafka has no such tool.
    """
    small, *_ = measured(Case(what="", ours=ours("metashell", "verify", str(log_of(100_000))), runs=1))
    for what, path, records in (
        ("log of 100 000 records", log_of(100_000), 100_000),
        ("log of 1 000 000 records", log_of(1_000_000), 1_000_000),
        ("log of 300 000, larger batches", generated("log", records=300_000, partitions=300_000, batch_records=1000), 300_000),
        ("snapshot of 1 000 000 partitions", snapshot_of(1_000_000), 1_100_000),
    ):
        # Ten times the records may take a tenth more memory.
        mib = 1.1 * best(small).peak_mib if what == "log of 1 000 000 records" else 0.0
        goal_us = 0.6 if records > 100_000 else 0.0
        yield Case(what=what, ours=ours("metashell", "verify", str(path)), records=records, runs=5, us=goal_us, mib=mib)
        yield Case(what=f"{what}, deep", ours=ours("metashell", "verify", "--deep", str(path)), records=records, runs=5)
    digest = ours("metashell", "verify", "--digest", str(snapshot_of(1_000_000)))
    yield Case(what="digest of 1000000 partitions, and verify", ours=digest, runs=5, wall_s=5)


def rehearse() -> Iterator[Case]:
    """`metashell rehearse` as a whole process, its snapshot read and its answer written.

    Goals: `kill-broker` at 100 000 partitions on 100 brokers within 3 s, at 1 million within 30 s; `roll-brokers` of 100 brokers at 100 000
    partitions within 2 minutes. METASHELL_BENCH_PARTITIONS takes the place of the million.
    """
    for words, partitions, runs, goal_s in (
        (("kill-broker", "3"), 100_000, 3, 3),
        (("kill-broker", "3"), PARTITIONS, 3, 30),
        ((), 100_000, 3, 0),
        (("restart-broker", "3"), 100_000, 3, 0),
        (("lose-rack", "rack-a"), 100_000, 1, 0),
        (("roll-brokers",), 100_000, 1, 120),
    ):
        snapshot = str(generated("snapshot", partitions=partitions, brokers=100))
        # Some partitions of the snapshot have one replica in sync, so that the verdict is 1.
        command = ours("metashell", "rehearse", "--snapshot", snapshot, *words, statuses=(0, 1))
        what = f"{words[0] if words else 'standing questions'}, {partitions} partitions"
        yield Case(what=what, ours=command, runs=runs, warm_up=0, wall_s=goal_s)


def history() -> Iterator[Case]:
    """Looking back: `log PATH` and `--at` over a log of a million records, and `diff` of two snapshots that differ in 10 partitions.

    Goals: the log of a partition below 1 s, an image in the middle below 2 s, a second one nearby below 0.3 s, the diff below 2 s.
    """
    log = str(log_of(1_000_000))
    past = Past(opener_of(log))
    topic = min(past.image(500_000).topics.by_name)
    began = time.perf_counter()
    past.image(503_000)
    print(f"a second image nearby: {time.perf_counter() - began:.3f} s, goal 0.3 s")
    with tempfile.TemporaryDirectory() as folder:
        snapshot = snapshot_of(1_000_000)
        other = _changed_copy(snapshot, Path(folder))
        yield Case(what="log PATH", ours=ours("kafka-shell", "-s", log, "log", f"/image/topics/byName/{topic}/0"), wall_s=1)
        yield Case(what="--at", ours=ours("kafka-shell", "-s", log, "--at", "500000", "pwd"), wall_s=2)
        diff = ours("kafka-shell", "-s", str(snapshot), "diff", "--stat", "-s", str(other), statuses=(1,))
        yield Case(what="diff", ours=diff, wall_s=2)


def _changed_copy(snapshot: Path, folder: Path) -> Path:
    """A copy of a snapshot in which ten partitions have another first replica."""
    path = Path(shutil.copy(snapshot, folder))
    data = bytearray(path.read_bytes())
    frames = [frame for frame in whole_frames(bytes(data)) if frame[1] > 1 << 16]
    for number in range(10):
        at, size = frames[number % len(frames)]
        # The last byte of the first of three replicas lies 27 bytes into a partition's value.
        data[data.index(b"\x01\x03\x02", at + size * (number + 1) // 12) + 27] ^= 1
    for at, size in frames:
        struct.pack_into(">I", data, at + 17, crc32c(bytes(data[at : at + size]), 21))
    path.write_bytes(data)
    return path


def group_logs() -> Iterator[Case]:
    """Logs of groups: a million committed offsets folded, and `metashell groups list` on them.

    Each log is written as a coordinator writes it: 500 groups, with ten commits a batch and with one, and a log in which every commit is of
    another partition. Goals: 2 s for the fold, start-up and reading of the file included, and 2.5 s for the list.
    """
    fold = "import sys; from metashell.groups.log.queries import load; load(sys.argv[1:])"
    for what, batch_size, groups, topics in (
        ("ten a batch", 10, 500, 37),
        ("one a batch", 1, 500, 37),
        ("every partition once", 10, RECORDS // 100, 10**9),
    ):
        log = str(group_log(RECORDS, batch_size, groups, topics))
        command = _Command(name="fold", argv=(sys.executable, "-c", fold, log))
        yield Case(what=f"fold {RECORDS} commits, {what}", ours=command, warm_up=0, cpu_s=2)
        listed = ours("metashell", "groups", "list", log, "-o", "jsonl")
        yield Case(what=f"list {RECORDS} commits, {what}", ours=listed, warm_up=0, cpu_s=2.5)


def disk_files() -> Iterator[Case]:
    """dump-log of indexes, group, transaction and producer files of 100 000 entries, in turn with Kafka's tool.

    Goal: at least 5 times faster. For each entry of a time index Kafka's tool reads the whole rest of the log, so it would not finish on
    100 000 entries; only ours is measured there.
    """
    folder = disk_files_folder()
    for what, file, *flags in (
        ("group log, 10 commits a batch", f"groups/{NAME}.log", "--offsets-decoder"),
        ("transaction log, 1 record a batch", f"transactions/{NAME}.log", "--transaction-log-decoder"),
        ("offset index", f"transactions/{NAME}.index"),
        ("offset index, --verify-index-only", f"transactions/{NAME}.index", "--verify-index-only"),
        ("time index", f"transactions/{NAME}.timeindex"),
        ("transaction index", f"transactions/{NAME}.txnindex"),
        ("producer snapshot", f"transactions/{NAME}.snapshot"),
    ):
        words = (*flags, "--files", str(folder / file))
        theirs = None if what == "time index" else kafka_argv("dump-log", *words)
        yield Case(what=what, ours=ours("kafka-dump-log", *words), theirs=theirs, runs=5, kafka_runs=5, times=5)
        yield Case(what="  as JSON lines", ours=ours("dump-log", *words), runs=5)


def dump_log() -> Iterator[Case]:
    """dump-log of 10 000, 100 000, 1 million and (with METASHELL_BENCH_LARGE=1) 10 million records to a file, in turn with Kafka's tool.

    Goals: 7 times faster at 10 000 records; 4 times (at least 3) in wall time and less than half the CPU time at 1 million; 2.5
    times at 10 million, with at most 15 % more CPU a record than at 100 000 once start-up is subtracted, and below 200 MB.
    """
    target = bench_directory() / "dump-log.out"
    large = [(10_000_000, 1, 1, 2.5, 0.0)] if os.environ.get("METASHELL_BENCH_LARGE") else []
    costs_us: dict[str, float] = {}
    for records, runs, kafka_runs, times, cpu_times in ((10_000, 9, 3, 7, 0), (100_000, 5, 3, 0, 0), (1_000_000, 3, 3, 4, 2), *large):
        log, tiny = str(log_of(records)), str(generated("log", records=10, partitions=10))
        theirs = kafka_argv("dump-log", DECODER, "--files", log)
        for voice, script, *words in (("JSON lines", "dump-log"), ("Kafka's text", "kafka-dump-log", "--files")):
            yield Case(
                what=f"{voice} {records}",
                ours=ours(script, DECODER, *words, log, stdout=target),
                theirs=theirs,
                runs=runs,
                kafka_runs=kafka_runs,
                times=times,
                cpu_times=cpu_times,
                mib=200e6 / MIB,
            )
            both = [_Command(name=path, argv=(our_script(script), DECODER, *words, path), stdout=target) for path in (log, tiny)]
            found = alternate(both, 3)
            cost_us = (best(found[log]).cpu_s - best(found[tiny]).cpu_s) / records * 1e6
            growth = cost_us / costs_us[voice] - 1 if voice in costs_us else 0.0
            costs_us |= {voice: cost_us} if records == 100_000 else {}
            print(f"{voice} {records}: {cost_us:.2f} us of CPU a record without start-up, {growth:+.0%} against 100 000")
    target.unlink(missing_ok=True)


def storage() -> Iterator[Case]:
    """The storage tool, in turn with Kafka's on its smallest class path.

    Goals: format, info and version-mapping at least 6 times faster than Kafka's, within 100 ms; format may add what the disk takes to
    sync its files, which is measured beside it.
    """
    with tempfile.TemporaryDirectory() as folder:
        config, made = Path(folder) / "server.properties", Path(folder) / "d1"
        listener = "listeners=CONTROLLER://localhost:9093\ncontroller.quorum.bootstrap.servers=localhost:9093\n"
        config.write_text(f"process.roles=controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n{listener}log.dirs={made}\n")
        syncs_s = _syncs_s(Path(folder))
        print(f"syncs of one format: {syncs_s * 1000:.0f} ms")
        for words in (
            ("format", "-t", CLUSTER_ID, "-c", str(config), "-s"),
            ("info", "-c", str(config)),
            ("version-mapping",),
            ("random-uuid",),
        ):
            yield Case(
                what="kafka-storage format -s" if words[0] == "format" else f"kafka-storage {words[0]}",
                ours=ours("kafka-storage", *words),
                theirs=kafka_argv("storage", *words),
                runs=12,
                kafka_runs=4,
                wall_s=0.1 + (syncs_s if words[0] == "format" else 0.0),
                times=6,
                before=(lambda: shutil.rmtree(made, ignore_errors=True)) if words[0] == "format" else int,
            )


def _syncs_s(folder: Path) -> float:
    """What the syncs of one format take on this disk: three small files and five directories, best of five."""
    found = []
    for turn in range(5):
        place = folder / f"sync-{turn}"
        place.mkdir()
        started = time.perf_counter()
        for index in range(3):
            with open(place / str(index), "wb", buffering=0) as file:
                file.write(bytes(400))
                os.fsync(file.fileno())
        fd = os.open(place, os.O_RDONLY)
        for _ in range(5):
            os.fsync(fd)
        os.close(fd)
        found.append(time.perf_counter() - started)
    return min(found)
