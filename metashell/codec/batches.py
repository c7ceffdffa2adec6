"""Record batches: the 61-byte header of version 2, the batch as one piece of bytes, and the records inside.

A batch is read as it lies in the file and nothing in it is decoded before it is asked for. `data` is `bytes` of exactly
one batch, because the CRC library takes nothing else; records are addressed by index in it, never copied in bulk.
Messages of magic 0 and 1 come as `legacy.LegacyBatch`, which knows their layout.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final

from metashell.codec.compression import CODEC_NAMES, MAX_DECOMPRESSED, NONE, decompress
from metashell.codec.crc32c import crc32c
from metashell.codec.record_walk import Header, read_headers, read_varint, walk_records
from metashell.errors import DecodeError

LEAD_SIZE: Final = 12
"""Base offset and length: what precedes the bytes that a batch's length counts."""
MAGIC_END: Final = 17
HEADER_SIZE: Final = 61
CRC_START: Final = 21
"""The CRC covers the batch from its attributes on, so that a leader can set the epoch without summing again."""

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
    """In one line what is wrong with the checksum of a batch of version 2, None where it is that of its bytes."""
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
        """In one line what is wrong with the stored checksum, None where it is that of the bytes."""
        return crc_fault(self.header, self.data)

    def records_area(self, max_size: int = MAX_DECOMPRESSED) -> tuple[bytes, int, int]:
        """The buffer that holds the records of a version-2 batch, and their start and end in it.

        Shape: the batch's own bytes when they are not compressed, else a new buffer.
        Errors: DecodeError when they do not decompress, or to more than `max_size` bytes.
        """
        if len(self.data) < HEADER_SIZE:
            raise DecodeError(f"batch of {len(self.data)} bytes has no complete header")
        codec_id = self.header.attributes & CODEC_MASK
        if codec_id == NONE:
            return self.data, HEADER_SIZE, len(self.data)
        area = decompress(codec_id, self.data[HEADER_SIZE:], max_size)
        return area, 0, len(area)

    def records(self, max_size: int = MAX_DECOMPRESSED) -> Iterator[Record]:
        """The records in order.

        Errors: DecodeError where the first one does not decode; what precedes it has been given by then.
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
        """The type of a control batch's first record, None for data batches and broken keys.

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
    """A batch whose bytes were found to have their checksum: who makes one has just compared them, and nobody has to again."""

    __slots__ = ()

    def crc_fault(self) -> str | None:
        return None


def read_batch_header(buf: bytes, position: int = 0) -> BatchHeader:
    """The header of the version-2 batch that starts at `position`; `crc_fault` checks the CRC.

    Errors: DecodeError if fewer than 61 bytes are left.
    Source: the protocol guide's record batch section; KIP-98.
    """
    if len(buf) - position < HEADER_SIZE:
        raise DecodeError(f"batch header needs {HEADER_SIZE} bytes, {len(buf) - position} are left", offset=position)
    return BatchHeader(*_HEADER.unpack_from(buf, position))
