"""The answers of the classic protocol's APIs.

Source: org.apache.kafka.common.requests.JoinGroupResponse, LeaveGroupResponse.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from metashell.codec.error_codes import NONE
from metashell.codec.messages import HeartbeatResponse, JoinGroupResponse, LeaveGroupResponse, SyncGroupResponse
from metashell.groups.request import Answer, Request

JoinMember = JoinGroupResponse.JoinGroupResponseMember


class Waiting(NamedTuple):
    """A join that waits for its answer."""

    ticket: int
    version: int

    @classmethod
    def of(cls, request: Request) -> Waiting:
        return cls(request.ticket, request.version)


def join_error(waiting: Waiting, code: int, member_id: str = "") -> Answer:
    return Answer(waiting.ticket, JoinGroupResponse(error_code=code, member_id=member_id, protocol_name=_name("", waiting.version)))


def join_answer(
    waiting: Waiting,
    *,
    member_id: str,
    generation: int,
    protocol_type: str | None,
    protocol_name: str | None,
    leader: str,
    members: tuple[JoinMember, ...] = (),
    skips_assignment: bool = False,
    code: int = NONE,
) -> Answer:
    body = JoinGroupResponse(
        error_code=code,
        generation_id=generation,
        protocol_type=protocol_type,
        protocol_name=_name(protocol_name, waiting.version),
        leader=leader,
        skip_assignment=skips_assignment,
        member_id=member_id,
        members=members,
    )
    return Answer(waiting.ticket, body)


def _name(name: str | None, version: int) -> str | None:
    """A protocol's name as this version writes one that is missing."""
    return name or (None if version >= 7 else "")


def sync_error(ticket: int, code: int) -> Answer:
    return Answer(ticket, SyncGroupResponse(error_code=code))


def sync_answer(ticket: int, protocol_type: str | None, protocol_name: str | None, assignment: bytes) -> Answer:
    return Answer(ticket, SyncGroupResponse(protocol_type=protocol_type, protocol_name=protocol_name, assignment=assignment))


def heartbeat_answer(ticket: int, code: int) -> Answer:
    return Answer(ticket, HeartbeatResponse(error_code=code))


def leave_answer(request: Request, results: Iterable[tuple[Any, int]], code: int = NONE) -> Answer:
    """The answer from the members that were named, each with its error; up to version 2 there is one, and its error is the answer's."""
    members = tuple(
        LeaveGroupResponse.MemberResponse(member_id=member.member_id, group_instance_id=member.group_instance_id, error_code=error)
        for member, error in results
    )
    if request.version < 3:
        code, members = (members[0].error_code if code == NONE and members else code), ()
    return Answer(request.ticket, LeaveGroupResponse(error_code=code, members=members))
