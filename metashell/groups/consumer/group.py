"""A consumer group as its records describe it, and the change that one request makes to it.

Source: org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

from metashell.codec.error_codes import ILLEGAL_GENERATION, NON_EMPTY_GROUP, STALE_MEMBER_EPOCH, UNSUPPORTED_VERSION
from metashell.codec.java import TimelineMap
from metashell.groups.consumer import ConsumerGroupMember, Held, Target, describe_group, group_tombstones
from metashell.groups.decision import GroupError, Record
from metashell.groups.state import CommitClaim, Group
from metashell.groups.topics import Topics
from metashell.groups.view import GroupDescription, GroupSummary

PROTOCOL_TYPE: Final = "consumer"
FIRST_EPOCH: Final = 1
"""The epoch of a group without records. It is never written: the first member raises it to 2."""


class Subscribers(NamedTuple):
    """The number of members that name a topic, and of regular expressions that match it."""

    by_name: int = 0
    by_regex: int = 0


class Resolved(NamedTuple):
    """The topics that matched a regular expression, with the version of the metadata. Units: ms."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


@dataclass(slots=True, eq=True)
class ConsumerGroup(Group):
    """A consumer group.

    Shape: `owners` has, for each topic and partition, the epoch of the member that holds it or still has to give it up. The counts
    (`subscribers`, `regexes`, `assignors`, `classic_protocols`) are kept because a heartbeat must not walk over all members.

    Only `refresh_ms` and `refresh_epoch` are not from records: the metadata hash is not computed again before that time while the group's
    epoch is at least that epoch.
    """

    type: ClassVar[str] = "consumer"

    group_id: str
    epoch: int = FIRST_EPOCH
    metadata_hash: int = 0
    assignment_epoch: int = FIRST_EPOCH
    assignment_ms: int = 0
    members: TimelineMap[ConsumerGroupMember] = field(default_factory=TimelineMap)
    statics: dict[str, str] = field(default_factory=dict)
    targets: dict[str, Target] = field(default_factory=dict)
    resolved: dict[str, Resolved] = field(default_factory=dict)
    has_partition_metadata: bool = False
    owners: dict[tuple[bytes, int], int] = field(default_factory=dict)
    subscribers: dict[str, Subscribers] = field(default_factory=dict)
    regexes: dict[str, int] = field(default_factory=dict)
    assignors: TimelineMap[int] = field(default_factory=TimelineMap)
    classic_protocols: dict[str, int] = field(default_factory=dict)
    classic_count: int = 0
    refresh_ms: int = field(default=0, compare=False)
    refresh_epoch: int = field(default=0, compare=False)

    # ---- what records change

    def put(self, member: ConsumerGroupMember) -> list[tuple[bytes, int]]:
        """Add or replace a member. Returns its partitions that another member held in the same or a later epoch."""
        known = self.members.get(member.member_id)
        self.members[member.member_id] = member
        if known is None or known.subscription != member.subscription:
            if known is not None:
                self._count(known, -1)
            self._count(member, 1)
        # Remove and add even an unchanged name: Kafka's table keeps names in the order in which they were added last.
        if known is not None:
            self._count_assignor(known, -1)
        self._count_assignor(member, 1)
        if member.instance_id is not None:
            self.statics[member.instance_id] = member.member_id
        if known is not None:
            self._disown(known)
        return [*self._own(member.assigned, member.epoch), *self._own(member.revoking, member.epoch)]

    def remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count(member, -1)
            self._count_assignor(member, -1)
            self._disown(member)
            if member.instance_id is not None:
                self.statics.pop(member.instance_id, None)

    def resolve(self, regex: str, resolved: Resolved | None) -> None:
        """Set the topics of a regular expression; None removes it."""
        known = self.resolved.pop(regex, None)
        for name in () if known is None else known.topics:
            count_regex(self.subscribers, name, -1)
        if resolved is not None:
            self.resolved[regex] = resolved
            for name in resolved.topics:
                count_regex(self.subscribers, name, 1)

    def _count(self, member: ConsumerGroupMember, by: int) -> None:
        for name in member.names:
            count_name(self.subscribers, name, by)
        if member.regex:
            add_count(self.regexes, member.regex, by)
        if member.classic is not None:
            self.classic_count += by
            for protocol, _ in member.classic.protocols:
                add_count(self.classic_protocols, protocol, by)

    def _count_assignor(self, member: ConsumerGroupMember, by: int) -> None:
        if member.server_assignor is not None:
            add_count(self.assignors, member.server_assignor, by)

    def _disown(self, member: ConsumerGroupMember) -> None:
        for partitions in (member.assigned, member.revoking):
            for topic_id, epochs in partitions.items():
                for partition in epochs:
                    # In a compacted log another member may have got it before this one's record gave it up.
                    if self.owners.get((topic_id, partition)) == member.epoch:
                        del self.owners[topic_id, partition]

    def _own(self, partitions: Held, epoch: int) -> list[tuple[bytes, int]]:
        taken = []
        for topic_id, epochs in partitions.items():
            for partition in epochs:
                known = self.owners.get((topic_id, partition))
                if known is not None and known >= epoch:
                    taken.append((topic_id, partition))
                self.owners[topic_id, partition] = epoch
        return taken

    # ---- what others ask

    def state_name(self) -> str:
        if not self.members:
            return "Empty"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return "Stable"
        return "Reconciling"

    @property
    def protocol_type(self) -> str:
        return PROTOCOL_TYPE

    @property
    def is_empty(self) -> bool:
        return not self.members

    def member(self, member_id: str) -> ConsumerGroupMember:
        """Errors: GroupError 25."""
        found = self.members.get(member_id)
        if found is None:
            raise self.unknown_member(member_id)
        return found

    def static_member(self, instance_id: str | None) -> ConsumerGroupMember | None:
        member_id = None if instance_id is None else self.statics.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def target_of(self, member_id: str, instance_id: str | None = None) -> Target:
        """Return the member's target. A static member has the target of the member that it replaces."""
        if instance_id is not None:
            member_id = self.statics.get(instance_id, "")
        return self.targets.get(member_id, {})

    def check_commit(self, claim: CommitClaim, topic: str | None = None, topic_id: bytes = b"", partition: int = -1) -> None:
        if claim.epoch < 0 and not self.members:
            return
        if claim.is_transactional and claim.epoch == -1 and not claim.member_id and claim.instance_id is None:
            return
        member = self.member(claim.member_id)
        is_classic = member.classic is not None
        if not claim.is_transactional and not is_classic and claim.version < 9:
            text = "OffsetCommit version 9 or above must be used by members using the consumer group protocol"
            raise GroupError(UNSUPPORTED_VERSION, text)
        if claim.epoch > member.epoch:
            _refuse_epoch(is_classic, f"is newer than current member epoch {member.epoch}.", claim.epoch)
        # An older epoch is fine for a partition that the member has had since then (KIP-1251). Example: a member in epoch 8 got p1 in 8 and
        # has had p0 since 5; a commit that its client sent in epoch 7 is accepted for p0 and refused for p1.
        if claim.epoch < member.epoch and topic is not None:
            epoch = member.assigned.get(topic_id, {}).get(partition, member.revoking.get(topic_id, {}).get(partition))
            if epoch is None:
                raise GroupError(
                    ILLEGAL_GENERATION if is_classic else STALE_MEMBER_EPOCH,
                    f"Partition {topic}-{partition} is not assigned or pending revocation for member.",
                )
            if claim.epoch < epoch:
                _refuse_epoch(is_classic, f"is older than assignment epoch {epoch} for partition {topic}-{partition}.", claim.epoch)

    def looks_at_partitions(self, claim: CommitClaim) -> bool:
        member = self.members.get(claim.member_id)
        return member is not None and claim.epoch < member.epoch

    def check_fetch(self, claim: CommitClaim) -> None:
        if not claim.member_id and claim.epoch < 0:
            return
        member = self.member(claim.member_id)
        if claim.epoch != member.epoch:
            text = f"does not match the expected member epoch {member.epoch}."
            if member.classic is not None:
                raise GroupError(ILLEGAL_GENERATION, f"The received generation id {claim.epoch} {text}")
            raise GroupError(STALE_MEMBER_EPOCH, f"The received member epoch {claim.epoch} {text}")

    def check_delete(self) -> None:
        if self.members:
            raise GroupError(NON_EMPTY_GROUP)

    def check_delete_offsets(self) -> None:
        return

    def is_subscribed(self, topic: str) -> bool:
        return topic in self.subscribers

    def expiry_base_ms(self, commit_ms: int) -> int | None:
        return commit_ms

    def tombstones(self) -> list[Record]:
        return group_tombstones(self.group_id, self.members, self.resolved)

    def summary(self) -> GroupSummary:
        return GroupSummary(
            group_id=self.group_id,
            kind=self.type,
            state=self.state_name(),
            protocol_type=PROTOCOL_TYPE,
            epoch=self.epoch,
            members=len(self.members),
        )

    def description(self, topics: Topics) -> GroupDescription:
        return describe_group(self.summary(), self.members.values(), self.targets, self.assignors, self.assignment_epoch, topics)


