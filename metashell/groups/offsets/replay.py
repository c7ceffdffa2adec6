"""Records of offsets, as a state takes them in.

Source: org.apache.kafka.coordinator.group.OffsetMetadataManager.replay.
"""

from __future__ import annotations

from metashell.groups.offsets.records import committed_of
from metashell.groups.record import Place, Record
from metashell.groups.state import State


def replay_commit(state: State, record: Record, place: Place) -> None:
    """Take in an offset, or the tombstone of one. What a producer commits waits for the end of its transaction."""
    group_id, key = record.key.group, (record.key.topic, record.key.partition)
    if record.value is None:
        _drop(state, group_id, key)
        return
    if group_id not in state.groups:
        state.groups[group_id] = state.make_simple(group_id)
    if place.producer_id < 0:
        offsets = state.offsets.setdefault(group_id, {})
    else:
        offsets = state.pending.setdefault(group_id, {}).setdefault(place.producer_id, {})
    offsets[key] = committed_of(record, place.offset)


def _drop(state: State, group_id: str, key: tuple[str, int]) -> None:
    """A tombstone takes what is committed, and what waits for the end of any transaction."""
    offsets = state.offsets.get(group_id)
    if offsets is not None and offsets.pop(key, None) is not None and not offsets:
        del state.offsets[group_id]
    by_producer = state.pending.get(group_id)
    if by_producer is None:
        return
    for producer_id in [producer_id for producer_id, pending in by_producer.items() if key in pending]:
        del by_producer[producer_id][key]
        if not by_producer[producer_id]:
            del by_producer[producer_id]
    if not by_producer:
        del state.pending[group_id]
