"""The records of share groups.

Source: groups.md 2.4 and 2.6, golden scenarios share-life and restart-clean.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from metashell.codec import messages
from metashell.groups.record import Record
from metashell.groups.share.member import Member, Partitions
from metashell.groups.share.share_state import ByTopic, NamedPartitions, ShareState

MEMBER: Final = 10
GROUP: Final = 11
TARGET: Final = 12
TARGET_MEMBER: Final = 13
CURRENT: Final = 14
SHARE_STATE: Final = 15


def group_record(group_id: str, epoch: int, metadata_hash: int) -> Record:
    value = messages.ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return Record(GROUP, messages.ShareGroupMetadataKey(group_id=group_id), value)


def member_record(group_id: str, member: Member) -> Record:
    value = messages.ShareGroupMemberMetadataValue(
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(member.names)),
    )
    return Record(MEMBER, messages.ShareGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id), value)


def target_record(group_id: str, epoch: int, timestamp_ms: int) -> Record:
    value = messages.ShareGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return Record(TARGET, messages.ShareGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def target_member_record(group_id: str, member_id: str, target: Partitions) -> Record:
    kind = messages.ShareGroupTargetAssignmentMemberValue
    value = kind(topic_partitions=tuple(kind.TopicPartition(topic_id=id, partitions=partitions) for id, partitions in target.items()))
    return Record(TARGET_MEMBER, messages.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value)


def current_record(group_id: str, member: Member) -> Record:
    kind = messages.ShareGroupCurrentMemberAssignmentValue
    value = kind(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        assigned_partitions=tuple(kind.TopicPartitions(topic_id=id, partitions=partitions) for id, partitions in member.assigned.items()),
    )
    return Record(CURRENT, messages.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id), value)


def share_state_record(group_id: str, state: ShareState) -> Record:
    kind = messages.ShareGroupStatePartitionMetadataValue
    value = kind(
        initializing_topics=_named(kind, state.initializing),
        initialized_topics=_named(kind, state.initialized),
        deleting_topics=tuple(kind.TopicInfo(topic_id=id, topic_name=name) for id, name in state.deleting.items()),
    )
    return Record(SHARE_STATE, messages.ShareGroupStatePartitionMetadataKey(group_id=group_id), value)


def share_state_of(value: messages.ShareGroupStatePartitionMetadataValue) -> ShareState:
    """What a record says."""
    return ShareState(
        {topic.topic_id: NamedPartitions(topic.topic_name, frozenset(topic.partitions)) for topic in value.initializing_topics},
        {topic.topic_id: NamedPartitions(topic.topic_name, frozenset(topic.partitions)) for topic in value.initialized_topics},
        {topic.topic_id: topic.topic_name for topic in value.deleting_topics},
    )


def member_tombstones(group_id: str, member_id: str) -> list[Record]:
    """What removes a member, in Kafka's order."""
    return [_current_tombstone(group_id, member_id), _target_tombstone(group_id, member_id), _member_tombstone(group_id, member_id)]


def group_tombstones(group_id: str, member_ids: Iterable[str]) -> list[Record]:
    """What removes a group, in Kafka's order."""
    ids = list(member_ids)
    return [
        *(_current_tombstone(group_id, id) for id in ids),
        *(_target_tombstone(group_id, id) for id in ids),
        Record(TARGET, messages.ShareGroupTargetAssignmentMetadataKey(group_id=group_id)),
        *(_member_tombstone(group_id, id) for id in ids),
        Record(SHARE_STATE, messages.ShareGroupStatePartitionMetadataKey(group_id=group_id)),
        Record(GROUP, messages.ShareGroupMetadataKey(group_id=group_id)),
    ]


def _current_tombstone(group_id: str, member_id: str) -> Record:
    return Record(CURRENT, messages.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id))


def _target_tombstone(group_id: str, member_id: str) -> Record:
    return Record(TARGET_MEMBER, messages.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id))


def _member_tombstone(group_id: str, member_id: str) -> Record:
    return Record(MEMBER, messages.ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id))


def _named(kind: Any, topics: ByTopic) -> tuple[Any, ...]:
    return tuple(
        kind.TopicPartitionsInfo(topic_id=id, topic_name=topic.name, partitions=tuple(sorted(topic.partitions)))
        for id, topic in topics.items()
    )
