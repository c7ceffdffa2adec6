"""Finds batch boundaries by Kafka's framing rule, and checks batches from a log, a snapshot or a Fetch response.

A frame is one batch as its length field delimits it: 8 bytes of base offset, 4 of length, then that many bytes. The walk believes a length
only if a batch can be that small and if that many bytes are there, so no length ever costs memory. It checks nothing else: a frame may
hold a wrong checksum or an unknown magic. Boundaries come first because a fault inside a frame leaves the next frame findable; a wrong
length does not, and ends the walk.

    window = find_frames(buf, position, left)       a piece of a file: its frames, and the reason if the walk stopped
    frames, stop = frames_of(data)                  the same for complete bytes
    for start, size in whole_frames(data): ...      bytes that we wrote or checked ourselves; anything but whole frames is our mistake
    for batch in checked_batches(data, file): ...   bytes from a disk or a peer: raises at the first batch that does not fit

`disk/files.py` walks a file this way. `disk/segment.py` decides what the bytes behind the last frame mean (a torn write, zeros, damage).
Source: org.apache.kafka.common.record.FileLogInputStream.nextBatch.

Messages of magic 0 and 1 preceded record batches; they are only read, in logs of old topics. A compressed one is a wrapper: its value is a
set of messages. Inside a magic 1 wrapper offsets count from the first inner message, and the wrapper's offset is that of the last; inside a
magic 0 wrapper they are absolute."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final, Literal, NamedTuple, assert_never
from zlib import crc32

from metashell.codec.batches import (
    CODEC_MASK,
    HEADER_SIZE,
    LEAD_SIZE,
    LOG_APPEND_TIME,
    MAGIC_END,
    BatchHeader,
    CheckedBatch,
    Record,
    RecordBatch,
    crc_fault,
    unpack_header,
)
from metashell.codec.primitives import LZ4, MAX_DECOMPRESSED, ZSTD, decompress
from metashell.common.errors import DecodeError, LogCorruptError

LENGTH_MIN: Final = 14
"""The least that a length field can say: the overhead of a message of magic 0 (LegacyRecord)."""
FRAME_SIZE_MIN: Final = LEAD_SIZE + LENGTH_MIN
FRAME_SIZE_MAX: Final = LEAD_SIZE + 0x7FFFFFFF
"""The largest value of the length field: a limit of this size limits nothing."""
MAGIC_MAX: Final = 2

unpack_length = Struct(">i").unpack_from

BatchFrame = tuple[int, int]
"""The start of a frame in its buffer, and its size."""
StopKind = Literal["end", "short", "bad-size", "truncated", "too-large"]


class Stop(NamedTuple):
    """The reason why a walk ended, at byte `position` of the file.

    `end`: nothing is left; `short`: too few bytes for any batch; `bad-size`: a length that no batch has; `truncated`: a length that leads
    past the end; `too-large`: a length above `size_max`. `left` counts the bytes from `position` to the end, -1 if only reading can show
    it; `length` is the value of the length field, -1 without one; `tail` holds the bytes that were read of the rest.
    """

    kind: StopKind
    position: int
    left: int
    length: int = -1
    tail: bytes = b""
    size_max: int = FRAME_SIZE_MAX

    @property
    def size(self) -> int:
        """The size of the frame that should be here, by its length."""
        return LEAD_SIZE + self.length

    @property
    def offset(self) -> int | None:
        """The base offset that stands here; None if the bytes end before the magic number."""
        return int.from_bytes(self.tail[:8], "big", signed=True) if len(self.tail) >= MAGIC_END else None

    @property
    def unknown_magic(self) -> int | None:
        """The magic number that stands here, if no batch has it: then these bytes never were a batch."""
        magic = self.tail[MAGIC_END - 1] if len(self.tail) >= MAGIC_END else 0
        return magic if magic > MAGIC_MAX else None

    @property
    def reason(self) -> str:
        """The fault in one clause; empty at a plain end."""
        match self.kind:
            case "end":
                return ""
            case "short":
                return "batch header is cut off"
            case "bad-size":
                return f"batch length {self.length} is below {LENGTH_MIN}"
            case _ if self.unknown_magic is not None:
                return f"no batch: magic {self.unknown_magic} is not known"
            case "truncated":
                return f"batch of {self.size} bytes is cut off"
            case "too-large":
                return f"batch of {self.size} bytes is above {self.size_max}"
            case _:
                assert_never(self.kind)


def frame_fault(magic: int, size: int) -> str | None:
    """The reason why a whole frame of magic 2 or more cannot be a batch, by its magic and size; None if it can."""
    if magic > MAGIC_MAX:
        return f"magic {magic} is not known"
    return f"batch of {size} bytes is shorter than its header of {HEADER_SIZE}" if size < HEADER_SIZE else None


class Window:
    """A piece of a file and the frames in it.

    `buf` starts at byte `position` of the file, the next window at byte `next`; only the last window has a `stop`.
    """

    __slots__ = ("buf", "frames", "next", "position", "stop")

    def __init__(self, buf: bytes, position: int, frames: list[BatchFrame], next: int, stop: Stop | None = None) -> None:
        self.buf = buf
        self.position = position
        self.frames = frames
        self.next = next
        self.stop = stop


def find_frames(buf: bytes, position: int, left: int | None, size_max: int = FRAME_SIZE_MAX, *, whole: bool = True) -> Window:
    """The frames in `buf`, which starts at byte `position` of a file with `left` bytes from there on (None: unknown).

    Without a stop the window ends before the first frame that is not wholly in `buf`. For walks over headers, `whole=False` takes every
    frame whose lead is in `buf` and whose end lies in the file, so that `next` may lie behind `buf`; `left` has to be known then.
    """
    frames: list[BatchFrame] = []
    add = frames.append
    at = 0
    buf_size = len(buf)
    assert whole or left is not None, "a walk over headers needs the file's size"
    bound = buf_size if whole or left is None else left
    while True:
        if left is not None and left - at <= MAGIC_END:
            kind: StopKind = "short" if left > at else "end"
            return Window(buf, position, frames, position + at, Stop(kind, position + at, left - at, -1, buf[at:]))
        if at + MAGIC_END > buf_size:
            return Window(buf, position, frames, position + at)
        (length,) = unpack_length(buf, at + 8)
        size = length + LEAD_SIZE
        if at + size > bound or length < LENGTH_MIN:
            rest = -1 if left is None else left - at
            trouble = _judge(rest, length, size_max)
            place = position + at
            return Window(buf, position, frames, place, trouble and Stop(trouble, place, rest, length, buf[at:], size_max))
        add((at, size))
        at += size


def _judge(left: int, length: int, size_max: int) -> StopKind | None:
    """The reason to end the walk at a frame that is not wholly in the window; None to read on."""
    if length < LENGTH_MIN:
        return "bad-size"
    if 0 <= left < length + LEAD_SIZE:
        return "truncated"
    return "too-large" if length + LEAD_SIZE > size_max else None


def frames_of(data: bytes, position: int = 0) -> tuple[list[BatchFrame], Stop]:
    """The frames of all of `data`, and the stop behind the last one, which counts `data` from byte `position` on."""
    window = find_frames(data, position, len(data))
    assert window.stop is not None, "the end is known"
    return window.frames, window.stop


def whole_frames(data: bytes) -> list[BatchFrame]:
    """The frames that fill `data`, which we wrote or checked: anything else in it is our own mistake."""
    frames, stop = frames_of(data)
    assert stop.kind == "end", f"byte {stop.position}: {stop.reason}"
    return frames


def checked_batches(data: bytes, file: str, position: int = 0, *, base_offset: int | None = None) -> Iterator[CheckedBatch]:
    """The batches of version 2 that fill `data`, which begins at byte `position` of the file called `file`.

    Shape: with `base_offset`, the first batch begins there. Each batch must begin where the one before it ended: no CRC covers base
    offsets, so nothing else would show a changed one.
    Errors: LogCorruptError, which names the batch's offset, at the first batch that does not fit, has another magic, does not follow the
    one before it, or does not have its CRC.
    """
    frames, stop = frames_of(data, position)
    expected = base_offset
    for at, size in frames:
        place = position + at
        if size < HEADER_SIZE:
            raise LogCorruptError(file, place if expected is None else expected, f"batch of {size} bytes at byte {place} has no header")
        header, batch = BatchHeader(*unpack_header(data, at)), data[at : at + size]
        fault = _fault(header, place, expected) or crc_fault(header, batch)
        if fault is not None:
            raise LogCorruptError(file, header.base_offset, fault)
        yield CheckedBatch(header, place, batch, file)
        expected = header.last_offset + 1
    if stop.kind != "end":
        offset = stop.offset if expected is None else expected
        reason = f"byte {stop.position}: {stop.reason}, {stop.left} bytes are left"
        raise LogCorruptError(file, stop.position if offset is None else offset, reason)


def _fault(header: BatchHeader, place: int, expected: int | None) -> str | None:
    """The reason why a batch cannot be the next one of a log; None if it can."""
    if header.magic != MAGIC_MAX:
        return f"batch at byte {place} has magic {header.magic}"
    if expected is not None and header.base_offset != expected:
        return f"batch at byte {place} is not the one at offset {expected}"
    if header.last_offset_delta < 0:
        return f"batch at byte {place} ends before it begins"
    return None


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
