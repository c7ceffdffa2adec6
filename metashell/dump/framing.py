"""Where batches lie in a file, by Kafka's rules of framing, without looking into any of them.

A batch is taken for what its length says; only a length that cannot be, or that leads past the end, stops the walk.
Source: org.apache.kafka.common.record.FileLogInputStream.nextBatch.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Literal

from metashell.codec.batches import LEAD_SIZE, MAGIC_END
from metashell.log.files import OpenFile

LENGTH_MIN = 14
"""The least that a length field may say: the overhead of a message of magic 0."""
WINDOW_SIZE = 1 << 20
"""Bytes of a file that are read, and then printed, at a time; one batch where that is larger."""

unpack_length = Struct(">i").unpack_from

StopKind = Literal["end", "tail", "bad-size", "truncated", "too-large"]


@dataclass(frozen=True, slots=True)
class Stop:
    """Why the walk over a file is over.

    `end`: nothing is left; `tail`: too little for a batch; `bad-size`: a length below the least; `truncated`: a length
    that leads past the end; `too-large`: more than we agree to hold. `length` is what the length field says, -1
    without one; `left` counts the bytes from `position` to the end, -1 where that is not known. `tail` are those of
    them that were read.
    """

    kind: StopKind
    position: int
    left: int
    length: int = -1
    tail: bytes = b""


@dataclass(slots=True)
class Window:
    """A piece of a file and the whole batches in it.

    `frames` are (start in `buf`, size) pairs; `position` is the file's byte that `buf` starts with; `next` is where the
    following window starts; `stop` is set in the last one.
    """

    buf: bytes
    position: int
    frames: list[tuple[int, int]]
    next: int
    stop: Stop | None = None


class WindowReader:
    """Reads a file window by window.

    `limit` ends the walk early, as --max-bytes does; the size of a regular file is taken when the reader is made, so
    that a file which grows is read up to a fixed end. `batch_size_max` bounds what a length may make us hold.
    """

    def __init__(self, file: OpenFile, limit: int | None, batch_size_max: int, window_size: int = WINDOW_SIZE) -> None:
        self.file = file
        self.batch_size_max = batch_size_max
        self.window_size = window_size
        size = file.size()
        self.is_stream = size is None
        ends = [end for end in (size, limit) if end is not None]
        self.end: int | None = min(ends) if ends else None
        self._carried = b""

    def grow(self) -> None:
        """Take notice of what was appended to a regular file since."""
        self.end = self.file.size()

    def read(self, position: int) -> Window:
        """The window that starts at `position`, which is where the one before ended."""
        size = self.window_size
        while True:
            buf, is_last = self._bytes(position, size)
            window = find_batches(buf, position, self._left(position, buf, is_last), self.batch_size_max)
            if window.frames or window.stop is not None:
                self._carried = buf[window.next - position :] if self.is_stream else b""
                return window
            # The first batch is larger than the window.
            self._carried = buf if self.is_stream else b""
            size = max(LEAD_SIZE + unpack_length(buf, 8)[0], MAGIC_END)

    def _left(self, position: int, buf: bytes, is_last: bool) -> int | None:
        if is_last or self.end is None:
            return len(buf) if is_last else None
        return self.end - position

    def _bytes(self, position: int, size: int) -> tuple[bytes, bool]:
        """Up to `size` bytes from `position` on, and whether the file ends with them."""
        if self.end is not None:
            size = max(min(size, self.end - position), 0)
        carried = self._carried
        missing = size - len(carried)
        more = self.file.read_at(position + len(carried), missing) if missing > 0 else b""
        buf = carried + more if carried else more
        is_last = len(buf) < size or (self.end is not None and position + len(buf) >= self.end)
        return buf, is_last


def find_batches(buf: bytes, position: int, left: int | None, batch_size_max: int) -> Window:
    """The whole batches in `buf`, which starts at byte `position` of a file with `left` more bytes (None: unknown).

    Without a stop the window ends before the first batch that is not wholly in `buf`.
    """
    frames: list[tuple[int, int]] = []
    add = frames.append
    at = 0
    buf_size = len(buf)
    while True:
        if left is not None and left - at <= MAGIC_END:
            kind: StopKind = "tail" if left - at else "end"
            stop = Stop(kind, position + at, left - at, -1, buf[at:])
            return Window(buf, position, frames, position + at, stop)
        if at + MAGIC_END > buf_size:
            return Window(buf, position, frames, position + at)
        (length,) = unpack_length(buf, at + 8)
        size = length + LEAD_SIZE
        if at + size > buf_size or length < LENGTH_MIN:
            rest = -1 if left is None else left - at
            trouble = _judge(rest, length, batch_size_max)
            place = position + at
            return Window(buf, position, frames, place, trouble and Stop(trouble, place, rest, length, buf[at:]))
        add((at, size))
        at += size


def _judge(left: int, length: int, batch_size_max: int) -> StopKind | None:
    """Whether a batch that is not wholly in the window is where the walk ends; None to read on."""
    if length < LENGTH_MIN:
        return "bad-size"
    if 0 <= left < length + LEAD_SIZE:
        return "truncated"
    return "too-large" if length + LEAD_SIZE > batch_size_max else None
