"""How a process that is a controller looks for garbage: in small pieces.

Decisions and replay make no cycles, and what an image consists of lives long; Python's own collector would look at all of it again and
again, for longer than a heartbeat should wait. So only what was made lately is looked at, some thousand objects at a time; what is alive by
then is left alone. Once an hour everything is looked at, if that is a small matter, because connections that lived for long leave cycles.
If it is none, an image was loaded since: what is there by then is left alone for ever, so that it is not counted every hour.

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

YOUNG: Final = 5_000
"""New objects after which the new ones are looked at: a millisecond."""
YOUNGER: Final = 5
"""Such looks after which those of all of them are taken together: some 5 ms."""
NEVER: Final = 1_000_000_000
PERIOD_S: Final = 3600.0
ALL_MAX: Final = 60_000
"""Old objects up to which all of them are looked at: some 30 ms."""


class Garbage:
    """Collects while it is open. `held` counts how long the looks at everything take, and to see whether there is too much."""

    def __init__(self, held: HeldTime) -> None:
        self._held = held
        self._loop = asyncio.get_running_loop()
        self._thresholds = gc.get_threshold()
        gc.freeze()
        gc.set_threshold(YOUNG, YOUNGER, NEVER)
        gc.enable()
        self._timer = self._loop.call_later(PERIOD_S, self.collect)

    def close(self) -> None:
        """Leave it to Python again."""
        self._timer.cancel()
        gc.set_threshold(*self._thresholds)

    def collect(self) -> None:
        """Look at everything now, if it is little enough, and again after a period."""
        self._timer.cancel()
        started = perf_counter()
        if len(gc.get_objects(2)) <= ALL_MAX:
            gc.collect()
        else:
            gc.freeze()
        self._held.note(perf_counter() - started)
        self._timer = self._loop.call_later(PERIOD_S, self.collect)
