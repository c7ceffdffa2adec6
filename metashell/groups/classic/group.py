"""A classic group: its state, and the changes that need neither time nor timers.

Source: org.apache.kafka.coordinator.group.classic.ClassicGroup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import ClassVar, Final

from metashell.codec.error_codes import (
    COORDINATOR_NOT_AVAILABLE,
    FENCED_INSTANCE_ID,
    GROUP_ID_NOT_FOUND,
    ILLEGAL_GENERATION,
    NON_EMPTY_GROUP,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from metashell.codec.java import JavaMap
from metashell.groups.classic import (
    ClassicGroupMember,
    JoinMember,
    Protocol,
    Waiting,
    describe_member,
    group_metadata_tombstone,
    join_answer,
    join_error,
    protocols_of,
    rebalance_timeout_of,
    subscribed_topics,
    sync_answer,
    sync_error,
)
from metashell.groups.decision import Answer, GroupError, Record, Request, TimerKey, Timers
from metashell.groups.state import CommitClaim, Group
from metashell.groups.topics import Topics
from metashell.groups.view import GroupDescription, GroupSummary

CONSUMER: Final = "consumer"
"""The protocol type of consumers; others are `connect` and what applications make up."""


class ClassicState(StrEnum):
    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


_CAN_REBALANCE = (ClassicState.STABLE, ClassicState.COMPLETING, ClassicState.EMPTY)


def session_key(group_id: str, member_id: str) -> TimerKey:
    return ("heartbeat", group_id, member_id)


class ClassicGroup(Group):
    """A classic group.

    Shape: members in Java's order. `state_ms` is when the state was entered, -1 if an old record does not have it. `subscribed` is None if
    not known. Counts are kept up to date because each join needs them: a group of 1 000 members would else walk over a million.
    """

    type: ClassVar[str] = "classic"

    def __init__(self, group_id: str, state: ClassicState, state_ms: int) -> None:
        self.group_id = group_id
        self.state = state
        self.previous_state = ClassicState.DEAD
        self.state_ms = state_ms
        self.protocol_name: str | None = None
        self.generation = 0
        self.leader: str | None = None
        self.members: JavaMap[ClassicGroupMember] = JavaMap()
        self.static_members: dict[str, str] = {}
        """Instance id -> member id."""
        self.pending_joins: set[str] = set()
        """Member ids that were handed out (KIP-394) and have not joined yet."""
        self.pending_syncs: set[str] = set()
        self.awaiting_join_count = 0
        self.is_member_added = False
        """Whether a member joined since the initial delay began."""
        self.subscribed: frozenset[str] | None = None
        self._protocol_type: str | None = None
        self._supporters: Counter[str] = Counter()

    # ---- the interface of every kind of group

    def state_name(self) -> str:
        return self.state.value

    @property
    def protocol_type(self) -> str:
        return self._protocol_type or ""

    @property
    def protocol_type_or_none(self) -> str | None:
        return self._protocol_type

    @property
    def is_empty(self) -> bool:
        return self.state is ClassicState.EMPTY

    def check_commit(self, claim: CommitClaim, topic: str | None = None, topic_id: bytes = b"", partition: int = -1) -> None:
        if self.state is ClassicState.DEAD:
            raise GroupError(COORDINATOR_NOT_AVAILABLE)
        if claim.epoch < 0 and self.is_empty:
            # A consumer that assigns partitions to itself, or an administrator. A group with members refuses such commits.
            return
        if claim.epoch >= 0 or claim.member_id or claim.instance_id is not None:
            self.check_member(claim.member_id, claim.instance_id)
            if claim.epoch != self.generation:
                raise GroupError(ILLEGAL_GENERATION)
        elif not claim.is_transactional and not self.is_empty:
            raise GroupError(UNKNOWN_MEMBER_ID)
        if not claim.is_transactional and self.state is ClassicState.COMPLETING:
            # The member does not know its assignment yet, so the commit may be for partitions that it loses. While joins are gathered
            # (PreparingRebalance) a commit is welcome: the member still owns its partitions and commits before it revokes them.
            raise GroupError(REBALANCE_IN_PROGRESS)

    def looks_at_partitions(self, claim: CommitClaim) -> bool:
        return False

    def check_fetch(self, claim: CommitClaim) -> None:
        if self.state is ClassicState.DEAD:
            raise GroupError(GROUP_ID_NOT_FOUND, f"Group {self.group_id} is in dead state.")

    def check_delete(self) -> None:
        if self.state is ClassicState.DEAD:
            raise GroupError(GROUP_ID_NOT_FOUND, f"Group {self.group_id} is in dead state.")
        if not self.is_empty:
            raise GroupError(NON_EMPTY_GROUP)

    def check_delete_offsets(self) -> None:
        if self.state is ClassicState.DEAD:
            raise GroupError(GROUP_ID_NOT_FOUND, f"Group {self.group_id} is in dead state.")
        if not self.is_empty and self.protocol_type != CONSUMER:
            raise GroupError(NON_EMPTY_GROUP)

    def is_subscribed(self, topic: str) -> bool:
        return self.protocol_type == CONSUMER if self.subscribed is None else topic in self.subscribed

    def expiry_base_ms(self, commit_ms: int) -> int | None:
        # KIP-211. A simple group has no members, so each offset counts by itself. In a group that became empty the retention of all offsets
        # begins then: a consumer that was stopped for the weekend finds them. In a Stable group only topics that nobody reads any more
        # expire; while it rebalances, its subscriptions are not known.
        if self._protocol_type is None:
            return commit_ms
        if self.is_empty:
            return self.state_ms if self.state_ms >= 0 else commit_ms
        if self.protocol_type == CONSUMER and self.subscribed is not None and self.state is ClassicState.STABLE:
            return commit_ms
        return None

    def tombstones(self) -> list[Record]:
        return [group_metadata_tombstone(self.group_id)]

    def committed(self, member_id: str, timers: Timers, now_ms: int) -> None:
        member = self.members.get(member_id)
        if member is not None and self.state in (ClassicState.STABLE, ClassicState.PREPARING):
            timers.restart(session_key(self.group_id, member_id), now_ms + member.session_timeout_ms)

    def summary(self) -> GroupSummary:
        return GroupSummary(
            group_id=self.group_id,
            kind=self.type,
            state=self.state_name(),
            protocol_type=self.protocol_type,
            epoch=self.generation,
            members=len(self.members),
        )

    def description(self, topics: Topics) -> GroupDescription:
        members = tuple(describe_member(member, self.protocol_type, self.protocol_name) for member in self.members.values())
        return GroupDescription(summary=self.summary(), members=members, assignor=self.protocol_name, leader=self.leader)

    # ---- queries

    def check_member(self, member_id: str, instance_id: str | None) -> None:
        """Errors: GroupError for an unknown member, and for one whose instance id now belongs to another member."""
        if instance_id is not None:
            known = self.static_members.get(instance_id)
            if known is None:
                raise GroupError(UNKNOWN_MEMBER_ID)
            if known != member_id:
                raise GroupError(FENCED_INSTANCE_ID)
        if member_id not in self.members:
            raise GroupError(UNKNOWN_MEMBER_ID)

    def supports(self, protocol_type: str, protocols: Iterable[Protocol]) -> bool:
        """Return whether a member with this protocol type and these protocols may join: all members must have one in common."""
        names = [protocol.name for protocol in protocols]
        if self.is_empty:
            return bool(protocol_type and names)
        count = len(self.members)
        return protocol_type == self._protocol_type and any(self._supporters[name] == count for name in names)

    @property
    def can_rebalance(self) -> bool:
        return self.state in _CAN_REBALANCE

    @property
    def have_all_joined(self) -> bool:
        return len(self.members) == self.awaiting_join_count and not self.pending_joins

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def select_protocol(self) -> str | None:
        """Return the protocol with the most votes. Each member votes for its first protocol that all support.

        Among equals it is the first in the order of a java.util.HashMap of those with votes.
        """
        count = len(self.members)
        candidates = {name for name, supporters in self._supporters.items() if supporters == count}
        votes: JavaMap[int] = JavaMap()
        for member in self.members.values():
            vote = member.vote(candidates)
            if vote is not None:
                votes[vote] = votes.get(vote, 0) + 1
        return max(votes, key=lambda name: votes[name], default=None)

    def shown_members(self) -> tuple[JoinMember, ...]:
        """Return the members for the leader's answer."""
        assert self.protocol_name is not None
        return tuple(
            JoinMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                metadata=member.metadata(self.protocol_name) or b"",
            )
            for member in self.members.values()
        )

    def compute_subscribed(self) -> frozenset[str] | None:
        if self.protocol_type != CONSUMER:
            return None
        if not self.members:
            return frozenset()
        if self.protocol_name is None:
            return None
        found: set[str] = set()
        for metadata in {member.metadata(self.protocol_name) or b"" for member in self.members.values()}:
            topics = subscribed_topics(metadata)
            if topics is None:
                return None
            found.update(topics)
        return frozenset(found)

    # ---- changes

    def restore(self, generation: int, protocol_type: str | None, protocol_name: str | None, leader: str | None) -> None:
        """Set the fields of a record, before its members are added."""
        self.generation = generation
        self._protocol_type = protocol_type or None
        self.protocol_name = protocol_name
        self.leader = leader

    def move_to(self, state: ClassicState, now_ms: int) -> None:
        self.previous_state, self.state, self.state_ms = self.state, state, now_ms

    def add(self, member: ClassicGroupMember, protocol_type: str) -> None:
        """Add a member. The first one fixes the protocol type and leads."""
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        if not self.members:
            self._protocol_type = protocol_type or None
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        self._count(member, 1)
        if member.awaiting_join is not None:
            self.awaiting_join_count += 1
        self.pending_joins.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count(member, -1)
            if member.awaiting_join is not None:
                self.awaiting_join_count -= 1
            if member.instance_id is not None:
                self.static_members.pop(member.instance_id, None)
        if member_id == self.leader:
            self.leader = next(iter(self.members), None)
        self.pending_joins.discard(member_id)
        self.pending_syncs.discard(member_id)

    def update(
        self, member: ClassicGroupMember, protocols: tuple[Protocol, ...], rebalance_timeout_ms: int, session_timeout_ms: int
    ) -> None:
        self._count(member, -1)
        member.protocols = protocols
        self._count(member, 1)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def update_from(self, member: ClassicGroupMember, request: Request) -> None:
        """Update a member that joins again. An earlier join of it that still waits is never answered."""
        self.update(member, protocols_of(request), rebalance_timeout_of(request), request.body.session_timeout_ms)
        if member.awaiting_join is None:
            self.awaiting_join_count += 1
        member.awaiting_join = Waiting.of(request)

    def replace_static(self, instance_id: str, old_id: str, new_id: str) -> list[Answer]:
        """Rename a static member. Requests that wait under the old id are answered FENCED_INSTANCE_ID."""
        member = self.members.pop(old_id)
        answers = self.refuse_join(member, FENCED_INSTANCE_ID, old_id) + self.refuse_sync(member, FENCED_INSTANCE_ID)
        renamed = ClassicGroupMember(
            new_id,
            instance_id,
            member.client_id,
            member.client_host,
            member.rebalance_timeout_ms,
            member.session_timeout_ms,
            member.protocols,
            member.assignment,
        )
        self.members[new_id] = renamed
        if self.leader == old_id:
            self.leader = new_id
        self.static_members[instance_id] = new_id
        return answers

    def elect_leader(self) -> bool:
        """Keep the leader if it has joined again, else elect the first member that has. Returns whether there is one."""
        if self.leader is None:
            return False
        if self.members[self.leader].awaiting_join is not None:
            return True
        for member in self.members.values():
            if member.awaiting_join is not None:
                self.leader = member.member_id
                return True
        return False

    def begin_generation(self, now_ms: int) -> None:
        self.generation += 1
        if self.members:
            self.protocol_name = self.select_protocol()
            self.subscribed = self.compute_subscribed()
            self.move_to(ClassicState.COMPLETING, now_ms)
        else:
            self.protocol_name = None
            self.subscribed = self.compute_subscribed()
            self.move_to(ClassicState.EMPTY, now_ms)
        self.pending_syncs.clear()

    def _count(self, member: ClassicGroupMember, step: int) -> None:
        # A member may name a protocol twice but supports it once. Counted twice, it would look unsupported by the others for ever.
        for name in {protocol.name for protocol in member.protocols}:
            self._supporters[name] += step
            if not self._supporters[name]:
                del self._supporters[name]

    # ---- answers to requests that wait

    def refuse_join(self, member: ClassicGroupMember, code: int, member_id: str = "") -> list[Answer]:
        waiting = member.awaiting_join
        if waiting is None:
            return []
        self.awaiting_join_count -= 1
        member.awaiting_join = None
        return [join_error(waiting, code, member_id)]

    def answer_join(
        self, member: ClassicGroupMember, members: tuple[JoinMember, ...], *, leader: str | None = None, skips_assignment: bool = False
    ) -> list[Answer]:
        waiting = member.awaiting_join
        if waiting is None:
            return []
        self.awaiting_join_count -= 1
        member.awaiting_join = None
        return [
            join_answer(
                waiting,
                member_id=member.member_id,
                generation=self.generation,
                protocol_type=self._protocol_type,
                protocol_name=self.protocol_name,
                leader=(self.leader if leader is None else leader) or "",
                members=members,
                skips_assignment=skips_assignment,
            )
        ]

    def refuse_sync(self, member: ClassicGroupMember, code: int) -> list[Answer]:
        ticket = member.awaiting_sync
        member.awaiting_sync = None
        return [] if ticket is None else [sync_error(ticket, code)]

    def answer_sync(self, member: ClassicGroupMember) -> list[Answer]:
        ticket = member.awaiting_sync
        member.awaiting_sync = None
        return [] if ticket is None else [sync_answer(ticket, self._protocol_type, self.protocol_name, member.assignment)]

    def refuse_all_waiting(self, code: int) -> list[Answer]:
        """Answer every waiting join and sync with this error."""
        members = self.members.values()
        joins = [answer for member in members for answer in self.refuse_join(member, code, member.member_id)]
        return joins + [answer for member in members for answer in self.refuse_sync(member, code)]
