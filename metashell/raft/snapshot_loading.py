"""What a snapshot says of the quorum, and a log that begins with one."""

from __future__ import annotations

from metashell.errors import LogCorruptError, UnknownRecordError
from metashell.raft import appending
from metashell.raft.ready import TruncatedTo
from metashell.raft.replica import Replica
from metashell.raft.snapshot_check import read_snapshot_head
from metashell.values import OffsetAndEpoch


def adopt(node: Replica, id: OffsetAndEpoch) -> None:
    """Drop the log, and begin it where a complete snapshot ends: all of that is committed."""
    assert id.offset >= node.committed, "what is committed stays"
    had_more = node.log_end > id.offset
    restart_log(node, id)
    node.last_epoch = id.epoch
    node.high_watermark = node.committed = id.offset
    node.has_news = True
    load_controls(node, id)
    appending.voters_changed(node)
    if had_more:
        node.notify(TruncatedTo(id.offset))


def restart_log(node: Replica, id: OffsetAndEpoch) -> None:
    """Empty the log, and let it begin where a snapshot ends."""
    node.log.start_at_snapshot(id)
    node.epochs.clear()
    node.log_end = node.durable_end = id.offset


def load_controls(node: Replica, id: OffsetAndEpoch) -> None:
    """Voters and kraft.version are now those of a snapshot.

    Errors: LogCorruptError, the driver's, for a snapshot on this replica's own disk that cannot be read.
    """
    head = read_snapshot_head(node.log, id)
    if head.fault is not None and head.is_newer:
        raise UnknownRecordError(f"snapshot {id}", head.next_offset, head.fault)
    if head.fault is not None:
        raise LogCorruptError(f"snapshot {id}", 0, head.fault)
    node.partition.load_snapshot(id.offset, head.kraft_version, head.voters)
