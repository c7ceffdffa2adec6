"""Consumer groups (KIP-848): members of both protocols, their partitions and records, and the ways to and from classic groups.

Promises:
- A request becomes the records of one batch, by type: the member's subscription (5), the group's epoch (3), changed targets (7, 6), and the
  member's next step towards its target (8). Only their replay changes the state. A downgrade is the exception: it makes the classic group.
- A member gets a partition only once no other member holds it: the old owner first revokes it and confirms that.
- Client input never reaches Python's `re`: regular expressions are RE2/J's, and matching takes time linear in the text.

A member's partitions are `topic id -> partition -> assignment epoch`. Clients see their order in records and answers. Kafka keeps the
partitions of a topic in a java.util.HashMap, whose table may be smaller than the highest partition, so they do not always ascend: 0, 5 and
16 in a table of 16 buckets are listed as 0, 16, 5.

Modules: `group` is the group; `heartbeat` and `classic_member` decide requests of the two protocols; `subscription` and `assignment` have
the stages that both share; `leave` removes members and downgrades the group.
Source: org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember, GroupCoordinatorRecordHelpers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, Protocol

from metashell.codec import messages
from metashell.codec.java import hash_order, names_in_order
from metashell.groups.decision import GroupRecords, Record
from metashell.groups.topics import Topics
from metashell.groups.view import GroupDescription, GroupSummary, MemberDescription, named_parts

Held = Mapping[bytes, Mapping[int, int]]
"""Topic id -> partition -> the assignment epoch, in which the member got the partition."""

NOTHING: Held = {}


class TopicPartitions(Protocol):
    """The partitions of one topic in a request or record."""

    @property
    def topic_id(self) -> bytes: ...

    @property
    def partitions(self) -> tuple[int, ...]: ...


def held(entries: Iterable[tuple[int, int]], buckets: int = 16) -> dict[int, int]:
    """Return partitions with their epochs in the order of a java.util.HashMap of that many buckets."""
    epochs = dict(entries)
    return {partition: epochs[partition] for partition in hash_order(epochs, buckets)}


def buckets_of_copy(count: int) -> int:
    """Return the number of buckets of a java.util.HashMap that is a copy of one with `count` entries."""
    return 16 if count == 0 else 1 << int(count / 0.75).bit_length()


def held_of_record(topics: Iterable[TopicPartitions], epoch: int) -> dict[bytes, dict[int, int]]:
    """Return the partitions in a record. Those without an assignment epoch, as before KIP-1251, get the member's `epoch`."""
    found = {}
    for topic in topics:
        epochs: tuple[int, ...] | None = getattr(topic, "assignment_epochs", None)
        if epochs is None or len(epochs) != len(topic.partitions):
            epochs = (max(epoch, 0),) * len(topic.partitions)
        found[topic.topic_id] = held(zip(topic.partitions, epochs, strict=True))
    return found


def holds_any(reported: Iterable[TopicPartitions], of: Held) -> bool:
    """Return whether a member still reports one of these partitions."""
    return any(partition in of.get(topic.topic_id, ()) for topic in reported for partition in topic.partitions)


def is_within(reported: Iterable[TopicPartitions] | None, of: Held) -> bool:
    """Return whether a member reports its partitions, and none besides these."""
    if reported is None:
        return False
    return all(topic.topic_id in of and all(partition in of[topic.topic_id] for partition in topic.partitions) for topic in reported)


STABLE: Final = 0
UNREVOKED: Final = 1
UNRELEASED: Final = 2
STATE_NAMES: Final = {STABLE: "STABLE", UNREVOKED: "UNREVOKED_PARTITIONS", UNRELEASED: "UNRELEASED_PARTITIONS"}
"""Other numbers are states of a newer Kafka."""

LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2
"""The epoch of a static member that left and is expected back."""


