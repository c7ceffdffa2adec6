"""Rebalances of a classic group, and its Heartbeat, LeaveGroup and loading.

A rebalance has two phases. Preparing: members join, and none is answered before all have joined or the rebalance timeout ends. Completing:
each member syncs and waits, until the leader's sync brings the assignments of all. With members a, b and a new c:

    c joins             Preparing; c waits for its answer
    a, b send heartbeats  REBALANCE_IN_PROGRESS makes them join too
    b, a join           the last join completes the phase: generation 8, and the leader's answer lists all members
    b, c, a sync        a leads; its sync has the assignments, is written as one record, and answers all three: Stable

Why both phases have timers: a member that never joins is removed when the rebalance timeout ends, and one that joins but never syncs is
removed one timeout later. Without them one stuck client would stop the group.

Every function adds to the decision in progress. The record of a live group is not replayed: the group knows more than its record holds.
Source: org.apache.kafka.coordinator.group.GroupMetadataManager: prepareRebalance, completeClassicGroupJoin, onLoaded, onUnloaded,
classicGroupHeartbeatToClassicGroup, classicGroupLeaveToClassicGroup."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metashell.codec.error_codes import (
    COORDINATOR_NOT_AVAILABLE,
    ILLEGAL_GENERATION,
    NONE,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from metashell.codec.messages import LeaveGroupRequest
from metashell.groups.classic import ClassicGroupMember, JoinMember, group_metadata_record, heartbeat_answer, leave_answer
from metashell.groups.classic.group import ClassicGroup, ClassicState, session_key
from metashell.groups.decision import Action, Answer, Decision, GroupError, Record, Request, TimerKey
from metashell.groups.state import Context


def join_key(group_id: str) -> TimerKey:
    return ("join", group_id)


def sync_key(group_id: str) -> TimerKey:
    return ("sync", group_id)


def live_group(context: Context, group_id: str) -> ClassicGroup | None:
    """Return the classic group of that name. Timers use it, since the group may be gone or of another kind when they run."""
    group = context.state.groups.get(group_id)
    return group if isinstance(group, ClassicGroup) else None


def classic_decision(*answers: Answer) -> Decision:
    """Return a new decision of a classic group."""
    return Decision(answers=list(answers), replays=False)


def record_of(group: ClassicGroup, assignments: Mapping[str, bytes]) -> Record:
    """Return the record of the group with these assignments."""
    return group_metadata_record(
        group.group_id,
        group.protocol_type,
        group.generation,
        group.protocol_name,
        group.leader,
        group.state_ms,
        group.members.values(),
        assignments,
    )


def rebalance_or_complete(context: Context, group: ClassicGroup, decision: Decision, now_ms: int) -> None:
    """Begin a rebalance after a member joined or changed, or complete the current one if all have joined now."""
    if group.can_rebalance:
        prepare_rebalance(context, group, decision, now_ms)
    else:
        complete_if_all_joined(context, group, decision, now_ms)


def rebalance_after_leave(context: Context, group: ClassicGroup, decision: Decision, now_ms: int) -> None:
    """Begin a rebalance after a member left, or complete the current one if all others have joined."""
    if group.state in (ClassicState.STABLE, ClassicState.COMPLETING):
        prepare_rebalance(context, group, decision, now_ms)
    elif group.state is ClassicState.PREPARING:
        complete_if_all_joined(context, group, decision, now_ms)


def prepare_rebalance(context: Context, group: ClassicGroup, decision: Decision, now_ms: int) -> None:
    """Begin a rebalance. An empty group first waits for group.initial.rebalance.delay.ms.

    Why the delay: the members of an application start one after the other. Without it the first would get all partitions, and each later
    one would cost a rebalance.
    """
    if group.state is ClassicState.COMPLETING:
        decision.answers += reset_assignments(context, group, REBALANCE_IN_PROGRESS, now_ms)
    end_sync_phase(context, group)
    was_empty = group.is_empty
    if was_empty:
        delay_ms = context.settings.initial_rebalance_delay_ms
        left_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        context.timers.schedule(join_key(group.group_id), now_ms + delay_ms, _extend(context, group, delay_ms, left_ms))
    group.move_to(ClassicState.PREPARING, now_ms)
    if was_empty:
        return
    if group.have_all_joined:
        complete_join(context, group, decision, now_ms)
    else:
        _complete_later(context, group, now_ms)


def complete_if_all_joined(context: Context, group: ClassicGroup, decision: Decision, now_ms: int) -> None:
    """Complete the current rebalance if all members have joined. The initial delay of an empty group still runs to its end."""
    if group.state is ClassicState.PREPARING and group.have_all_joined and group.previous_state is not ClassicState.EMPTY:
        complete_join(context, group, decision, now_ms)


def complete_join(context: Context, group: ClassicGroup, decision: Decision, now_ms: int) -> None:
    """Begin the next generation. Dynamic members that did not join are removed; static ones stay until their session ends (KIP-345)."""
    context.timers.cancel(join_key(group.group_id))
    late = [member for member in group.members.values() if member.awaiting_join is None and member.instance_id is None]
    for member in late:
        group.remove(member.member_id)
        context.timers.cancel(session_key(group.group_id, member.member_id))
    if not group.elect_leader() and group.members:
        # Only static members are left and none has joined again. There is no leader among them, so wait until one returns or all expire.
        _complete_later(context, group, now_ms)
        return
    group.begin_generation(now_ms)
    if group.is_empty:
        decision.records.append(record_of(group, {}))
        return
    shown = group.shown_members()
    nobody: tuple[JoinMember, ...] = ()
    for member in group.members.values():
        decision.answers += group.answer_join(member, shown if member.member_id == group.leader else nobody)
        restart_classic_session(context, group, member, now_ms)
        member.is_new = False
        group.pending_syncs.add(member.member_id)
    generation, group_id = group.generation, group.group_id

    def expire(at_ms: int) -> Decision:
        return _expire_syncs(context, group_id, generation, at_ms)

    context.timers.schedule(sync_key(group_id), now_ms + group.rebalance_timeout_ms, expire)


def reset_assignments(context: Context, group: ClassicGroup, code: int, now_ms: int) -> list[Answer]:
    """Clear all assignments; syncs that wait get the error."""
    answers: list[Answer] = []
    for member in group.members.values():
        member.assignment = b""
        refused = group.refuse_sync(member, code)
        if refused:
            answers += refused
            restart_classic_session(context, group, member, now_ms)
    return answers


def end_sync_phase(context: Context, group: ClassicGroup) -> None:
    group.pending_syncs.clear()
    context.timers.cancel(sync_key(group.group_id))


def restart_classic_session(
    context: Context, group: ClassicGroup, member: ClassicGroupMember, now_ms: int, timeout_ms: int | None = None
) -> None:
    """Restart a member's session, with another timeout if one is given."""
    due_ms = now_ms + (member.session_timeout_ms if timeout_ms is None else timeout_ms)
    key = session_key(group.group_id, member.member_id)
    if not context.timers.restart(key, due_ms):
        context.timers.schedule(key, due_ms, expire_session(context, group.group_id, member.member_id))


