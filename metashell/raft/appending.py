"""Batches enter the log and leave it again: the log, the epoch cache and the voters change together, and only here."""

from __future__ import annotations

from struct import Struct

from metashell.raft import progress
from metashell.raft.accumulator import AppendedBatch
from metashell.raft.append_check import CheckedBatches, check_fetched
from metashell.raft.control_batches import ControlValue
from metashell.raft.ready import TruncatedTo
from metashell.raft.replica import Replica
from metashell.raft.roles import Leader

_INT32 = Struct(">i")
_EPOCH_AT = 12


def append_own(node: Replica, leader: Leader, batch: AppendedBatch) -> None:
    """A leader appends a batch of its epoch."""
    assert batch.base_offset == node.log_end, "a batch continues the log"
    controls: list[tuple[int, ControlValue]] = []
    if batch.is_control:
        checked = check_fetched(batch.data, node.log_end, node.last_epoch, leader.epoch)
        assert checked.fault is None, checked.fault
        controls = checked.controls
    node.log.append(batch.data, batch.last_offset + 1)
    node.log_end = batch.last_offset + 1
    node.last_epoch = leader.epoch
    node.stats.appended += batch.last_offset - batch.base_offset + 1
    apply_controls(node, controls)


def append_fetched(node: Replica, checked: CheckedBatches) -> None:
    """A follower appends what `check_fetched` let through."""
    data, start = checked.data, node.log_end
    if not data:
        return
    # An epoch that this replica once began and never wrote in begins nowhere now.
    changed = node.epochs.truncate_from_end(start)
    first_epoch: int = _INT32.unpack_from(data, _EPOCH_AT)[0]
    if first_epoch != node.epochs.latest_epoch:
        changed = node.epochs.assign(first_epoch, start) or changed
    for epoch, offset in checked.epochs:
        changed = node.epochs.assign(epoch, offset) or changed
    if changed:
        node.log.write_leader_epochs(node.epochs.entries)
    node.log.append(data, checked.end_offset)
    node.stats.fetched += checked.end_offset - start
    node.log_end = checked.end_offset
    node.last_epoch = checked.last_epoch
    apply_controls(node, checked.controls)


def apply_controls(node: Replica, controls: list[tuple[int, ControlValue]]) -> None:
    """Voters and kraft.version hold from the moment they are appended."""
    changed = False
    for offset, value in controls:
        changed = node.partition.apply(offset, value) or changed
    if changed:
        voters_changed(node)


def voters_changed(node: Replica) -> None:
    """The voters in force may be others now."""
    node.refresh_voters()
    if node.role.__class__ is Leader:
        progress.take_voters(node, node.role)
        progress.update_high_watermark(node, node.role)


def truncate(node: Replica, offset: int) -> None:
    """A follower drops all from `offset` on, a batch boundary that is not committed."""
    assert offset >= node.committed, "what is committed stays"
    if offset < node.log_end:
        node.log.truncate_to(offset)
        node.log_end = offset
        node.durable_end = min(node.durable_end, offset)
        if node.partition.truncate_new(offset):
            voters_changed(node)
        node.notify(TruncatedTo(offset))
    if node.epochs.truncate_from_end(offset):
        node.log.write_leader_epochs(node.epochs.entries)
    node.last_epoch = last_epoch_of(node)


def last_epoch_of(node: Replica) -> int:
    """The epoch of the last batch; of the latest snapshot, where the log is empty behind it; else 0."""
    end = node.log_end
    if end > node.log.start_offset:
        epoch = node.epochs.epoch_at(end - 1)
        assert epoch is not None, "every batch has its epoch in the cache"
        return epoch
    latest = node.latest_snapshot()
    return latest.epoch if latest is not None and latest.offset == end else 0
