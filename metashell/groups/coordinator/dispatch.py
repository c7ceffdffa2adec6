"""Requests of the classic protocol: which room decides them hangs on the kind of their group.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorService and GroupMetadataManager.
"""

from __future__ import annotations

from typing import Final

from metashell.codec.error_codes import INCONSISTENT_GROUP_PROTOCOL, INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT, UNKNOWN_MEMBER_ID
from metashell.groups.classic.answers import Waiting, heartbeat_answer, join_error, leave_answer, sync_error
from metashell.groups.classic.heartbeat import heartbeat as classic_heartbeat
from metashell.groups.classic.join import join as classic_join
from metashell.groups.classic.leave import identities
from metashell.groups.classic.leave import leave as classic_leave
from metashell.groups.classic.sync import sync as classic_sync
from metashell.groups.consumer.classic_member import heartbeat as heartbeat_of_classic_member
from metashell.groups.consumer.classic_member import join as join_of_classic_member
from metashell.groups.consumer.classic_member import leave as leave_of_classic_member
from metashell.groups.consumer.classic_member import sync as sync_of_classic_member
from metashell.groups.context import Context, Handler
from metashell.groups.decision import Decision
from metashell.groups.request import Request

# How the members of a group that speak the classic protocol are served, by the group's kind.
JOINS: Final[dict[str, Handler]] = {"classic": classic_join, "consumer": join_of_classic_member}
SYNCS: Final[dict[str, Handler]] = {"classic": classic_sync, "consumer": sync_of_classic_member}
HEARTBEATS: Final[dict[str, Handler]] = {"classic": classic_heartbeat, "consumer": heartbeat_of_classic_member}
LEAVES: Final[dict[str, Handler]] = {"classic": classic_leave, "consumer": leave_of_classic_member}
_YIELDING = ("consumer", "streams")
"""Kinds of groups that become classic ones, once they are empty, when a classic member joins."""


def join(context: Context, request: Request, now_ms: int) -> Decision:
    body, settings = request.body, context.settings
    waiting = Waiting.of(request)
    if not body.group_id:
        return Decision(answers=[join_error(waiting, INVALID_GROUP_ID, body.member_id)])
    if not settings.min_session_timeout_ms <= body.session_timeout_ms <= settings.max_session_timeout_ms:
        return Decision(answers=[join_error(waiting, INVALID_SESSION_TIMEOUT, body.member_id)])
    group = context.state.groups.get(body.group_id)
    kind = "classic" if group is None or (group.is_empty and group.type in _YIELDING) else group.type
    if kind not in JOINS:
        return Decision(answers=[join_error(waiting, INCONSISTENT_GROUP_PROTOCOL)])
    return JOINS[kind](context, request, now_ms)


def sync(context: Context, request: Request, now_ms: int) -> Decision:
    body = request.body
    if request.version >= 5 and (body.protocol_type is None or body.protocol_name is None):
        return Decision(answers=[sync_error(request.ticket, INCONSISTENT_GROUP_PROTOCOL)])
    if not body.group_id:
        return Decision(answers=[sync_error(request.ticket, INVALID_GROUP_ID)])
    group = context.state.groups.get(body.group_id)
    if group is None or group.is_empty or group.type not in SYNCS:
        return Decision(answers=[sync_error(request.ticket, UNKNOWN_MEMBER_ID)])
    return SYNCS[group.type](context, request, now_ms)


def heartbeat(context: Context, request: Request, now_ms: int) -> Decision:
    if not request.body.group_id:
        return Decision(answers=[heartbeat_answer(request.ticket, INVALID_GROUP_ID)])
    group = context.state.groups.get(request.body.group_id)
    if group is None or group.type not in HEARTBEATS:
        return Decision(answers=[heartbeat_answer(request.ticket, UNKNOWN_MEMBER_ID)])
    return HEARTBEATS[group.type](context, request, now_ms)


def leave(context: Context, request: Request, now_ms: int) -> Decision:
    if not request.body.group_id:
        return Decision(answers=[leave_answer(request, (), INVALID_GROUP_ID)])
    group = context.state.groups.get(request.body.group_id)
    if group is None or group.type not in LEAVES:
        refused = [(member, UNKNOWN_MEMBER_ID) for member in identities(request)]
        return Decision(answers=[leave_answer(request, refused)])
    return LEAVES[group.type](context, request, now_ms)
