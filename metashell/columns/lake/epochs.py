"""Which leader epoch the offsets of a log have, as far as that was seen.

Two copies of a log that differ at an offset have different epochs there. So a log that was cut and written anew shows at the first batch
that is new.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

_RUNS_MAX: Final = 1024


class Epochs:
    """Runs of offsets with one epoch each, in order. What is between two of them is not known; of many the oldest are forgotten."""

    __slots__ = ("_runs", "_starts")

    def __init__(self, runs: Iterable[tuple[int, int, int]] = ()) -> None:
        self._starts: list[int] = []
        self._runs: list[tuple[int, int, int]] = []
        for start, end, epoch in runs:
            self.add(start, end, epoch)

    def add(self, start: int, end: int, epoch: int) -> None:
        """Note that the offsets from `start` up to, not with, `end` have an epoch; of some that are known already nothing changes.

        -1 is no epoch. A neighbour of the same epoch becomes one run with it, also over offsets between them: epochs grow along a log.
        What does not fit that, of a log that is damaged, is not noted.
        """
        at = bisect_right(self._starts, start) - 1
        is_odd = (at >= 0 and self._runs[at][2] > epoch) or (at + 1 < len(self._runs) and self._runs[at + 1][2] < epoch)
        if start >= end or epoch < 0 or is_odd:
            return
        if at >= 0:
            known = self._runs[at]
            if known[2] == epoch:
                if end <= known[1]:
                    return
                start = known[0]
                self._drop(at)
                at -= 1
            elif known[1] > start:
                return self.add(known[1], end, epoch)
        at += 1
        while at < len(self._runs) and (self._runs[at][0] < end or self._runs[at][2] == epoch):
            following = self._runs[at]
            if following[2] != epoch:
                end = following[0]
                break
            end = max(end, following[1])
            self._drop(at)
        if start < end:
            self._starts.insert(at, start)
            self._runs.insert(at, (start, end, epoch))
        if len(self._runs) > _RUNS_MAX:
            del self._runs[:-_RUNS_MAX], self._starts[:-_RUNS_MAX]

    def _drop(self, at: int) -> None:
        del self._starts[at], self._runs[at]

    def at(self, offset: int) -> int | None:
        """The epoch of an offset, None where it is not known."""
        found = bisect_right(self._starts, offset) - 1
        return self._runs[found][2] if found >= 0 and offset < self._runs[found][1] else None

    def newest_before(self, offset: int) -> int:
        """The newest epoch that is known of offsets before one, -1 where none is."""
        at = bisect_left(self._starts, offset)
        return self._runs[at - 1][2] if at else -1

    def remove_from(self, offset: int) -> None:
        """Forget all offsets from one on."""
        kept = [(start, min(end, offset), epoch) for start, end, epoch in self._runs if start < offset]
        self._runs, self._starts = kept, [start for start, _, _ in kept]

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return iter(self._runs)

    def __bool__(self) -> bool:
        return bool(self._runs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Epochs) and self._runs == other._runs

    def __repr__(self) -> str:
        return f"Epochs({self._runs})"
