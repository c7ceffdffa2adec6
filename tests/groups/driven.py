"""A shard that a test asks: tickets, a clock that the test moves, ids from a seed, and a log that fails when it is told to."""

from __future__ import annotations

import random
from typing import Any

from metashell.codec import messages
from metashell.codec.codes import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP
from metashell.groups.coordinator.coordinator import GroupCoordinator, Shard, Written
from metashell.groups.decision import Answer, Decision, Request
from metashell.groups.state import Settings
from metashell.groups.topics import KnownTopics, Topics

JoinProtocol = messages.JoinGroupRequest.JoinGroupRequestProtocol
SyncAssignment = messages.SyncGroupRequest.SyncGroupRequestAssignment
MemberIdentity = messages.LeaveGroupRequest.MemberIdentity

EAGER = Settings(initial_rebalance_delay_ms=0)
NO_TOPICS = KnownTopics()


class SeededChance:
    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._producers = 0

    def uuid(self) -> bytes:
        return self._random.randbytes(16)

    def producer_id(self) -> int:
        self._producers += 1
        return self._producers


class BreakableShard(Shard):
    """Shape: while `error` is not 0, nothing can be written."""

    error = 0

    def _perform(self, decision: Decision, now_ms: int) -> list[Answer]:
        if self.error and (decision.records or decision.marker is not None):
            decision = self.coordinator.failed(decision, self.error, now_ms)
            assert not decision.records
        return super()._perform(decision, now_ms)


class Driven:
    """Shape: `answers` has every answer by its ticket."""

    def __init__(self, settings: Settings = EAGER, topics: Topics = NO_TOPICS, seed: int = 0) -> None:
        self.settings, self.topics = settings, topics
        self.chance = SeededChance(seed)
        self.now_ms = 1_000_000
        self.answers: dict[int, Any] = {}
        self.tickets = 0
        self.shard = self._begin()

    def _begin(self, written: tuple[Written, ...] = ()) -> BreakableShard:
        return BreakableShard(GroupCoordinator(self.settings, self.chance, self.topics), written, self.now_ms)

    def restart(self) -> None:
        """Another coordinator takes the log over."""
        self.take(self.shard.coordinator.unloaded(self.now_ms))
        self.shard = self._begin(tuple(self.shard.written))

    def ask(self, api_key: int, version: int, body: Any, client: str = "c") -> int:
        """Send a request, and let everything happen that is due at once; the ticket."""
        self.tickets += 1
        ticket = self.tickets
        self.take(self.shard.submit(Request(ticket, api_key, version, body, client), self.now_ms))
        self.take(self.shard.run_due(self.now_ms))
        return ticket

    def wait(self, ms: int) -> None:
        self.now_ms += ms
        self.take(self.shard.run_due(self.now_ms))

    def take(self, answers: list[Answer]) -> None:
        for answer in answers:
            assert answer.ticket not in self.answers, "answered twice"
            self.answers[answer.ticket] = answer.body

    def join(
        self,
        group_id: str = "g",
        member_id: str = "",
        *,
        client: str = "c",
        instance_id: str | None = None,
        protocols: tuple[tuple[str, bytes], ...] = (("range", b""),),
        protocol_type: str = "consumer",
        session_ms: int = 30_000,
        rebalance_ms: int = 60_000,
        version: int = 9,
    ) -> int:
        body = messages.JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocols=tuple(JoinProtocol(name=name, metadata=metadata) for name, metadata in protocols),
        )
        return self.ask(JOIN_GROUP, version, body, client)

    def enter(self, group_id: str = "g", **about: Any) -> int:
        """Join as a new client does: with the id that a first request was given."""
        given = self.answers[self.join(group_id, **about)]
        return self.join(group_id, given.member_id, **about)

    def sync(self, group_id: str, member_id: str, generation: int, assignments: dict[str, bytes] | None = None, **about: Any) -> int:
        body = messages.SyncGroupRequest(
            group_id=group_id,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=about.get("instance_id"),
            assignments=tuple(SyncAssignment(member_id=id, assignment=assignment) for id, assignment in (assignments or {}).items()),
        )
        return self.ask(SYNC_GROUP, 4, body)

    def beat(self, group_id: str, member_id: str, generation: int, **about: Any) -> int:
        """A heartbeat; its error code."""
        instance_id = about.get("instance_id")
        body = messages.HeartbeatRequest(group_id=group_id, generation_id=generation, member_id=member_id, group_instance_id=instance_id)
        code: int = self.answers[self.ask(HEARTBEAT, 4, body)].error_code
        return code

    def leave(self, group_id: str, *members: tuple[str, str | None]) -> list[int]:
        """Leave, by member and instance id; the error of each."""
        body = messages.LeaveGroupRequest(
            group_id=group_id, members=tuple(MemberIdentity(member_id=id, group_instance_id=instance) for id, instance in members)
        )
        answer = self.answers[self.ask(LEAVE_GROUP, 5, body)]
        return [member.error_code for member in answer.members]
