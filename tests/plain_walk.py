"""A walk over record batches that shares no code with metashell: what a file holds, read the slow and obvious way.

Only what the test files have: magic 2, no compression. CRC-32C is computed bit by bit from its polynomial.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

HEADER = struct.Struct(">qiibIhiqqqhii")
LEAD_SIZE = 12
SMALLEST_SIZE = 14


@dataclass(frozen=True, slots=True)
class PlainRecord:
    """One record: its offset and its bytes."""

    offset: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class PlainBatch:
    """One framed batch: where it lies, all of its bytes, and whether they can be trusted."""

    position: int
    data: bytes

    @property
    def base_offset(self) -> int:
        return int.from_bytes(self.data[:8], "big", signed=True)

    @property
    def is_control(self) -> bool:
        return bool(self.data[22] & 0x20)

    @property
    def counted(self) -> int:
        """How many records the header says there are."""
        return int.from_bytes(self.data[57:61], "big", signed=True)

    @property
    def is_intact(self) -> bool:
        """Magic 2, a whole header, and the CRC that is stored."""
        if len(self.data) < HEADER.size or self.data[16] != 2:
            return False
        return int.from_bytes(self.data[17:21], "big") == crc32c(self.data[21:])

    def records(self) -> Iterator[PlainRecord]:
        """The records as the header counts them. Errors: IndexError or AssertionError where bytes do not fit."""
        position = HEADER.size
        for _ in range(self.counted):
            size, position = varint(self.data, position)
            end = position + size
            assert end <= len(self.data)
            position += 1
            _, position = varint(self.data, position)
            delta, position = varint(self.data, position)
            key, position = blob(self.data, position)
            value, position = blob(self.data, position)
            position = end
            yield PlainRecord(self.base_offset + delta, key, value)


def batches(data: bytes) -> Iterator[PlainBatch]:
    """Every batch that the sizes frame, from the start on; ends where a size cannot be right or bytes are missing."""
    position = 0
    while position + LEAD_SIZE < len(data):
        size = int.from_bytes(data[position + 8 : position + LEAD_SIZE], "big", signed=True)
        end = position + LEAD_SIZE + size
        if size < SMALLEST_SIZE or end > len(data):
            return
        yield PlainBatch(position, data[position:end])
        position = end


def framed_size(data: bytes) -> int:
    """How many bytes from the start lie in framed batches."""
    return max((batch.position + len(batch.data) for batch in batches(data)), default=0)


def varint(data: bytes, position: int) -> tuple[int, int]:
    """A zig-zag varint and the position after it."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position


def blob(data: bytes, position: int) -> tuple[bytes | None, int]:
    """Bytes behind a zig-zag length, None for a length of -1."""
    size, position = varint(data, position)
    if size < 0:
        return None, position
    assert position + size <= len(data)
    return data[position : position + size], position + size


def _table() -> list[int]:
    rows = []
    for row in range(256):
        for _ in range(8):
            row = (row >> 1) ^ (0x82F63B78 if row & 1 else 0)
        rows.append(row)
    return rows


TABLE = _table()


def crc32c(data: bytes) -> int:
    """The Castagnoli checksum."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def uvarint(value: int) -> bytes:
    """An unsigned varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes((value,))


def zigzag(value: int) -> bytes:
    """A zig-zag varint of up to 64 bits."""
    return uvarint((value << 1) ^ (value >> 63) if value >= 0 else ((-value) << 1) - 1)


def make_record(delta: int, value: bytes | None, key: bytes | None = None) -> bytes:
    """One record of a batch."""
    body = b"\0\0" + zigzag(delta)
    for part in (key, value):
        body += zigzag(-1) if part is None else zigzag(len(part)) + part
    body += b"\0"
    return zigzag(len(body)) + body


def make_batch(
    base_offset: int,
    area: bytes,
    count: int,
    *,
    attributes: int = 0,
    epoch: int = 1,
    timestamp_ms: int = 1_760_000_000_000,
    last_delta: int | None = None,
) -> bytes:
    """A batch around an area of records, with a CRC that is right whatever else is not."""
    delta = max(count - 1, 0) if last_delta is None else last_delta
    tail = struct.pack(">hiqqqhii", attributes, delta, timestamp_ms, timestamp_ms, -1, -1, -1, count) + area
    return struct.pack(">qiibI", base_offset, len(tail) + 9, epoch, 2, crc32c(tail)) + tail


def make_log(values: list[bytes], *, per_batch: int = 1) -> bytes:
    """A log of those record values, `per_batch` in each batch."""
    out = b""
    for start in range(0, len(values), per_batch):
        group = values[start : start + per_batch]
        area = b"".join(make_record(delta, value) for delta, value in enumerate(group))
        out += make_batch(start, area, len(group))
    return out


def text(value: str | bytes) -> bytes:
    """A compact string of a flexible message."""
    raw = value.encode() if isinstance(value, str) else value
    return uvarint(len(raw) + 1) + raw


def frame(type_id: int, version: int, *parts: bytes, tags: bytes = b"\0") -> bytes:
    """A metadata record: frame version 1, type, version, body, tagged fields."""
    return b"\x01" + uvarint(type_id) + uvarint(version) + b"".join(parts) + tags


def feature(name: str, level: int) -> bytes:
    return frame(12, 0, text(name), level.to_bytes(2, "big", signed=True))


def topic(name: str | bytes, number: int) -> bytes:
    return frame(2, 0, text(name), topic_id(number))


def topic_id(number: int) -> bytes:
    return (0x1000 + number).to_bytes(16, "big")


def partition(number: int, topic_number: int, replicas: tuple[int, ...] = (1, 2, 3)) -> bytes:
    nodes = uvarint(len(replicas) + 1) + b"".join(node.to_bytes(4, "big") for node in replicas)
    leader = replicas[0].to_bytes(4, "big")
    zero = (0).to_bytes(4, "big")
    return frame(3, 0, number.to_bytes(4, "big"), topic_id(topic_number), nodes, nodes, b"\x01", b"\x01", leader, zero, zero)


def config(kind: int, resource: str, name: str, value: str | bytes) -> bytes:
    return frame(4, 0, bytes((kind,)), text(resource), text(name), text(value))


def no_op() -> bytes:
    return frame(20, 0)


def small_values() -> list[bytes]:
    """A dozen records of several kinds, each valid."""
    return [
        feature("metadata.version", 20),
        topic("orders", 1),
        partition(0, 1),
        partition(1, 1, (2, 3, 1)),
        config(2, "orders", "retention.ms", "1000"),
        no_op(),
        topic("prices", 2),
        partition(0, 2),
    ]
