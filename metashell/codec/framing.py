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
Source: org.apache.kafka.common.record.FileLogInputStream.nextBatch."""

from collections.abc import Iterator
from struct import Struct
from typing import Final, Literal, NamedTuple, assert_never

from metashell.codec.batches import HEADER_SIZE, LEAD_SIZE, MAGIC_END, BatchHeader, CheckedBatch, crc_fault, unpack_header
from metashell.common.errors import LogCorruptError

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
