"""Share state as others change it: the share coordinator has made it, or could not; or its topic is gone.

Source: groups.md 15, golden scenarios share-life and watched-share-grows.
"""

from __future__ import annotations

from collections.abc import Collection

from metashell.groups.context import Context
from metashell.groups.decision import Decision, Effect, InitializeShareState
from metashell.groups.record import Record
from metashell.groups.share.group import ShareGroup
from metashell.groups.share.records import share_state_record
from metashell.groups.share.share_state import NO_STATE, NamedPartitions
from metashell.groups.topics import Topics


def state_initialized(context: Context, effect: Effect, is_ok: bool, now_ms: int) -> Decision:
    """Note that partitions are ready, or that nobody waits for them any more. What was asked for a group that is gone comes to nothing."""
    assert isinstance(effect, InitializeShareState)
    group = context.state.groups.get(effect.group_id)
    if not isinstance(group, ShareGroup):
        return Decision()
    state = group.share_state or NO_STATE
    asked = {
        id: NamedPartitions(state.initializing[id].name, frozenset(numbers))
        for id, numbers in effect.partitions.items()
        if id in state.initializing
    }
    after = state.made(asked) if is_ok else state.not_made(asked)
    return Decision([share_state_record(group.group_id, after)] if after != state else [])


def topics_deleted(
    context: Context, old: Topics, new: Topics, changed: Collection[str], deleted: Collection[str], now_ms: int
) -> list[Record]:
    """The records that drop deleted topics from what groups have share state of."""
    ids = {topic.id for name in deleted if (topic := old.named(name)) is not None}
    records = []
    for group in context.state.groups.values():
        if isinstance(group, ShareGroup) and group.share_state is not None:
            left = group.share_state.without_topics(ids)
            records += [] if left == group.share_state else [share_state_record(group.group_id, left)]
    return records
