"""The plan of a file in a store by a few reads, so that what is new crosses the network once: when its task reads it.

Its last batch is looked for from the end, and the places to cut it at are guessed: batches with good checksums, which others follow. A
task proves it: its batches must begin and end where its range does, and the last one must be the one that was found. A file of which
a guess was wrong is walked.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from metashell.codec.batches import read_batch_header
from metashell.columns.inputs.chain import MAGIC_AT, could_start, is_good
from metashell.columns.inputs.files import is_far
from metashell.columns.inputs.wanted import batch_from
from metashell.columns.lake.headers import Hops, batch_at, wanted_cuts
from metashell.log.file_kinds import Closing
from metashell.log.files import OpenFile

KEPT_MAX: Final = 1 << 18
"""A file up to this size is read as a whole, once for all that the plan asks of it."""
_GUESS: Final = 1 << 16
_TAILS: Final = (1 << 16, 1 << 20, 1 << 23)


def probe(file: OpenFile, start: int, size: int, target_bytes: int) -> Hops | None:
    """What a walk from byte `start`, where a batch starts, up to byte `size` finds; None where only a walk can tell.

    A file that does not end with a batch is walked, and so is one of old message formats.
    """
    if not is_far(file) or size - start <= KEPT_MAX:
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
    """Where the last batch of a file seems to start: good batches lead from some place before it to the very end.

    They may lie within the last record of a batch that is larger than what is looked at: only reading shows it.
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
    """The start of the last of the good batches, of growing offsets, that lead from a place to the end of some bytes."""
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


class Kept(Closing):
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
