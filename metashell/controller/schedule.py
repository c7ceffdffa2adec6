"""When the periodic tasks of the active controller are due.

Source: org.apache.kafka.controller.PeriodicTaskControlManager.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from metashell.controller.decision import Decision, TaskResult
from metashell.controller.state import State
from metashell.controller.steps import Steps

MORE_WORK_MS: Final = 10
"""A task that did not finish comes again this soon."""

AFTER_FAILURE_MS: Final = 300_000
"""A task that raised comes again this late."""

Step = Callable[[State, int], TaskResult | Steps[TaskResult]]
"""`(state, now_ms) -> (what to write, whether there may be more to do)`."""


class PeriodicTask(NamedTuple):
    name: str
    period_ms: int
    step: Step


class Schedule:
    """The tasks and their next times; empty while another controller is active."""

    def __init__(self) -> None:
        self._tasks: dict[str, PeriodicTask] = {}
        self._due: dict[str, int] = {}

    def start(self, tasks: list[PeriodicTask], now_ms: int) -> None:
        self._tasks = {task.name: task for task in tasks}
        self._due = {task.name: now_ms + task.period_ms for task in tasks}

    def stop(self) -> None:
        self._tasks.clear()
        self._due.clear()

    def next_due_ms(self) -> int | None:
        """When `run` has something to do, None for never."""
        return min(self._due.values(), default=None)

    def shift(self, name: str, at_ms: int) -> None:
        """Let a task run next at the first time from `at_ms` on that its period gives it.

        For a rehearsal, which knows that until then it finds nothing to do.
        """
        if name in self._due:
            due_ms, period_ms = self._due[name], self._tasks[name].period_ms
            self._due[name] = due_ms - (due_ms - at_ms) // period_ms * period_ms

    def next_task(self) -> str | None:
        """The task that `run` takes next, None for none."""
        return min(self._due, key=self._due.__getitem__, default=None)

    def run(self, state: State, now_ms: int) -> Steps[Decision | None]:
        """One step of the task that is due the longest; None if none is."""
        name = self.next_task()
        if name is None or self._due[name] > now_ms:
            return None
        task = self._tasks[name]
        self._due[name] = now_ms + AFTER_FAILURE_MS
        made = task.step(state, now_ms)
        decision, has_more = made if isinstance(made, tuple) else (yield from made)
        self._due[name] = now_ms + (MORE_WORK_MS if has_more else task.period_ms)
        return decision
