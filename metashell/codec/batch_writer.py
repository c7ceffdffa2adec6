"""Writes version-2 record batches, and the control records that the Raft layer and transactions put into them.

The key of a control record is int16 version, int16 type. Its value begins with an int16 version that is also the field Version of its
schema.
Source: org.apache.kafka.common.record.ControlRecordType, ControlRecordUtils; KIP-98, KIP-595, KIP-630, KIP-853."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Any

from metashell.codec.batches import CONTROL, CRC_START, DELETE_HORIZON, LEAD_SIZE, LOG_APPEND_TIME, TRANSACTIONAL, BatchHeader, Record
from metashell.codec.primitives import compress, crc32c, encode_varint, more_crc32c
from metashell.codec.registry import MessageType, message_type
from metashell.common.errors import DecodeError, EncodeError

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
    has_delete_horizon: bool = False,
) -> bytes:
    """The bytes of one batch that holds `records`, whose offsets and timestamps are absolute.

    Timestamps of the batch come from the records, and its last offset from the last one, unless they are given. A delete horizon is given
    as the base timestamp.
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
    attributes |= has_delete_horizon * DELETE_HORIZON
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


class WrittenRecords:
    """The records area of a batch that is written again record by record, with the offsets and times of its old header.

    A batch may have millions of records: only their bytes are kept.
    """

    def __init__(self, header: BatchHeader) -> None:
        self._header = header
        self.clear()

    def clear(self) -> None:
        """Leave out all records."""
        self.count = 0
        self.has_key = False
        """Whether the first record has a key, as those of control batches have."""
        self._area = bytearray()

    def add(self, record: Record) -> None:
        """Add a record. Errors: EncodeError."""
        if not self.count:
            self.has_key = record.key is not None
        self.count += 1
        append_record(self._area, record, self._header.base_offset, self._header.base_timestamp)

    def batch(self, *, is_control: bool) -> tuple[bytes, bytes | bytearray]:
        """The bytes of the batch, without compression: the header, and the records. Errors: EncodeError."""
        header = self._header
        if not 0 <= header.last_offset_delta <= 0x7FFFFFFF:
            raise EncodeError(f"last offset delta {header.last_offset_delta} does not fit")
        append_time = LOG_APPEND_TIME if header.attributes & LOG_APPEND_TIME else 0
        head = _AFTER_CRC.pack(
            is_control * CONTROL | header.is_transactional * TRANSACTIONAL | append_time,
            header.last_offset_delta,
            header.base_timestamp,
            header.max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            self.count,
        )
        length = CRC_START - LEAD_SIZE + len(head) + len(self._area)
        checksum = more_crc32c(crc32c(head), self._area)
        return _BEFORE_CRC.pack(header.base_offset, length, header.leader_epoch, _MAGIC, checksum) + head, self._area


def write_records(records: Sequence[Record], base_offset: int, base_timestamp: int) -> bytes:
    """The records area of a batch, not compressed.

    Errors: EncodeError for an offset before `base_offset` or too far after it.
    """
    out = bytearray()
    for record in records:
        append_record(out, record, base_offset, base_timestamp)
    return bytes(out)


def append_record(out: bytearray, record: Record, base_offset: int, base_timestamp: int) -> None:
    """Append a record of a batch. Errors: EncodeError for an offset before `base_offset` or too far after it."""
    offset_delta = record.offset - base_offset
    if not 0 <= offset_delta <= 0x7FFFFFFF:
        raise EncodeError(f"offset {record.offset} does not fit in a batch that starts at {base_offset}")
    timestamp_delta = record.timestamp - base_timestamp
    value = record.value
    if timestamp_delta == 0 and value is not None and len(value) < 64 and record.key is None and not (record.headers or record.attributes):
        # Nearly every record of a batch of millions: what `_write_record` writes, in a third of the time.
        delta = encode_varint(offset_delta)
        size = len(value)
        out += encode_varint(5 + len(delta) + size) + b"\0\0" + delta + bytes((1, 2 * size)) + value + b"\0"
        return
    body = _write_record(record, offset_delta, timestamp_delta)
    write_varint(out, len(body))
    out += body


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


