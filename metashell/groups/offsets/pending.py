"""Offsets that were committed within a transaction, until it ends.

Source: org.apache.kafka.coordinator.group.OffsetMetadataManager.replayEndTransactionMarker.
"""

from __future__ import annotations

from metashell.groups.state import Committed, PartitionKey, State


def add_pending(state: State, group_id: str, producer_id: int, key: PartitionKey, committed: Committed) -> None:
    """Take in an offset that waits for the end of its producer's transaction."""
    state.pending.setdefault(group_id, {}).setdefault(producer_id, {})[key] = committed
    state.pending_groups.setdefault(producer_id, set()).add(group_id)


def drop_pending(state: State, group_id: str, key: PartitionKey) -> None:
    """Forget a partition's offsets of all open transactions."""
    by_producer = state.pending.get(group_id, {})
    for producer_id in [producer_id for producer_id, pending in by_producer.items() if key in pending]:
        del by_producer[producer_id][key]
        if not by_producer[producer_id]:
            _take(state, group_id, producer_id)


def end_transaction(state: State, producer_id: int, is_committed: bool) -> None:
    """Make a producer's pending offsets the groups' own, or drop them. One that was committed later stays."""
    for group_id in sorted(state.pending_groups.get(producer_id, ())):
        pending = _take(state, group_id, producer_id)
        if is_committed:
            offsets = state.offsets.setdefault(group_id, {})
            for key, committed in pending.items():
                known = offsets.get(key)
                if known is None or known.record_offset < committed.record_offset:
                    offsets[key] = committed


def _take(state: State, group_id: str, producer_id: int) -> dict[PartitionKey, Committed]:
    """A producer's pending offsets of one group, which is rid of them."""
    pending = state.pending[group_id].pop(producer_id)
    if not state.pending[group_id]:
        del state.pending[group_id]
    groups = state.pending_groups[producer_id]
    groups.discard(group_id)
    if not groups:
        del state.pending_groups[producer_id]
    return pending


def is_pending(state: State, group_id: str, key: PartitionKey) -> bool:
    """Whether an open transaction has an offset for this partition."""
    return any(key in pending for pending in state.pending.get(group_id, {}).values())


def pending_keys(state: State, group_id: str) -> set[PartitionKey]:
    """The partitions for which open transactions have offsets."""
    return {key for pending in state.pending.get(group_id, {}).values() for key in pending}
