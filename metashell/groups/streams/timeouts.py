"""Streams members that fall silent, or do not give tasks up in time; the delay of a group's first assignment.

Source: groups.md 8 and 15; watched-streams-delay, -delay-alone, -delay-again, -delay-emptied, -delay-kept.
"""

from __future__ import annotations

from typing import Final

from metashell.groups.context import Context
from metashell.groups.decision import Decision
from metashell.groups.record import Record
from metashell.groups.streams.group import StreamsGroup
from metashell.groups.streams.member import UNREVOKED, Member
from metashell.groups.streams.records import group_record, member_tombstones, target_record
from metashell.groups.streams.target import compute_target
from metashell.groups.timers import Action, TimerKey

SESSION: Final = "streams-session-timeout"
REBALANCE: Final = "streams-rebalance-timeout"
INITIAL_DELAY: Final = "streams-initial-rebalance-timeout"


def start_session(context: Context, group_id: str, member_id: str, now_ms: int) -> None:
    """Give a member its session time from now on."""

    def expire(at_ms: int) -> Decision:
        group, member = _member_of(context, group_id, member_id)
        return Decision() if group is None or member is None else Decision(removal(context, group, member))

    timeout_ms = group_setting(context, group_id, "streams.session.timeout.ms", context.settings.streams.session_timeout_ms)
    context.timers.schedule((SESSION, group_id, member_id), now_ms + timeout_ms, expire)


def watch_revocation(context: Context, group_id: str, member: Member, now_ms: int) -> None:
    """Give a member that has to give tasks up its rebalance time for it, from the heartbeat on that told it so."""
    key = (REBALANCE, group_id, member.member_id)
    if member.state != UNREVOKED:
        context.timers.cancel(key)
        return

    def expire(at_ms: int) -> Decision:
        group, known = _member_of(context, group_id, member.member_id)
        if group is None or known is None or known.epoch != member.epoch:
            return Decision()
        return Decision(removal(context, group, known))

    if key not in context.timers:
        context.timers.schedule(key, now_ms + max(member.rebalance_timeout_ms, 0), expire)


def start_timers(context: Context, now_ms: int) -> None:
    """Every member that a log has gets its times anew."""
    for group in context.state.groups.values():
        for member in tuple(group.members.values()) if isinstance(group, StreamsGroup) else ():
            start_session(context, group.group_id, member.member_id, now_ms)
            watch_revocation(context, group.group_id, member, now_ms)


def delay_first_assignment(context: Context, group_id: str, now_ms: int) -> None:
    """Wait for more members before tasks are given out for the first time; a delay that runs already is not begun anew.

    As Kafka has it, the delay of a group that this very heartbeat makes ends without an assignment, unless another heartbeat comes
    within it (`keep_delay`): the next heartbeat after it then computes one.
    """
    delay_ms = context.settings.streams.initial_rebalance_delay_ms
    key = (INITIAL_DELAY, group_id)
    if delay_ms <= 0 or key in context.timers:
        return
    is_known = isinstance(context.state.groups.get(group_id), StreamsGroup)
    context.timers.schedule(key, now_ms + delay_ms, _first_assignment(context, group_id) if is_known else _nothing)


def keep_delay(context: Context, group_id: str) -> bool:
    """Whether the first assignment is still delayed; where the group is known by now, the end of the delay computes it."""
    key = (INITIAL_DELAY, group_id)
    if key not in context.timers:
        return False
    if isinstance(context.state.groups.get(group_id), StreamsGroup):
        context.timers.redirect(key, _first_assignment(context, group_id))
    return True


def _first_assignment(context: Context, group_id: str) -> Action:
    def assign(at_ms: int) -> Decision:
        group = context.state.groups.get(group_id)
        if not isinstance(group, StreamsGroup) or not group.members or group.epoch <= group.assignment_epoch:
            return Decision()
        return Decision(compute_target(context, group, group.members, group.targets, group.epoch, at_ms).records)

    return assign


def _nothing(at_ms: int) -> Decision:
    return Decision()


def removal(context: Context, group: StreamsGroup, member: Member) -> list[Record]:
    """The records that remove a member; its timers are cancelled."""
    keys: tuple[TimerKey, ...] = tuple((kind, group.group_id, member.member_id) for kind in (SESSION, REBALANCE))
    for key in keys:
        context.timers.cancel(key)
    epoch = group.epoch + 1
    epoch_record = group_record(group.group_id, epoch, group.metadata_hash, group.validated_epoch, group.configs, group.described)
    # An empty group has nothing to assign: its assignment is up to date, and was made at no time.
    emptied = [target_record(group.group_id, epoch, 0)] if len(group.members) == 1 else []
    return [*member_tombstones(group.group_id, member.member_id), epoch_record, *emptied]


def group_setting(context: Context, group_id: str, name: str, default: int) -> int:
    """A number from the group's own configs, else the broker's."""
    own = context.state.group_configs.get(group_id, {}).get(name)
    return default if own is None else int(own)


def _member_of(context: Context, group_id: str, member_id: str) -> tuple[StreamsGroup | None, Member | None]:
    group = context.state.groups.get(group_id)
    return (group, group.members.get(member_id)) if isinstance(group, StreamsGroup) else (None, None)
