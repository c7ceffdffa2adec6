"""The headers of a file's batches, for planning: which offsets lie where, without reading records; of a file in a store by a few reads.

In a store the last batch is looked for from the end, and the places to cut at are guessed: batches with good checksums, which others
follow. A task proves the guess: its batches must begin and end where its range does, and the last one must be the one that was found. A
file of which a guess was wrong is walked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from metashell.codec.batches import HEADER_SIZE, LEAD_SIZE, MAGIC_END, read_batch_header, unpack_header
from metashell.codec.framing import FRAME_SIZE_MIN, MAGIC_MAX, BatchFrame, unpack_length
from metashell.disk.files import OpenFile
from metashell.disk.names import Closing
from metashell.disk.segment import BadBatch, Tail, read_batches
from metashell.tables.batch_chain import MAGIC_AT, batch_from, could_start, is_good, resync
from metashell.tables.input_files import Excerpt, is_remote
from metashell.tables.lake.log_state import Anchor

KEPT_MAX: Final = 1 << 18
"""A file up to this size is read as a whole, once for all that the plan asks of it."""
_GUESS: Final = 1 << 16
_TAILS: Final = (1 << 16, 1 << 20, 1 << 23)


def probe_remote_file(file: OpenFile, start: int, size: int, target_bytes: int) -> Hops | None:
    """Return what a walk from byte `start`, where a batch starts, up to byte `size` would find; None where only a walk can tell.

    A file that does not end with a batch is walked, and so is one of old message formats.
    """
    if not is_remote(file) or size - start <= KEPT_MAX:
        return None
    first, last = batch_at(file, start), last_batch(file, start, size)
    end = None if last is None else batch_at(file, last)
    if first is None or last is None or end is None or end[0].base <= first[0].base:
        return None
    found = Hops(position=last, end=size, is_guessed=True)
    if first[0].epoch == end[0].epoch:
        found.seen = [(first[0].base, end[0].last + 1, end[0].epoch)]
    else:
        found.seen = [(anchor.base, anchor.last + 1, anchor.epoch) for anchor in (first[0], end[0])]
    for place, following in pairwise([*wanted_cuts(start, size, target_bytes), size]):
        cut = batch_from(file, place, min(following, last + 1), size, _GUESS)
        if cut is not None:
            found.cuts.append(cut[0])
    return found


def last_batch(file: OpenFile, start: int, size: int) -> int | None:
    """Return the position where the last batch seems to start, None if there is none: good batches lead from before it to the very end.

    They may lie within the last record of a batch that is larger than the bytes read here: only a full read shows it.
    """
    for tail in _TAILS:
        base = max(size - tail, start)
        window = file.read_at(base, size - base)
        at = window.find(b"\x02", MAGIC_AT)
        while at >= 0:
            last = _leads_to_end(window, at - MAGIC_AT)
            if last is not None:
                return base + last
            at = window.find(b"\x02", at + 1)
        if base == start:
            break
    return None


def _leads_to_end(window: bytes, at: int) -> int | None:
    """Return the start of the last of the good batches, of growing offsets, that lead from a place to the end of some bytes."""
    offset, last = -1, at
    while at < len(window):
        if not could_start(window, at, len(window) - at):
            return None
        header = read_batch_header(window, at)
        if header.base_offset <= offset or not is_good(window[at : at + header.size_bytes], header.size_bytes):
            return None
        offset, last = header.last_offset, at
        at += header.size_bytes
    return last


class CachedFile(Closing):
    """A small file of a store that is read once, when the first byte is asked for."""

    is_far = True

    def __init__(self, file: OpenFile, size: int) -> None:
        self._file = file
        self._size = size
        self._data: bytes | None = None
        self.name = file.name
        self.batch_size_max = file.batch_size_max
        self.version = getattr(file, "version", None)

    @property
    def trouble(self) -> str | None:
        return self._file.trouble

    @trouble.setter
    def trouble(self, reason: str | None) -> None:
        self._file.trouble = reason

    def read_at(self, position: int, size: int) -> bytes:
        if self._data is None:
            self._data = self._file.read_at(0, self._size)
        return self._data[position : position + size]

    def peek(self, size: int) -> bytes:
        return self.read_at(0, size)

    def size(self) -> int | None:
        return self._size

    def close(self) -> None:
        self._file.close()


# ---- headers of batches

_WINDOW: Final = 1 << 20

Visit = Callable[[int, int, Anchor], None]
"""Gets a batch: where it starts in the file, where it ends, and what tells it from others."""


def anchor_of(buf: bytes, at: int = 0) -> Anchor | None:
    """Return the anchor of the batch whose header starts at `at`, None where no whole header of a known kind is."""
    if at + FRAME_SIZE_MIN > len(buf):
        return None
    magic = buf[at + MAGIC_AT]
    if magic < MAGIC_MAX:
        # A message of an old format has one offset here: its own, or its last one's.
        offset = int.from_bytes(buf[at : at + 8], "big", signed=True)
        return Anchor(offset, offset, -1, int.from_bytes(buf[at + LEAD_SIZE : at + LEAD_SIZE + 4], "big"))
    if magic > MAGIC_MAX or at + HEADER_SIZE > len(buf):
        return None
    base, _, epoch, _, crc, _, last_delta, *_ = unpack_header(buf, at)
    return Anchor(base, base + max(last_delta, 0), epoch, crc)


def batch_at(file: OpenFile, position: int) -> tuple[Anchor, int] | None:
    """Return the batch that starts at a byte of a file, and its size; None where none does."""
    head = file.read_at(position, HEADER_SIZE)
    found = anchor_of(head)
    if found is None:
        return None
    return found, unpack_length(head, 8)[0] + LEAD_SIZE


def first_timestamp(file: OpenFile) -> int:
    """Return the base timestamp of a file's first batch; 0 in formats that have none there."""
    head = file.peek(HEADER_SIZE)
    return int.from_bytes(head[27:35], "big", signed=True) if len(head) >= HEADER_SIZE and head[MAGIC_AT] == MAGIC_MAX else 0


