"""dump-log of indexes, group, transaction and producer files of 100 000 entries, in turn with Kafka's tool.

    python -m tools.bench.disk_files

Goal: at least 5 times faster. For each entry of a time index Kafka's tool reads the whole rest of the log, so it would not finish on
100 000 entries; only ours is measured there.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.primitives import crc32c
from metashell.codec.registry import message_type
from tools.bench.common import Command, alternate, bench_directory, best, kafka_argv, our_script, print_interpreter, print_pair

ENTRIES = 100_000
GROUP_COMMIT_SIZE = 10
RUNS = 5
WANTED = 5.0
START_MS = 1_700_000_000_000
NAME = "00000000000000000000"


def main() -> int:
    """Measure every kind of file; the status is 1 where Kafka is less than five times slower."""
    print_interpreter()
    folder = made()
    status = 0
    for what, file, flags, has_rival in (
        ("group log, 10 commits a batch", "groups/" + NAME + ".log", ("--offsets-decoder",), True),
        ("transaction log, 1 record a batch", "transactions/" + NAME + ".log", ("--transaction-log-decoder",), True),
        ("offset index", "transactions/" + NAME + ".index", (), True),
        ("offset index, --verify-index-only", "transactions/" + NAME + ".index", ("--verify-index-only",), True),
        ("time index", "transactions/" + NAME + ".timeindex", (), False),
        ("transaction index", "transactions/" + NAME + ".txnindex", (), True),
        ("producer snapshot", "transactions/" + NAME + ".snapshot", (), True),
    ):
        status = max(status, measured(what, folder / file, flags, has_rival))
    return status


def measured(what: str, file: Path, flags: tuple[str, ...], has_rival: bool) -> int:
    """Print the lines of one file, Kafka's voice beside Kafka and our own voice; 1 if the goal is missed."""
    arguments = (*flags, "--files", str(file))
    commands = [
        Command(name="kafka-dump-log", argv=(our_script("kafka-dump-log"), *arguments)),
        Command(name="dump-log", argv=(our_script("dump-log"), *arguments)),
    ]
    rival = kafka_argv("dump-log", *arguments) if has_rival else None
    if rival is not None:
        commands.append(Command(name="Kafka", argv=rival))
    results = alternate(commands, RUNS)
    theirs = results.get("Kafka", [])
    ours = results["kafka-dump-log"]
    times = best(theirs).wall_s / best(ours).wall_s if theirs else WANTED
    print_pair(what, ours, theirs, "goal 5 x " + ("met" if times >= WANTED else "MISSED"))
    print_pair("  as JSON lines", results["dump-log"], theirs)
    return 0 if times >= WANTED else 1


def made() -> Path:
    """The folder of inputs; they are made if they are not there."""
    folder = bench_directory() / "disk-files"
    if not (folder / "complete").exists():
        make_groups(folder / "groups")
        make_transactions(folder / "transactions")
        (folder / "complete").touch()
    return folder


def make_groups(folder: Path) -> None:
    """A log of offset commits: 500 groups, each committing ten partitions at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    key_type, value_type = message_type("offsets", "OffsetCommitKey"), message_type("offsets", "OffsetCommitValue")
    out = bytearray()
    for first in range(0, ENTRIES, GROUP_COMMIT_SIZE):
        number = first // GROUP_COMMIT_SIZE
        time_ms = START_MS + 7 * number
        records = []
        for partition in range(GROUP_COMMIT_SIZE):
            key = key_type.cls(group=f"group-{number % 500}", topic=f"topic-{number % 500 % 37}", partition=partition)
            value = value_type.cls(offset=first * 3 + partition, leader_epoch=4, metadata="", commit_timestamp=time_ms)
            records.append(Record(first + partition, time_ms, b"\0\1" + key_type.write(key, 0), b"\0\4" + value_type.write(value, 4)))
        out += write_batch(first, records, leader_epoch=3)
    (folder / f"{NAME}.log").write_bytes(out)


def make_transactions(folder: Path) -> None:
    """A log of transaction states, a batch each, with all the files that stand beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    key_type, value_type = message_type("transactions", "TransactionLogKey"), message_type("transactions", "TransactionLogValue")
    log, index, times, aborted, producers = (bytearray() for _ in range(5))
    for offset in range(ENTRIES):
        time_ms = START_MS + offset
        value = value_type.cls(
            producer_id=1000 + offset % 800,
            producer_epoch=offset % 30,
            transaction_timeout_ms=60000,
            transaction_status=(1, 2, 4, 0)[offset % 4],
            transaction_partitions=None
            if offset % 4 == 3
            else (value_type.structs["PartitionsSchema"](topic=f"orders-{offset % 13}", partition_ids=(0, 1, 2)),),
            transaction_last_update_timestamp_ms=time_ms,
            transaction_start_timestamp_ms=time_ms - 20,
        )
        key = b"\0\0" + key_type.write(key_type.cls(transactional_id=f"application-{offset % 800}"), 0)
        index += struct.pack(">ii", offset, len(log))
        times += struct.pack(">qi", time_ms, offset)
        aborted += struct.pack(">hqqqq", 0, 1000 + offset % 800, 3 * offset, 3 * offset + 2, 3 * offset)
        producers += struct.pack(">qhiqiqiq", 1000 + offset, 3, 9, 3 * offset, 4, time_ms, 2, 3 * offset if offset % 2 else -1)
        log += write_batch(offset, [Record(offset, time_ms, key, b"\0\1" + value_type.write(value, 1))], leader_epoch=3)
    body = struct.pack(">i", ENTRIES) + producers
    snapshot = struct.pack(">hI", 1, crc32c(body)) + body
    files = {"log": log, "index": index, "timeindex": times, "txnindex": aborted, "snapshot": snapshot}
    for suffix, content in files.items():
        (folder / f"{NAME}.{suffix}").write_bytes(content)


if __name__ == "__main__":
    sys.exit(main())
