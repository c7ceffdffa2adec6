"""When members are given up: silent for too long, slow to revoke, or, with the classic protocol, slow to join or to sync.

Source: the schedule... methods of org.apache.kafka.coordinator.group.GroupMetadataManager.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from metashell.groups.consumer.group import ConsumerGroup
from metashell.groups.consumer.leaving import fence
from metashell.groups.consumer.member import UNREVOKED, Member
from metashell.groups.consumer.timer_keys import JOIN, REBALANCE, SESSION, SYNC, timer_key
from metashell.groups.context import Context
from metashell.groups.decision import Decision
from metashell.groups.settings import KindSettings


def settings_of(context: Context, group_id: str) -> KindSettings:
    """The settings of consumer groups, with those of this group's own that were set."""
    own, kind = context.state.group_configs.get(group_id), context.settings.consumer
    if not own:
        return kind
    return replace(
        kind,
        session_timeout_ms=int(own.get("consumer.session.timeout.ms", kind.session_timeout_ms)),
        heartbeat_interval_ms=int(own.get("consumer.heartbeat.interval.ms", kind.heartbeat_interval_ms)),
        assignment_interval_ms=int(own.get("consumer.assignment.interval.ms", kind.assignment_interval_ms)),
    )


def restart_session(context: Context, group_id: str, member: Member, now_ms: int) -> None:
    """Give the member up when it is silent for as long as its session lasts."""
    timeout_ms = settings_of(context, group_id).session_timeout_ms if member.classic is None else member.classic.session_timeout_ms
    _schedule(context, SESSION, group_id, member.member_id, now_ms + timeout_ms)


def watch_revocation(context: Context, group_id: str, member: Member, now_ms: int) -> None:
    """Give a member up that was told to revoke and does not within its rebalance timeout. Members of the classic protocol join instead."""
    if member.classic is not None:
        return
    if member.state != UNREVOKED:
        context.timers.cancel(timer_key(REBALANCE, group_id, member.member_id))
        return
    _schedule(
        context, REBALANCE, group_id, member.member_id, now_ms + member.rebalance_timeout_ms, lambda current: current.epoch == member.epoch
    )


def expect_join(context: Context, group_id: str, member: Member, now_ms: int) -> None:
    """Give a member up that was told to join again and does not; the time of the first telling counts."""
    if timer_key(JOIN, group_id, member.member_id) not in context.timers:
        _schedule(context, JOIN, group_id, member.member_id, now_ms + member.rebalance_timeout_ms)


def expect_sync(context: Context, group_id: str, member_id: str, timeout_ms: int, now_ms: int) -> None:
    """Give a member up that has joined and does not sync."""
    _schedule(context, SYNC, group_id, member_id, now_ms + timeout_ms)


def _schedule(
    context: Context, kind: str, group_id: str, member_id: str, due_ms: int, still: Callable[[Member], bool] = lambda member: True
) -> None:
    def expire(now_ms: int) -> Decision:
        group = context.state.groups.get(group_id)
        member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
        if not isinstance(group, ConsumerGroup) or member is None or not still(member):
            return Decision()
        return fence(context, group, [member], now_ms)

    context.timers.schedule(timer_key(kind, group_id, member_id), due_ms, expire)
