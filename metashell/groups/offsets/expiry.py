"""Offsets that expire, and empty groups that go with them.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorShard.cleanupGroupMetadata; groups.md 13.4.
"""

from __future__ import annotations

from typing import Final

from metashell.groups.context import Context
from metashell.groups.decision import Decision
from metashell.groups.group import Group
from metashell.groups.offsets.order import in_order
from metashell.groups.offsets.pending import is_pending
from metashell.groups.offsets.records import commit_tombstone
from metashell.groups.record import Record
from metashell.groups.state import Committed, State

TIMER: Final = ("expire-group-metadata",)


def begin_expiry(context: Context, now_ms: int) -> None:
    """Look for what has expired from now on, again and again."""

    def expire(at_ms: int) -> Decision:
        begin_expiry(context, at_ms)
        return Decision(expired(context.state, at_ms, context.settings.offsets_retention_ms))

    # An interval of nothing would be due for ever.
    context.timers.schedule(TIMER, now_ms + max(context.settings.offsets_retention_check_interval_ms, 1), expire)


def expired(state: State, now_ms: int, retention_ms: int) -> list[Record]:
    """The tombstones of all offsets that have expired, and of empty groups that have none left."""
    records: list[Record] = []
    for group_id, group in state.groups.items():
        known = state.offsets.get(group_id, {})
        gone = in_order(key for key, offset in known.items() if _has_expired(state, group, key, offset, now_ms, retention_ms))
        records += [commit_tombstone(group_id, *key) for key in gone]
        if group.is_expiring and len(gone) == len(known) and group_id not in state.pending and group.is_empty:
            records += group.tombstones()
    return records


def expires_ms(group: Group, topic: str, committed: Committed, retention_ms: int) -> int | None:
    """When an offset expires if its group stays as it is, None for never."""
    base_ms = group.expiry_base_ms(committed.commit_ms)
    if base_ms is None or group.is_subscribed(topic):
        return None
    return committed.expire_ms if committed.expire_ms >= 0 else base_ms + retention_ms


def _has_expired(state: State, group: Group, key: tuple[str, int], committed: Committed, now_ms: int, retention_ms: int) -> bool:
    due_ms = expires_ms(group, key[0], committed, retention_ms)
    return due_ms is not None and due_ms <= now_ms and not is_pending(state, group.group_id, key)
