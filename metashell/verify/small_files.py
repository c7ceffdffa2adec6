"""The small files of a log directory: each has to be readable, and to agree with the log where it speaks of that."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from metashell.errors import DecodeError, LogCorruptError
from metashell.log.indexes import PRODUCER_ENTRY, PRODUCER_HEADER, PRODUCER_SNAPSHOT_VERSION, producer_entries, read_producer_header
from metashell.log.meta_properties import read_meta_properties
from metashell.log.quorum_state import read_quorum_state
from metashell.log.text_checkpoints import PartitionOffset, read_partition_offsets, read_topic_id
from metashell.values import METADATA_TOPIC_ID, uuid_text
from metashell.verify.finding import Report

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
T = TypeVar("T")

_PRODUCERS_SIZE_MAX = 1 << 28
"""Room for five million producers; what is larger is read as cut off."""
OFFSET_CHECKPOINTS = (RECOVERY_POINTS, HIGH_WATERMARKS, LOG_STARTS, CLEANER_OFFSETS)


def read_small(path: str, report: Report, read: Callable[[str], T]) -> T | None:
    """What `read` makes of a small file; None where it cannot be read or does not parse, which is reported.

    The error's offset is a byte of the file.
    """
    report.counts["files"] += 1
    if os.path.exists(path) and not os.path.isfile(path):  # nobody may ever write to a pipe
        report.error(path, "is not a regular file")
        return None
    try:
        return read(path)
    except LogCorruptError as error:
        report.error(error.file, error.reason, position=error.offset)
    except OSError as error:
        report.error(path, error.strerror or str(error))
    return None


def check_producer_snapshot(path: str, report: Report) -> None:
    """Check a producer state snapshot: its checksum, its size, and that nothing in it is past the offset that names it."""
    data = read_small(path, report, _read_producers)
    if data is None:
        return
    try:
        header = read_producer_header(data)
    except DecodeError as error:
        report.error(path, str(error), position=0)
        return
    if header.version != PRODUCER_SNAPSHOT_VERSION:
        report.error(path, f"version {header.version} is not known", position=0)
        return
    if header.crc != header.computed_crc:
        report.error(path, f"CRC-32C {header.computed_crc:#x} is not {header.crc:#x}", position=2)
        return
    if header.size_bytes != len(data):
        report.error(path, f"{header.entry_count} entries are not what {len(data)} bytes hold", position=6)
        return
    _check_producers(path, data, header.entry_count, report)


def _read_producers(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(_PRODUCERS_SIZE_MAX + 1)


def _check_producers(path: str, data: bytes, count: int, report: Report) -> None:
    stem = os.path.basename(path).split(".")[0]
    end = int(stem) if stem.isascii() and stem.isdigit() else None
    seen: set[int] = set()
    for number, entry in enumerate(producer_entries(data, count)):
        position = PRODUCER_HEADER.size + number * PRODUCER_ENTRY.size
        report.counts["index_entries"] += 1
        if entry.producer_id in seen:
            report.error(path, f"producer {entry.producer_id} occurs twice", position=position)
        seen.add(entry.producer_id)
        latest = max(entry.last_offset, entry.current_txn_first_offset)
        if end is not None and latest >= end:
            what = f"producer {entry.producer_id} has offset {latest}, past the snapshot's own, {end}"
            report.error(path, what, position=position, offset=latest)


def check_quorum_state(path: str, report: Report) -> None:
    """Check that a quorum-state can be read and be meant; the checks of disks hold it against the log."""
    state = read_small(path, report, read_quorum_state)
    if state is None:
        return
    if state.leader_epoch < 0 or state.leader_id < -1 or state.voted_id < -1:
        report.error(path, f"leader {state.leader_id}, epoch {state.leader_epoch}, vote {state.voted_id} are an impossible combination")


def check_topic_id(path: str, report: Report, *, is_metadata: bool) -> bytes | None:
    """The topic id in a partition.metadata, None where there is none to be read."""
    topic_id = read_small(path, report, read_topic_id)
    if is_metadata and topic_id is not None and topic_id != METADATA_TOPIC_ID:
        report.error(path, f"topic id {uuid_text(topic_id)} is not that of the metadata log, {uuid_text(METADATA_TOPIC_ID)}")
    return topic_id


def check_meta_properties(path: str, report: Report) -> None:
    """Check that a meta.properties, named by itself, says whose directory it is; see `metashell.checks` for those of directories."""
    meta = read_small(path, report, read_meta_properties)
    if meta is not None and None in (meta.cluster_id, meta.node_id):
        report.error(path, "does not say of which cluster and node it is")


def check_partition_offsets(path: str, report: Report) -> tuple[PartitionOffset, ...]:
    """The entries of an offset checkpoint, none where it cannot be read; each partition may be there once."""
    entries = read_small(path, report, read_partition_offsets) or ()
    seen: set[tuple[str, int]] = set()
    for entry in entries:
        if (entry.topic, entry.partition) in seen:
            report.error(path, f"{entry.topic}-{entry.partition} occurs twice")
        seen.add((entry.topic, entry.partition))
        if entry.offset < 0:
            report.error(path, f"{entry.topic}-{entry.partition} has offset {entry.offset}")
    return entries
