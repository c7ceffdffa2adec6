"""How many bytes records take, by kind and by topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from metashell.codec.frame import record_type_name
from metashell.codec.primitives import read_uvarint
from metashell.codec.record_walk import walk_records
from metashell.codec.usual_records import GAVE_UP, make_loop
from metashell.errors import DecodeError

if TYPE_CHECKING:
    from metashell.image.source import Batch

FRAMING: Final = "(framing of batches and records)"
CONTROL: Final = "(control records)"
NO_TYPE: Final = "(records without a type)"
_TOPIC: Final = 2
_ID_AT: Final = {3: 7, 5: 7, 9: 3}
"""Where the topic's id begins in a value, by record type: partitions, their changes, removals. A topic's own has its name before it."""
_LONG: Final = 128
_ID_SIZE: Final = 16


class Sizes:
    """Bytes and counts of records of some batches.

    Shape: `bytes_of` and `count_of` are by the name of the record's type, with FRAMING and CONTROL; `topic_bytes` and `topic_counts`
    by the topic's 16-byte id. All bytes are those of values but for FRAMING, which is the rest of the batches.
    """

    def __init__(self, *, by_topic: bool = False) -> None:
        self.topic_bytes: Counter[bytes] = Counter()
        self.topic_counts: Counter[bytes] = Counter()
        self._bytes: Counter[int | str] = Counter()
        self._counts: Counter[int | str] = Counter()
        self._by_topic = by_topic
        self._walk = make_loop("add((start, end))", parameters="add")

    @property
    def bytes_of(self) -> dict[str, int]:
        return {_name(key): size for key, size in self._bytes.items()}

    @property
    def count_of(self) -> dict[str, int]:
        return {_name(key): count for key, count in self._counts.items()}

    def add(self, batches: Iterable[Batch], max_size: int) -> None:
        """Take all batches into account. A batch whose records cannot be separated is all framing."""
        for batch in batches:
            header = batch.header
            whole = header.size_bytes
            if header.is_control:
                self._bytes[CONTROL] += whole
                self._counts[CONTROL] += header.count
                continue
            try:
                buf, start, end = batch.records_area(max_size)
                values = self._values(buf, start, end, header.count)
            except DecodeError:
                values = []
            taken = 0
            for at, stop in values:
                kind: int | str = buf[at + 1] if stop - at > 1 else NO_TYPE
                if isinstance(kind, int) and kind >= _LONG:
                    kind = _long_type(buf[at + 1 : stop])
                size = stop - at
                taken += size
                self._bytes[kind] += size
                self._counts[kind] += 1
                if self._by_topic and (kind == _TOPIC or kind in _ID_AT):
                    self._take_topic(buf, at, stop, kind)
            self._bytes[FRAMING] += max(whole - taken, 0)

    def _values(self, buf: bytes, start: int, end: int, count: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        if self._walk(buf[:end], start, 0, count, found.append) != GAVE_UP:
            return found
        return [(fields[4], fields[4] + fields[5]) for fields in walk_records(buf, start, end, count) if fields[5] > 0]

    def _take_topic(self, buf: bytes, at: int, stop: int, kind: int) -> None:
        begin = _after_name(buf, at + 3, stop) if kind == _TOPIC else at + _ID_AT[kind]
        # A value that is too short for an id is a fault, and of no topic.
        if begin <= stop - _ID_SIZE:
            id = buf[begin : begin + _ID_SIZE]
            self.topic_bytes[id] += stop - at
            self.topic_counts[id] += 1


def _after_name(buf: bytes, at: int, stop: int) -> int:
    """Where the name of a topic's record ends; beyond the record where it does not say."""
    try:
        size, at = read_uvarint(buf, at)
    except (DecodeError, IndexError):
        return stop
    return at + size - 1


def _long_type(buf: bytes) -> int | str:
    """The type of a record that takes more than one byte."""
    try:
        return read_uvarint(buf, 0)[0]
    except (DecodeError, IndexError):
        return NO_TYPE


def _name(key: int | str) -> str:
    return key if isinstance(key, str) else record_type_name(key)
