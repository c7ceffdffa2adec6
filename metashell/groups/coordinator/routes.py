"""Which function decides a request of which API, and what else the coordinator hears of."""

from __future__ import annotations

from collections.abc import Callable, Collection

from metashell.codec import api_keys
from metashell.groups.classic.describe import describe_groups
from metashell.groups.classic.load import begin_sessions, end_waits
from metashell.groups.consumer.describe import describe as consumer_describe
from metashell.groups.consumer.heartbeat import heartbeat as consumer_heartbeat
from metashell.groups.consumer.loading import begin_consumers, consumer_topics_changed
from metashell.groups.context import Context, Handler
from metashell.groups.coordinator.describing import describe_share_groups, describe_streams_groups
from metashell.groups.coordinator.dispatch import heartbeat, join, leave, sync
from metashell.groups.coordinator.finding import find_coordinator
from metashell.groups.coordinator.inventory import delete_groups, end_deletions, list_groups, share_state_deleted
from metashell.groups.decision import Decision, DeleteShareState, Effect, InitializeShareState
from metashell.groups.offsets.commit import commit
from metashell.groups.offsets.deletion import delete_offsets, topics_deleted
from metashell.groups.offsets.expiry import begin_expiry
from metashell.groups.offsets.fetch import fetch
from metashell.groups.offsets.transactions import add_offsets, end_txn, init_producer_id, txn_offset_commit
from metashell.groups.record import Record
from metashell.groups.request import Answer
from metashell.groups.share.effects import state_initialized
from metashell.groups.share.effects import topics_deleted as topics_deleted_for_share
from metashell.groups.share.heartbeat import heartbeat as share_heartbeat
from metashell.groups.share.session import start_sessions as start_share_sessions
from metashell.groups.streams.heartbeat import heartbeat as streams_heartbeat
from metashell.groups.streams.timeouts import start_timers as start_streams_timers
from metashell.groups.topics import Topics

OnLoaded = Callable[[Context, int], None]
OnUnloaded = Callable[[Context, int], list[Answer]]
OnTopics = Callable[[Context, Topics, Topics, Collection[str], Collection[str], int], list[Record]]
OnEffect = Callable[[Context, Effect, bool, int], Decision]

HANDLERS: dict[int, Handler] = {
    api_keys.JOIN_GROUP: join,
    api_keys.HEARTBEAT: heartbeat,
    api_keys.LEAVE_GROUP: leave,
    api_keys.SYNC_GROUP: sync,
    api_keys.CONSUMER_GROUP_HEARTBEAT: consumer_heartbeat,
    api_keys.CONSUMER_GROUP_DESCRIBE: consumer_describe,
    api_keys.DESCRIBE_GROUPS: describe_groups,
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
    api_keys.SHARE_GROUP_HEARTBEAT: share_heartbeat,
    api_keys.SHARE_GROUP_DESCRIBE: describe_share_groups,
    api_keys.STREAMS_GROUP_HEARTBEAT: streams_heartbeat,
    api_keys.STREAMS_GROUP_DESCRIBE: describe_streams_groups,
}
"""By api key."""

ON_LOADED: tuple[OnLoaded, ...] = (begin_sessions, begin_consumers, start_share_sessions, start_streams_timers, begin_expiry)
"""What begins when a log has been read to its end: `(context, now_ms)` sets timers."""

ON_UNLOADED: tuple[OnUnloaded, ...] = (end_waits, end_deletions)
"""What is answered to those who wait when the coordinator goes: `(context, now_ms)`."""

ON_TOPICS: tuple[OnTopics, ...] = (topics_deleted, consumer_topics_changed, topics_deleted_for_share)
"""What other metadata come to: `(context, old, new, changed names, deleted names, now_ms)` gives records of one batch."""

ON_EFFECTS: dict[type[Effect], OnEffect] = {InitializeShareState: state_initialized, DeleteShareState: share_state_deleted}
"""What follows once an effect was performed, by its type: `(context, effect, is_ok, now_ms)`."""