class ClassicProtocols(NamedTuple):
    """The JoinGroup of a member that speaks the classic protocol. Shape: protocols in the member's order, name and metadata."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]

    @property
    def name(self) -> str:
        """The protocol in answers to its joins."""
        return self.protocols[0][0]

    @property
    def metadata(self) -> bytes:
        """Its subscription; all protocols have the same."""
        return self.protocols[0][1]


class ConsumerGroupMember(NamedTuple):
    """Shape: `names` are in the order of Kafka's set. `assigned` and `revoking` (told to give up, not confirmed) share no partition."""

    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    state: int = STABLE
    assigned: Held = NOTHING
    revoking: Held = NOTHING
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    names: tuple[str, ...] = ()
    regex: str | None = ""
    server_assignor: str | None = None
    classic: ClassicProtocols | None = None

    @property
    def subscription(self) -> tuple[object, ...]:
        """The fields that the group's counts of subscribers depend on."""
        return self.names, self.regex, self.classic

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        return self.state == STABLE and self.epoch == assignment_epoch

    def same_as(self, other: ConsumerGroupMember) -> bool:
        """Return whether both are equal except for the order of names."""
        return self == other or (self._replace(names=()) == other._replace(names=()) and set(self.names) == set(other.names))


def with_metadata(member: ConsumerGroupMember, value: messages.ConsumerGroupMemberMetadataValue) -> ConsumerGroupMember:
    """Return the member with the subscription of a record of type 5."""
    classic = value.classic_member_metadata
    return member._replace(
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        client_id=value.client_id,
        client_host=value.client_host,
        names=names_in_order(value.subscribed_topic_names),
        regex=value.subscribed_topic_regex,
        server_assignor=value.server_assignor,
        classic=None
        if classic is None
        else ClassicProtocols(
            classic.session_timeout_ms, tuple((protocol.name, protocol.metadata) for protocol in classic.supported_protocols)
        ),
    )


def with_assignment(member: ConsumerGroupMember, value: messages.ConsumerGroupCurrentMemberAssignmentValue) -> ConsumerGroupMember:
    """Return the member with the epochs and partitions of a record of type 8."""
    return member._replace(
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=value.state,
        assigned=held_of_record(value.assigned_partitions, value.member_epoch),
        revoking=held_of_record(value.partitions_pending_revocation, value.member_epoch),
    )


CONSUMER_GROUP: Final = 3
CONSUMER_PARTITION_METADATA: Final = 4
CONSUMER_MEMBER: Final = 5
CONSUMER_TARGET: Final = 6
CONSUMER_TARGET_MEMBER: Final = 7
CONSUMER_CURRENT: Final = 8
CONSUMER_REGEX: Final = 16

Target = Mapping[bytes, tuple[int, ...]]
"""A member's target assignment: topic id -> partitions."""


RECORDS: Final = GroupRecords("Consumer", CONSUMER_GROUP, CONSUMER_MEMBER, CONSUMER_TARGET, CONSUMER_TARGET_MEMBER, CONSUMER_CURRENT)
member_tombstones: Final = RECORDS.member_tombstones


def group_record(group_id: str, epoch: int, metadata_hash: int) -> Record:
    return RECORDS.of_group(group_id, messages.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash))


def member_record(group_id: str, member: ConsumerGroupMember) -> Record:
    classic = member.classic
    value = messages.ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(member.names)),
        subscribed_topic_regex=member.regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.server_assignor,
        classic_member_metadata=None
        if classic is None
        else messages.ConsumerGroupMemberMetadataValue.ClassicMemberMetadata(
            session_timeout_ms=classic.session_timeout_ms,
            supported_protocols=tuple(
                messages.ConsumerGroupMemberMetadataValue.ClassicProtocol(name=name, metadata=metadata)
                for name, metadata in classic.protocols
            ),
        ),
    )
    return RECORDS.of_member(group_id, member.member_id, value)


def target_record(group_id: str, epoch: int, timestamp_ms: int) -> Record:
    value = messages.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return RECORDS.of_target(group_id, value)


