"""Share groups (KIP-932): members, records, targets, and the partitions that have share state.

The share coordinator keeps the share state itself, elsewhere; record 15 says which partitions have it. A partition is not assigned before
its state exists, and a group is not deleted before its state is gone. Partitions move from initializing to initialized; a topic whose state
is being deleted is listed by its id alone.
Source: org.apache.kafka.coordinator.group.modern.share.ShareGroup and ShareGroupMember, GroupCoordinatorRecordHelpers; golden scenarios
share-life and restart-clean in tests/golden/groups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple

from metashell.codec import messages
from metashell.codec.error_codes import GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP
from metashell.codec.java import TimelineMap
from metashell.groups.decision import GroupError, Record
from metashell.groups.state import CommitClaim, Group
from metashell.groups.topics import Topics
from metashell.groups.view import GroupDescription, GroupSummary, MemberDescription, named_parts

FIRST_EPOCH: Final = 1
"""The epoch of a group without records."""


@dataclass(slots=True, eq=True)
class ShareGroup(Group):
    """A share group. Shape: `subscribers` counts the members that name a topic.

    Not from records: `checked_version` is the metadata version for which the hash was last found unchanged; `state_asked_ms` is when share
    state was last requested, since a request without answer is repeated.
    """

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
    checked_version: int = field(default=-1, compare=False)
    state_asked_ms: int = field(default=0, compare=False)

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
LEAVE_EPOCH: Final = -1


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


def group_record(group_id: str, epoch: int, metadata_hash: int) -> Record:
    value = messages.ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return Record(SHARE_GROUP, messages.ShareGroupMetadataKey(group_id=group_id), value)


def member_record(group_id: str, member: ShareGroupMember) -> Record:
    value = messages.ShareGroupMemberMetadataValue(
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(member.names)),
    )
    return Record(SHARE_MEMBER, messages.ShareGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id), value)


def target_record(group_id: str, epoch: int, timestamp_ms: int) -> Record:
    value = messages.ShareGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return Record(SHARE_TARGET, messages.ShareGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def target_member_record(group_id: str, member_id: str, target: Partitions) -> Record:
    kind = messages.ShareGroupTargetAssignmentMemberValue
    value = kind(topic_partitions=tuple(kind.TopicPartition(topic_id=id, partitions=partitions) for id, partitions in target.items()))
    return Record(SHARE_TARGET_MEMBER, messages.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value)


def current_record(group_id: str, member: ShareGroupMember) -> Record:
    kind = messages.ShareGroupCurrentMemberAssignmentValue
    value = kind(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        assigned_partitions=tuple(kind.TopicPartitions(topic_id=id, partitions=partitions) for id, partitions in member.assigned.items()),
    )
    return Record(SHARE_CURRENT, messages.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id), value)


def share_state_record(group_id: str, state: ShareState) -> Record:
    kind = messages.ShareGroupStatePartitionMetadataValue
    value = kind(
        initializing_topics=_named(kind, state.initializing),
        initialized_topics=_named(kind, state.initialized),
        deleting_topics=tuple(kind.TopicInfo(topic_id=id, topic_name=name) for id, name in state.deleting.items()),
    )
    return Record(SHARE_STATE, messages.ShareGroupStatePartitionMetadataKey(group_id=group_id), value)


def share_state_of(value: messages.ShareGroupStatePartitionMetadataValue) -> ShareState:
    """Return the share state in a record's value."""
    return ShareState(
        {topic.topic_id: NamedPartitions(topic.topic_name, frozenset(topic.partitions)) for topic in value.initializing_topics},
        {topic.topic_id: NamedPartitions(topic.topic_name, frozenset(topic.partitions)) for topic in value.initialized_topics},
        {topic.topic_id: topic.topic_name for topic in value.deleting_topics},
    )


def member_tombstones(group_id: str, member_id: str) -> list[Record]:
    """Return the records that remove a member, in Kafka's order."""
    return [_current_tombstone(group_id, member_id), _target_tombstone(group_id, member_id), _member_tombstone(group_id, member_id)]


