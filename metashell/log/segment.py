"""The batches of one log segment or checkpoint, streamed, with what is wrong told where it lies.

The walk holds one chunk of the file, or one batch where that is larger. It goes on after a batch that is bad in itself, as long
as the batch's length leads on; where the framing is broken, all that is left of the file is one fault. Nothing here
raises for what a file contains, and no length in a file is believed before that many bytes are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from metashell.codec.batches import HEADER_SIZE, LEAD_SIZE, MAGIC_END, BatchHeader, RecordBatch, unpack_header
from metashell.codec.crc32c import crc32c
from metashell.log.files import OpenFile, open_file

FaultKind = Literal["truncated", "zero-tail", "bad-size", "bad-crc", "bad-magic", "unreadable"]

MIN_LENGTH: Final = 14
"""The least that a batch's length field can say: the overhead of a message of magic 0 (LegacyRecord)."""
MESSAGE_SIZE_MIN: Final = LEAD_SIZE + MIN_LENGTH
_FIRST_CHUNK = 64 * 1024
_LARGEST_CHUNK = 1024 * 1024
_TAIL_LOOK_MAX = 64 * 1024 * 1024
_CRC_START = 21
_MAGIC_MAX = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFault:
    """A place in a file that holds no good batch.

    `size` counts the bytes at fault from `position` on: those of the batch where the walk goes on after it
    (`batch` is given then), else all that is left. `offset` is the base offset that stands there, None without one.
    """

    kind: FaultKind
    file: str
    position: int
    size: int
    reason: str
    offset: int | None = None
    batch: RecordBatch | None = None

    @property
    def ends_walk(self) -> bool:
        return self.batch is None

    @property
    def may_be_tail(self) -> bool:
        """Whether this is how the last segment of a directory ends when a write was cut off or preallocated."""
        return self.kind in ("truncated", "zero-tail")


def open_segment(path: str) -> OpenFile:
    """A segment or checkpoint opened by path; `-` is standard input.

    Errors: UsageError for a path that cannot be opened, or that is a directory.
    """
    return open_file(path)


def read_batches(
    file: OpenFile, *, start: int = 0, max_bytes: int | None = None, check_crc: bool = True
) -> Iterator[RecordBatch | BatchFault]:
    """The batches of `file` from byte `start` on, and the faults between them, in order of position.

    `max_bytes` limits the walk to the first bytes of the file, counted from its beginning; a batch that crosses
    that limit is left out and is no fault. Without `check_crc` batches of a wrong checksum come as batches.
    """
    window = _Window(file, start, max_bytes)
    name = file.name
    while True:
        window.refill()
        chunk, at, base = window.chunk, window.at, window.base
        chunk_size = len(chunk)
        while at + HEADER_SIZE <= chunk_size:
            header = BatchHeader(*unpack_header(chunk, at))
            end = at + header.size_bytes
            if end > chunk_size or header.magic != 2 or header.size_bytes < HEADER_SIZE:
                break
            batch = RecordBatch(header, base + at, chunk[at:end], name)
            if check_crc and crc32c(batch.data, _CRC_START) != header.crc:
                yield _bad_crc(batch)
            else:
                yield batch
            at = end
        window.at = at
        # What is left needs care: it crosses the chunk, is of another magic, or is no batch.
        item = _read_one(window, check_crc)
        if item is None:
            return
        yield item
        if isinstance(item, BatchFault) and item.ends_walk:
            return


class _Window:
    """The part of a file that is in memory: `chunk`, which starts at byte `base` of the file, read up to index `at`."""

    def __init__(self, file: OpenFile, start: int, max_bytes: int | None) -> None:
        self.file = file
        self.base = start
        self.chunk = b""
        self.at = 0
        self._limit = max_bytes
        self._chunk_size = _FIRST_CHUNK

    @property
    def position(self) -> int:
        return self.base + self.at

    def refill(self) -> bool:
        """Make sure that a header's bytes are in memory, or the end; whether anything is left."""
        left = len(self.chunk) - self.at
        if left < HEADER_SIZE:
            more = self._read(self.base + len(self.chunk), self._chunk_size)
            self.base += self.at
            self.chunk = self.chunk[self.at :] + more if left else more
            self.at = 0
            self._chunk_size = min(2 * self._chunk_size, _LARGEST_CHUNK)
        return len(self.chunk) > self.at

    def take(self, size: int) -> bytes:
        """The next `size` bytes, fewer if the file ends before; a large batch is read at once and never copied."""
        end = self.at + size
        if end <= len(self.chunk):
            data = self.chunk[self.at : end]
            self.at = end
            return data
        position = self.position
        if self.file.size() is None:
            rest = self.chunk[self.at :]
            data = rest + self._read(self.base + len(self.chunk), size - len(rest))
        else:
            data = self._read(position, size)
        self.base = position + len(data)
        self.chunk = b""
        self.at = 0
        self._chunk_size = _FIRST_CHUNK
        return data

    def has(self, size: int) -> bool:
        """Whether `size` more bytes are there, as far as that is known without reading."""
        total = self.file.size()
        return total is None or self.position + size <= total

    def is_cut_at(self, size: int) -> bool:
        """Whether the caller's limit, and not the file, ends before `size` more bytes."""
        return self._limit is not None and self.position + size > self._limit

    def _read(self, position: int, size: int) -> bytes:
        if self._limit is not None:
            size = min(size, self._limit - position)
        return self.file.read_at(position, size) if size > 0 else b""

    def rest(self) -> tuple[int, bool]:
        """How many bytes are left, of a stream as many as were looked at, and whether those are all zero."""
        position = self.position
        data = self.chunk[self.at :]
        seen = 0
        all_zero = True
        while data and seen < _TAIL_LOOK_MAX:
            all_zero = all_zero and not data.strip(b"\0")
            seen += len(data)
            if not all_zero and self.file.size() is not None:
                break
            data = self._read(position + seen, _LARGEST_CHUNK)
        total = self.file.size()
        if total is not None:
            end = total if self._limit is None else min(total, self._limit)
            seen = max(seen, end - position)
        return seen, all_zero


