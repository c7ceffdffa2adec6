"""Deleting share groups: their share state goes first, and the request waits for that.

Source: golden scenarios share-life and describe-and-list.
"""

from __future__ import annotations

from metashell.groups.context import Context
from metashell.groups.decision import DeleteShareState, Effect
from metashell.groups.record import Record
from metashell.groups.share.group import ShareGroup
from metashell.groups.share.records import share_state_record


def begin_deletion(context: Context, group: ShareGroup, records: list[Record]) -> Effect | None:
    """Have a group's share state deleted; its record is added. None for a group that never had any."""
    state = group.share_state
    if state is None:
        return None
    records.append(share_state_record(group.group_id, state.all_deleting()))
    partitions = {id: tuple(sorted(topic.partitions)) for topics in (state.initializing, state.initialized) for id, topic in topics.items()}
    for id in state.deleting:
        topic = context.state.topics.with_id(id)
        if topic is not None:
            partitions.setdefault(id, tuple(range(topic.partition_count)))
    return DeleteShareState(group.group_id, partitions)