def expire_session(context: Context, group_id: str, member_id: str) -> Action:
    """Return the action that removes a silent member, or forgets a member id that was handed out and never used."""

    def expire(now_ms: int) -> Decision:
        decision = classic_decision()
        group = live_group(context, group_id)
        if group is None or group.state is ClassicState.DEAD:
            return decision
        if member_id in group.pending_joins:
            group.pending_joins.discard(member_id)
            complete_if_all_joined(context, group, decision, now_ms)
            return decision
        member = group.members.get(member_id)
        if member is not None and not member.satisfies_heartbeat:
            remove_member(context, group, member, decision)
            rebalance_after_leave(context, group, decision, now_ms)
        return decision

    return expire


def remove_member(context: Context, group: ClassicGroup, member: ClassicGroupMember, decision: Decision) -> None:
    """Remove a member. Its waiting join fails, so that the client joins as a new member if it is alive; its sync is never answered."""
    context.timers.cancel(session_key(group.group_id, member.member_id))
    decision.answers += group.refuse_join(member, UNKNOWN_MEMBER_ID)
    if member.awaiting_sync is not None:
        decision.dropped.append(member.awaiting_sync)
    group.remove(member.member_id)


def forget_timers(context: Context, group: ClassicGroup) -> None:
    """Cancel the timers of a group that is deleted or changes its kind."""
    context.timers.cancel(join_key(group.group_id))
    context.timers.cancel(sync_key(group.group_id))
    for member_id in (*group.members, *group.pending_joins):
        context.timers.cancel(session_key(group.group_id, member_id))


def _complete_later(context: Context, group: ClassicGroup, now_ms: int) -> None:
    group_id = group.group_id

    def complete(at_ms: int) -> Decision:
        decision = classic_decision()
        live = live_group(context, group_id)
        if live is not None and live.state is ClassicState.PREPARING:
            complete_join(context, live, decision, at_ms)
        return decision

    context.timers.schedule(join_key(group_id), now_ms + group.rebalance_timeout_ms, complete)


