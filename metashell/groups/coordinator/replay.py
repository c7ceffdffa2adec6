"""Replays the records of `__consumer_offsets` into the state: `REPLAYS` has the function of each record type.

Never raises. Where a broker would refuse to load a log, because a record contradicts those before it, the state gets a finding; the record
still counts where its group is of the right kind. Reading a log needs no more than this module: it does not import requests or assignors.

Source: the replay methods of org.apache.kafka.coordinator.group.GroupMetadataManager and OffsetMetadataManager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from metashell.codec.java import names_in_order
from metashell.codec.messages import GroupMetadataValue
from metashell.common.values import uuid_text
from metashell.groups.classic import GROUP_METADATA, ClassicGroupMember, Protocol
from metashell.groups.classic.group import ClassicGroup, ClassicState
from metashell.groups.consumer import (
    CONSUMER_CURRENT,
    CONSUMER_GROUP,
    CONSUMER_MEMBER,
    CONSUMER_PARTITION_METADATA,
    CONSUMER_REGEX,
    CONSUMER_TARGET,
    CONSUMER_TARGET_MEMBER,
    LEAVE_EPOCH,
    NOTHING,
    ConsumerGroupMember,
    with_assignment,
    with_metadata,
)
from metashell.groups.consumer.group import ConsumerGroup, Resolved
from metashell.groups.decision import Place, Record
from metashell.groups.share import (
    NO_PARTITIONS,
    SHARE_CURRENT,
    SHARE_GROUP,
    SHARE_MEMBER,
    SHARE_STATE,
    SHARE_TARGET,
    SHARE_TARGET_MEMBER,
    ShareGroup,
    ShareGroupMember,
    share_state_of,
)
from metashell.groups.state import LEGACY_OFFSET_COMMIT, OFFSET_COMMIT, Group, PartitionKey, State, add_pending, committed_of, drop_pending
from metashell.groups.streams import (
    NO_TASKS,
    STREAMS_CURRENT,
    STREAMS_GROUP,
    STREAMS_MEMBER,
    STREAMS_TARGET,
    STREAMS_TARGET_MEMBER,
    STREAMS_TOPOLOGY,
    DescriptionEpochs,
    StreamsGroupMember,
    Tasks,
    current_from_record,
    member_from_record,
    tasks_of,
)
from metashell.groups.streams.group import StreamsGroup


def replay_group_metadata(state: State, record: Record, place: Place) -> None:
    group_id = record.key.group
    known = state.groups.get(group_id)
    if record.value is None:
        if known is not None and known.type == ClassicGroup.type:
            del state.groups[group_id]
        return
    if known is not None and known.type != ClassicGroup.type and not known.is_empty:
        state.find_other_kind(known, ClassicGroup.type, place)
    state.groups[group_id] = group_of(group_id, record.value)


def group_of(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """Return the group of a record. With members it is Stable: the record does not have the state, and is written when assignments are."""
    group = ClassicGroup(group_id, ClassicState.STABLE if value.members else ClassicState.EMPTY, value.current_state_timestamp)
    group.restore(value.generation, value.protocol_type, value.protocol, value.leader)
    for member in value.members:
        # Version 0 of the record has no rebalance timeout.
        rebalance_timeout_ms = member.session_timeout if member.rebalance_timeout < 0 else member.rebalance_timeout
        added = ClassicGroupMember(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            rebalance_timeout_ms,
            member.session_timeout,
            (Protocol(value.protocol or "", bytes(member.subscription)),),
            bytes(member.assignment),
        )
        group.add(added, value.protocol_type)
    group.subscribed = group.compute_subscribed()
    return group


def make_simple(group_id: str) -> Group:
    """Return the group of offsets whose consumer never joined a group."""
    return ClassicGroup(group_id, ClassicState.EMPTY, -1)


# ---- consumer groups

NO_EPOCH: Final = -1
"""The epoch after a tombstone: of a group's target, which must precede the group's own, and of a member's assignment, as a member's."""


def replay_consumer_group(state: State, record: Record, place: Place) -> None:
    """Replay ConsumerGroupMetadata, type 3."""
    group_id = record.key.group_id
    if record.value is not None:
        group = _get_or_make_consumer_group(state, group_id, place)
        group.epoch, group.metadata_hash = record.value.epoch, record.value.metadata_hash
        return
    known = _known_consumer_group(state, group_id)
    if known is None:
        return
    if known.members or known.targets or known.assignment_epoch != NO_EPOCH:
        state.find("GROUP_NOT_EMPTY", group_id, f"deleted with {len(known.members)} members and {len(known.targets)} targets", place)
    del state.groups[group_id]


def replay_consumer_partition_metadata(state: State, record: Record, place: Place) -> None:
    """Replay ConsumerGroupPartitionMetadata, type 4. Only 4.0 wrote it; newer releases delete it with the next epoch."""
    group = (
        _known_consumer_group(state, record.key.group_id)
        if record.value is None
        else _get_or_make_consumer_group(state, record.key.group_id, place)
    )
    if group is not None:
        group.has_partition_metadata = record.value is not None


def replay_consumer_member(state: State, record: Record, place: Place) -> None:
    """Replay ConsumerGroupMemberMetadata, type 5."""
    group_id, member_id = record.key.group_id, record.key.member_id
    if record.value is not None:
        group = _get_or_make_consumer_group(state, group_id, place)
        group.put(with_metadata(group.members.get(member_id) or ConsumerGroupMember(member_id), record.value))
        return
    known = _known_consumer_group(state, group_id)
    if known is None or member_id not in known.members:
        return
    if known.members[member_id].epoch != LEAVE_EPOCH or member_id in known.targets:
        state.find("MEMBER_NOT_GONE", group_id, f"member {member_id} deleted while it has an assignment or a target", place)
    known.remove(member_id)


def replay_consumer_target(state: State, record: Record, place: Place) -> None:
    """Replay ConsumerGroupTargetAssignmentMetadata, type 6."""
    group_id = record.key.group_id
    if record.value is not None:
        group = _get_or_make_consumer_group(state, group_id, place)
        group.assignment_epoch, group.assignment_ms = record.value.assignment_epoch, record.value.assignment_timestamp
        return
    known = _known_consumer_group(state, group_id)
    if known is None:
        return
    if known.targets:
        state.find("TARGETS_NOT_GONE", group_id, f"target deleted while {len(known.targets)} members have one", place)
    known.assignment_epoch, known.assignment_ms = NO_EPOCH, 0


def replay_consumer_target_member(state: State, record: Record, place: Place) -> None:
    """Replay ConsumerGroupTargetAssignmentMember, type 7."""
    group_id, member_id = record.key.group_id, record.key.member_id
    if record.value is not None:
        _get_or_make_consumer_group(state, group_id, place).targets[member_id] = {
            topic.topic_id: topic.partitions for topic in record.value.topic_partitions
        }
        return
    known = _known_consumer_group(state, group_id)
    if known is not None:
        known.targets.pop(member_id, None)


def replay_consumer_current(state: State, record: Record, place: Place) -> None:
    """Replay ConsumerGroupCurrentMemberAssignment, type 8."""
    group_id, member_id = record.key.group_id, record.key.member_id
    if record.value is not None:
        group = _get_or_make_consumer_group(state, group_id, place)
        for topic_id, partition in group.put(with_assignment(group.members.get(member_id) or ConsumerGroupMember(member_id), record.value)):
            text = f"{uuid_text(topic_id)}-{partition} goes to {member_id} with epoch {record.value.member_epoch} while it is held"
            state.find("OWNERSHIP_OVERLAP", group_id, text, place)
        return
    known = _known_consumer_group(state, group_id)
    member = None if known is None else known.members.get(member_id)
    if known is not None and member is not None:
        known.put(member._replace(epoch=LEAVE_EPOCH, previous_epoch=LEAVE_EPOCH, assigned=NOTHING, revoking=NOTHING))


def replay_consumer_regex(state: State, record: Record, place: Place) -> None:
    """Replay ConsumerGroupRegularExpression, type 16."""
    group_id, regex = record.key.group_id, record.key.regular_expression
    if record.value is not None:
        resolved = Resolved(frozenset(record.value.topics), record.value.version, record.value.timestamp)
        _get_or_make_consumer_group(state, group_id, place).resolve(regex, resolved)
        return
    known = _known_consumer_group(state, group_id)
    if known is not None:
        known.resolve(regex, None)


def _known_consumer_group(state: State, group_id: str) -> ConsumerGroup | None:
    group = state.groups.get(group_id)
    return group if isinstance(group, ConsumerGroup) else None


def _get_or_make_consumer_group(state: State, group_id: str, place: Place) -> ConsumerGroup:
    """Return the group, a new one if there is none or only a simple classic group, which offsets made."""
    group = state.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        return group
    if group is not None and not (group.type == "classic" and group.is_empty and not group.protocol_type):
        state.find_other_kind(group, ConsumerGroup.type, place)
    made = state.groups[group_id] = ConsumerGroup(group_id)
    return made


CONSUMER_REPLAYS: Final[dict[int, Callable[[State, Record, Place], None]]] = {
    CONSUMER_GROUP: replay_consumer_group,
    CONSUMER_PARTITION_METADATA: replay_consumer_partition_metadata,
    CONSUMER_MEMBER: replay_consumer_member,
    CONSUMER_TARGET: replay_consumer_target,
    CONSUMER_TARGET_MEMBER: replay_consumer_target_member,
    CONSUMER_CURRENT: replay_consumer_current,
    CONSUMER_REGEX: replay_consumer_regex,
}


# ---- share groups


def _share_group_of(state: State, record: Record, place: Place) -> ShareGroup | None:
    """Return the record's group, which a value creates; None if a tombstone has nothing to do."""
    group_id = record.key.group_id
    group = state.groups.get(group_id)
    if isinstance(group, ShareGroup):
        return group
    if group is not None:
        if record.value is not None:
            state.find_other_kind(group, ShareGroup.type, place)
        return None
    if record.value is None:
        return None
    made = state.groups[group_id] = ShareGroup(group_id)
    return made


