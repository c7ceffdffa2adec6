"""What a follower may append of the bytes a leader sent: whole batches that continue its log, checked from their headers.

Data batches cost nothing per record; control batches are given back parsed. Of a batch at fault, and of bytes behind it, nothing is
taken, and nothing before it either: the follower asks again. Bytes of an unfinished last batch are left out, and so is everything
from the first batch of an epoch after the replica's own on: its sender may have lost the leadership while the answer was read from
a log that another leader overwrote (KAFKA-18723).
Source: org.apache.kafka.storage.internals.log.UnifiedLog.analyzeAndValidateRecords, KafkaRaftLog.appendAsFollower.
"""

from __future__ import annotations

from typing import Final

from metashell.codec.batches import CODEC_MASK, CONTROL, CRC_START, HEADER_SIZE, LEAD_SIZE, TRANSACTIONAL, BatchHeader, unpack_header
from metashell.codec.crc32c import crc32c
from metashell.errors import DecodeError
from metashell.raft.config import BATCH_SIZE_MAX
from metashell.raft.control_batches import ControlValue, NewerControlError, read_control_batch

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
    """Check batch after batch; returns where the last one that may be taken ends."""
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
