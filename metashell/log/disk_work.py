"""What a change of the log asks of the disk: carried out at once, or left to another thread.

A log is changed in memory by calls that must return at once, and a disk may take seconds. After `defer` such a call leaves its steps
here, in the order in which they have to happen. The driver of the log takes them after the call, has them carried out by a thread, and
lets nobody see the call's result before that. What is durable before what is thus the same in both ways:

- a cut (the log truncated, or begun anew at a snapshot) is on disk before anything is written behind it, so recovery never meets a new
  batch in front of an old one; an append or a flush that found a cut still waiting carries it out itself;
- steps that nothing rests on (`is_awaited` false: files that are derived from the batches, or out of use) may come later, but in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Step: TypeAlias = Callable[[], object]


class Work:
    """Steps that wait for the disk. `is_awaited`: nothing may rest on the change that left them before they are done."""

    __slots__ = ("_failed", "is_awaited", "is_done", "steps")

    def __init__(self, failed: Callable[[OSError], None]) -> None:
        self.steps: list[Step] = []
        self.is_awaited = False
        self.is_done = False
        self._failed = failed

    def carry_out(self) -> None:
        """Do it, in any thread. Errors: OSError, which ends the log."""
        try:
            for step in self.steps:
                step()
        except OSError as error:
            self._failed(error)
            raise
        self.is_done = True


class DiskWork:
    """The steps of one log. `failed` gets an error, which is then raised to the thread that carries them out."""

    __slots__ = ("_failed", "_is_deferred", "_taken", "_waiting")

    def __init__(self, failed: Callable[[OSError], None]) -> None:
        self._failed = failed
        self._is_deferred = False
        self._waiting: Work | None = None
        self._taken: Work | None = None
        """The last one that was taken and is awaited."""

    def defer(self) -> None:
        """From now on steps wait until they are taken."""
        self._is_deferred = True

    def do(self, *steps: Step, is_awaited: bool = True) -> None:
        """Carry out steps, or leave them to be taken. Errors: OSError, when they are carried out."""
        work = self._waiting or Work(self._failed)
        work.steps += steps
        work.is_awaited = work.is_awaited or is_awaited
        if self._is_deferred:
            self._waiting = work
        else:
            work.carry_out()

    def take(self) -> Work | None:
        """The steps that wait now, None for nothing; one thread carries out all that is taken, in order."""
        work, self._waiting = self._waiting, None
        if work is not None and work.is_awaited:
            self._taken = work
        return work

    def settle(self) -> None:
        """Let nothing wait that is awaited: the log is about to be written. Errors: OSError."""
        taken = self._taken
        assert taken is None or taken.is_done, "the log is written while it is cut"
        if self._waiting is not None and self._waiting.is_awaited:
            work = self.take()
            assert work is not None
            work.carry_out()

    def finish(self) -> None:
        """Carry out all that waits: the log is closed. Errors: OSError."""
        work = self.take()
        if work is not None:
            work.carry_out()
