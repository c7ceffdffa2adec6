"""Which function decides a request of which API, and what else the coordinator hears of."""

from __future__ import annotations

from collections.abc import Callable, Collection

from metashell.codec.api_keys import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP
from metashell.groups.classic.load import begin_sessions, end_waits
from metashell.groups.context import Context, Handler
from metashell.groups.coordinator import dispatch
from metashell.groups.decision import Decision, Effect
from metashell.groups.record import Record
from metashell.groups.request import Answer
from metashell.groups.topics import Topics

OnLoaded = Callable[[Context, int], None]
OnUnloaded = Callable[[Context, int], list[Answer]]
OnTopics = Callable[[Context, Topics, Topics, Collection[str], Collection[str], int], list[Record]]
OnEffect = Callable[[Context, Effect, bool, int], Decision]

HANDLERS: dict[int, Handler] = {
    JOIN_GROUP: dispatch.join,
    HEARTBEAT: dispatch.heartbeat,
    LEAVE_GROUP: dispatch.leave,
    SYNC_GROUP: dispatch.sync,
}
"""By api key."""

ON_LOADED: tuple[OnLoaded, ...] = (begin_sessions,)
"""What begins when a log has been read to its end: `(context, now_ms)` sets timers."""

ON_UNLOADED: tuple[OnUnloaded, ...] = (end_waits,)
"""What is answered to those who wait when the coordinator goes: `(context, now_ms)`."""

ON_TOPICS: tuple[OnTopics, ...] = ()
"""What other metadata come to: `(context, old, new, changed names, deleted names, now_ms)` gives records of one batch."""

ON_EFFECTS: dict[type[Effect], OnEffect] = {}
"""What follows once an effect was performed, by its type: `(context, effect, is_ok, now_ms)`."""