def _extend(context: Context, group: ClassicGroup, delay_ms: int, left_ms: int) -> Action:
    """Return the action for the end of the initial delay: wait once more if a member joined meanwhile and time is left."""
    group_id = group.group_id

    def extend(now_ms: int) -> Decision:
        decision = classic_decision()
        live = live_group(context, group_id)
        if live is None or live.state is not ClassicState.PREPARING:
            return decision
        if live.is_member_added and left_ms > 0:
            live.is_member_added = False
            next_ms = min(context.settings.initial_rebalance_delay_ms, left_ms)
            action = _extend(context, live, next_ms, max(left_ms - delay_ms, 0))
            context.timers.schedule(join_key(group_id), now_ms + next_ms, action)
        else:
            complete_join(context, live, decision, now_ms)
        return decision

    return extend


def _expire_syncs(context: Context, group_id: str, generation: int, now_ms: int) -> Decision:
    """Remove members that joined and did not sync in time."""
    decision = classic_decision()
    group = live_group(context, group_id)
    if group is None or group.generation != generation or group.state not in (ClassicState.COMPLETING, ClassicState.STABLE):
        return decision
    if group.pending_syncs:
        for member_id in tuple(group.pending_syncs):
            group.remove(member_id)
            context.timers.cancel(session_key(group_id, member_id))
        prepare_rebalance(context, group, decision, now_ms)
    return decision


def begin_sessions(context: Context, now_ms: int) -> None:
    """Start the sessions of all members after loading. A group above the maximum size rebalances, which shrinks it."""
    for group in list(context.state.groups.values()):
        if isinstance(group, ClassicGroup):
            for member in group.members.values():
                restart_classic_session(context, group, member, now_ms)
            if len(group.members) > context.settings.max_size:
                prepare_rebalance(context, group, classic_decision(), now_ms)


def end_waits(context: Context, now_ms: int) -> list[Answer]:
    """Answer waiting joins and syncs with NOT_COORDINATOR, which makes clients find the coordinator again."""
    answers: list[Answer] = []
    for group in context.state.groups.values():
        if isinstance(group, ClassicGroup):
            answers += group.refuse_all_waiting(NOT_COORDINATOR)
            group.move_to(ClassicState.DEAD, now_ms)
    return answers


def heartbeat_classic_group(context: Context, request: Request, now_ms: int) -> Decision:
    group = live_group(context, request.body.group_id)
    assert group is not None
    return classic_decision(heartbeat_answer(request.ticket, _beat(context, group, request, now_ms)))


def _beat(context: Context, group: ClassicGroup, request: Request, now_ms: int) -> int:
    body = request.body
    if group.state is ClassicState.DEAD:
        return COORDINATOR_NOT_AVAILABLE
    try:
        group.check_member(body.member_id, body.group_instance_id)
    except GroupError as error:
        return error.code
    if body.generation_id != group.generation:
        return ILLEGAL_GENERATION
    if group.is_empty:
        return UNKNOWN_MEMBER_ID
    restart_classic_session(context, group, group.members[body.member_id], now_ms)
    return REBALANCE_IN_PROGRESS if group.state is ClassicState.PREPARING else NONE


_NAMES_MANY_SINCE = 3


def identities(request: Request) -> tuple[Any, ...]:
    """Return the members that a LeaveGroup names; up to version 2 there is one."""
    body = request.body
    if request.version >= _NAMES_MANY_SINCE:
        return tuple(body.members)
    return (LeaveGroupRequest.MemberIdentity(member_id=body.member_id),)


def leave_classic_group(context: Context, request: Request, now_ms: int) -> Decision:
    group = live_group(context, request.body.group_id)
    assert group is not None
    if group.state is ClassicState.DEAD:
        return classic_decision(leave_answer(request, (), COORDINATOR_NOT_AVAILABLE))
    decision = classic_decision()
    results = [(member, _remove_leaving(context, group, member, decision)) for member in identities(request)]
    if any(code == NONE for _, code in results):
        rebalance_after_leave(context, group, decision, now_ms)
    decision.answers.append(leave_answer(request, results))
    return decision


def _remove_leaving(context: Context, group: ClassicGroup, identity: Any, decision: Decision) -> int:
    member_id, instance_id = identity.member_id, identity.group_instance_id
    if not member_id:
        # An administrator may name an instance alone.
        known = None if instance_id is None else group.static_members.get(instance_id)
        if known is None:
            return UNKNOWN_MEMBER_ID
        member_id = known
    elif member_id in group.pending_joins:
        group.pending_joins.discard(member_id)
        context.timers.cancel(session_key(group.group_id, member_id))
        return NONE
    else:
        try:
            group.check_member(member_id, instance_id)
        except GroupError as error:
            return error.code
    remove_member(context, group, group.members[member_id], decision)
    return NONE
