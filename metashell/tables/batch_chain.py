"""The chain of a file's batches, walked over headers only: where it continues behind corruption, and which parts may hold wanted rows.

Offsets and epochs grow along a log, so the ends of what is wanted are found by bisection: at some byte a batch is guessed, and accepted
if its checksum is right and the next batch follows it. Times need not grow, so every remaining header is read for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from metashell.codec.batches import CRC_START, HEADER_SIZE, LEAD_SIZE, MAGIC_END, BatchHeader, read_batch_header
from metashell.codec.framing import FRAME_SIZE_MIN, MAGIC_MAX, unpack_length
from metashell.codec.primitives import crc32c
from metashell.disk.files import OpenFile
from metashell.tables.input_files import is_remote
from metashell.tables.read_options import Bounds

WINDOW: Final = 1 << 20
_LARGE: Final = 1 << 14
"""Of batches above this only the headers are read, where a read costs little."""
MAGIC_AT: Final = MAGIC_END - 1


class Chain:
    """A walk from batch to batch over one file of `size` bytes; `position` is where a batch starts, or the end."""

    def __init__(self, file: OpenFile, size: int) -> None:
        self.file = file
        self.size = size
        self.position = 0
        self._base = 0
        self._window = b""
        self._reach = WINDOW

    def jump(self, position: int) -> None:
        """Continue at a place that is known to be on the chain."""
        self.position = position

    def advance(self, place: int) -> int | None:
        """Walk to the first batch that starts at `place` or after; None where the chain ends before, and stays broken."""
        while self.position < place:
            following = self._hop(place)
            if following is None:
                following = resync(self.file, self.position, self.size)
                if following is None:
                    return None
            self.position = following
        return self.position

    def _hop(self, place: int) -> int | None:
        """As many batches as the window shows, at least one; None where no batch is. As `find_frames` walks, for headers alone."""
        at = self.position - self._base
        if not 0 <= at <= len(self._window) - MAGIC_END:
            self._base, self._window, at = self.position, self.file.read_at(self.position, min(self._reach, self.size - self.position)), 0
        window, base, size = self._window, self._base, self.size
        last = len(window) - MAGIC_END
        length: int = 0
        while at <= last:
            length = unpack_length(window, at + 8)[0] + LEAD_SIZE
            if length < FRAME_SIZE_MIN or base + at + length > size:
                break
            at += length
            if base + at >= place:
                return base + at
        self._reach = next_reach(self.file, self._reach, length)
        reached = base + at
        return reached if reached > self.position else None

    def confirms(self, before: int, before_offset: int, at: int, at_offset: int) -> bool:
        """Return whether two entries of an index are right: each points at a good batch, and a chain leads from one to the other.

        Shape: positions, and the last offset of the batch that is to start there.
        """
        if before < self.position and before != 0:
            return False
        if not (self._is_batch(before, before_offset) and self._is_batch(at, at_offset)):
            return False
        other = Chain(self.file, self.size)
        other.jump(before)
        while other.position < at:
            following = other._hop(at)
            if following is None:
                return False
            other.jump(following)
        return other.position == at

    def _is_batch(self, position: int, last_offset: int) -> bool:
        header = self.file.read_at(position, HEADER_SIZE)
        if len(header) < HEADER_SIZE or header[MAGIC_AT] != MAGIC_MAX:
            return False
        known = read_batch_header(header)
        return known.last_offset == last_offset and is_good(self.file.read_at(position, known.size_bytes), known.size_bytes)


def next_reach(file: OpenFile, reach: int, batch_size: int) -> int:
    """Return how much to read at once after a batch: only a header of large ones, more and more of small ones.

    In a store a read costs more than a megabyte does.
    """
    if is_remote(file):
        return WINDOW
    return HEADER_SIZE if batch_size > _LARGE else min(max(2 * reach, 1 << 12), WINDOW)


def is_good(data: bytes, size: int) -> bool:
    """Return whether that is one whole batch of version 2 with the right checksum."""
    if len(data) < HEADER_SIZE or len(data) != size:
        return False
    return crc32c(data, CRC_START) == int.from_bytes(data[MAGIC_END:CRC_START], "big")


def resync(file: OpenFile, broken: int, end: int) -> int | None:
    """Return the first place behind `broken` where the chain continues; None if there is none.

    A batch is guessed by its magic, length and checksum. It counts only if good batches follow it, one after another, up to
    `end`, which is a known place of the chain (or up to zeros, which preallocated segments end with): a batch that lies
    in the value of a record leads nowhere.
    """
    base = broken + 1
    led_nowhere: set[int] = set()
    while base < end:
        window = file.read_at(base, min(WINDOW, end - base))
        if not window:
            return None
        at = window.find(b"\x02", MAGIC_AT)
        while at >= 0:
            start = base + at - MAGIC_AT
            if could_start(window, at - MAGIC_AT, end - start) and _leads_to(file, start, end, led_nowhere):
                return start
            at = window.find(b"\x02", at + 1)
        base += max(len(window) - HEADER_SIZE, 1)
        if len(window) <= HEADER_SIZE:
            return None
    return None


def could_start(window: bytes, at: int, left: int) -> bool:
    """Return whether a header may start here, by a cheap look: its length and its record counts fit."""
    if at + HEADER_SIZE > len(window):
        return False
    length = unpack_length(window, at + 8)[0] + LEAD_SIZE
    if not HEADER_SIZE <= length <= left or window[at + 21] or window[at + 22] > 127:
        return False
    header = read_batch_header(window, at)
    return header.base_offset >= 0 and header.last_offset_delta >= 0 and 0 <= header.count <= length


def _leads_to(file: OpenFile, start: int, end: int, led_nowhere: set[int]) -> bool:
    """Return whether good batches follow one another from `start` to `end`; the places of a chain that fails are remembered."""
    passed: list[int] = []
    position = start
    while position < end and position not in led_nowhere:
        passed.append(position)
        head = file.read_at(position, HEADER_SIZE)
        if len(head) < HEADER_SIZE or head[MAGIC_AT] != MAGIC_MAX:
            if position > start and _is_zero(file, position, end):
                return True
            break
        size = unpack_length(head, 8)[0] + LEAD_SIZE
        if not HEADER_SIZE <= size <= end - position or not is_good(file.read_at(position, size), size):
            break
        position += size
    if position == end:
        return True
    led_nowhere.update(passed)
    return False


def _is_zero(file: OpenFile, position: int, end: int) -> bool:
    while position < end:
        data = file.read_at(position, min(WINDOW, end - position))
        if not data or data.strip(b"\0"):
            return False
        position += len(data)
    return True


# ---- the parts of a file that may hold wanted rows

_NEAR: Final = 1 << 14
"""Closer than this no bisection is worth its reads: headers are walked."""
_GUESS: Final = 1 << 12
_FAR_GUESS: Final = 1 << 16
_GUESS_MAX: Final = 1 << 15
_LOOK_AT: Final = 8
"""So many batches show how large they are here."""
_GAP_MIN: Final = 1 << 16
"""Less than this between two wanted parts is read with them."""

Is = Callable[[BatchHeader], bool]


def narrow_range(file: OpenFile, size: int, bounds: Bounds) -> tuple[int, int]:
    """Return the part of a file of `size` bytes that has all wanted batches, by offset and epoch; its ends are ends of batches."""
    if bounds.is_empty:
        return 0, 0
    start, end = 0, size
    if bounds.offset.least is not None or bounds.epoch.least is not None:
        start = _first_that_is_not(bounds.precedes, file, 0, size, is_end=False)
    if bounds.offset.most is not None or bounds.epoch.most is not None:
        end = _first_that_is_not(lambda header: not bounds.follows(header), file, start, size, is_end=True)
    return start, end


def wanted_parts(file: OpenFile, start: int, end: int, bounds: Bounds) -> Iterator[tuple[int, int]]:
    """Yield the parts between two places of the chain that may hold wanted rows. What is no whole batch of version 2 is always wanted.

    In a store nothing is looked at twice: all of it is wanted.
    """
    if is_remote(file):
        yield start, end
        return
    begin, until = start, start
    for position, header, following in headers_from(file, start, end):
        if header is None or bounds.may_hold(header):
            if position - until >= _GAP_MIN or until == begin:
                if until > begin:
                    yield begin, until
                begin = position
            until = following if following > position else end
    if until > begin:
        yield begin, until


def _first_that_is_not(passes: Is, file: OpenFile, low: int, size: int, *, is_end: bool) -> int:
    """Return where the first batch starts for which `passes` does not hold, as far as that shows; the end if there is none.

    Bytes that are no whole batch are never left out: the wanted part does not end there, and nothing is known of what precedes them.
    """
    high = size
    guess = _first_reach(file)
    for number, (position, header, following) in enumerate(headers_from(file, low, size)):
        if header is None or not passes(header):
            return size if header is None and is_end else position
        if number == _LOOK_AT:
            # Where batches are large, all headers together are less than one of them.
            guess = max(guess, 2 * (following - low) // number)
            low = position
            break
    while high - low > _NEAR and (is_remote(file) or guess < _GUESS_MAX):
        middle = (low + high) // 2
        found = batch_from(file, middle, high, size, guess)
        if found is None:
            high = middle
        elif passes(found[1]):
            low = found[0]
        else:
            high = found[0]
    for position, header, _ in headers_from(file, low, size):
        if header is None or not passes(header):
            return high if header is None and is_end else position
    return size


def batch_from(file: OpenFile, start: int, end: int, size: int, guess: int) -> tuple[int, BatchHeader] | None:
    """Return the first good batch that starts from `start` on, before `end`, and that another one follows; None if there is none.

    `guess` is how much is read at first.
    """
    base, reach = start, guess
    while base < end:
        window = file.read_at(base, min(reach, size - base))
        at = window.find(b"\x02", MAGIC_AT)
        while at >= 0 and base + at - MAGIC_AT < end:
            position = base + at - MAGIC_AT
            if could_start(window, at - MAGIC_AT, size - position):
                header = read_batch_header(window, at - MAGIC_AT)
                # Bytes that are no batch may claim any length: only a header is read where the next batch should be.
                if _is_followed(file, position, header, size) and _is_whole(file, window, base, position, header.size_bytes):
                    return position, header
            at = window.find(b"\x02", at + 1)
        if len(window) <= HEADER_SIZE:
            return None
        base, reach = base + len(window) - HEADER_SIZE, min(4 * reach, WINDOW)
    return None


def _is_whole(file: OpenFile, window: bytes, base: int, position: int, size: int) -> bool:
    """Return whether a batch has its checksum; `window` is what was read from `base` on."""
    data = window[position - base : position - base + size]
    return is_good(data if len(data) == size else file.read_at(position, size), size)


def _first_reach(file: OpenFile) -> int:
    return _FAR_GUESS if is_remote(file) else _GUESS


def _is_followed(file: OpenFile, position: int, header: BatchHeader, size: int) -> bool:
    """Return whether a batch ends where the file does, or where one of later offsets begins."""
    end = position + header.size_bytes
    following = _header(file, end, size)
    return end == size if following is None else following.base_offset > header.last_offset


def _header(file: OpenFile, position: int, size: int) -> BatchHeader | None:
    """Return the header of the batch of version 2 that starts at a place, None where no whole one does."""
    return _header_in(file.read_at(position, HEADER_SIZE), 0, size - position)


def _header_in(window: bytes, at: int, left: int) -> BatchHeader | None:
    if len(window) - at < HEADER_SIZE or window[at + MAGIC_AT] != MAGIC_MAX:
        return None
    header = read_batch_header(window, at)
    return header if HEADER_SIZE <= header.size_bytes <= left else None


def headers_from(file: OpenFile, start: int, end: int) -> Iterator[tuple[int, BatchHeader | None, int]]:
    """Yield where each batch starts, its header of version 2, and where the next one starts.

    Where the chain breaks there is neither: the last item is that place twice.
    """
    position, base, window, reach, size = start, start, b"", _first_reach(file), 0
    while position < end:
        at = position - base
        if at + HEADER_SIZE > len(window):
            base, at = position, 0
            window = file.read_at(position, min(reach, end - position))
            reach = next_reach(file, reach, size)
        size = unpack_length(window, at + 8)[0] + LEAD_SIZE if len(window) - at >= MAGIC_END else 0
        if not FRAME_SIZE_MIN <= size <= end - position:
            yield position, None, position
            return
        yield position, _header_in(window, at, end - position), position + size
        position += size
