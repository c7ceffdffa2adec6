"""Which function decides a request of which API, and which one replays a record of which type."""

from __future__ import annotations

from collections.abc import Callable

from metashell.codec import api_keys
from metashell.groups.context import Context, Handler
from metashell.groups.coordinator.finding import find_coordinator
from metashell.groups.coordinator.inventory import delete_groups, list_groups
from metashell.groups.offsets.commit import commit
from metashell.groups.offsets.deletion import delete_offsets
from metashell.groups.offsets.expiry import begin_expiry
from metashell.groups.offsets.fetch import fetch
from metashell.groups.offsets.records import LEGACY_OFFSET_COMMIT, OFFSET_COMMIT
from metashell.groups.offsets.replay import replay_commit
from metashell.groups.offsets.transactions import add_offsets, end_txn, init_producer_id, txn_offset_commit
from metashell.groups.record import Place, Record
from metashell.groups.state import State

Replay = Callable[[State, Record, Place], None]
OnLoaded = Callable[[Context, int], None]

HANDLERS: dict[int, Handler] = {
    api_keys.OFFSET_COMMIT: commit,
    api_keys.OFFSET_FETCH: fetch,
    api_keys.FIND_COORDINATOR: find_coordinator,
    api_keys.LIST_GROUPS: list_groups,
    api_keys.INIT_PRODUCER_ID: init_producer_id,
    api_keys.ADD_OFFSETS_TO_TXN: add_offsets,
    api_keys.END_TXN: end_txn,
    api_keys.TXN_OFFSET_COMMIT: txn_offset_commit,
    api_keys.DELETE_GROUPS: delete_groups,
    api_keys.OFFSET_DELETE: delete_offsets,
}
"""By api key."""

REPLAYS: dict[int, Replay] = {LEGACY_OFFSET_COMMIT: replay_commit, OFFSET_COMMIT: replay_commit}
"""By record type. Types that are not here are skipped."""

ON_LOADED: tuple[OnLoaded, ...] = (begin_expiry,)
"""What begins when a log has been read to its end: `(context, now_ms)` sets timers."""
