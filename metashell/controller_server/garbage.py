"""When a process that is a controller looks for garbage: in small pieces between events, never in the middle of one.

Decisions and replay make no cycles, and what an image consists of lives long; Python's own collector would look at all of it again and
again. So it is off. Once a second, what was made since the last time is looked at, and what is alive of it is put out of sight. After a
load that is too much for one piece: it is put out of sight as it is. Now and then everything is looked at, while that is a small matter,
because connections and tasks that lived for long leave cycles.

Only a process that is nothing but a controller does this: it is the whole process's collector. This module imports asyncio, so it is itself
imported inside functions.
"""

from __future__ import annotations

import asyncio
import gc
from time import perf_counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from metashell.server.held import HeldTime

PERIOD_S: Final = 1.0
NEW_MAX: Final = 100_000
"""Objects since the last time that are looked at in one piece: some 10 ms."""
ALL_EVERY: Final = 3600
"""Periods between two looks at everything."""
ALL_MAX: Final = 300_000
"""Objects out of sight up to which everything is looked at: some 30 ms."""


class Garbage:
    """Collects while it is open. `held` counts how long that takes."""

    def __init__(self, held: HeldTime) -> None:
        self._held = held
        self._loop = asyncio.get_running_loop()
        self._periods = 0
        gc.disable()
        gc.freeze()
        self._timer = self._loop.call_later(PERIOD_S, self.collect)

    def close(self) -> None:
        """Leave it to Python again."""
        self._timer.cancel()
        gc.enable()

    def collect(self) -> None:
        """Look now, and again after a period."""
        self._timer.cancel()
        started = perf_counter()
        self._periods += 1
        if self._periods % ALL_EVERY == 0 and gc.get_freeze_count() < ALL_MAX:
            gc.unfreeze()
            gc.collect()
        elif gc.get_count()[0] < NEW_MAX:
            gc.collect()
        gc.freeze()
        self._held.note(perf_counter() - started)
        self._timer = self._loop.call_later(PERIOD_S, self.collect)
