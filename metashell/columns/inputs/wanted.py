"""The parts of a file that may hold wanted rows, found by as few bytes as can be.

Offsets and epochs grow along a log, so that the ends of what is wanted are found by bisection: at some byte a batch is guessed, and
believed if its checksum is right and the next batch follows it. Times need not grow: for them every header of what is left is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from metashell.codec.batches import HEADER_SIZE, LEAD_SIZE, MAGIC_END, BatchHeader, read_batch_header
from metashell.codec.framing import FRAME_SIZE_MIN, MAGIC_MAX, unpack_length
from metashell.columns.bounds import Bounds
from metashell.columns.inputs.chain import MAGIC_AT, WINDOW, could_start, is_good, next_reach
from metashell.columns.inputs.files import is_far
from metashell.log.files import OpenFile

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


def narrowed(file: OpenFile, size: int, bounds: Bounds) -> tuple[int, int]:
    """The part of a file of `size` bytes outside of which no wanted batch lies, by offset and epoch; its ends are ends of batches."""
    if bounds.is_empty:
        return 0, 0
    start, end = 0, size
    if bounds.offset.least is not None or bounds.epoch.least is not None:
        start = _first_that_is_not(bounds.precedes, file, 0, size, is_end=False)
    if bounds.offset.most is not None or bounds.epoch.most is not None:
        end = _first_that_is_not(lambda header: not bounds.follows(header), file, start, size, is_end=True)
    return start, end


def wanted_parts(file: OpenFile, start: int, end: int, bounds: Bounds) -> Iterator[tuple[int, int]]:
    """The parts between two places of the chain that may hold wanted rows. What is no whole batch of version 2 is always wanted.

    In a store nothing is looked at twice: all of it is wanted.
    """
    if is_far(file):
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
    """Where the first batch starts for which `passes` does not hold, as far as that shows; the end if there is none.

    Something that is no whole batch is never left out: of what is wanted it is no end, and before it nothing is known.
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
    while high - low > _NEAR and (is_far(file) or guess < _GUESS_MAX):
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
    """The first good batch that starts from `start` on, before `end`, and that another one follows; None if there is none.

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
                # What is no batch may claim any length: of that only a header is read, where the next batch should be.
                if _is_followed(file, position, header, size) and _is_whole(file, window, base, position, header.size_bytes):
                    return position, header
            at = window.find(b"\x02", at + 1)
        if len(window) <= HEADER_SIZE:
            return None
        base, reach = base + len(window) - HEADER_SIZE, min(4 * reach, WINDOW)
    return None


def _is_whole(file: OpenFile, window: bytes, base: int, position: int, size: int) -> bool:
    """Whether a batch has its checksum; `window` is what was read from `base` on."""
    data = window[position - base : position - base + size]
    return is_good(data if len(data) == size else file.read_at(position, size), size)


def _first_reach(file: OpenFile) -> int:
    return _FAR_GUESS if is_far(file) else _GUESS


def _is_followed(file: OpenFile, position: int, header: BatchHeader, size: int) -> bool:
    """Whether a batch ends where the file does, or where one of later offsets begins."""
    end = position + header.size_bytes
    following = _header(file, end, size)
    return end == size if following is None else following.base_offset > header.last_offset


def _header(file: OpenFile, position: int, size: int) -> BatchHeader | None:
    """The header of the batch of version 2 that starts at a place, None where no whole one does."""
    return _header_in(file.read_at(position, HEADER_SIZE), 0, size - position)


def _header_in(window: bytes, at: int, left: int) -> BatchHeader | None:
    if len(window) - at < HEADER_SIZE or window[at + MAGIC_AT] != MAGIC_MAX:
        return None
    header = read_batch_header(window, at)
    return header if HEADER_SIZE <= header.size_bytes <= left else None


def headers_from(file: OpenFile, start: int, end: int) -> Iterator[tuple[int, BatchHeader | None, int]]:
    """Where each batch starts, its header of version 2, and where the next one starts.

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
