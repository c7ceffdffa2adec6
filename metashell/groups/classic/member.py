"""A member of a classic group.

Source: org.apache.kafka.coordinator.group.classic.ClassicGroupMember.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final, NamedTuple

from metashell.groups.classic.answers import Waiting
from metashell.groups.request import Request

_HAS_REBALANCE_TIMEOUT_SINCE: Final = 1


class Protocol(NamedTuple):
    """A protocol (an assignor) that a member speaks, and what it says of itself in it."""

    name: str
    metadata: bytes


class ClassicMember:
    """Shape: `protocols` in the member's order of preference; `awaiting_sync` is the ticket. Units: ms."""

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
        """From its join until the rebalance is over."""

    @property
    def satisfies_heartbeat(self) -> bool:
        """Whether its session lives on although it is silent: it waits for an answer. A new member's does not, lest it wait for ever."""
        return not self.is_new and (self.awaiting_join is not None or self.awaiting_sync is not None)

    def metadata(self, protocol: str) -> bytes | None:
        return next((metadata for name, metadata in self.protocols if name == protocol), None)

    def vote(self, candidates: Container[str]) -> str | None:
        """The first of its protocols that everybody has."""
        return next((name for name, _ in self.protocols if name in candidates), None)


def protocols_of(request: Request) -> tuple[Protocol, ...]:
    """What a JoinGroup says that its member speaks."""
    return tuple(Protocol(protocol.name, bytes(protocol.metadata)) for protocol in request.body.protocols)


def rebalance_timeout_of(request: Request) -> int:
    """The rebalance timeout of a JoinGroup, which in version 0 is the session's."""
    body = request.body
    timeout_ms: int = body.session_timeout_ms if request.version < _HAS_REBALANCE_TIMEOUT_SINCE else body.rebalance_timeout_ms
    return timeout_ms