def _read_one(window: _Window, check_crc: bool) -> RecordBatch | BatchFault | None:
    """The batch or fault at the window's place; None at the end."""
    if not window.refill():
        return _trouble(window)
    chunk, at = window.chunk, window.at
    if len(chunk) - at < MAGIC_END:
        return None if window.is_cut_at(MAGIC_END) else _tail(window, "truncated", "batch header is cut off")
    offset = int.from_bytes(chunk[at : at + 8], "big", signed=True)
    length = int.from_bytes(chunk[at + 8 : at + 12], "big", signed=True)
    size = length + LEAD_SIZE
    if length < MIN_LENGTH:
        return _tail(window, "bad-size", f"batch length {length} is below {MIN_LENGTH}", offset)
    magic = chunk[at + MAGIC_END - 1]
    if magic > _MAGIC_MAX and not window.has(size):
        return _tail(window, "bad-magic", _no_batch(magic))
    if size > window.file.batch_size_max:
        return _tail(window, "bad-size", f"batch of {size} bytes is above {window.file.batch_size_max}", offset)
    if window.is_cut_at(size):
        return None
    if not window.has(size):
        return _tail(window, "truncated", f"batch of {size} bytes is cut off", offset)
    return _judge(window, size, offset, check_crc)


def _judge(window: _Window, size: int, offset: int, check_crc: bool) -> RecordBatch | BatchFault:
    """The batch of `size` bytes that the window is at: good, or bad in itself."""
    position = window.position
    lead = window.chunk[window.at : window.at + HEADER_SIZE]
    data = window.take(size)
    if len(data) < size:  # a stream that ended, or a file that shrank meanwhile
        return _cut_off(window, position, data, size, offset)
    batch = RecordBatch(_header(lead), position, data, window.file.name)
    magic = batch.header.magic
    reason = None
    kind: FaultKind = "bad-magic"
    if not 0 <= magic <= _MAGIC_MAX:
        reason = f"magic {magic} is not known"
    elif magic == 2 and size < HEADER_SIZE:
        kind, reason = "bad-size", f"batch of {size} bytes is shorter than its header of {HEADER_SIZE}"
    elif check_crc and not batch.crc_is_valid():
        return _bad_crc(batch)
    if reason is None:
        return batch
    return BatchFault(kind=kind, file=batch.file, position=position, size=size, reason=reason, offset=offset, batch=batch)


def _header(lead: bytes) -> BatchHeader:
    """The header in `lead`; what a batch at the very end is too short for reads as zero."""
    magic = lead[MAGIC_END - 1]
    if magic < 2:
        from metashell.codec.legacy import read_message_header

        return read_message_header(lead)
    return BatchHeader(*unpack_header(lead.ljust(HEADER_SIZE, b"\0")))


def _bad_crc(batch: RecordBatch) -> BatchFault:
    header = batch.header
    if header.magic < 2:
        from metashell.codec.legacy import message_crc

        reason = f"CRC-32 {message_crc(batch.data):#x} is not {header.crc:#x}"
    else:
        reason = f"CRC-32C {crc32c(batch.data, _CRC_START):#x} is not {header.crc:#x}"
    return BatchFault(
        kind="bad-crc",
        file=batch.file,
        position=batch.position,
        size=len(batch.data),
        reason=reason,
        offset=header.base_offset,
        batch=batch,
    )


def _tail(window: _Window, kind: FaultKind, reason: str, offset: int | None = None) -> BatchFault:
    """One fault for all that is left of the file."""
    position = window.position
    size, all_zero = window.rest()
    if window.file.trouble is not None:
        kind, reason = "unreadable", window.file.trouble
    elif all_zero:
        kind, reason, offset = "zero-tail", "the rest is zero", None
    return BatchFault(
        kind=kind, file=window.file.name, position=position, size=size, offset=offset, reason=f"{reason}, {_bytes(size)} left"
    )


def _no_batch(magic: int) -> str:
    return f"no batch: magic {magic} is not known"


def _cut_off(window: _Window, position: int, data: bytes, size: int, offset: int) -> BatchFault:
    trouble = window.file.trouble
    magic = data[MAGIC_END - 1] if len(data) >= MAGIC_END else 0
    kind: FaultKind = "truncated"
    reason = f"batch of {size} bytes is cut off"
    if trouble is not None:
        kind, reason = "unreadable", trouble
    elif magic > _MAGIC_MAX:
        kind, reason = "bad-magic", _no_batch(magic)
    return BatchFault(
        kind=kind,
        file=window.file.name,
        position=position,
        size=len(data),
        offset=None if kind == "bad-magic" else offset,
        reason=f"{reason}, {_bytes(len(data))} left",
    )


def _trouble(window: _Window) -> BatchFault | None:
    """The fault of a file whose reading failed at its present end, None at a plain end."""
    reason = window.file.trouble
    if reason is None:
        return None
    return BatchFault(kind="unreadable", file=window.file.name, position=window.position, size=0, reason=reason)


def _bytes(size: int) -> str:
    return "1 byte" if size == 1 else f"{size} bytes"
