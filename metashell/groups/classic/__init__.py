"""Groups of the classic protocol: their members, the record of a group, and the answers to its APIs.

A member's metadata and assignment are a client's bytes, which may not decode. The coordinator keeps them unchanged.
Source: org.apache.kafka.coordinator.group.classic.ClassicGroupMember, GroupCoordinatorRecordHelpers;
org.apache.kafka.common.requests.JoinGroupResponse, LeaveGroupResponse."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any, Final, NamedTuple

from metashell.codec.consumer_protocol import blob_version
from metashell.codec.error_codes import NONE
from metashell.codec.messages import (
    GroupMetadataKey,
    GroupMetadataValue,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    SyncGroupResponse,
)
from metashell.codec.registry import message_type
from metashell.common.errors import DecodeError
from metashell.groups.decision import Answer, Record, Request
from metashell.groups.view import MemberDescription, classic_member

_HAS_REBALANCE_TIMEOUT_SINCE: Final = 1


class Protocol(NamedTuple):
    """A protocol (an assignor) that a member supports, and the member's metadata for it."""

    name: str
    metadata: bytes


class ClassicGroupMember:
    """A member. Shape: `protocols` in the member's order of preference; `awaiting_sync` is the ticket of its sync. Units: ms."""

    __slots__ = (
        *("assignment", "awaiting_join", "awaiting_sync", "client_host", "client_id", "instance_id", "is_new", "member_id"),
        *("protocols", "rebalance_timeout_ms", "session_timeout_ms"),
    )

    def __init__(
        self,
        member_id: str,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocols: tuple[Protocol, ...],
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocols = protocols
        self.assignment = assignment
        self.awaiting_join: Waiting | None = None
        self.awaiting_sync: int | None = None
        self.is_new = False
        """True from its join until the rebalance ends."""

    @property
    def satisfies_heartbeat(self) -> bool:
        """Return whether it may be silent as it waits for our answer. A new member may not: its client may be gone, and it would stay."""
        return not self.is_new and (self.awaiting_join is not None or self.awaiting_sync is not None)

    def metadata(self, protocol: str) -> bytes | None:
        return next((metadata for name, metadata in self.protocols if name == protocol), None)

    def vote(self, candidates: Container[str]) -> str | None:
        """Return the first of its protocols that all members support."""
        return next((name for name, _ in self.protocols if name in candidates), None)


def protocols_of(request: Request) -> tuple[Protocol, ...]:
    """Return the protocols in a JoinGroup."""
    return tuple(Protocol(protocol.name, bytes(protocol.metadata)) for protocol in request.body.protocols)


def rebalance_timeout_of(request: Request) -> int:
    """Return the rebalance timeout of a JoinGroup; in version 0 it is the session timeout."""
    body = request.body
    timeout_ms: int = body.session_timeout_ms if request.version < _HAS_REBALANCE_TIMEOUT_SINCE else body.rebalance_timeout_ms
    return timeout_ms


GROUP_METADATA: Final = 2
_VERSION: Final = 3


def group_metadata_record(
    group_id: str,
    protocol_type: str,
    generation: int,
    protocol_name: str | None,
    leader: str | None,
    state_ms: int,
    members: Iterable[ClassicGroupMember],
    assignments: Mapping[str, bytes],
) -> Record:
    """Return the record of a group with its members, each with the metadata of the chosen protocol only."""
    name = protocol_name or ""
    value = GroupMetadataValue(
        protocol_type=protocol_type,
        generation=generation,
        protocol=protocol_name,
        leader=leader,
        current_state_timestamp=state_ms,
        members=tuple(
            GroupMetadataValue.MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(name) or b"",
                assignment=assignments[member.member_id],
            )
            for member in members
        ),
    )
    return Record(GROUP_METADATA, GroupMetadataKey(group=group_id), value, _VERSION)


def fresh_group_record(group_id: str, state_ms: int) -> Record:
    """Return the record of a group without members."""
    return group_metadata_record(group_id, "", 0, None, None, state_ms, (), {})


def group_metadata_tombstone(group_id: str) -> Record:
    return Record(GROUP_METADATA, GroupMetadataKey(group=group_id))


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
    """Return a protocol's name as this version writes it: before version 7 a missing one is empty, since then null."""
    return name or (None if version >= 7 else "")


def sync_error(ticket: int, code: int) -> Answer:
    return Answer(ticket, SyncGroupResponse(error_code=code))


def sync_answer(ticket: int, protocol_type: str | None, protocol_name: str | None, assignment: bytes) -> Answer:
    return Answer(ticket, SyncGroupResponse(protocol_type=protocol_type, protocol_name=protocol_name, assignment=assignment))


def heartbeat_answer(ticket: int, code: int) -> Answer:
    return Answer(ticket, HeartbeatResponse(error_code=code))


def leave_answer(request: Request, results: Iterable[tuple[Any, int]], code: int = NONE) -> Answer:
    """Return the answer with each named member's error. Up to version 2 there is one member, and its error is the answer's."""
    members = tuple(
        LeaveGroupResponse.MemberResponse(member_id=member.member_id, group_instance_id=member.group_instance_id, error_code=error)
        for member, error in results
    )
    if request.version < 3:
        code, members = (members[0].error_code if code == NONE and members else code), ()
    return Answer(request.ticket, LeaveGroupResponse(error_code=code, members=members))


def describe_member(member: ClassicGroupMember, protocol_type: str, protocol_name: str | None) -> MemberDescription:
    """Describe a member. Never raises: a blob that does not decode is a finding."""
    return classic_member(
        protocol_type,
        protocol_name,
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscription=member.metadata(protocol_name or "") or b"",
        assignment=member.assignment,
        details={"session_timeout_ms": member.session_timeout_ms, "rebalance_timeout_ms": member.rebalance_timeout_ms},
    )


_VERSION_SIZE = 2


def subscribed_topics(metadata: bytes) -> tuple[str, ...] | None:
    """Return the topics of a consumer's subscription, None if it does not decode.

    Every version begins with the fields of version 0. Only these are read, as in Kafka's coordinator, so newer versions decode too.
    """
    try:
        blob_version(metadata)
        message = message_type("data", "ConsumerProtocolSubscription")
        body, _ = message.bounded_reader(0)(metadata, _VERSION_SIZE, len(metadata), [len(metadata)])
    except DecodeError:
        return None
    return tuple(body.topics)
