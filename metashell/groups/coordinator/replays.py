"""Which function replays a record of which type: all that reading a log needs.

Nothing here knows of requests, timers or assignors, so that who folds a log does not import them.
"""

from __future__ import annotations

from collections.abc import Callable

from metashell.groups.classic.metadata_record import GROUP_METADATA
from metashell.groups.classic.replay import make_simple, replay_group_metadata
from metashell.groups.consumer.replay import CONSUMER_REPLAYS
from metashell.groups.offsets.records import LEGACY_OFFSET_COMMIT, OFFSET_COMMIT
from metashell.groups.offsets.replay import replay_commit
from metashell.groups.record import Place, Record
from metashell.groups.share.replay import REPLAYS as SHARE_REPLAYS
from metashell.groups.state import State
from metashell.groups.streams.replay import REPLAYS as STREAMS_REPLAYS

Replay = Callable[[State, Record, Place], None]

REPLAYS: dict[int, Replay] = {
    LEGACY_OFFSET_COMMIT: replay_commit,
    OFFSET_COMMIT: replay_commit,
    GROUP_METADATA: replay_group_metadata,
    **CONSUMER_REPLAYS,
    **SHARE_REPLAYS,
    **STREAMS_REPLAYS,
}
"""By record type. Types that are not here are skipped."""


def make_state() -> State:
    """A state of which no record is known yet."""
    return State(make_simple)


def replay(state: State, record: Record, place: Place) -> None:
    """Take in one record of the log."""
    function = REPLAYS.get(record.type)
    if function is not None:
        function(state, record, place)
