"""A dictionary that iterates as java.util.HashMap does: Kafka lists members in this order, and by it chooses leaders and protocols.

Source: java.util.HashMap of OpenJDK 17, without its trees: in a table of 64 buckets and more, eight keys of one bucket are sorted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from typing import Generic, TypeVar

from metashell.codec.java_hash import string_hash

V = TypeVar("V")


def timeline_order(keys: Iterable[str], most: int) -> list[str]:
    """Strings as Kafka's TimelineHashMap has them, which the modern groups use; `keys` came in this order, `most` at one time.

    The table begins with 2 slots, doubles before it is more than three quarters full, and never shrinks; in a slot, the last is first.
    """
    slots = 2
    while most * 0.75 > slots:
        slots *= 2
    shift = 65 - slots.bit_length()
    placed = [((_signed(string_hash(key)) * -7046029254386353131 & 0xFFFFFFFFFFFFFFFF) >> shift, key) for key in keys]
    return [key for _, key in sorted(reversed(placed), key=lambda one: one[0])]


def _signed(number: int) -> int:
    return number - (1 << 32) if number >> 31 else number


class JavaMap(MutableMapping[str, V], Generic[V]):
    """Shape: the table doubles when it is three quarters full and never shrinks; in a bucket, the key that came first is first."""

    __slots__ = ("_buckets", "_hashes", "_items", "_order")

    def __init__(self) -> None:
        self._items: dict[str, V] = {}
        self._hashes: dict[str, int] = {}
        self._order: list[str] | None = None
        self._buckets = 16

    def __getitem__(self, key: str) -> V:
        return self._items[key]

    def __setitem__(self, key: str, value: V) -> None:
        if key not in self._items:
            number = string_hash(key)
            self._hashes[key] = number ^ number >> 16
            self._order = None
            if len(self._items) + 1 > self._buckets * 3 // 4:
                self._buckets *= 2
        self._items[key] = value

    def __delitem__(self, key: str) -> None:
        del self._items[key]
        del self._hashes[key]
        self._order = None

    def __iter__(self) -> Iterator[str]:
        if self._order is None:
            hashes, mask = self._hashes, self._buckets - 1
            self._order = sorted(self._items, key=lambda key: hashes[key] & mask)
        return iter(self._order)

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __len__(self) -> int:
        return len(self._items)
