"""The coordinator's timers: one for each key, run in the order in which they are due.

Source: org.apache.kafka.coordinator.common.runtime.CoordinatorTimer.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import NamedTuple

from metashell.groups.decision import Decision

Action = Callable[[int], Decision]
"""`now_ms -> what it came to`."""


class _Timer(NamedTuple):
    due_ms: int
    number: int
    action: Action


class Timers:
    """One timer for each key: to schedule it again replaces it."""

    def __init__(self) -> None:
        self._timers: dict[str, _Timer] = {}
        self._heap: list[tuple[int, int, str]] = []
        self._count = 0

    def schedule(self, key: str, due_ms: int, action: Action) -> None:
        self._count += 1
        self._timers[key] = _Timer(due_ms, self._count, action)
        heappush(self._heap, (due_ms, self._count, key))
        if len(self._heap) > 64 + 4 * len(self._timers):
            self._heap = sorted((timer.due_ms, timer.number, key) for key, timer in self._timers.items())

    def cancel(self, key: str) -> None:
        self._timers.pop(key, None)

    def __contains__(self, key: str) -> bool:
        return key in self._timers

    def clear(self) -> None:
        self._timers.clear()
        self._heap.clear()

    def next_due_ms(self) -> int | None:
        """When `pop` has something to give, None for never."""
        while self._heap:
            due_ms, number, key = self._heap[0]
            timer = self._timers.get(key)
            if timer is not None and timer.number == number:
                return due_ms
            heappop(self._heap)
        return None

    def pop(self, now_ms: int) -> Action | None:
        """Take the timer that was due first, None where none is due. Of equal times the one that was scheduled first."""
        due_ms = self.next_due_ms()
        if due_ms is None or due_ms > now_ms:
            return None
        return self._timers.pop(heappop(self._heap)[2]).action
