"""Appends and truncations: the log, the epoch cache and the voters change together, and only here.

A follower checks the bytes that a leader sent before it appends them (`check_fetched`): whole batches that continue its log, judged by
their headers. Data batches cost nothing per record; control batches are given back parsed. Of a batch at fault, and of bytes behind it,
nothing is taken, and nothing before it either: the follower asks again. Bytes of an unfinished last batch are left out, and so is
everything from the first batch of an epoch after the replica's own on: its sender may have lost the leadership while the answer was read
from a log that another leader overwrote (KAFKA-18723).

`adopt_snapshot` begins the log anew where a complete snapshot ends, with the voters and kraft.version that it holds.

Source: org.apache.kafka.storage.internals.log.UnifiedLog.analyzeAndValidateRecords, KafkaRaftLog.appendAsFollower."""

from __future__ import annotations

from struct import Struct
from typing import Final

from metashell.codec.batches import CODEC_MASK, CONTROL, CRC_START, HEADER_SIZE, LEAD_SIZE, TRANSACTIONAL, BatchHeader, unpack_header
from metashell.codec.primitives import crc32c
from metashell.common.errors import DecodeError, LogCorruptError, UnknownRecordError
from metashell.common.values import OffsetAndEpoch
from metashell.quorum.raft import progress
from metashell.quorum.raft.accumulator import AppendedBatch
from metashell.quorum.raft.messages import BATCH_SIZE_MAX
from metashell.quorum.raft.partition_state import read_snapshot_head
from metashell.quorum.raft.ready import TruncatedTo
from metashell.quorum.raft.replica import Replica
from metashell.quorum.raft.roles import Leader
from metashell.quorum.raft.voters import ControlValue, NewerControlError, read_control_batch

_INT32 = Struct(">i")
_EPOCH_AT = 12


def append_own(node: Replica, leader: Leader, batch: AppendedBatch) -> None:
    """Append a leader's batch of its own epoch."""
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
    """Append, on a follower, the batches that `check_fetched` accepted."""
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
    """Apply control records: voters and kraft.version hold from the moment they are appended."""
    changed = False
    for offset, value in controls:
        changed = node.partition.apply(offset, value) or changed
    if changed:
        voters_changed(node)


def voters_changed(node: Replica) -> None:
    """Take over the voters in force, which may have changed."""
    node.refresh_voters()
    if node.role.__class__ is Leader:
        progress.adopt_voters(node, node.role)
        progress.update_high_watermark(node, node.role)


def truncate(node: Replica, offset: int) -> None:
    """Drop all from `offset` on, on a follower: a batch boundary that is not committed."""
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


_MAGIC: Final = 2
_ZSTD: Final = 4


class CheckedBatches:
    """The batches that may be appended, as bytes, and what the core needs to know of them.

    `end_offset` is the log's end after them. `epochs` are (epoch, base offset) of each batch whose epoch is not the one before it, and
    `controls` (offset, value). `fault` says in one line why nothing was taken; `newer_at` is the offset of
    a control record that is newer than this release, where that is why.
    """

    __slots__ = ("controls", "data", "end_offset", "epochs", "fault", "last_epoch", "newer_at")

    def __init__(self, end_offset: int, last_epoch: int) -> None:
        self.data = b""
        self.end_offset = end_offset
        self.last_epoch = last_epoch
        self.epochs: list[tuple[int, int]] = []
        self.controls: list[tuple[int, ControlValue]] = []
        self.fault: str | None = None
        self.newer_at: int | None = None


def check_fetched(data: bytes, log_end: int, last_epoch: int, local_epoch: int) -> CheckedBatches:
    """The batches of a Fetch response that continue a log which ends at `log_end`, with a last batch of `last_epoch`."""
    checked = CheckedBatches(log_end, last_epoch)
    try:
        taken = _check_batches(data, checked, local_epoch)
    except DecodeError as error:
        refused = CheckedBatches(log_end, last_epoch)
        refused.fault = str(error)
        refused.newer_at = error.log_offset if isinstance(error, NewerControlError) else None
        return refused
    checked.data = data if taken == len(data) else data[:taken]
    return checked


