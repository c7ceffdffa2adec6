"""Which function decides a request of which API, and which one replays a record of which type."""

from __future__ import annotations

from collections.abc import Callable

from metashell.groups.context import Context, Handler
from metashell.groups.record import Place, Record
from metashell.groups.state import State

Replay = Callable[[State, Record, Place], None]
OnLoaded = Callable[[Context, int], None]

HANDLERS: dict[int, Handler] = {}
"""By api key."""

REPLAYS: dict[int, Replay] = {}
"""By record type. Types that are not here are skipped."""

ON_LOADED: tuple[OnLoaded, ...] = ()
"""What begins when a log has been read to its end: `(context, now_ms)` sets timers."""
