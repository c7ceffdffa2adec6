"""The chain of a file's batches, walked over headers only, and where it continues behind corruption."""

from __future__ import annotations

from typing import Final

from metashell.codec.batches import CRC_START, HEADER_SIZE, LEAD_SIZE, MAGIC_END, read_batch_header
from metashell.codec.crc32c import crc32c
from metashell.codec.framing import FRAME_SIZE_MIN, MAGIC_MAX, unpack_length
from metashell.columns.inputs.files import is_far
from metashell.log.files import OpenFile

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
        """Whether two entries of an index are right: each points at a good batch, and a chain leads from one to the other.

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
    """How much to read at once of what follows a batch: only a header of large ones, more and more of small ones.

    In a store a read costs more than a megabyte does.
    """
    if is_far(file):
        return WINDOW
    return HEADER_SIZE if batch_size > _LARGE else min(max(2 * reach, 1 << 12), WINDOW)


def is_good(data: bytes, size: int) -> bool:
    """Whether that is one whole batch of version 2 with the right checksum."""
    if len(data) < HEADER_SIZE or len(data) != size:
        return False
    return crc32c(data, CRC_START) == int.from_bytes(data[MAGIC_END:CRC_START], "big")


def resync(file: OpenFile, broken: int, end: int) -> int | None:
    """The first place behind `broken` where the chain continues; None if there is none.

    A batch is guessed by its magic, length and checksum. It is believed only if good batches follow it, one upon another, up to
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
    """A cheap look at what might be a header: a length that fits, and record counts that do."""
    if at + HEADER_SIZE > len(window):
        return False
    length = unpack_length(window, at + 8)[0] + LEAD_SIZE
    if not HEADER_SIZE <= length <= left or window[at + 21] or window[at + 22] > 127:
        return False
    header = read_batch_header(window, at)
    return header.base_offset >= 0 and header.last_offset_delta >= 0 and 0 <= header.count <= length


def _leads_to(file: OpenFile, start: int, end: int, led_nowhere: set[int]) -> bool:
    """Whether good batches follow one another from `start` to `end`; the places of a chain that fails are remembered."""
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
