"""The records of consumer groups.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorRecordHelpers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from metashell.codec import messages
from metashell.groups.consumer.member import Member
from metashell.groups.consumer.partitions import Held
from metashell.groups.record import Record

GROUP: Final = 3
PARTITION_METADATA: Final = 4
MEMBER: Final = 5
TARGET: Final = 6
TARGET_MEMBER: Final = 7
CURRENT: Final = 8
REGEX: Final = 16

Target = Mapping[bytes, tuple[int, ...]]
"""What a member is to get: topic id -> partitions."""


def group_record(group_id: str, epoch: int, metadata_hash: int) -> Record:
    return Record(
        GROUP,
        messages.ConsumerGroupMetadataKey(group_id=group_id),
        messages.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def member_record(group_id: str, member: Member) -> Record:
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
    return Record(MEMBER, messages.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id), value)


def target_record(group_id: str, epoch: int, timestamp_ms: int) -> Record:
    value = messages.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return Record(TARGET, messages.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def target_member_record(group_id: str, member_id: str, target: Target) -> Record:
    made = messages.ConsumerGroupTargetAssignmentMemberValue
    value = made(topic_partitions=tuple(made.TopicPartition(topic_id=id, partitions=partitions) for id, partitions in target.items()))
    return Record(TARGET_MEMBER, messages.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value)


def current_record(group_id: str, member: Member) -> Record:
    value = messages.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        assigned_partitions=_topics(member.assigned),
        partitions_pending_revocation=_topics(member.revoking),
    )
    return Record(CURRENT, messages.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id), value)


def _topics(partitions: Held) -> tuple[messages.ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions, ...]:
    made = messages.ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions
    return tuple(made(topic_id=id, partitions=tuple(epochs), assignment_epochs=tuple(epochs.values())) for id, epochs in partitions.items())


def regex_record(group_id: str, regex: str, topics: Iterable[str], version: int, timestamp_ms: int) -> Record:
    value = messages.ConsumerGroupRegularExpressionValue(topics=tuple(sorted(topics)), version=version, timestamp=timestamp_ms)
    return Record(REGEX, messages.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex), value)


def regex_tombstone(group_id: str, regex: str) -> Record:
    return Record(REGEX, messages.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex))


def partition_metadata_tombstone(group_id: str) -> Record:
    """Of the record that 4.0 wrote; newer releases only delete it."""
    return Record(PARTITION_METADATA, messages.ConsumerGroupPartitionMetadataKey(group_id=group_id))


def member_tombstones(group_id: str, member_id: str) -> list[Record]:
    """Remove a member; replay counts on this order."""
    return [
        Record(CURRENT, messages.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)),
        Record(TARGET_MEMBER, messages.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)),
        Record(MEMBER, messages.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id)),
    ]


def group_tombstones(group_id: str, member_ids: Iterable[str], regexes: Iterable[str]) -> list[Record]:
    """Remove a group with all that it has."""
    by_member = [member_tombstones(group_id, member_id) for member_id in member_ids]
    return [
        *(current for current, _, _ in by_member),
        *(target for _, target, _ in by_member),
        Record(TARGET, messages.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id)),
        *(member for _, _, member in by_member),
        *(regex_tombstone(group_id, regex) for regex in regexes),
        partition_metadata_tombstone(group_id),
        Record(GROUP, messages.ConsumerGroupMetadataKey(group_id=group_id)),
    ]
