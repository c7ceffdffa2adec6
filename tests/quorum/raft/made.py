"""Batches and snapshots that tests make and read: what no replica needs in one call."""

from __future__ import annotations

from collections.abc import Sequence

from metashell.common.errors import LogCorruptError
from metashell.common.values import OffsetAndEpoch
from metashell.quorum.raft.accumulator import encode_records, join_batch
from metashell.quorum.raft.partition_state import read_snapshot_head
from metashell.quorum.raft.replicated_log import ReplicatedLog
from metashell.quorum.raft.voters import VoterSet

NO_VOTERS = VoterSet()


def data_batch(base_offset: int, epoch: int, timestamp: int, values: Sequence[bytes]) -> bytes:
    """One batch of data records: keys null, no headers, every record at the batch's timestamp."""
    return join_batch(base_offset, epoch, timestamp, len(values), encode_records(values, 0))


def read_snapshot_controls(log: ReplicatedLog, id: OffsetAndEpoch) -> tuple[int | None, VoterSet | None]:
    """The kraft.version and the voters that a complete snapshot names, None for what it does not.

    Errors: LogCorruptError where it cannot be read; KeyError for one that is not there.
    """
    head = read_snapshot_head(log, id)
    if head.fault is not None:
        raise LogCorruptError(f"snapshot {id.offset}-{id.epoch}", head.next_offset, head.fault)
    return head.kraft_version, head.voters
