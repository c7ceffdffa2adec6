"""Version-2 record batches, written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Any

from metashell.codec.batches import CONTROL, CRC_START, LEAD_SIZE, LOG_APPEND_TIME, TRANSACTIONAL, Record
from metashell.codec.compression import compress
from metashell.codec.control import write_control_record
from metashell.codec.crc32c import crc32c
from metashell.errors import EncodeError

_AFTER_CRC = Struct(">hiqqqhii")
_BEFORE_CRC = Struct(">qiibI")
_MAGIC = 2


def write_control_bodies(base_offset: int, bodies: Iterable[tuple[int, Any]], timestamp: int, *, leader_epoch: int) -> bytes:
    """The bytes of one batch of control records, given as (type, object) pairs. Errors: EncodeError for an object that does not fit."""
    pairs = (write_control_record(type, body) for type, body in bodies)
    records = [Record(offset, timestamp, key, value) for offset, (key, value) in enumerate(pairs, base_offset)]
    return write_batch(base_offset, records, leader_epoch=leader_epoch, is_control=True)


def write_batch(
    base_offset: int,
    records: Sequence[Record],
    *,
    leader_epoch: int,
    base_timestamp: int | None = None,
    max_timestamp: int | None = None,
    last_offset_delta: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    codec_id: int = 0,
    is_control: bool = False,
    is_transactional: bool = False,
    is_log_append_time: bool = False,
) -> bytes:
    """The bytes of one batch that holds `records`, whose offsets and timestamps are absolute.

    Timestamps of the batch come from the records, and its last offset from the last one, unless they are given.
    Errors: EncodeError for an offset outside the batch or a timestamp that does not fit.
    """
    if not records and last_offset_delta is None:
        raise EncodeError("an empty batch needs its last offset delta")
    if base_timestamp is None:
        base_timestamp = records[0].timestamp if records else -1
    if max_timestamp is None:
        max_timestamp = max((record.timestamp for record in records), default=base_timestamp)
    if last_offset_delta is None:
        last_offset_delta = records[-1].offset - base_offset
    if not 0 <= last_offset_delta <= 0x7FFFFFFF:
        raise EncodeError(f"last offset delta {last_offset_delta} does not fit")
    attributes = codec_id | is_control * CONTROL | is_transactional * TRANSACTIONAL | is_log_append_time * LOG_APPEND_TIME
    head = _AFTER_CRC.pack(
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        len(records),
    )
    body = head + compress(codec_id, write_records(records, base_offset, base_timestamp))
    length = CRC_START - LEAD_SIZE + len(body)
    return _BEFORE_CRC.pack(base_offset, length, leader_epoch, _MAGIC, crc32c(body)) + body


def write_records(records: Sequence[Record], base_offset: int, base_timestamp: int) -> bytes:
    """The records area of a batch, not compressed.

    Errors: EncodeError for an offset before `base_offset` or too far after it.
    """
    out = bytearray()
    for record in records:
        offset_delta = record.offset - base_offset
        if not 0 <= offset_delta <= 0x7FFFFFFF:
            raise EncodeError(f"offset {record.offset} does not fit in a batch that starts at {base_offset}")
        body = _write_record(record, offset_delta, record.timestamp - base_timestamp)
        write_varint(out, len(body))
        out += body
    return bytes(out)


def write_varint(out: bytearray, value: int) -> None:
    """Append `value`, of up to 64 bits, in zig-zag form."""
    value = value << 1 ^ value >> 63
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _write_record(record: Record, offset_delta: int, timestamp_delta: int) -> bytearray:
    if not -(1 << 63) <= timestamp_delta < 1 << 63:
        raise EncodeError(f"timestamp {record.timestamp} is too far from that of its batch")
    out = bytearray((record.attributes & 0xFF,))
    write_varint(out, timestamp_delta)
    write_varint(out, offset_delta)
    _write_field(out, record.key)
    _write_field(out, record.value)
    write_varint(out, len(record.headers))
    for name, value in record.headers:
        _write_field(out, name.encode("utf-8"))
        _write_field(out, value)
    return out


def _write_field(out: bytearray, field: bytes | None) -> None:
    if field is None:
        out.append(0x01)  # -1
        return
    write_varint(out, len(field))
    out += field
