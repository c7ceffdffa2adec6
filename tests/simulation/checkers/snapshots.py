"""A snapshot begins with the level and the voters in force at the last offset it stands for (S1, M4): looked at when one is complete."""

from __future__ import annotations

from metashell.codec.batch_writer import KRAFT_VERSION_RECORD, KRAFT_VOTERS, read_control_record
from metashell.codec.batches import RecordBatch, read_batch_header
from metashell.common.values import OffsetAndEpoch
from tests.simulation.history import History, Key, voters_of
from tests.simulation.violation import Violation


def check_head(history: History, id: OffsetAndEpoch, data: bytes) -> None:
    """A snapshot other than the bootstrap one is complete."""
    entry = history.committed.get(id.offset)
    if entry is None or entry.epoch != id.epoch:
        raise Violation("S1 SnapshotAtLogStart", f"a snapshot {id} is complete; committed is {entry}")
    level, voters = read_head(data)
    expected = entry.voters if entry.level else None
    if (level, voters) != (entry.level, expected):
        raise Violation("M4", f"snapshot {id} names level {level} and voters {voters}; in force are {entry.level} and {expected}")


def read_head(data: bytes) -> tuple[int, frozenset[Key] | None]:
    """Level and voters by the first batch of a snapshot."""
    level, voters = 0, None
    header = read_batch_header(data)
    for record in RecordBatch(header, 0, data[: header.size_bytes]).records():
        control = read_control_record(record.key, record.value)
        if control.type == KRAFT_VERSION_RECORD:
            level = control.body.k_raft_version
        elif control.type == KRAFT_VOTERS:
            voters = voters_of(control.body)
    return level, voters
