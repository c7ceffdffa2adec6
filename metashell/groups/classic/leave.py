"""LeaveGroup of a classic group.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.classicGroupLeaveToClassicGroup.
"""

from __future__ import annotations

from typing import Any

from metashell.codec.error_codes import COORDINATOR_NOT_AVAILABLE, NONE, UNKNOWN_MEMBER_ID
from metashell.codec.messages import LeaveGroupRequest
from metashell.groups.classic.answers import leave_answer
from metashell.groups.classic.group import ClassicGroup, ClassicState, session_key
from metashell.groups.classic.rebalance import classic_decision, live_group, rebalance_after_leave, remove_member
from metashell.groups.context import Context
from metashell.groups.decision import Decision, GroupError
from metashell.groups.request import Request

_NAMES_MANY_SINCE = 3


def identities(request: Request) -> tuple[Any, ...]:
    """Who is to leave; up to version 2 a request names one member."""
    body = request.body
    if request.version >= _NAMES_MANY_SINCE:
        return tuple(body.members)
    return (LeaveGroupRequest.MemberIdentity(member_id=body.member_id),)


def leave(context: Context, request: Request, now_ms: int) -> Decision:
    group = live_group(context, request.body.group_id)
    assert group is not None
    if group.state is ClassicState.DEAD:
        return classic_decision(leave_answer(request, (), COORDINATOR_NOT_AVAILABLE))
    decision = classic_decision()
    results = [(member, _leave(context, group, member, decision)) for member in identities(request)]
    if any(code == NONE for _, code in results):
        rebalance_after_leave(context, group, decision, now_ms)
    decision.answers.append(leave_answer(request, results))
    return decision


def _leave(context: Context, group: ClassicGroup, identity: Any, decision: Decision) -> int:
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
