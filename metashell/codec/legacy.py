"""Messages of magic 0 and 1, which preceded record batches: read only, for logs of old topics.

A compressed message is a wrapper: its value is a set of messages. Inside a magic 1 wrapper offsets count from the first
inner message, and the wrapper's offset is that of the last; inside a magic 0 wrapper they are absolute.
"""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

from metashell.codec.batches import CODEC_MASK, LOG_APPEND_TIME, BatchHeader, Record, RecordBatch
from metashell.codec.framing import frames_of
from metashell.codec.primitives import LZ4, MAX_DECOMPRESSED, ZSTD, decompress
from metashell.common.errors import DecodeError

_CRC_START = 16
_LEAD_SIZE_MAX = 26
_FLG_CONTENT_SIZE = 0x08


class LegacyBatch(RecordBatch):
    """One message, or a wrapper with the messages in it, as a batch."""

    __slots__ = ()

    def __init__(self, position: int, data: bytes, file: str = "") -> None:
        super().__init__(read_message_header(data[:_LEAD_SIZE_MAX]), position, data, file)

    def crc_fault(self) -> str | None:
        found = message_crc(self.data)
        return None if found == self.header.crc else f"CRC-32 {found:#x} is not {self.header.crc:#x}"

    def records(self, max_size: int = MAX_DECOMPRESSED) -> Iterator[Record]:
        return read_messages(self.data, max_size)


class LegacyRecord(Record):
    """One message; `crc` is its stored checksum, `crc_is_valid` whether that matches its bytes."""

    __slots__ = ("crc", "crc_is_valid", "key_size", "value_size")

    def __init__(self, offset: int, timestamp: int, message: _Message) -> None:
        super().__init__(offset, timestamp, message.key, message.value, attributes=message.attributes)
        self.crc = message.crc
        self.crc_is_valid = message.crc_is_valid
        self.key_size = message.key_size
        self.value_size = message.value_size


class _Message:
    """The fields of one message, with its offset as written."""

    __slots__ = (
        "attributes",
        "crc",
        "crc_is_valid",
        "key",
        "key_size",
        "magic",
        "offset",
        "timestamp",
        "value",
        "value_size",
    )

    def __init__(self, data: bytes) -> None:
        self.offset = int.from_bytes(data[:8], "big", signed=True)
        self.crc = int.from_bytes(data[12:16], "big")
        self.crc_is_valid = message_crc(data) == self.crc
        self.magic = data[16]
        self.attributes = data[17]
        self.timestamp = int.from_bytes(data[18:26], "big", signed=True) if self.magic == 1 else -1
        self.key_size, self.key, at = _read_field(data, 26 if self.magic == 1 else 18, "key")
        self.value_size, self.value, _ = _read_field(data, at, "value")


def message_crc(data: bytes) -> int:
    """The CRC-32 (IEEE, not Castagnoli) of a whole message with its lead."""
    return crc32(data[_CRC_START:])


def read_message_header(lead: bytes) -> BatchHeader:
    """A message's fields as a batch header with one record; fields that a message lacks are -1.

    Shape: `lead` is the message's beginning, 26 bytes unless the message is shorter; `count` is 1 for a wrapper too.
    """
    magic, attributes = lead[16], int.from_bytes(lead[17:18], "big")
    timestamp = int.from_bytes(lead[18:26], "big", signed=True) if magic == 1 else -1
    return BatchHeader(
        int.from_bytes(lead[:8], "big", signed=True),
        int.from_bytes(lead[8:12], "big", signed=True),
        -1,
        magic,
        int.from_bytes(lead[12:16], "big"),
        attributes,
        0,
        timestamp,
        timestamp,
        -1,
        -1,
        -1,
        1,
    )


def read_messages(data: bytes, max_size: int = MAX_DECOMPRESSED) -> Iterator[LegacyRecord]:
    """The records of one message with its lead: the message itself or all those that it wraps, with absolute offsets.

    Errors: DecodeError for fields that run past the message, a codec that did not exist then, nested compression, and
    data that does not decompress within `max_size` bytes.
    """
    outer = _Message(data)
    codec_id = outer.attributes & CODEC_MASK
    if codec_id == 0:
        yield LegacyRecord(outer.offset, outer.timestamp, outer)
        return
    inner = list(_unwrap(outer, codec_id, max_size))
    shift = outer.offset - inner[-1].offset if outer.magic == 1 else 0
    append_time = outer.magic == 1 and outer.attributes & LOG_APPEND_TIME
    for message in inner:
        yield LegacyRecord(message.offset + shift, outer.timestamp if append_time else message.timestamp, message)


def _unwrap(outer: _Message, codec_id: int, max_size: int) -> Iterator[_Message]:
    if codec_id >= ZSTD:
        raise DecodeError(f"compression type id {codec_id} does not exist in magic {outer.magic}")
    packed = outer.value or b""
    if codec_id == LZ4 and outer.magic == 0:
        packed = with_lz4_header_checksum(packed)
    area = decompress(codec_id, packed, max_size)
    frames, stop = frames_of(area)
    if stop.kind != "end":
        raise DecodeError(f"compressed message: {stop.reason}", offset=stop.position)
    if not frames:
        raise DecodeError("compressed message holds no message")
    for at, size in frames:
        message = _Message(area[at : at + size])
        if message.magic != outer.magic or message.attributes & CODEC_MASK:
            raise DecodeError(f"compressed message of magic {outer.magic} holds another form inside", offset=at)
        yield message


def _read_field(data: bytes, at: int, what: str) -> tuple[int, bytes | None, int]:
    """The stored size of a nullable field, its bytes, and the index after it."""
    size = int.from_bytes(data[at : at + 4], "big", signed=True)
    start = at + 4
    if start > len(data) or start + max(size, 0) > len(data):
        raise DecodeError(f"{what} of {size} bytes runs past the message of {len(data)}", offset=at)
    if size < 0:
        return size, None, start
    return size, data[start : start + size], start + size


def with_lz4_header_checksum(frame: bytes) -> bytes:
    """`frame` with the header checksum of the LZ4 format: writers of magic 0 included the frame's magic number in the sum."""
    if len(frame) < 7:
        return frame
    descriptor_end = 14 if frame[4] & _FLG_CONTENT_SIZE else 6
    checksum = _xxh32_short(frame[4:descriptor_end]) >> 8 & 0xFF
    return frame[:descriptor_end] + bytes((checksum,)) + frame[descriptor_end + 1 :]


def _xxh32_short(data: bytes) -> int:
    """xxHash-32 of fewer than 16 bytes with seed 0."""
    mask = 0xFFFFFFFF
    value = 374761393 + len(data) & mask
    words = len(data) // 4 * 4
    for at in range(0, words, 4):
        value = value + int.from_bytes(data[at : at + 4], "little") * 3266489917 & mask
        value = (value << 17 | value >> 15) * 668265263 & mask
    for byte in data[words:]:
        value = value + byte * 374761393 & mask
        value = (value << 11 | value >> 21) * 2654435761 & mask
    value = (value ^ value >> 15) * 2246822519 & mask
    value = (value ^ value >> 13) * 3266489917 & mask
    return value ^ value >> 16
