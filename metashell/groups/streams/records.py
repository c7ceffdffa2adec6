"""The records of streams groups.

Source: groups.md 2.5 and 2.6, golden scenario streams-life.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from metashell.codec import messages
from metashell.groups.record import Record
from metashell.groups.streams.member import Endpoint, Member
from metashell.groups.streams.tasks import Epochs, TaskId, Tasks, by_subtopology, task_entries, tasks_of

GROUP: Final = 17
MEMBER: Final = 19
TARGET: Final = 20
TARGET_MEMBER: Final = 21
CURRENT: Final = 22
TOPOLOGY: Final = 23

NOT_VALIDATED: Final = -1
Configs = tuple[tuple[str, str], ...]


class DescriptionEpochs(NamedTuple):
    """The epochs of the topologies whose description a broker's plug-in has stored, and could not store: -1 for none."""

    stored: int = -1
    failed: int = -1


NOT_DESCRIBED: Final = DescriptionEpochs()


def group_record(
    group_id: str, epoch: int, metadata_hash: int, validated_epoch: int, configs: Configs, described: DescriptionEpochs
) -> Record:
    kind = messages.StreamsGroupMetadataValue
    value = kind(
        epoch=epoch,
        metadata_hash=metadata_hash,
        validated_topology_epoch=validated_epoch,
        last_assignment_configs=tuple(kind.LastAssignmentConfig(key=key, value=value) for key, value in configs),
        stored_description_topology_epoch=described.stored,
        failed_description_topology_epoch=described.failed,
    )
    return Record(GROUP, messages.StreamsGroupMetadataKey(group_id=group_id), value)


def topology_record(group_id: str, topology: messages.StreamsGroupTopologyValue) -> Record:
    return Record(TOPOLOGY, messages.StreamsGroupTopologyKey(group_id=group_id), topology)


def member_record(group_id: str, member: Member) -> Record:
    kind = messages.StreamsGroupMemberMetadataValue
    value = kind(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if member.endpoint is None else kind.Endpoint(host=member.endpoint.host, port=member.endpoint.port),
        client_tags=tuple(kind.KeyValue(key=key, value=value) for key, value in member.client_tags),
    )
    return Record(MEMBER, messages.StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id), value)


def target_record(group_id: str, epoch: int, timestamp_ms: int) -> Record:
    value = messages.StreamsGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return Record(TARGET, messages.StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def target_member_record(group_id: str, member_id: str, target: Tasks) -> Record:
    kind = messages.StreamsGroupTargetAssignmentMemberValue
    active, standby, warmup = (task_entries(kind.TaskIds, tasks) for tasks in target)
    value = kind(active_tasks=active, standby_tasks=standby, warmup_tasks=warmup)
    return Record(TARGET_MEMBER, messages.StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value)


def current_record(group_id: str, member: Member) -> Record:
    kind = messages.StreamsGroupCurrentMemberAssignmentValue
    value = kind(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        active_tasks=_with_epochs(kind, member.assigned.active, member.epochs),
        standby_tasks=task_entries(kind.TaskIds, member.assigned.standby),
        warmup_tasks=task_entries(kind.TaskIds, member.assigned.warmup),
        active_tasks_pending_revocation=_with_epochs(kind, member.revoking.active, member.epochs),
        standby_tasks_pending_revocation=task_entries(kind.TaskIds, member.revoking.standby),
        warmup_tasks_pending_revocation=task_entries(kind.TaskIds, member.revoking.warmup),
    )
    return Record(CURRENT, messages.StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id), value)


def member_of(known: Member, value: messages.StreamsGroupMemberMetadataValue) -> Member:
    """The member as record 19 says it is."""
    endpoint = value.user_endpoint
    return known._replace(
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        topology_epoch=value.topology_epoch,
        process_id=value.process_id,
        endpoint=None if endpoint is None else Endpoint(endpoint.host, endpoint.port),
        client_tags=tuple((tag.key, tag.value) for tag in value.client_tags),
    )


def current_of(known: Member, value: messages.StreamsGroupCurrentMemberAssignmentValue) -> Member:
    """The member with the tasks that record 22 says it has. Active tasks without an assignment epoch have the member's."""
    revoking = Tasks(
        tasks_of(value.active_tasks_pending_revocation),
        tasks_of(value.standby_tasks_pending_revocation),
        tasks_of(value.warmup_tasks_pending_revocation),
    )
    return known._replace(
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=value.state,
        assigned=Tasks(tasks_of(value.active_tasks), tasks_of(value.standby_tasks), tasks_of(value.warmup_tasks)),
        revoking=revoking,
        epochs=_epochs_of((*value.active_tasks, *value.active_tasks_pending_revocation), value.member_epoch),
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
        Record(TARGET, messages.StreamsGroupTargetAssignmentMetadataKey(group_id=group_id)),
        *(_member_tombstone(group_id, id) for id in ids),
        Record(GROUP, messages.StreamsGroupMetadataKey(group_id=group_id)),
        Record(TOPOLOGY, messages.StreamsGroupTopologyKey(group_id=group_id)),
    ]


def _current_tombstone(group_id: str, member_id: str) -> Record:
    return Record(CURRENT, messages.StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id))


def _target_tombstone(group_id: str, member_id: str) -> Record:
    return Record(TARGET_MEMBER, messages.StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id))


def _member_tombstone(group_id: str, member_id: str) -> Record:
    return Record(MEMBER, messages.StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member_id))


def _with_epochs(kind: Any, tasks: frozenset[TaskId], epochs: Epochs) -> tuple[Any, ...]:
    return tuple(
        kind.TaskIds(subtopology_id=id, partitions=partitions, assignment_epochs=tuple(epochs[id, partition] for partition in partitions))
        for id, partitions in by_subtopology(tasks).items()
    )


def _epochs_of(entries: Iterable[Any], member_epoch: int) -> Epochs:
    found = {}
    for entry in entries:
        epochs = entry.assignment_epochs
        if epochs is None or len(epochs) != len(entry.partitions):
            epochs = (max(member_epoch, 0),) * len(entry.partitions)
        found.update({(entry.subtopology_id, partition): epoch for partition, epoch in zip(entry.partitions, epochs, strict=True)})
    return found
