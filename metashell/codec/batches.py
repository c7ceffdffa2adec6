"""Record batches of version 2: the 61-byte header, the batch as one piece of bytes, and the records inside.

A batch keeps its bytes as they are in the file and decodes nothing before a caller needs it. `data` is `bytes` of exactly one batch,
because the CRC library takes nothing else; records are addressed by index in it and never copied in bulk. Messages of magic 0 and 1 are
`legacy.LegacyBatch`, which knows their layout.

`walk_records` gives the checked position of each field of each record, without copying. Fast loops read the usual record header themselves
(one-byte lengths, null key, no headers) and call it for everything else; they get the same tuple."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final

from metashell.codec.primitives import CODEC_NAMES, MAX_DECOMPRESSED, UNCOMPRESSED, crc32c, decompress, kafka_text
from metashell.common.errors import DecodeError

LEAD_SIZE: Final = 12
"""Base offset and length: the bytes before those that a batch's length counts."""
MAGIC_END: Final = 17
HEADER_SIZE: Final = 61
CRC_START: Final = 21
"""The CRC covers the batch from its attributes on. Base offset and leader epoch are outside of it, so that a leader can set them without a
new CRC. The price: nothing in a batch shows that one of these was changed on disk (see `disk.segment.OrderCheck`)."""

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40

_HEADER = Struct(">qiibIhiqqqhii")
unpack_header = _HEADER.unpack_from
"""The fields of a version-2 header in the order in which `BatchHeader` takes them."""


