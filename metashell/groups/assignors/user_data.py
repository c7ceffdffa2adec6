"""What sticky members send to their leader beside their subscription: what they own and since which generation.

Source: groups.md 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final

from metashell.codec.java_hash import lazy_table_order, string_hash
from metashell.groups.assignors.client_group import Partition

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")


def sticky_user_data(owned: Iterable[Partition], generation: int) -> bytes:
    """What a member of `sticky` sends that had an assignment before; the topics come in the order of a hash table."""
    by_topic: dict[str, list[int]] = {}
    topics = []
    for topic, partition in owned:
        topics.append(topic)
        by_topic.setdefault(topic, []).append(partition)
    order = lazy_table_order(topics, string_hash) if topics else []
    pieces = [_INT32.pack(len(order))]
    for topic in order:
        name, partitions = topic.encode("utf-8", "replace"), by_topic[topic]
        pieces += (_INT16.pack(len(name)), name, _INT32.pack(len(partitions)), *(_INT32.pack(partition) for partition in partitions))
    pieces.append(_INT32.pack(generation))
    return b"".join(pieces)


def cooperative_user_data(generation: int) -> bytes:
    """What a member of `cooperative-sticky` sends: -1 before its first assignment."""
    return _INT32.pack(generation)


def read_sticky(raw: bytes | None) -> tuple[list[Partition], int | None]:
    """What a member owned, and since when; no generation where it says none, nothing of generation -1 where it cannot be read.

    Older members say no generation. What follows is not looked at.
    """
    if not raw:
        return [], None
    reader = _Reader(raw)
    try:
        owned = reader.owned()
    except _ShortError:
        return [], -1
    try:
        return owned, reader.int32()
    except _ShortError:
        return owned, None


def read_cooperative(raw: bytes | None) -> int | None:
    """The generation in which a member got what it owns; None where it says none, -1 where it cannot be read."""
    if raw is None:
        return None
    try:
        return _Reader(raw).int32()
    except _ShortError:
        return -1


class _ShortError(Exception):
    """The bytes end too early, or a length is wrong."""


class _Reader:
    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def owned(self) -> list[Partition]:
        owned: list[Partition] = []
        for _ in range(self._count()):
            topic = self._take(self._length()).decode("utf-8", "replace")
            owned += [(topic, self.int32()) for _ in range(self._count())]
        return owned

    def int32(self) -> int:
        (number,) = _INT32.unpack(self._take(_INT32.size))
        assert isinstance(number, int)
        return number

    def _length(self) -> int:
        (length,) = _INT16.unpack(self._take(_INT16.size))
        assert isinstance(length, int)
        return length

    def _count(self) -> int:
        """How many elements an array has; never more than there are bytes left."""
        count = self.int32()
        if not 0 <= count <= len(self._raw) - self._at:
            raise _ShortError
        return count

    def _take(self, size: int) -> bytes:
        taken = self._raw[self._at : self._at + size]
        if size < 0 or len(taken) < size:
            raise _ShortError
        self._at += size
        return taken
