"""Where the records of a metadata batch end, and that each is of a known kind: what verifying spends its time on.

The tight loop of `codec/usual_records.py` judges a record by its first twelve bytes (size, attributes, timestamp and offset
delta, null key, size of the value, and its frame) and by its last one. Clusters write few such beginnings, so what it said of one
is kept, for each place in a batch, and asked first: that takes half the time. The records of users have a loop of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from metashell.codec.dispatch import METADATA_TYPES
from metashell.codec.frame import FRAME_VERSION
from metashell.codec.registry import MessageType, message_type
from metashell.codec.usual_records import GAVE_UP, make_loop
from metashell.errors import DecodeError

FRAME_SIZE: Final = 3
_WINDOW: Final = 12
"""Two bytes of size, two zeros, two bytes of offset delta, the null key, two bytes of the value's size, three of its frame."""
_PLACES_MAX: Final = 1 << 12
"""Further on in a batch a beginning is not met often enough. An offset delta of three bytes would not fit the window."""
_KEPT_MAX: Final = 1 << 16

Loop = Callable[[bytes, int, int, int], int]


class BoundaryWalk:
    """Walks the records of batches, and keeps what it learns from one to the next."""

    def __init__(self) -> None:
        self._loop: Loop = make_loop(_BODY, names={"known": _Known()})
        self._strides: list[dict[bytes, int]] = []
        self._kept = 0

    def walk(self, buf: bytes, at: int, first: int, count: int) -> int:
        """The index after `count` records of a batch, which start at index `at`; GAVE_UP where one is not a usual, known one."""
        if count > _PLACES_MAX or first:
            return self._loop(buf, at, first, count)
        strides = self._strides
        while len(strides) < count:
            strides.append({})
        place = 0
        try:
            for known in strides if len(strides) == count else strides[:count]:
                stride = known.get(buf[at : at + _WINDOW])
                if stride is None:
                    after = self._learn(buf, at, place)
                    if after == GAVE_UP:
                        return GAVE_UP
                    at = after
                else:
                    at += stride
                    if buf[at - 1]:  # the number of headers
                        return GAVE_UP
                place += 1
        except IndexError:
            return GAVE_UP
        return at

    def _learn(self, buf: bytes, at: int, place: int) -> int:
        """The index after one record, by the loop; a good beginning is kept."""
        after = self._loop(buf, at, place, 1)
        if after != GAVE_UP:
            if self._kept >= _KEPT_MAX:
                for known in self._strides:
                    known.clear()
                self._kept = 0
            self._strides[place][buf[at : at + _WINDOW]] = after - at
            self._kept += 1
        return after


_BODY = f"""
known[buf[start : start + {FRAME_SIZE}]]
if value_size < {2 * FRAME_SIZE}: return GAVE_UP
"""


class _Known(dict[bytes, bool]):
    """The first three bytes of a value (frame version, type, version) -> True. Errors: DecodeError for those of no known record."""

    def __missing__(self, start: bytes) -> bool:
        known_message(start)
        self[start] = True
        return True


def known_message(start: bytes) -> MessageType:
    """The message of a value that starts with these three bytes. Errors: DecodeError where they are those of no known record."""
    name = METADATA_TYPES.get(start[1]) if len(start) == FRAME_SIZE and start[0] == FRAME_VERSION else None
    if name is None:
        raise DecodeError("not a record that is known")
    message = message_type("metadata", name)
    if not message.versions[0] <= start[2] <= message.versions[1]:
        raise DecodeError("not a version that is known")
    return message


def walk_plain(buf: bytes, at: int, end: int, count: int) -> tuple[int, int] | None:
    """The largest timestamp delta and the last offset delta of `count` records that fill `buf[at:end]`; None to look with care.

    Taken are records whose sizes and deltas have at most three bytes, and no sign, that ascend and have no headers.
    """
    latest = 0
    before = -1
    numbers = [0, 0, 0, 0, 0]
    try:
        for _ in range(count):
            for field in _FIELDS:
                number = buf[at]
                at += 1
                if number > 127:
                    more = buf[at]
                    at += 1
                    number = number & 127 | (more & 127) << 7
                    if more > 127:
                        more = buf[at]
                        at += 1
                        if more > 127:
                            return None
                        number |= more << 14
                numbers[field] = number
                if field == _SIZE:
                    stop = at + (number >> 1)
                    at += 1  # attributes
                elif field >= _KEY and number != _NULL:
                    at += number >> 1
            size, timestamp, offset, key, value = numbers
            if (size | timestamp | offset) & 1 or (key & 1 and key != _NULL) or (value & 1 and value != _NULL):
                return None
            at += 1
            if at != stop or buf[at - 1] or offset >> 1 <= before:
                return None
            before = offset >> 1
            if timestamp > latest:
                latest = timestamp
    except IndexError:
        return None
    return (latest >> 1, before) if at == end else None


_SIZE, _TIMESTAMP, _OFFSET, _KEY, _VALUE = _FIELDS = tuple(range(5))
_NULL = 1
"""The varint of -1."""