class BatchHeader:
    """The fixed header of a version-2 record batch.

    Units: timestamps are Unix milliseconds; `size_bytes` counts the whole batch with its 12-byte lead.
    """

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "count",
        "crc",
        "last_offset_delta",
        "leader_epoch",
        "magic",
        "max_timestamp",
        "producer_epoch",
        "producer_id",
        "size_bytes",
    )

    def __init__(
        self,
        base_offset: int,
        length: int,
        leader_epoch: int,
        magic: int,
        crc: int,
        attributes: int,
        last_offset_delta: int,
        base_timestamp: int,
        max_timestamp: int,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        count: int,
    ) -> None:
        self.base_offset = base_offset
        self.size_bytes = length + LEAD_SIZE
        self.leader_epoch = leader_epoch
        self.magic = magic
        self.crc = crc
        self.attributes = attributes
        self.last_offset_delta = last_offset_delta
        self.base_timestamp = base_timestamp
        self.max_timestamp = max_timestamp
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.count = count

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def codec_id(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def codec_name(self) -> str:
        """`none`, `gzip`, `snappy`, `lz4`, `zstd`, or `unknown(5)` for ids that mean nothing."""
        codec_id = self.attributes & CODEC_MASK
        return CODEC_NAMES[codec_id] if codec_id < len(CODEC_NAMES) else f"unknown({codec_id})"

    @property
    def timestamp_type(self) -> str:
        if self.magic == 0:
            return "NoTimestampType"
        return "LogAppendTime" if self.attributes & LOG_APPEND_TIME else "CreateTime"

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL != 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """When records deleted by compaction may go; it is stored in place of the base timestamp."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None

    def sequence_of(self, offset_delta: int) -> int:
        """The producer sequence of one record, -1 without a producer; it wraps to 0 after 2^31 - 1."""
        if self.base_sequence == -1:
            return -1
        sequence = self.base_sequence + offset_delta
        return sequence if sequence <= 0x7FFFFFFF else sequence - 0x80000000

    def __repr__(self) -> str:
        return f"BatchHeader(offsets {self.base_offset} to {self.last_offset}, {self.size_bytes} bytes)"


class Record:
    """One record with its absolute offset and timestamp; null keys and values are None."""

    __slots__ = ("attributes", "headers", "key", "offset", "sequence", "timestamp", "value")

    def __init__(
        self,
        offset: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: tuple[Header, ...] = (),
        sequence: int = -1,
        attributes: int = 0,
    ) -> None:
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = headers
        self.sequence = sequence
        self.attributes = attributes

    def __repr__(self) -> str:
        return f"Record(offset={self.offset}, key={self.key!r}, value={self.value!r})"


def crc_fault(header: BatchHeader, data: bytes) -> str | None:
    """The fault of a version-2 batch whose checksum is not that of its bytes, in one line; None if it is."""
    found = crc32c(data, CRC_START)
    return None if found == header.crc else f"CRC-32C {found:#x} is not {header.crc:#x}"


class RecordBatch:
    """One batch of version 2 as it lies in a file: its header, the byte position and file it came from, and its bytes."""

    __slots__ = ("data", "file", "header", "position")

    def __init__(self, header: BatchHeader, position: int, data: bytes, file: str = "") -> None:
        self.header = header
        self.position = position
        self.data = data
        self.file = file

    def crc_fault(self) -> str | None:
        """The fault if the stored checksum is not that of the bytes, in one line; None if it is."""
        return crc_fault(self.header, self.data)

    def records_area(self, max_size: int = MAX_DECOMPRESSED) -> tuple[bytes, int, int]:
        """The buffer that holds the records of a version-2 batch, and their start and end in it.

        Shape: the batch's own bytes if they are not compressed, else a new buffer.
        Errors: DecodeError if they do not decompress, or to more than `max_size` bytes.
        """
        if len(self.data) < HEADER_SIZE:
            raise DecodeError(f"batch of {len(self.data)} bytes has no complete header")
        codec_id = self.header.attributes & CODEC_MASK
        if codec_id == UNCOMPRESSED:
            return self.data, HEADER_SIZE, len(self.data)
        area = decompress(codec_id, self.data[HEADER_SIZE:], max_size)
        return area, 0, len(area)

    def records(self, max_size: int = MAX_DECOMPRESSED) -> Iterator[Record]:
        """The records in order.

        Errors: DecodeError at the first record that does not decode, after those before it.
        """
        header = self.header
        if header.count == 0:
            return
        buf, start, end = self.records_area(max_size)
        append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME else None
        for fields in walk_records(buf, start, end, header.count):
            offset_delta, timestamp_delta, key_start, key_size, value_start, value_size, headers_start, following = fields
            yield Record(
                header.base_offset + offset_delta,
                header.base_timestamp + timestamp_delta if append_time is None else append_time,
                None if key_size < 0 else buf[key_start : key_start + key_size],
                None if value_size < 0 else buf[value_start : value_start + value_size],
                read_headers(buf, headers_start, following) if buf[headers_start] else (),
                header.sequence_of(offset_delta),
                buf[read_varint(buf, start, end)[1]],
            )
            start = following

    def first_control_type(self) -> int | None:
        """The type of a control batch's first record; None for data batches and broken keys.

        Shape: a control record's key is its version and its type, both int16.
        """
        if not self.header.is_control:
            return None
        try:
            key = next(self.records()).key
        except (DecodeError, StopIteration):
            return None
        return int.from_bytes(key[2:4], "big", signed=True) if key is not None and len(key) >= 4 else None

    def __repr__(self) -> str:
        return f"RecordBatch({self.header!r} at {self.position})"


class CheckedBatch(RecordBatch):
    """A batch whose checksum its maker has just verified, so that nobody computes it again."""

    __slots__ = ()

    def crc_fault(self) -> str | None:
        return None


def read_batch_header(buf: bytes, position: int = 0) -> BatchHeader:
    """The header of the version-2 batch that starts at `position`; `crc_fault` checks the CRC.

    Errors: DecodeError if fewer than 61 bytes are left.
    Source: org.apache.kafka.common.record.DefaultRecordBatch; KIP-98.
    """
    if len(buf) - position < HEADER_SIZE:
        raise DecodeError(f"batch header needs {HEADER_SIZE} bytes, {len(buf) - position} are left", offset=position)
    return BatchHeader(*_HEADER.unpack_from(buf, position))


RecordFields = tuple[int, int, int, int, int, int, int, int]
"""offset_delta, timestamp_delta, key_start, key_size, value_start, value_size, headers_start, next.

A size of -1 is a null, whose start means nothing. `headers_start` is the index of the header count, `next` the index
after the record.
"""

Header = tuple[str, bytes | None]


def walk_records(buf: bytes, start: int, end: int, count: int) -> Iterator[RecordFields]:
    """The field positions of `count` records that fill `buf` from `start` to `end`.

    Errors: DecodeError (its offset is an index into `buf`) at the record that does not fit, for a negative count, and after the last
    record if bytes are left over.
    """
    if count < 0:
        raise negative_count(count, start)
    position = start
    for _ in range(count):
        fields = _usual_record(buf, position, end) if end - position > _USUAL_MAX else None
        fields = fields or read_record_header(buf, position, end)
        position = fields[7]
        yield fields
    if position != end:
        raise left_over(end - position, count, position)


def negative_count(count: int, position: int) -> DecodeError:
    """The error of a batch whose header has a negative number of records."""
    return DecodeError(f"record count {count} is negative", offset=position)


def left_over(size: int, count: int, position: int) -> DecodeError:
    """The error of bytes behind the last of a batch's records."""
    return DecodeError(f"{size} bytes are left after the {count} records of the batch", offset=position)


def read_record_end(buf: bytes, position: int, end: int) -> tuple[int, int]:
    """Where a record's fields start and where it ends, which may lie behind the bytes that are there.

    Errors: DecodeError if the record runs past `end`.
    """
    size, at = read_varint(buf, position, end)
    if size < 0 or at + size > end:
        raise DecodeError(f"record of {size} bytes does not fit in the {end - at} left", offset=position)
    return at, at + size


_USUAL_MAX: Final = 16
"""The bytes before the key or the value of a usual record, at most."""


def _usual_record(buf: bytes, position: int, end: int) -> RecordFields | None:
    """What `read_record_header` gives for a record without headers whose numbers take few bytes; None for any other.

    Four million records of a batch are read in a third of the time. More than `_USUAL_MAX` bytes have to be there.
    """
    size = buf[position]
    at = position + 1
    if size > 127:
        size = size & 127 | buf[at] << 7
        at += 1
    record_end = at + (size >> 1)
    time = buf[at + 1]  # behind one byte of attributes
    at += 2
    if time > 127:
        time = time & 127 | buf[at] << 7
        at += 1
    offset = buf[at]
    at += 1
    if offset > 127:
        offset = offset & 127 | buf[at] << 7
        at += 1
        if offset > 16383:
            offset = offset & 16383 | buf[at] << 14
            at += 1
            if offset > 2097151:
                offset = offset & 2097151 | buf[at] << 21
                at += 1
    key_size, value = buf[at], buf[at + 1]
    key_start = at = at + 1
    # A number whose last byte here goes on is above what that many bytes hold, and is left to the careful reader, as negative sizes are.
    if key_size != 1 or value & 1 or (size | time) > 16383 or size & 1 or offset > 268435455:
        return None
    at += 1
    if value > 127:
        value = value & 127 | buf[at] << 7
        at += 1
    following = at + (value >> 1)
    if value > 16383 or following + 1 != record_end or record_end > end or buf[following]:
        return None
    return (offset >> 1) ^ -(offset & 1), (time >> 1) ^ -(time & 1), key_start, -1, at, value >> 1, following, record_end


def read_record_header(buf: bytes, position: int, end: int) -> RecordFields:
    """The field positions of one record. The headers are walked too, to check that they end where the record's size says.

    Errors: DecodeError if a field runs past the record, or the record past `end`.
    """
    start, record_end = read_record_end(buf, position, end)
    timestamp_delta, at = read_varlong(buf, start + 1, record_end)  # one byte of attributes, unused
    offset_delta, at = read_varint(buf, at, record_end)
    key_size, key_start = _read_size(buf, at, record_end, "key")
    value_size, value_start = _read_size(buf, key_start + max(key_size, 0), record_end, "value")
    headers_start = value_start + max(value_size, 0)
    headers_end = _skip_headers(buf, headers_start, record_end)
    if headers_end != record_end:
        raise DecodeError(f"record of {record_end - start} bytes ends {record_end - headers_end} bytes late", offset=headers_end)
    return offset_delta, timestamp_delta, key_start, key_size, value_start, value_size, headers_start, record_end


def read_headers(buf: bytes, headers_start: int, end: int) -> tuple[Header, ...]:
    """The headers of one record, in order; malformed UTF-8 in a name becomes U+FFFD as in Java."""
    count, at = read_varint(buf, headers_start, end)
    headers: list[Header] = []
    for _ in range(count):
        name_size, name_start = _read_size(buf, at, end, "header name")
        at = name_start + name_size
        value_size, value_start = _read_size(buf, at, end, "header value")
        name = kafka_text(buf[name_start:at])
        at = value_start + max(value_size, 0)
        headers.append((name, None if value_size < 0 else buf[value_start:at]))
    return tuple(headers)


def read_varint(buf: bytes, position: int, end: int) -> tuple[int, int]:
    """A zig-zag int32 and the index after it.

    Errors: DecodeError for more than five bytes, or an end in the middle.
    """
    return _read_zigzag(buf, position, end, 5, 0xFFFFFFFF)


def read_varlong(buf: bytes, position: int, end: int) -> tuple[int, int]:
    """A zig-zag int64 and the index after it.

    Errors: DecodeError for more than ten bytes, or an end in the middle.
    """
    return _read_zigzag(buf, position, end, 10, 0xFFFFFFFFFFFFFFFF)


def _read_zigzag(buf: bytes, position: int, end: int, size_max: int, mask: int) -> tuple[int, int]:
    value = shift = 0
    for at in range(position, min(position + size_max, end)):
        byte = buf[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= mask  # in Java, the excess bits are shifted out of the word
            return (value >> 1) ^ -(value & 1), at + 1
        shift += 7
    reason = "is cut off" if position + size_max > end else f"is longer than {size_max} bytes"
    raise DecodeError(f"varint {reason}", offset=position)


def _read_size(buf: bytes, position: int, end: int, what: str) -> tuple[int, int]:
    """The size of a nullable field and where it starts; a negative size is -1."""
    size, start = read_varint(buf, position, end)
    if size < 0:
        return -1, start
    if size > end - start:
        raise DecodeError(f"{what} of {size} bytes does not fit in the {end - start} left", offset=position)
    return size, start


def _skip_headers(buf: bytes, position: int, end: int) -> int:
    if position < end and buf[position] == 0:
        return position + 1
    count, at = read_varint(buf, position, end)
    if count < 0:
        raise DecodeError(f"header count {count} is negative", offset=position)
    for _ in range(count):
        name_size, name_start = _read_size(buf, at, end, "header name")
        if name_size < 0:
            raise DecodeError("header name is null", offset=at)
        value_size, value_start = _read_size(buf, name_start + name_size, end, "header value")
        at = value_start + max(value_size, 0)
    return at