def _check_batches(data: bytes, checked: CheckedBatches, local_epoch: int) -> int:
    """Check the batches in order; return where the last acceptable one ends."""
    position, size = 0, len(data)
    end_offset, last_epoch = checked.end_offset, checked.last_epoch
    while size - position >= HEADER_SIZE:
        fields = unpack_header(data, position)
        base_offset, length, epoch, _, _, attributes, last_offset_delta, *_ = fields
        following = position + LEAD_SIZE + length
        if length < HEADER_SIZE - LEAD_SIZE or length > BATCH_SIZE_MAX - LEAD_SIZE:
            raise DecodeError(f"batch at byte {position} has length {length}")
        if following > size:
            if not position:
                raise DecodeError(f"batch of {LEAD_SIZE + length} bytes is cut off after {size}")
            break
        if epoch > local_epoch:
            break
        batch = data if position == 0 and following == size else data[position:following]
        _check_batch(batch, fields, end_offset, last_epoch)
        if epoch != last_epoch:
            checked.epochs.append((epoch, base_offset))
            last_epoch = epoch
        if attributes & CONTROL:
            values = read_control_batch(batch, BatchHeader(*fields))
            checked.controls.extend(enumerate(values, base_offset))
        end_offset = base_offset + last_offset_delta + 1
        position = following
    else:
        if size and not position:
            raise DecodeError(f"{size} bytes are no batch")
    checked.end_offset, checked.last_epoch = end_offset, last_epoch
    return position


def _check_batch(batch: bytes, fields: tuple[int, ...], end_offset: int, last_epoch: int) -> None:
    base_offset, _, epoch, magic, crc, attributes, last_offset_delta, *_, count = fields
    if base_offset != end_offset:
        raise DecodeError(f"batch at offset {base_offset} does not follow the log, which ends at {end_offset}")
    if magic != _MAGIC:
        raise DecodeError(f"batch at offset {base_offset} has magic {magic}")
    if crc32c(batch, CRC_START) != crc:
        raise DecodeError(f"batch at offset {base_offset}: its CRC-32C is not {crc:#010x}")
    if epoch < last_epoch or epoch < 1:
        raise DecodeError(f"batch at offset {base_offset} has epoch {epoch} after {last_epoch}")
    if last_offset_delta < 0 or count != last_offset_delta + 1:
        raise DecodeError(f"batch at offset {base_offset} has {count} records for {last_offset_delta + 1} offsets")
    if attributes & TRANSACTIONAL or attributes & CODEC_MASK > _ZSTD:
        raise DecodeError(f"batch at offset {base_offset} has attributes {attributes:#x}")


def adopt_snapshot(node: Replica, id: OffsetAndEpoch) -> None:
    """Drop the log, and begin it where a complete snapshot ends: all of that is committed."""
    assert id.offset >= node.committed, "what is committed stays"
    had_more = node.log_end > id.offset
    restart_log(node, id)
    node.last_epoch = id.epoch
    node.high_watermark = node.committed = id.offset
    node.has_news = True
    load_snapshot_controls(node, id)
    voters_changed(node)
    if had_more:
        node.notify(TruncatedTo(id.offset))


def restart_log(node: Replica, id: OffsetAndEpoch) -> None:
    """Empty the log, and let it begin where a snapshot ends."""
    node.log.start_at_snapshot(id)
    node.epochs.clear()
    node.log_end = node.durable_end = id.offset


def load_snapshot_controls(node: Replica, id: OffsetAndEpoch) -> None:
    """Take over voters and kraft.version of a snapshot.

    Errors: LogCorruptError, the driver's, for a snapshot on this replica's own disk that cannot be read.
    """
    head = read_snapshot_head(node.log, id)
    if head.fault is not None and head.is_newer:
        raise UnknownRecordError(f"snapshot {id}", head.next_offset, head.fault)
    if head.fault is not None:
        raise LogCorruptError(f"snapshot {id}", 0, head.fault)
    node.partition.load_snapshot(id.offset, head.kraft_version, head.voters)
