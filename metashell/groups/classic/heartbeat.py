"""Heartbeat of a classic group.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.classicGroupHeartbeatToClassicGroup.
"""

from __future__ import annotations

from metashell.codec.error_codes import COORDINATOR_NOT_AVAILABLE, ILLEGAL_GENERATION, NONE, REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID
from metashell.groups.classic.answers import heartbeat_answer
from metashell.groups.classic.group import ClassicGroup, ClassicState
from metashell.groups.classic.rebalance import classic_decision, live_group, restart_session
from metashell.groups.context import Context
from metashell.groups.decision import Decision, GroupError
from metashell.groups.request import Request


def heartbeat(context: Context, request: Request, now_ms: int) -> Decision:
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
    restart_session(context, group, group.members[body.member_id], now_ms)
    return REBALANCE_IN_PROGRESS if group.state is ClassicState.PREPARING else NONE
