"""Share groups (KIP-932), as a log has them: members, targets, and the partitions that have share state.

Nothing here decides for such groups. Their members share messages, and a coordinator without messages has nothing to share: a client that
was let in would ask for messages for ever. So the coordinator has no share APIs; it replays the records of a log that a broker wrote.
The share coordinator keeps the share state itself, elsewhere; record 15 says which partitions have it. A topic whose state is being
deleted is listed by its id alone.
Source: org.apache.kafka.coordinator.group.modern.share.ShareGroup and ShareGroupMember, GroupCoordinatorRecordHelpers; golden scenarios
share-life and watched-share-grows in tests/golden/groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

from metashell.codec import messages
from metashell.codec.error_codes import GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP
from metashell.codec.java import TimelineMap
from metashell.groups.decision import GroupError, GroupRecords, Record
from metashell.groups.state import CommitClaim, Group
from metashell.groups.topics import Topics
from metashell.groups.view import GroupDescription, GroupSummary, MemberDescription, named_parts

FIRST_EPOCH: Final = 1
"""The epoch of a group without records."""


@dataclass(slots=True, eq=True)
class ShareGroup(Group):
    """A share group. Shape: `subscribers` counts the members that name a topic."""

    type: ClassVar[str] = "share"
    is_expiring: ClassVar[bool] = False

    group_id: str
    epoch: int = FIRST_EPOCH
    metadata_hash: int = 0
    assignment_epoch: int = FIRST_EPOCH
    assignment_ms: int = 0
    members: MutableMapping[str, ShareGroupMember] = field(default_factory=TimelineMap)
    targets: dict[str, Partitions] = field(default_factory=dict)
    share_state: ShareState | None = None
    subscribers: dict[str, int] = field(default_factory=dict)

    def put(self, member: ShareGroupMember) -> None:
        """Add or replace a member."""
        known = self.members.get(member.member_id)
        self.members[member.member_id] = member
        if known is None or known.names != member.names:
            self.subscribers = count_subscribers(self.subscribers, () if known is None else known.names, member.names)

    def remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None:
            self.subscribers = count_subscribers(self.subscribers, member.names, ())

    def state_name(self) -> str:
        return "Stable" if self.members else "Empty"

    @property
    def protocol_type(self) -> str:
        return "share"

    @property
    def is_empty(self) -> bool:
        return not self.members

    def check_commit(self, claim: CommitClaim, topic: str | None = None, topic_id: bytes = b"", partition: int = -1) -> None:
        raise self._no_offsets()

    def check_fetch(self, claim: CommitClaim) -> None:
        raise self._no_offsets()

    def check_delete_offsets(self) -> None:
        raise self._no_offsets()

    def check_delete(self) -> None:
        if self.members:
            raise GroupError(NON_EMPTY_GROUP)

    def is_subscribed(self, topic: str) -> bool:
        return topic in self.subscribers

    def expiry_base_ms(self, commit_ms: int) -> int | None:
        return None

    def tombstones(self) -> list[Record]:
        return group_tombstones(self.group_id, self.members)

    def summary(self) -> GroupSummary:
        return GroupSummary(
            group_id=self.group_id,
            kind=self.type,
            state=self.state_name(),
            protocol_type=self.protocol_type,
            epoch=self.epoch,
            members=len(self.members),
        )

    def description(self, topics: Topics) -> GroupDescription:
        members = tuple(
            MemberDescription(
                member_id=member.member_id,
                member_type="share",
                client_id=member.client_id,
                client_host=member.client_host,
                rack=member.rack_id,
                epoch=member.epoch,
                topics=tuple(sorted(member.names)),
                assigned=named_parts(member.assigned.items(), topics),
                target=named_parts(self.targets.get(member.member_id, {}).items(), topics),
            )
            for member in self.members.values()
        )
        state = self.share_state
        details = {} if state is None else {"initializing": _shown(state.initializing), "initialized": _shown(state.initialized)}
        return GroupDescription(summary=self.summary(), members=members, assignment_epoch=self.assignment_epoch, details=details)

    def _no_offsets(self) -> GroupError:
        return GroupError(GROUP_ID_NOT_FOUND)


def count_subscribers(subscribers: Mapping[str, int], before: tuple[str, ...], after: tuple[str, ...]) -> dict[str, int]:
    """Return the subscribers of each topic after one member has changed its subscription."""
    counts = dict(subscribers)
    for name in before:
        counts[name] = counts.get(name, 0) - 1
        if counts[name] <= 0:
            del counts[name]
    for name in after:
        counts[name] = counts.get(name, 0) + 1
    return counts


def _shown(topics: ByTopic) -> dict[str, list[int]]:
    return {topic.name: sorted(topic.partitions) for topic in topics.values()}


Partitions = Mapping[bytes, tuple[int, ...]]
"""Topic id -> partitions, ascending."""

NO_PARTITIONS: Final[Partitions] = {}


class ShareGroupMember(NamedTuple):
    """Shape: `names` are in the order of Kafka's set. Members never have to revoke, since others may have the same partitions."""

    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    state: int = 0
    assigned: Partitions = NO_PARTITIONS
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    names: tuple[str, ...] = ()


SHARE_MEMBER: Final = 10
SHARE_GROUP: Final = 11
SHARE_TARGET: Final = 12
SHARE_TARGET_MEMBER: Final = 13
SHARE_CURRENT: Final = 14
SHARE_STATE: Final = 15
RECORDS: Final = GroupRecords("Share", SHARE_GROUP, SHARE_MEMBER, SHARE_TARGET, SHARE_TARGET_MEMBER, SHARE_CURRENT)


def share_state_of(value: messages.ShareGroupStatePartitionMetadataValue) -> ShareState:
    """Return the share state in a record's value."""
    return ShareState(
        {topic.topic_id: NamedPartitions(topic.topic_name, frozenset(topic.partitions)) for topic in value.initializing_topics},
        {topic.topic_id: NamedPartitions(topic.topic_name, frozenset(topic.partitions)) for topic in value.initialized_topics},
        {topic.topic_id: topic.topic_name for topic in value.deleting_topics},
    )


def group_tombstones(group_id: str, member_ids: Iterable[str]) -> list[Record]:
    """Return the records that remove a group, in Kafka's order."""
    state = Record(SHARE_STATE, messages.ShareGroupStatePartitionMetadataKey(group_id=group_id))
    return RECORDS.group_tombstones(group_id, member_ids, [state])


class NamedPartitions(NamedTuple):
    """Partitions of one topic, with the topic's name at that time."""

    name: str
    partitions: frozenset[int]


ByTopic = Mapping[bytes, NamedPartitions]


class ShareState(NamedTuple):
    """The share state of a group's partitions. Shape: by topic id; `deleting` by id and name."""

    initializing: ByTopic
    initialized: ByTopic
    deleting: Mapping[bytes, str]