def replay_share_group(state: State, record: Record, place: Place) -> None:
    group = _share_group_of(state, record, place)
    if group is None:
        return
    if record.value is not None:
        group.epoch, group.metadata_hash = record.value.epoch, record.value.metadata_hash
        return
    _delete_group(state, group, place)


def replay_share_member(state: State, record: Record, place: Place) -> None:
    group = _share_group_of(state, record, place)
    if group is None:
        return
    member_id, value = record.key.member_id, record.value
    if value is None:
        known = group.members.get(member_id)
        if known is not None and (known.epoch != NO_EPOCH or member_id in group.targets):
            state.find("MEMBER_NOT_GONE", group.group_id, f"member {member_id} is deleted while it has an epoch or a target", place)
        group.remove(member_id)
        return
    known = group.members.get(member_id) or ShareGroupMember(member_id)
    group.put(
        known._replace(
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            names=names_in_order(value.subscribed_topic_names),
        )
    )


def replay_share_target(state: State, record: Record, place: Place) -> None:
    _replay_target(state, _share_group_of(state, record, place), record, place)


def replay_share_target_member(state: State, record: Record, place: Place) -> None:
    group = _share_group_of(state, record, place)
    if group is None:
        return
    if record.value is None:
        group.targets.pop(record.key.member_id, None)
    else:
        group.targets[record.key.member_id] = {topic.topic_id: topic.partitions for topic in record.value.topic_partitions}