def target_member_record(group_id: str, member_id: str, target: Target) -> Record:
    made = messages.ConsumerGroupTargetAssignmentMemberValue
    value = made(topic_partitions=tuple(made.TopicPartition(topic_id=id, partitions=partitions) for id, partitions in target.items()))
    return RECORDS.of_target_member(group_id, member_id, value)


def current_record(group_id: str, member: ConsumerGroupMember) -> Record:
    value = messages.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        assigned_partitions=_topics(member.assigned),
        partitions_pending_revocation=_topics(member.revoking),
    )
    return RECORDS.of_current(group_id, member.member_id, value)


def _topics(partitions: Held) -> tuple[messages.ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions, ...]:
    made = messages.ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions
    return tuple(made(topic_id=id, partitions=tuple(epochs), assignment_epochs=tuple(epochs.values())) for id, epochs in partitions.items())


def regex_record(group_id: str, regex: str, topics: Iterable[str], version: int, timestamp_ms: int) -> Record:
    value = messages.ConsumerGroupRegularExpressionValue(topics=tuple(sorted(topics)), version=version, timestamp=timestamp_ms)
    return Record(CONSUMER_REGEX, messages.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex), value)


def regex_tombstone(group_id: str, regex: str) -> Record:
    return Record(CONSUMER_REGEX, messages.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex))


def partition_metadata_tombstone(group_id: str) -> Record:
    """Return the tombstone of a record that only Kafka 4.0 wrote. Newer releases only delete it."""
    return Record(CONSUMER_PARTITION_METADATA, messages.ConsumerGroupPartitionMetadataKey(group_id=group_id))


def group_tombstones(group_id: str, member_ids: Iterable[str], regexes: Iterable[str]) -> list[Record]:
    """Return the records that remove a group with its members and regular expressions."""
    more = [*(regex_tombstone(group_id, regex) for regex in regexes), partition_metadata_tombstone(group_id)]
    return RECORDS.group_tombstones(group_id, member_ids, more)


def describe_group(
    summary: GroupSummary,
    members: Iterable[ConsumerGroupMember],
    targets: Mapping[str, Target],
    assignors: Mapping[str, int],
    assignment_epoch: int,
    topics: Topics,
) -> GroupDescription:
    """Describe a group. `assignor` is None if no member asks for one, so that the broker's default applies."""
    return GroupDescription(
        summary=summary,
        members=tuple(_describe(member, targets.get(member.member_id, {}), topics) for member in members),
        assignor=most_wanted(assignors),
        assignment_epoch=assignment_epoch,
    )


def most_wanted(counts: Mapping[str, int]) -> str | None:
    """Return the assignor that most members ask for; the first of equals."""
    return max(counts, key=lambda name: counts[name], default=None)


def _describe(member: ConsumerGroupMember, target: Target, topics: Topics) -> MemberDescription:
    classic = member.classic
    return MemberDescription(
        member_id=member.member_id,
        member_type="consumer" if classic is None else "classic",
        client_id=member.client_id,
        client_host=member.client_host,
        instance_id=member.instance_id,
        rack=member.rack_id,
        epoch=member.epoch,
        state=STATE_NAMES.get(member.state, f"UNKNOWN({member.state})"),
        topics=tuple(sorted(member.names)),
        regex=member.regex or None,
        assigned=named_parts(member.assigned.items(), topics),
        target=named_parts(target.items(), topics),
        revoking=named_parts(member.revoking.items(), topics),
        details={
            "previous_epoch": member.previous_epoch,
            "rebalance_timeout_ms": member.rebalance_timeout_ms,
            **({} if member.server_assignor is None else {"server_assignor": member.server_assignor}),
            **(
                {}
                if classic is None
                else {"session_timeout_ms": classic.session_timeout_ms, "protocols": [name for name, _ in classic.protocols]}
            ),
        },
    )