def group_tombstones(group_id: str, member_ids: Iterable[str]) -> list[Record]:
    """Return the records that remove a group, in Kafka's order."""
    ids = list(member_ids)
    return [
        *(_current_tombstone(group_id, id) for id in ids),
        *(_target_tombstone(group_id, id) for id in ids),
        Record(SHARE_TARGET, messages.ShareGroupTargetAssignmentMetadataKey(group_id=group_id)),
        *(_member_tombstone(group_id, id) for id in ids),
        Record(SHARE_STATE, messages.ShareGroupStatePartitionMetadataKey(group_id=group_id)),
        Record(SHARE_GROUP, messages.ShareGroupMetadataKey(group_id=group_id)),
    ]


def _current_tombstone(group_id: str, member_id: str) -> Record:
    return Record(SHARE_CURRENT, messages.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id))


def _target_tombstone(group_id: str, member_id: str) -> Record:
    return Record(SHARE_TARGET_MEMBER, messages.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id))


def _member_tombstone(group_id: str, member_id: str) -> Record:
    return Record(SHARE_MEMBER, messages.ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id))


def _named(kind: Any, topics: ByTopic) -> tuple[Any, ...]:
    return tuple(
        kind.TopicPartitionsInfo(topic_id=id, topic_name=topic.name, partitions=tuple(sorted(topic.partitions)))
        for id, topic in topics.items()
    )


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

    def lacking(self, names: Iterable[str], topics: Topics, is_waiting: bool) -> ByTopic:
        """Return partitions of these topics without state. With `is_waiting`, those being initialized do not count."""
        found = {}
        for topic in (topics.named(name) for name in names):
            if topic is None:
                continue
            have = _partitions(self.initialized, topic.id) | (_partitions(self.initializing, topic.id) if is_waiting else frozenset())
            if lacking := frozenset(range(topic.partition_count)) - have:
                found[topic.id] = NamedPartitions(topic.name, lacking)
        return found

    def asked_for(self, added: ByTopic) -> ShareState:
        """Note that initialization was requested."""
        left = {id: name for id, name in self.deleting.items() if id not in added}
        return self._replace(initializing=_more(self.initializing, added), deleting=left)

    def made(self, done: ByTopic) -> ShareState:
        """Note that state was initialized."""
        return self._replace(initializing=_less(self.initializing, done), initialized=_more(self.initialized, done))

    def not_made(self, failed: ByTopic) -> ShareState:
        """Note that initialization failed, so that it is requested again."""
        return self._replace(initializing=_less(self.initializing, failed))

    def without_topics(self, ids: Collection[bytes]) -> ShareState:
        """Drop the state of deleted topics."""
        return ShareState(
            {id: topic for id, topic in self.initializing.items() if id not in ids},
            {id: topic for id, topic in self.initialized.items() if id not in ids},
            {id: name for id, name in self.deleting.items() if id not in ids},
        )

    def all_deleting(self) -> ShareState:
        """Mark all state for deletion, which precedes the deletion of the group."""
        known = {id: topic.name for id, topic in (*self.initializing.items(), *self.initialized.items())}
        return ShareState({}, {}, {**self.deleting, **known})


NO_STATE = ShareState({}, {}, {})


def _partitions(topics: ByTopic, id: bytes) -> frozenset[int]:
    return topics[id].partitions if id in topics else frozenset()


def _more(known: ByTopic, added: ByTopic) -> ByTopic:
    joined = {id: NamedPartitions(topic.name, _partitions(known, id) | topic.partitions) for id, topic in added.items()}
    return {**known, **joined}


def _less(known: ByTopic, taken: ByTopic) -> ByTopic:
    left = {id: topic._replace(partitions=topic.partitions - _partitions(taken, id)) for id, topic in known.items()}
    return {id: topic for id, topic in left.items() if topic.partitions}