def replay_share_current(state: State, record: Record, place: Place) -> None:
    group = _share_group_of(state, record, place)
    if group is None:
        return
    member_id, value = record.key.member_id, record.value
    known = group.members.get(member_id)
    if value is None:
        if known is not None:
            group.put(known._replace(epoch=NO_EPOCH, previous_epoch=NO_EPOCH, assigned=NO_PARTITIONS))
        return
    group.put(
        (known or ShareGroupMember(member_id))._replace(
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=value.state,
            assigned={topic.topic_id: topic.partitions for topic in value.assigned_partitions},
        )
    )


def replay_share_state(state: State, record: Record, place: Place) -> None:
    group = _share_group_of(state, record, place)
    if group is not None:
        group.share_state = None if record.value is None else share_state_of(record.value)


SHARE_REPLAYS: Final[dict[int, Callable[[State, Record, Place], None]]] = {
    SHARE_GROUP: replay_share_group,
    SHARE_MEMBER: replay_share_member,
    SHARE_TARGET: replay_share_target,
    SHARE_TARGET_MEMBER: replay_share_target_member,
    SHARE_CURRENT: replay_share_current,
    SHARE_STATE: replay_share_state,
}


def _replay_target(state: State, group: ShareGroup | StreamsGroup | None, record: Record, place: Place) -> None:
    """Replay the target of a share or streams group: its epoch, not its members' partitions."""
    if group is None:
        return
    if record.value is not None:
        group.assignment_epoch, group.assignment_ms = record.value.assignment_epoch, record.value.assignment_timestamp
        return
    if group.targets:
        state.find("TARGET_NOT_EMPTY", group.group_id, "the target is deleted while members have one", place)
    group.assignment_epoch, group.assignment_ms = NO_EPOCH, 0


def _delete_group(state: State, group: ShareGroup | StreamsGroup, place: Place) -> None:
    """Delete a share or streams group, with a finding if the records before its tombstone left something of it."""
    if group.members or group.targets or group.assignment_epoch != NO_EPOCH:
        state.find("GROUP_NOT_EMPTY", group.group_id, "the group is deleted while it has members or a target", place)
    del state.groups[group.group_id]


# ---- streams groups


def _streams_group_of(state: State, record: Record, place: Place) -> StreamsGroup | None:
    """Return the record's group. A value creates it, or replaces an empty group of another kind. None if there is nothing to do."""
    group_id = record.key.group_id
    group = state.groups.get(group_id)
    if isinstance(group, StreamsGroup):
        return group
    if record.value is None:
        return None
    if group is not None and not group.is_empty:
        state.find_other_kind(group, StreamsGroup.type, place)
        return None
    made = state.groups[group_id] = StreamsGroup(group_id)
    return made


