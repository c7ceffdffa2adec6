"""What follows when the share coordinator has made share state, or could not.

Source: groups.md 15, golden scenario share-life.
"""

from __future__ import annotations

from metashell.groups.context import Context
from metashell.groups.decision import Decision, Effect, InitializeShareState
from metashell.groups.share.group import ShareGroup
from metashell.groups.share.records import share_state_record
from metashell.groups.share.share_state import NO_STATE, NamedPartitions


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
