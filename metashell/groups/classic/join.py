"""JoinGroup of a classic group.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.classicGroupJoinToClassicGroup.
"""

from __future__ import annotations

from uuid import UUID

from metashell.codec.error_codes import (
    COORDINATOR_NOT_AVAILABLE,
    GROUP_MAX_SIZE_REACHED,
    INCONSISTENT_GROUP_PROTOCOL,
    INVALID_REQUEST,
    MEMBER_ID_REQUIRED,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_SERVER_ERROR,
)
from metashell.codec.plain import STRING_MAX
from metashell.groups.classic.answers import Waiting, join_answer, join_error
from metashell.groups.classic.group import ClassicGroup, ClassicState, session_key
from metashell.groups.classic.member import ClassicMember, protocols_of, rebalance_timeout_of
from metashell.groups.classic.metadata_record import fresh_group_record
from metashell.groups.classic.rebalance import (
    classic_decision,
    expire_session,
    live_group,
    rebalance_or_complete,
    restart_session,
)
from metashell.groups.classic.static import replace_static_member
from metashell.groups.context import Context
from metashell.groups.decision import Decision, GroupError
from metashell.groups.request import Request

_REQUIRES_MEMBER_ID_SINCE = 4


def join(context: Context, request: Request, now_ms: int) -> Decision:
    """The group is a classic one, an empty one of a kind that yields, or there is none."""
    body, state = request.body, context.state
    group = live_group(context, body.group_id)
    if group is not None:
        decision = classic_decision()
        _decide(context, group, request, decision, now_ms)
        return decision
    old = state.groups.get(body.group_id)
    records = [] if old is None else old.tombstones()
    if body.member_id:
        # Kafka 4.3.1 forgets an empty group of another kind here, and its tombstones are never written: a restart brings it back.
        state.groups.pop(body.group_id, None)
        return classic_decision(join_error(Waiting.of(request), UNKNOWN_MEMBER_ID, body.member_id))
    group = ClassicGroup(body.group_id, ClassicState.EMPTY, now_ms)
    state.groups[body.group_id] = group
    decision = classic_decision()
    _decide(context, group, request, decision, now_ms)
    # The group lasts although nobody may ever use it, so that the log knows of it.
    decision.records = [*records, *decision.records, fresh_group_record(body.group_id, group.state_ms)]

    def forget(code: int, _now_ms: int) -> Decision:
        if old is None:
            state.groups.pop(body.group_id, None)
        else:
            state.groups[body.group_id] = old
        return classic_decision(join_error(Waiting.of(request), code))

    decision.on_failure = forget
    return decision


def _decide(context: Context, group: ClassicGroup, request: Request, decision: Decision, now_ms: int) -> None:
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
    """Source: GroupMetadataManager.acceptJoiningMember."""
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
        # No answer and no record could hold it.
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
    member = ClassicMember(
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
    # It may wait in a long rebalance, where its silence says nothing; a client that went away has to end at last.
    restart_session(context, group, member, now_ms, context.settings.new_member_join_timeout_ms)
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
        # It may not have received the answer to its join.
        _answer_current(group, waiting, member, decision, is_leader=is_leader)
    elif group.state is ClassicState.STABLE and is_unchanged and not is_leader:
        _answer_current(group, waiting, member, decision, is_leader=False)
    else:
        # A leader that joins again asks for a rebalance, also when nothing of its own changed: topics may have.
        if member.awaiting_join is not None:
            decision.dropped.append(member.awaiting_join.ticket)
        group.update_from(member, request)
        rebalance_or_complete(context, group, decision, now_ms)


def _answer_current(group: ClassicGroup, waiting: Waiting, member: ClassicMember, decision: Decision, *, is_leader: bool) -> None:
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
