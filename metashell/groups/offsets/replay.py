"""Records of offsets, as a state takes them in.

Source: groups.md 2.6 and 13.3.
"""

from __future__ import annotations

from metashell.groups.offsets.pending import add_pending, drop_pending
from metashell.groups.offsets.records import committed_of
from metashell.groups.record import Place, Record
from metashell.groups.state import PartitionKey, State


def replay_commit(state: State, record: Record, place: Place) -> None:
    """Take in an offset, or the tombstone of one. What a producer commits waits for the end of its transaction."""
    group_id, key = record.key.group, (record.key.topic, record.key.partition)
    if record.value is None:
        _drop(state, group_id, key)
        return
    if group_id not in state.groups:
        state.groups[group_id] = state.make_simple(group_id)
    if place.producer_id < 0:
        state.offsets.setdefault(group_id, {})[key] = committed_of(record, place.offset)
    else:
        add_pending(state, group_id, place.producer_id, key, committed_of(record, place.offset))


def _drop(state: State, group_id: str, key: PartitionKey) -> None:
    """A tombstone takes what is committed, and what waits for the end of any transaction."""
    offsets = state.offsets.get(group_id)
    if offsets is not None and offsets.pop(key, None) is not None and not offsets:
        del state.offsets[group_id]
    drop_pending(state, group_id, key)
