"""Which offsets something holds: disjoint intervals, in order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator


class Coverage:
    """A set of offsets as intervals; each has its first offset, and the one after its last."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, intervals: Iterable[tuple[int, int]] = ()) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in intervals:
            self.add(start, end)

    def add(self, start: int, end: int) -> None:
        """Add the offsets from `start` up to, not with, `end`. Neighbours become one interval."""
        if start >= end:
            return
        first, last = bisect_left(self._ends, start), bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]

    def remove_from(self, start: int) -> None:
        """Forget every offset from `start` on."""
        kept = [(first, min(last, start)) for first, last in self if first < start]
        self._starts, self._ends = [first for first, _ in kept], [last for _, last in kept]

    def has(self, start: int, end: int) -> bool:
        """Whether all offsets from `start` up to `end` are in it; no offsets always are."""
        at = bisect_right(self._starts, start) - 1
        return start >= end or (at >= 0 and end <= self._ends[at])

    def missing(self, start: int, end: int) -> list[tuple[int, int]]:
        """What of the offsets from `start` up to `end` is not in it."""
        found = []
        at = bisect_right(self._ends, start)
        while start < end:
            if at == len(self._starts) or self._starts[at] >= end:
                found.append((start, end))
                break
            if start < self._starts[at]:
                found.append((start, self._starts[at]))
            start = self._ends[at]
            at += 1
        return found

    @property
    def start(self) -> int:
        """The first offset; 0 where there is none."""
        return self._starts[0] if self._starts else 0

    @property
    def end(self) -> int:
        """The offset after the last one; 0 where there is none."""
        return self._ends[-1] if self._ends else 0

    def copy(self) -> Coverage:
        return Coverage(self)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(zip(self._starts, self._ends, strict=True))

    def __bool__(self) -> bool:
        return bool(self._starts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Coverage) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"Coverage({list(self)})"
