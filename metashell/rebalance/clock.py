"""The clock of a simulation: a heap of what is to happen, which nobody has to wait for."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

Action = Callable[[Any], None]


STANDSTILL_MAX = 100_000
"""So many events of one moment are a machine that goes round and round."""


class Clock:
    """What happens when. Actions of the same time run in the order in which they were put in.

    Shape: an action gets the one argument that was put in with it, so that no function is made for each event; `events` counts those that
    have run. Whoever finds that his action is out of date takes it off the count again.
    """

    __slots__ = ("_count", "_heap", "events", "now_ms")

    def __init__(self) -> None:
        self.now_ms = 0
        self.events = 0
        self._heap: list[tuple[int, int, Action, Any]] = []
        self._count = 0

    def at(self, at_ms: int, action: Action, argument: Any = None) -> None:
        """Let something happen, at once where its time is over."""
        self._count += 1
        heappush(self._heap, (max(at_ms, self.now_ms), self._count, action, argument))

    def after(self, delay_ms: int, action: Action, argument: Any = None) -> None:
        self.at(self.now_ms + delay_ms, action, argument)

    def run_until(self, end_ms: int, is_over: Callable[[], bool]) -> None:
        """Let happen what is due up to a time; `is_over` is asked after each event."""
        heap = self._heap
        moment_ms, stuck_at = -1, 0
        while heap and heap[0][0] <= end_ms:
            self.now_ms, _, action, argument = heappop(heap)
            self.events += 1
            if self.now_ms != moment_ms:
                moment_ms, stuck_at = self.now_ms, self._count + STANDSTILL_MAX
            assert self._count < stuck_at, f"{action} goes on at {moment_ms} ms without end"
            action(argument)
            if is_over():
                return
        self.now_ms = max(self.now_ms, end_ms)
