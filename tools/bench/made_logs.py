"""Logs of groups and of transactions, as coordinators write them, with the files that stand beside them."""

from __future__ import annotations

import struct
from pathlib import Path

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.primitives import crc32c
from metashell.codec.registry import message_type
from tools.bench.common import bench_directory

NAME = "00000000000000000000"
ENTRIES = 100_000
START_MS = 1_700_000_000_000


def group_log(records: int, batch_size: int, groups: int, topics: int) -> Path:
    """Commits of groups in turn, of ten partitions of a topic, so many a batch; `topics` is after how many a group's come again."""
    path = bench_directory() / f"group-logs-{records}-{batch_size}-{groups}" / f"{NAME}.log"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_bytes(_commits(records, batch_size, groups, topics))
        part.rename(path)
    return path


def _commits(records: int, batch_size: int, groups: int, topics: int) -> bytes:
    key_type, value_type = message_type("offsets", "OffsetCommitKey"), message_type("offsets", "OffsetCommitValue")
    out = bytearray()
    for first in range(0, records, batch_size):
        number = first // 10
        time_ms = START_MS + 7 * number
        made = []
        for offset in range(first, min(first + batch_size, records)):
            key = key_type.cls(group=f"group-{number % groups}", topic=f"topic-{number // groups % topics}", partition=offset % 10)
            value = value_type.cls(offset=3 * offset, leader_epoch=4, metadata="", commit_timestamp=time_ms)
            made.append(Record(offset, time_ms, b"\0\1" + key_type.write(key, 0), b"\0\3" + value_type.write(value, 3)))
        out += write_batch(first, made, leader_epoch=3)
    return bytes(out)


def disk_files_folder() -> Path:
    """A folder with a group log and a transaction log of so many entries; they are made if they are not there."""
    folder = bench_directory() / "disk-files"
    if not (folder / "complete").exists():
        (folder / "groups").mkdir(parents=True, exist_ok=True)
        (folder / "groups" / f"{NAME}.log").write_bytes(_commits(ENTRIES, 10, 500, 37))
        make_transactions(folder / "transactions")
        (folder / "complete").touch()
    return folder


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