@dataclass(slots=True)
class Hops:
    """A walk over lengths and epochs alone: where to cut, where the last whole batch starts and ends (-1: there is none).

    `epochs` are the base offset and the leader epoch of each batch whose epoch is not that of the one before, and the offset after that
    one: compaction may have taken what lay between, of either epoch. Where cuts and the last batch are guessed, `seen` are the runs of
    offsets whose epoch is known instead.
    """

    cuts: list[int] = field(default_factory=list)
    position: int = -1
    end: int = -1
    epochs: list[tuple[int, int, int]] = field(default_factory=list)
    seen: list[tuple[int, int, int]] = field(default_factory=list)
    is_guessed: bool = False

    def epoch_runs(self, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield the runs of offsets with one epoch each, up to the offset `end`; none where offsets or epochs do not grow."""
        yield from self.seen
        if any(start >= until or epoch >= following for (start, epoch, _), (until, following, _) in pairwise(self.epochs)):
            return
        for (start, epoch, _), (*_, until) in pairwise([*self.epochs, (end, -1, end)]):
            yield start, until, epoch


def hop_over_batches(file: OpenFile, start: int, size: int, target_bytes: int) -> Hops:
    """Walk from byte `start`, where a batch starts, up to byte `size`, with cuts near every `target_bytes`.

    Where the chain is broken, it goes on where `resync` finds the next batch.
    """
    found = Hops()
    wanted = [*wanted_cuts(start, size, target_bytes), size]
    wanted.reverse()
    position = start
    epoch = b""
    while position < size:
        window = file.read_at(position, min(_WINDOW, size - position))
        at, last = 0, len(window) - FRAME_SIZE_MIN
        while at <= last:
            length: int = unpack_length(window, at + 8)[0] + LEAD_SIZE
            if length < FRAME_SIZE_MIN or position + at + length > size:
                break
            if position + at >= wanted[-1]:
                found.cuts.append(position + at)
                while position + at >= wanted[-1]:
                    wanted.pop()
            before, found.position = found.position, position + at
            if window[at + LEAD_SIZE : at + MAGIC_END] != epoch:
                epoch = window[at + LEAD_SIZE : at + MAGIC_END]
                if (first := anchor_of(window, at)) is not None:
                    found.epochs.append((first.base, first.epoch, _end_of(file, before, window, before - position)))
            at += length
            found.end = position + at
        if at == 0 or at <= last:
            # No batch starts here.
            following = resync(file, position + at, size)
            if following is None:
                break
            position = following
            continue
        position += at
    return found


def _end_of(file: OpenFile, position: int, window: bytes, at: int) -> int:
    """Return the offset after the batch at a position, which is `at` in the bytes at hand, unless it lies before them; 0 for no batch."""
    if position < 0:
        return 0
    found = anchor_of(window, at) if at >= 0 else anchor_of(file.read_at(position, HEADER_SIZE))
    return 0 if found is None else found.last + 1


def wanted_cuts(start: int, size: int, target_bytes: int) -> list[int]:
    """Return positions that cut the bytes from `start` to `size` into equal parts of about `target_bytes`, without the two ends."""
    count = max(round((size - start) / target_bytes), 1)
    return [start + (size - start) * number // count for number in range(1, count)]


def visit_batches(file: OpenFile, size: int, visit: Visit) -> int:
    """Show every batch of a file's first `size` bytes; returns where the last whole one ends. Checksums are not looked at."""
    excerpt = Excerpt(file, size) if size >= 0 else file
    position = end = 0

    def take(buf: bytes, frames: list[BatchFrame], first: int) -> int:
        nonlocal position, end
        for number in range(first, len(frames)):
            at, length = frames[number]
            found = anchor_of(buf[at : at + HEADER_SIZE])
            if found is None:
                return number
            visit(position, position + length, found)
            position += length
            end = position
        return len(frames)

    while True:
        broken: Tail | None = None
        for item in read_batches(excerpt, start=position, takes=take):
            if isinstance(item, Tail):
                broken = item
                break
            position = item.position + (item.size if isinstance(item, BadBatch) else len(item.data))
        following = None if broken is None or size < 0 else resync(excerpt, broken.position, size)
        if following is None:
            return end
        position = following
