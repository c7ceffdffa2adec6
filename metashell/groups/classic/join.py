"""JoinGroup and SyncGroup of a classic group.

A static member that joins with a known instance id and no member id replaces the member that had the instance id before (KIP-345).
Source: org.apache.kafka.coordinator.group.GroupMetadataManager: classicGroupJoinToClassicGroup,
updateStaticMemberThenRebalanceOrCompleteJoin, classicGroupSyncToClassicGroup."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from metashell.codec.error_codes import (
    COORDINATOR_NOT_AVAILABLE,
    GROUP_MAX_SIZE_REACHED,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    INVALID_REQUEST,
    MEMBER_ID_REQUIRED,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_SERVER_ERROR,
)
from metashell.codec.schema import STRING_MAX
from metashell.groups.classic import (
    ClassicGroupMember,
    Waiting,
    fresh_group_record,
    join_answer,
    join_error,
    protocols_of,
    rebalance_timeout_of,
    sync_answer,
    sync_error,
)
from metashell.groups.classic.group import ClassicGroup, ClassicState, session_key
from metashell.groups.classic.rebalance import (
    classic_decision,
    end_sync_phase,
    expire_session,
    live_group,
    rebalance_or_complete,
    record_of,
    reset_assignments,
    restart_classic_session,
)
from metashell.groups.decision import Decision, GroupError, Request
from metashell.groups.state import Context

_REQUIRES_MEMBER_ID_SINCE = 4


def join_classic_group(context: Context, request: Request, now_ms: int) -> Decision:
    """Decide a JoinGroup for a classic group, for an empty group of a kind that becomes classic, or for a new group."""
    body, state = request.body, context.state
    group = live_group(context, body.group_id)
    if group is not None:
        decision = classic_decision()
        _decide_join(context, group, request, decision, now_ms)
        return decision
    old = state.groups.get(body.group_id)
    records = [] if old is None else old.tombstones()
    if body.member_id:
        # As in Kafka 4.3.1, an empty group of another kind is dropped here without writing its tombstones: a restart brings it back.
        state.groups.pop(body.group_id, None)
        return classic_decision(join_error(Waiting.of(request), UNKNOWN_MEMBER_ID, body.member_id))
    group = ClassicGroup(body.group_id, ClassicState.EMPTY, now_ms)
    state.groups[body.group_id] = group
    decision = classic_decision()
    _decide_join(context, group, request, decision, now_ms)
    # The group exists from now on, even if this member never joins with its new id, so it is written to the log.
    decision.records = [*records, *decision.records, fresh_group_record(body.group_id, group.state_ms)]

    def forget(code: int, _now_ms: int) -> Decision:
        if old is None:
            state.groups.pop(body.group_id, None)
        else:
            state.groups[body.group_id] = old
        return classic_decision(join_error(Waiting.of(request), code))

    decision.on_failure = forget
    return decision


def _decide_join(context: Context, group: ClassicGroup, request: Request, decision: Decision, now_ms: int) -> None:
    body = request.body
    waiting = Waiting.of(request)
    if not _has_room(group, body.member_id, context.settings.max_size):
        group.remove(body.member_id)
        decision.answers.append(join_error(waiting, GROUP_MAX_SIZE_REACHED))
    elif group.state is ClassicState.DEAD:
        decision.answers.append(join_error(waiting, COORDINATOR_NOT_AVAILABLE, body.member_id))
    elif not group.supports(body.protocol_type, body.protocols):
        decision.answers.append(join_error(waiting, INCONSISTENT_GROUP_PROTOCOL, body.member_id))
    elif not body.member_id:
        _join_new(context, group, request, decision, now_ms)
    elif body.member_id in group.pending_joins:
        if body.group_instance_id is not None:
            decision.answers.append(join_error(waiting, UNKNOWN_SERVER_ERROR, body.member_id))
        else:
            _add_member(context, group, request, body.member_id, decision, now_ms)
    else:
        _join_again(context, group, request, decision, now_ms)


def _has_room(group: ClassicGroup, member_id: str, max_size: int) -> bool:
    """Return whether a member may join. While a rebalance is prepared, only members that have joined count: old ones may never come back.

    Source: GroupMetadataManager.acceptJoiningMember.
    """
    member = group.members.get(member_id)
    if group.state is ClassicState.PREPARING:
        return (member is not None and member.awaiting_join is not None) or group.awaiting_join_count < max_size
    if group.state in (ClassicState.COMPLETING, ClassicState.STABLE):
        return member is not None or len(group.members) < max_size
    return True


def _join_new(context: Context, group: ClassicGroup, request: Request, decision: Decision, now_ms: int) -> None:
    body = request.body
    instance_id = body.group_instance_id
    prefix = request.client_id if instance_id is None else instance_id
    member_id = f"{prefix}-{UUID(bytes=context.chance.uuid())}"
    if len(member_id.encode("utf-8", "surrogatepass")) > STRING_MAX:
        # Neither an answer nor a record could hold it.
        decision.answers.append(join_error(Waiting.of(request), INVALID_REQUEST))
        return
    if instance_id is not None:
        known = group.static_members.get(instance_id)
        if known is not None:
            replace_static_member(context, group, request, known, member_id, decision, now_ms)
        else:
            _add_member(context, group, request, member_id, decision, now_ms)
    elif request.version >= _REQUIRES_MEMBER_ID_SINCE:
        group.pending_joins.add(member_id)
        due_ms = now_ms + body.session_timeout_ms
        context.timers.schedule(session_key(group.group_id, member_id), due_ms, expire_session(context, group.group_id, member_id))
        decision.answers.append(join_error(Waiting.of(request), MEMBER_ID_REQUIRED, member_id))
    else:
        _add_member(context, group, request, member_id, decision, now_ms)


def _add_member(context: Context, group: ClassicGroup, request: Request, member_id: str, decision: Decision, now_ms: int) -> None:
    body = request.body
    member = ClassicGroupMember(
        member_id,
        body.group_instance_id,
        request.client_id,
        request.client_host,
        rebalance_timeout_of(request),
        body.session_timeout_ms,
        protocols_of(request),
    )
    member.is_new = True
    member.awaiting_join = Waiting.of(request)
    if group.state is ClassicState.PREPARING and group.previous_state is ClassicState.EMPTY:
        group.is_member_added = True
    group.add(member, body.protocol_type)
    # It may wait in a long rebalance, where a client sends no heartbeats, so its session timeout would be too short. A client that has
    # disappeared is still removed in the end.
    restart_classic_session(context, group, member, now_ms, context.settings.new_member_join_timeout_ms)
    rebalance_or_complete(context, group, decision, now_ms)


def _join_again(context: Context, group: ClassicGroup, request: Request, decision: Decision, now_ms: int) -> None:
    body, waiting = request.body, Waiting.of(request)
    try:
        group.check_member(body.member_id, body.group_instance_id)
    except GroupError as error:
        decision.answers.append(join_error(waiting, error.code, body.member_id))
        return
    member = group.members[body.member_id]
    is_leader = group.leader == member.member_id
    is_unchanged = member.protocols == protocols_of(request)
    if group.is_empty:
        decision.answers.append(join_error(waiting, UNKNOWN_MEMBER_ID, body.member_id))
    elif group.state is ClassicState.COMPLETING and is_unchanged:
        # The answer to its join may have been lost.
        _answer_current(group, waiting, member, decision, is_leader=is_leader)
    elif group.state is ClassicState.STABLE and is_unchanged and not is_leader:
        _answer_current(group, waiting, member, decision, is_leader=False)
    else:
        # A leader that joins again wants a rebalance even if its metadata is unchanged: the topics may have changed.
        if member.awaiting_join is not None:
            decision.dropped.append(member.awaiting_join.ticket)
        group.update_from(member, request)
        rebalance_or_complete(context, group, decision, now_ms)


def _answer_current(group: ClassicGroup, waiting: Waiting, member: ClassicGroupMember, decision: Decision, *, is_leader: bool) -> None:
    decision.answers.append(
        join_answer(
            waiting,
            member_id=member.member_id,
            generation=group.generation,
            protocol_type=group.protocol_type_or_none,
            protocol_name=group.protocol_name,
            leader=group.leader or "",
            members=group.shown_members() if is_leader else (),
        )
    )


SKIPS_ASSIGNMENT_SINCE: Final = 9


def replace_static_member(
    context: Context, group: ClassicGroup, request: Request, old_id: str, new_id: str, decision: Decision, now_ms: int
) -> None:
    """Replace a static member that returns under a new member id (KIP-345).

    If the group is Stable and still selects the same protocol, the new member takes over the assignment, and no other member notices.
    Otherwise the group rebalances.
    """
    body, waiting = request.body, Waiting.of(request)
    old_leader = group.leader or ""
    decision.answers += group.replace_static(body.group_instance_id, old_id, new_id)
    context.timers.cancel(session_key(group.group_id, old_id))
    member = group.members[new_id]
    before = (member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms)
    restart_classic_session(context, group, member, now_ms)
    group.update_from(member, request)
    if group.state is not ClassicState.STABLE or group.select_protocol() != group.protocol_name:
        rebalance_or_complete(context, group, decision, now_ms)
        return
    decision.records.append(record_of(group, {one.member_id: one.assignment for one in group.members.values()}))
    is_leader = group.leader == new_id
    if request.version >= SKIPS_ASSIGNMENT_SINCE:
        members = group.shown_members() if is_leader else ()
        decision.answers += group.answer_join(member, members, skips_assignment=is_leader)
    else:
        # An older client that learns that it leads computes an assignment. So the answer names the replaced member as leader (KIP-814).
        decision.answers += group.answer_join(member, (), leader=old_leader)

    def revert(code: int, at_ms: int) -> Decision:
        group.update(member, *before)
        fenced = group.replace_static(body.group_instance_id, new_id, old_id)
        context.timers.cancel(session_key(group.group_id, new_id))
        restart_classic_session(context, group, group.members[old_id], at_ms)
        refused = join_answer(
            waiting,
            member_id="",
            generation=group.generation,
            protocol_type=group.protocol_type_or_none,
            protocol_name=group.protocol_name,
            leader=old_leader,
            code=code,
        )
        return classic_decision(*fenced, refused)

    decision.on_failure = revert


def sync_classic_group(context: Context, request: Request, now_ms: int) -> Decision:
    body = request.body
    group = live_group(context, body.group_id)
    assert group is not None
    code = _sync_refusal(group, request)
    if code is not None:
        return classic_decision(sync_error(request.ticket, code))
    member = group.members[body.member_id]
    group.pending_syncs.discard(member.member_id)
    if not group.pending_syncs:
        end_sync_phase(context, group)
    if group.state is ClassicState.STABLE:
        answer = sync_answer(request.ticket, group.protocol_type_or_none, group.protocol_name, member.assignment)
        return classic_decision(answer)
    decision = classic_decision()
    if member.awaiting_sync is not None:
        decision.dropped.append(member.awaiting_sync)
    member.awaiting_sync = request.ticket
    if group.leader == member.member_id:
        _store_assignments(context, group, request, member, decision, now_ms)
    return decision


def _sync_refusal(group: ClassicGroup, request: Request) -> int | None:
    body = request.body
    if group.state is ClassicState.DEAD:
        return COORDINATOR_NOT_AVAILABLE
    try:
        group.check_member(body.member_id, body.group_instance_id)
    except GroupError as error:
        return error.code
    if body.generation_id != group.generation:
        return ILLEGAL_GENERATION
    if body.protocol_type is not None and body.protocol_type != group.protocol_type_or_none:
        return INCONSISTENT_GROUP_PROTOCOL
    if body.protocol_name is not None and body.protocol_name != group.protocol_name:
        return INCONSISTENT_GROUP_PROTOCOL
    if group.is_empty:
        return UNKNOWN_MEMBER_ID
    return REBALANCE_IN_PROGRESS if group.state is ClassicState.PREPARING else None


def _store_assignments(
    context: Context, group: ClassicGroup, request: Request, leader: ClassicGroupMember, decision: Decision, now_ms: int
) -> None:
    """Write the leader's assignments and answer all syncs. A member that the leader does not name gets an empty assignment.

    If the record cannot be written, all assignments are cleared and the group rebalances: a new coordinator would not know them, and its
    members would own partitions that it gives to others.
    """
    given = {one.member_id: bytes(one.assignment) for one in request.body.assignments}
    assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
    decision.records.append(record_of(group, assignments))
    generation = group.generation
    waiting = {member_id: member.awaiting_sync for member_id, member in group.members.items()}
    for member in group.members.values():
        member.assignment = assignments[member.member_id]
        answers = group.answer_sync(member)
        if answers:
            decision.answers += answers
            restart_classic_session(context, group, member, now_ms)
    group.move_to(ClassicState.STABLE, now_ms)

    def fail(code: int, at_ms: int) -> Decision:
        failed = classic_decision()
        if group.state is not ClassicState.STABLE or group.generation != generation:
            return failed
        group.state = ClassicState.COMPLETING
        for member in group.members.values():
            member.awaiting_sync = waiting.get(member.member_id)
        failed.answers += reset_assignments(context, group, code, at_ms)
        rebalance_or_complete(context, group, failed, at_ms)
        return failed

    decision.on_failure = fail