def replay_streams_group(state: State, record: Record, place: Place) -> None:
    group = _streams_group_of(state, record, place)
    if group is None:
        return
    value = record.value
    if value is not None:
        group.epoch, group.metadata_hash, group.validated_epoch = value.epoch, value.metadata_hash, value.validated_topology_epoch
        group.described = DescriptionEpochs(value.stored_description_topology_epoch, value.failed_description_topology_epoch)
        group.configs = tuple((config.key, config.value) for config in value.last_assignment_configs or ())
        return
    _delete_group(state, group, place)


def replay_streams_topology(state: State, record: Record, place: Place) -> None:
    group = _streams_group_of(state, record, place)
    if group is not None:
        group.topology = record.value
        group.configured = None


def replay_streams_member(state: State, record: Record, place: Place) -> None:
    group = _streams_group_of(state, record, place)
    if group is None:
        return
    member_id = record.key.member_id
    known = group.members.get(member_id)
    if record.value is not None:
        group.put(member_from_record(known or StreamsGroupMember(member_id), record.value))
        return
    if known is not None and (known.epoch != NO_EPOCH or member_id in group.targets):
        state.find("MEMBER_NOT_GONE", group.group_id, f"member {member_id} is deleted while it has an epoch or a target", place)
    group.remove(member_id)


def replay_streams_target(state: State, record: Record, place: Place) -> None:
    _replay_target(state, _streams_group_of(state, record, place), record, place)


def replay_streams_target_member(state: State, record: Record, place: Place) -> None:
    group = _streams_group_of(state, record, place)
    if group is None:
        return
    value = record.value
    if value is None:
        group.targets.pop(record.key.member_id, None)
    else:
        group.targets[record.key.member_id] = Tasks(
            tasks_of(value.active_tasks), tasks_of(value.standby_tasks), tasks_of(value.warmup_tasks)
        )


def replay_streams_current(state: State, record: Record, place: Place) -> None:
    group = _streams_group_of(state, record, place)
    if group is None:
        return
    member_id = record.key.member_id
    known = group.members.get(member_id)
    if record.value is not None:
        group.put(current_from_record(known or StreamsGroupMember(member_id), record.value))
    elif known is not None:
        group.members[member_id] = known._replace(epoch=NO_EPOCH, previous_epoch=NO_EPOCH, assigned=NO_TASKS, revoking=NO_TASKS, epochs={})


STREAMS_REPLAYS: Final[dict[int, Callable[[State, Record, Place], None]]] = {
    STREAMS_GROUP: replay_streams_group,
    STREAMS_MEMBER: replay_streams_member,
    STREAMS_TARGET: replay_streams_target,
    STREAMS_TARGET_MEMBER: replay_streams_target_member,
    STREAMS_CURRENT: replay_streams_current,
    STREAMS_TOPOLOGY: replay_streams_topology,
}


# ---- committed offsets


def replay_commit(state: State, record: Record, place: Place) -> None:
    """Replay an offset or its tombstone. The offset of a transaction is pending until the transaction ends."""
    group_id, key = record.key.group, (record.key.topic, record.key.partition)
    if record.value is None:
        _drop_commit(state, group_id, key)
        return
    if group_id not in state.groups:
        state.groups[group_id] = state.make_simple(group_id)
    if place.producer_id < 0:
        state.offsets.setdefault(group_id, {})[key] = committed_of(record, place.offset)
    else:
        add_pending(state, group_id, place.producer_id, key, committed_of(record, place.offset))


def _drop_commit(state: State, group_id: str, key: PartitionKey) -> None:
    """Drop the committed and all pending offsets of a partition, as a tombstone does."""
    offsets = state.offsets.get(group_id)
    if offsets is not None and offsets.pop(key, None) is not None and not offsets:
        del state.offsets[group_id]
    drop_pending(state, group_id, key)


Replay = Callable[[State, Record, Place], None]

REPLAYS: dict[int, Replay] = {
    LEGACY_OFFSET_COMMIT: replay_commit,
    OFFSET_COMMIT: replay_commit,
    GROUP_METADATA: replay_group_metadata,
    **CONSUMER_REPLAYS,
    **SHARE_REPLAYS,
    **STREAMS_REPLAYS,
}
"""The functions by record type. Other types are skipped."""


def make_state() -> State:
    """Return a state without records."""
    return State(make_simple)


def replay(state: State, record: Record, place: Place) -> None:
    """Replay one record of the log."""
    function = REPLAYS.get(record.type)
    if function is not None:
        function(state, record, place)
