"""Times of the last minutes, as quantiles: what Kafka's histograms show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2
from typing import Final

QUANTILES: Final = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)
WINDOW_S: Final = 60.0
_PARTS: Final = 4
"""Buckets for each doubling: a quantile is at most 19 % too large."""
_LEAST_S: Final = 1e-6
_BUCKETS: Final = 128


class TimeWindow:
    """How long things took. `count` and `sum_s` are of all times; quantiles are of the last one to two minutes."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.count = 0
        self.sum_s = 0.0
        self._clock = clock
        self._ends_at = clock() + WINDOW_S
        self._now = [0] * _BUCKETS
        self._before = [0] * _BUCKETS

    def note(self, seconds: float) -> None:
        """Something took so long."""
        self.count += 1
        self.sum_s += seconds
        self._now[0 if seconds <= _LEAST_S else min(_BUCKETS - 1, 1 + int(log2(seconds / _LEAST_S) * _PARTS))] += 1

    def quantiles(self, wanted: Sequence[float] = QUANTILES) -> list[float]:
        """In seconds, 0 where nothing happened."""
        self._turn()
        counts = [now + before for now, before in zip(self._now, self._before, strict=True)]
        total = sum(counts)
        found = []
        for quantile in wanted:
            left = quantile * total
            bucket = 0
            while bucket < _BUCKETS - 1 and (left := left - counts[bucket]) > 0:
                bucket += 1
            found.append(_LEAST_S * 2 ** (bucket / _PARTS) if total else 0.0)
        return found

    def _turn(self) -> None:
        """Forget what is older than two windows; asked seldom, more than that is forgotten at once."""
        now = self._clock()
        if now < self._ends_at:
            return
        self._before = self._now if now < self._ends_at + WINDOW_S else [0] * _BUCKETS
        self._now = [0] * _BUCKETS
        self._ends_at = now + WINDOW_S
