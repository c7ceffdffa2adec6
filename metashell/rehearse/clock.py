"""The clock of a rehearsal: a heap of what is to happen, which nobody has to wait for."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

Action = Callable[[], None]


class Clock:
    """A heap of actions by time. Actions of the same time run in the order in which they were added.

    Shape: `busy` counts the pending actions without deadlines. A deadline only matters if something else does not happen before it, so a
    rehearsal that waits for deadlines alone is at rest.
    """

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self.busy = 0
        self._heap: list[tuple[int, int, bool, Action]] = []
        self._count = 0

    def at(self, at_ms: int, action: Action, *, is_deadline: bool = False) -> None:
        """Schedule an action; if its time is over, it runs next."""
        self._count += 1
        self.busy += not is_deadline
        heappush(self._heap, (max(at_ms, self.now_ms), self._count, is_deadline, action))

    def after(self, delay_ms: int, action: Action, *, is_deadline: bool = False) -> None:
        self.at(self.now_ms + delay_ms, action, is_deadline=is_deadline)

    @property
    def next_ms(self) -> int | None:
        """The time of the next action, None without one."""
        return self._heap[0][0] if self._heap else None

    def run_next(self) -> None:
        """Advance to the next action and run it."""
        self.now_ms, _, is_deadline, action = heappop(self._heap)
        self.busy -= not is_deadline
        action()
