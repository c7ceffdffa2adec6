"""Maps and a priority queue with the iteration order of Java's.

Clients see this order: Kafka lists members, elects leaders, chooses protocols and picks the process of a task in it. A Python dict would
give equally valid groups, but not Kafka's, and golden conversations could not be compared byte for byte.
Source: java.util.HashMap of OpenJDK 17 without its trees (in a table of 64 buckets and more, eight keys of one bucket are sorted);
org.apache.kafka.timeline.BaseHashTable of 4.3.1; java.util.PriorityQueue of OpenJDK 17, a binary heap that moves an element only past one
that is strictly greater or smaller."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Final, Generic, TypeVar

from metashell.codec.java import string_hash, string_hash_order

K = TypeVar("K")
V = TypeVar("V")
_GOLDEN_RATIO: Final = -7046029254386353131
_64_BITS: Final = (1 << 64) - 1


class _HashedMap(MutableMapping[str, V], Generic[V]):
    """Shape: `_slots` is the size of the hash table. It never shrinks, so the order depends on how many keys there once were."""

    __slots__ = ("_hashes", "_items", "_order", "_slots")

    def __init__(self, slots: int) -> None:
        self._items: dict[str, V] = {}
        self._hashes: dict[str, int] = {}
        self._order: list[str] | None = None
        self._slots = slots

    @abstractmethod
    def _grown(self, count: int) -> int:
        """Return the size of the table once it holds this many keys."""

    @abstractmethod
    def _ordered(self) -> list[str]: ...

    def __getitem__(self, key: str) -> V:
        return self._items[key]

    def __setitem__(self, key: str, value: V) -> None:
        if key not in self._items:
            self._hashes[key] = string_hash(key)
            self._order = None
            self._slots = self._grown(len(self._items) + 1)
        self._items[key] = value

    def __delitem__(self, key: str) -> None:
        del self._items[key]
        del self._hashes[key]
        self._order = None

    def __iter__(self) -> Iterator[str]:
        if self._order is None:
            self._order = self._ordered()
        return iter(self._order)

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)!r})"


class JavaMap(_HashedMap[V]):
    """java.util.HashMap, filled by `put`: in a bucket, the key that came first is first."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(16)

    def _grown(self, count: int) -> int:
        return self._slots * 2 if count > self._slots * 3 // 4 else self._slots

    def _ordered(self) -> list[str]:
        hashes, mask = self._hashes, self._slots - 1
        return sorted(self._items, key=lambda key: (hashes[key] ^ hashes[key] >> 16) & mask)


class TimelineMap(_HashedMap[V]):
    """TimelineHashMap of modern groups: in a slot, the key that came last is first."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(2)

    def __setitem__(self, key: str, value: V) -> None:
        # BaseHashTable grows before it looks for the key, so replacing a value may grow the table too.
        slots = self._grown(len(self) + 1)
        if slots != self._slots:
            self._slots, self._order = slots, None
        super().__setitem__(key, value)

    def _grown(self, count: int) -> int:
        return self._slots * 2 if count * 3 > self._slots * 4 else self._slots

    def _ordered(self) -> list[str]:
        return timeline_order(list(self._items), self._hashes, self._slots)


def names_in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return names in the order of a java.util.HashSet made from them."""
    names = tuple(names)
    return string_hash_order(names, max(int(len(names) / 0.75) + 1, 16))


def timeline_slots(count: int) -> int:
    """Return the size of the table of a TimelineHashMap that has held this many keys."""
    slots = 2
    while count * 3 > slots * 4:
        slots *= 2
    return slots


def timeline_order(keys: Sequence[K], hashes: Mapping[K, int], slots: int = 2) -> list[K]:
    """Sort keys, given oldest first, into the iteration order of a TimelineHashMap whose table has at least `slots` slots."""
    slots = max(slots, timeline_slots(len(keys)))
    shift = 65 - slots.bit_length()

    def slot(key: K) -> int:
        number = hashes[key]
        signed = number - (1 << 32) if number >> 31 else number
        return (signed * _GOLDEN_RATIO & _64_BITS) >> shift

    newest_first = keys[::-1]
    return sorted(newest_first, key=slot)


T = TypeVar("T")


class JavaQueue(Generic[T]):
    """java.util.PriorityQueue. `poll` returns an item of the lowest rank. Among equal ranks the shape of Java's heap decides."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, T]] = []

    def add(self, rank: float, item: T) -> None:
        heap, at = self._heap, len(self._heap)
        heap.append((rank, item))
        while at > 0 and rank < heap[(at - 1) // 2][0]:
            heap[at] = heap[(at - 1) // 2]
            at = (at - 1) // 2
        heap[at] = (rank, item)

    def __len__(self) -> int:
        return len(self._heap)

    def poll(self) -> T:
        """Errors: IndexError for an empty queue."""
        heap = self._heap
        taken, moved = heap[0][1], heap.pop()
        if not heap:
            return taken
        at = 0
        while (child := 2 * at + 1) < len(heap):
            if child + 1 < len(heap) and heap[child][0] > heap[child + 1][0]:
                child += 1
            if moved[0] <= heap[child][0]:
                break
            heap[at] = heap[child]
            at = child
        heap[at] = moved
        return taken