def count_name(subscribers: dict[str, Subscribers], name: str, by: int) -> None:
    """Add `by` to the number of members that name a topic."""
    known = subscribers.get(name, Subscribers())
    _set_count(subscribers, name, known._replace(by_name=known.by_name + by))


def count_regex(subscribers: dict[str, Subscribers], name: str, by: int) -> None:
    """Add `by` to the number of regular expressions that match a topic."""
    known = subscribers.get(name, Subscribers())
    _set_count(subscribers, name, known._replace(by_regex=known.by_regex + by))


def is_homogeneous(regexes: Mapping[str, int], subscribers: Mapping[str, Subscribers], member_count: int) -> bool:
    """Return whether all members have the same subscription, as far as the counts show."""
    if not regexes:
        return all(count.by_name == member_count for count in subscribers.values())
    if next(iter(regexes.values())) != member_count:
        return False
    return all(count.by_regex == 1 and count.by_name <= 0 for count in subscribers.values())


def _set_count(subscribers: dict[str, Subscribers], name: str, count: Subscribers) -> None:
    if count.by_name <= 0 and count.by_regex <= 0:
        subscribers.pop(name, None)
    else:
        subscribers[name] = count


def add_count(counts: MutableMapping[str, int], key: str, by: int) -> None:
    """Add `by` to a count and drop it at 0."""
    count = counts.get(key, 0) + by
    if count > 0:
        counts[key] = count
    else:
        counts.pop(key, None)


def _refuse_epoch(is_classic: bool, text: str, epoch: int) -> None:
    if is_classic:
        raise GroupError(ILLEGAL_GENERATION, f"Received generation id {epoch} {text}")
    raise GroupError(STALE_MEMBER_EPOCH, f"Received member epoch {epoch} {text}")


class Change(NamedTuple):
    """A request's change to a group: the member before and after, and the group's epoch after it."""

    group: ConsumerGroup
    member: ConsumerGroupMember
    updated: ConsumerGroupMember
    epoch: int
    is_homogeneous: bool
