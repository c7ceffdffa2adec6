"""Offsets that were committed within a transaction, until it ends.

Source: org.apache.kafka.coordinator.group.OffsetMetadataManager.replayEndTransactionMarker.
"""

from __future__ import annotations

from metashell.groups.state import PartitionKey, State


def end_transaction(state: State, producer_id: int, is_committed: bool) -> None:
    """Make a producer's pending offsets the groups' own, or drop them. One that was committed later stays."""
    for group_id in [group_id for group_id, by_producer in state.pending.items() if producer_id in by_producer]:
        pending = state.pending[group_id].pop(producer_id)
        if not state.pending[group_id]:
            del state.pending[group_id]
        if is_committed:
            offsets = state.offsets.setdefault(group_id, {})
            for key, committed in pending.items():
                known = offsets.get(key)
                if known is None or known.record_offset < committed.record_offset:
                    offsets[key] = committed


def is_pending(state: State, group_id: str, key: PartitionKey) -> bool:
    """Whether an open transaction has an offset for this partition."""
    return any(key in pending for pending in state.pending.get(group_id, {}).values())


def pending_keys(state: State, group_id: str) -> set[PartitionKey]:
    """The partitions for which open transactions have offsets."""
    return {key for pending in state.pending.get(group_id, {}).values() for key in pending}
