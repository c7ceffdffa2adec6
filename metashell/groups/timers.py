"""The coordinator's timers: one for each key, run in the order in which they are due.

Source: org.apache.kafka.coordinator.common.runtime.CoordinatorTimer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from metashell.groups.decision import Decision

Action = Callable[[int], Decision]
"""`now_ms -> what it came to`."""
TimerKey = tuple[str, ...]
"""What kind of timer, the group, and the member where it has one."""


class Due(NamedTuple):
    """A timer that was taken."""

    key: TimerKey
    action: Action


class _Timer:
    """Shape: `queued_ms` is when the heap brings it up, which is never later than `due_ms`."""

    __slots__ = ("action", "due_ms", "number", "queued_ms")

    def __init__(self, due_ms: int, number: int, action: Action) -> None:
        self.due_ms = due_ms
        self.queued_ms = due_ms
        self.number = number
        self.action = action


class Timers:
    """One timer for each key: to schedule it again replaces it.

    A session's timer is put off with each heartbeat and hardly ever runs: its place in the heap is mended when it comes up.
    """

    def __init__(self) -> None:
        self._timers: dict[TimerKey, _Timer] = {}
        self._heap: list[tuple[int, int, TimerKey, _Timer]] = []
        self._count = 0

    def schedule(self, key: TimerKey, due_ms: int, action: Action) -> None:
        self._count += 1
        known = self._timers.get(key)
        if known is not None and known.queued_ms <= due_ms:
            known.due_ms, known.number, known.action = due_ms, self._count, action
            return
        timer = self._timers[key] = _Timer(due_ms, self._count, action)
        heappush(self._heap, (due_ms, timer.number, key, timer))
        if len(self._heap) > 64 + 2 * len(self._timers):
            self._heap = [(timer.queued_ms, timer.number, key, timer) for key, timer in self._timers.items()]
            heapify(self._heap)

    def restart(self, key: TimerKey, due_ms: int) -> bool:
        """Put a timer off, with what it does; whether there was one."""
        known = self._timers.get(key)
        if known is not None:
            self.schedule(key, due_ms, known.action)
        return known is not None

    def redirect(self, key: TimerKey, action: Action) -> None:
        """Change what a timer does, not when. Errors: KeyError."""
        self._timers[key].action = action

    def cancel(self, key: TimerKey) -> None:
        self._timers.pop(key, None)

    def __iter__(self) -> Iterator[TimerKey]:
        return iter(self._timers)

    def __contains__(self, key: TimerKey) -> bool:
        return key in self._timers

    def clear(self) -> None:
        self._timers.clear()
        self._heap.clear()

    def next_due_ms(self) -> int | None:
        """When `pop` has something to give, None for never."""
        while self._heap:
            queued_ms, number, key, timer = self._heap[0]
            if self._timers.get(key) is not timer:
                heappop(self._heap)
            elif number == timer.number and queued_ms == timer.due_ms:
                return queued_ms
            else:
                heappop(self._heap)
                timer.queued_ms = timer.due_ms
                heappush(self._heap, (timer.due_ms, timer.number, key, timer))
        return None

    def pop(self, now_ms: int) -> Due | None:
        """Take the timer that was due first, None where none is due. Of equal times the one that was scheduled first."""
        due_ms = self.next_due_ms()
        if due_ms is None or due_ms > now_ms:
            return None
        key = heappop(self._heap)[2]
        return Due(key, self._timers.pop(key).action)
