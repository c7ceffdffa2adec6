"""The batches of one log segment or checkpoint, streamed, and what is wrong where it lies.

The walk holds one window of the file, or one batch where that is larger. It goes on after a batch that is bad in itself, as long
as the batch's length leads on; where the framing is broken, all that is left of the file is one `Tail`. Nothing here
raises for what a file contains, and no length in a file is believed before that many bytes are there.
"""

from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple

from metashell.codec.batches import CRC_START, HEADER_SIZE, MAGIC_END, BatchHeader, CheckedBatch, RecordBatch, unpack_header
from metashell.codec.crc32c import crc32c
from metashell.codec.framing import MAGIC_MAX, Frame, Stop, Window, frame_fault
from metashell.log.files import OpenFile
from metashell.log.tail import Tail, judge_tail
from metashell.log.window_reader import WINDOW_SIZE, WindowReader

_FIRST_WINDOW: Final = 64 * 1024


class BadBatch(NamedTuple):
    """A frame that holds no good batch, after which the walk goes on; `offset` is the base offset that stands there."""

    kind: Literal["bad-size", "bad-crc", "bad-magic"]
    batch: RecordBatch
    reason: str

    @property
    def file(self) -> str:
        return self.batch.file

    @property
    def position(self) -> int:
        return self.batch.position

    @property
    def size(self) -> int:
        return len(self.batch.data)

    @property
    def offset(self) -> int:
        return self.batch.header.base_offset

    @property
    def may_be_tail(self) -> bool:
        return False


BatchFault = BadBatch | Tail
"""A place in a file that holds no good batch."""
TakesFrames = Callable[[bytes, list[Frame], int], int]
"""`(buf, frames, first)`: uses frames from that one on, after every check that it needs; which is the first that it does not take."""


def read_batches(
    file: OpenFile, *, start: int = 0, max_bytes: int | None = None, takes: TakesFrames | None = None
) -> Iterator[RecordBatch | BatchFault]:
    """The batches of `file` from byte `start` on, and the faults between them, in order of position.

    `max_bytes` limits the walk to the first bytes of the file, counted from its beginning; a batch that crosses
    that limit is left out and is no fault. A file that grows meanwhile is read on to its end. Frames that `takes` takes are not given:
    of a log with a million small batches, making objects of them is most of the work.
    """
    reader = WindowReader(file, max_bytes, file.batch_size_max, _FIRST_WINDOW)
    name = file.name
    position = start
    after: int | None = None
    while True:
        window = reader.read(position)
        buf, base = window.buf, window.position
        frames, done = window.frames, 0
        while done < len(frames):
            left = frames
            if takes is not None:
                done = takes(buf, frames, done)
                after = -1
                left = frames[done : done + 1]
            for at, size in left:
                if size < HEADER_SIZE or buf[at + MAGIC_END - 1] != MAGIC_MAX:
                    yield _judge(buf[at : at + size], base + at, name)
                    continue
                header = BatchHeader(*unpack_header(buf, at))
                after = header.last_offset + 1
                data = buf[at : at + size]
                if crc32c(data, CRC_START) == header.crc:
                    yield CheckedBatch(header, base + at, data, name)
                else:
                    yield _bad_crc(RecordBatch(header, base + at, data, name))
            done += len(left)
        position = window.next
        # Of large batches little is read twice.
        reader.window_size = min(2 * reader.window_size, WINDOW_SIZE) if len(window.frames) > 1 else _FIRST_WINDOW
        stop = window.stop
        if stop is None or (stop.kind != "bad-size" and reader.grow()):
            continue
        if after == -1:
            after = _end_of_last(window)
        tail = None if _is_cut_at(max_bytes, stop) else judge_tail(file, stop, after)
        if tail is not None:
            yield tail
        return


def _end_of_last(window: Window) -> int | None:
    """The offset after the last frame of a window, which somebody else has read."""
    return BatchHeader(*unpack_header(window.buf, window.frames[-1][0])).last_offset + 1 if window.frames else None


def _is_cut_at(limit: int | None, stop: Stop) -> bool:
    """Whether the caller's limit, and not the file, ends in the middle of a batch."""
    return limit is not None and stop.kind in ("short", "truncated") and stop.position + stop.left >= limit


def _judge(data: bytes, position: int, file: str) -> RecordBatch | BadBatch:
    """The batch in a frame that is not of magic 2, or too short for that."""
    magic = data[MAGIC_END - 1]
    if magic < MAGIC_MAX:
        from metashell.codec.legacy import LegacyBatch

        message = LegacyBatch(position, data, file)
        return message if message.crc_fault() is None else _bad_crc(message)
    # What a short header lacks reads as zero.
    batch = RecordBatch(BatchHeader(*unpack_header(data[:HEADER_SIZE].ljust(HEADER_SIZE, b"\0"))), position, data, file)
    return BadBatch(kind="bad-magic" if magic > MAGIC_MAX else "bad-size", batch=batch, reason=frame_fault(magic, len(data)) or "")


def _bad_crc(batch: RecordBatch) -> BadBatch:
    return BadBatch(kind="bad-crc", batch=batch, reason=batch.crc_fault() or "")