_TWO_INT16 = Struct(">hh")
_INT16 = Struct(">h")

ABORT, COMMIT, LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION_RECORD, KRAFT_VOTERS = range(7)
CONTROL_TYPE_NAMES = {
    ABORT: "ABORT",
    COMMIT: "COMMIT",
    LEADER_CHANGE: "LEADER_CHANGE",
    SNAPSHOT_HEADER: "SNAPSHOT_HEADER",
    SNAPSHOT_FOOTER: "SNAPSHOT_FOOTER",
    KRAFT_VERSION_RECORD: "KRAFT_VERSION",
    KRAFT_VOTERS: "KRAFT_VOTERS",
}
CONTROL_MESSAGES = {
    ABORT: "EndTxnMarker",
    COMMIT: "EndTxnMarker",
    LEADER_CHANGE: "LeaderChangeMessage",
    SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    KRAFT_VERSION_RECORD: "KRaftVersionRecord",
    KRAFT_VOTERS: "VotersRecord",
}


class ControlRecord:
    """A control record: its type, the version of its value, and the value as an object.

    For an unknown type, `body` is the raw bytes and `fault` says so.
    """

    __slots__ = ("body", "fault", "type", "version")

    def __init__(self, type: int, version: int, body: Any, fault: str | None = None) -> None:
        self.type = type
        self.version = version
        self.body = body
        self.fault = fault

    @property
    def type_name(self) -> str:
        return CONTROL_TYPE_NAMES.get(self.type) or f"UNKNOWN_CONTROL_{self.type}"

    @property
    def message(self) -> MessageType | None:
        """The message that `body` is of; None for raw bytes."""
        return control_message(self.type) if not isinstance(self.body, bytes) else None


def control_message(type: int) -> MessageType | None:
    """The message of a control record type, None for an unknown one."""
    name = CONTROL_MESSAGES.get(type)
    return None if name is None else message_type("control", name)


def control_type(key: bytes | None) -> int:
    """The type that a control record's key names.

    Errors: DecodeError for a missing or short key or a negative version. Higher versions are read as version 0.
    """
    if key is None or len(key) < 4:
        raise DecodeError(f"control record key has {0 if key is None else len(key)} byte(s), not 4")
    version, type = _TWO_INT16.unpack_from(key)
    if version < 0:
        raise DecodeError(f"control record key has version {version}")
    return int(type)


def value_layout(message: MessageType, version: int) -> int:
    """The version of the layout to read a control value with: its own, or the newest known one."""
    return min(max(version, message.versions[0]), message.versions[1])


def read_control_record(key: bytes | None, value: bytes | None) -> ControlRecord:
    """The control record of a key and value.

    Errors: DecodeError if either does not fit; an unknown type is kept as bytes with a fault.
    """
    type = control_type(key)
    value = value or b""
    message = control_message(type)
    version = _INT16.unpack_from(value)[0] if len(value) >= 2 else 0
    if message is None:
        return ControlRecord(type, version, value, f"unknown control record type {type}")
    if type in (ABORT, COMMIT):
        # The schema of a transaction marker has no version field: the version precedes the body.
        return ControlRecord(type, version, message.read(value, 0, 2, min(6, len(value))))
    return ControlRecord(type, version, message.read(value, value_layout(message, version)))


def write_control_record(type: int, body: Any, version: int = 0) -> tuple[bytes, bytes]:
    """The key and value of a control record."""
    message = control_message(type)
    assert message is not None, f"no control record type {type}"
    value = message.write(body, version)
    if type in (ABORT, COMMIT):
        value = _INT16.pack(version) + value
    return _TWO_INT16.pack(0, type), value
