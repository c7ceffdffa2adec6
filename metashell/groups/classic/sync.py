"""SyncGroup of a classic group.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.classicGroupSyncToClassicGroup.
"""

from __future__ import annotations

from metashell.codec.error_codes import (
    COORDINATOR_NOT_AVAILABLE,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from metashell.groups.classic.answers import sync_answer, sync_error
from metashell.groups.classic.group import ClassicGroup, ClassicState
from metashell.groups.classic.member import ClassicMember
from metashell.groups.classic.rebalance import (
    classic_decision,
    end_sync_phase,
    live_group,
    rebalance_or_complete,
    record_of,
    reset_assignments,
    restart_session,
)
from metashell.groups.context import Context
from metashell.groups.decision import Decision, GroupError
from metashell.groups.request import Request


def sync(context: Context, request: Request, now_ms: int) -> Decision:
    body = request.body
    group = live_group(context, body.group_id)
    assert group is not None
    code = _refusal(group, request)
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
        _assign(context, group, request, member, decision, now_ms)
    return decision


def _refusal(group: ClassicGroup, request: Request) -> int | None:
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


def _assign(context: Context, group: ClassicGroup, request: Request, leader: ClassicMember, decision: Decision, now_ms: int) -> None:
    """The leader's assignment is written, and with that it is everybody's. Members that it does not name have nothing."""
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
            restart_session(context, group, member, now_ms)
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
