"""Streams groups (KIP-1071): members, sets of tasks by role, and the group's records.

Source: org.apache.kafka.coordinator.group.streams.StreamsGroupMember, TasksTuple and StreamsCoordinatorRecordHelpers; golden scenario
streams-life in tests/golden/groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from metashell.codec import messages
from metashell.groups.decision import GroupRecords, Record

TaskId = tuple[str, int]
"""Subtopology and partition."""


class Tasks(NamedTuple):
    """Tasks by role: active, standby and warm-up."""

    active: frozenset[TaskId] = frozenset()
    standby: frozenset[TaskId] = frozenset()
    warmup: frozenset[TaskId] = frozenset()

    def meets(self, other: Tasks) -> bool:
        """Return whether both have a task in the same role."""
        return any(own & theirs for own, theirs in zip(self, other, strict=True))

    def is_within(self, other: Tasks) -> bool:
        return all(own <= theirs for own, theirs in zip(self, other, strict=True))

    def __and__(self, other: Tasks) -> Tasks:
        return Tasks(*(own & theirs for own, theirs in zip(self, other, strict=True)))

    def __sub__(self, other: Tasks) -> Tasks:
        return Tasks(*(own - theirs for own, theirs in zip(self, other, strict=True)))

    def __or__(self, other: Tasks) -> Tasks:
        return Tasks(*(own | theirs for own, theirs in zip(self, other, strict=True)))


NO_TASKS: Final = Tasks()

Epochs = Mapping[TaskId, int]
"""Active tasks with their assignment epochs: commits of an older epoch are refused."""

NO_EPOCHS: Final[Epochs] = {}


def tasks_of(topics: Iterable[Any] | None) -> frozenset[TaskId]:
    """Return the tasks in a list of a request or record."""
    return frozenset((entry.subtopology_id, partition) for entry in topics or () for partition in entry.partitions)


def by_subtopology(tasks: Iterable[TaskId]) -> dict[str, tuple[int, ...]]:
    """Group tasks by subtopology, both ascending."""
    found: dict[str, list[int]] = {}
    for subtopology, partition in sorted(tasks):
        found.setdefault(subtopology, []).append(partition)
    return {subtopology: tuple(partitions) for subtopology, partitions in found.items()}


def task_entries(kind: Any, tasks: Iterable[TaskId]) -> tuple[Any, ...]:
    """Return tasks as entries of an answer or record; `kind` is the class of an entry."""
    return tuple(kind(subtopology_id=id, partitions=partitions) for id, partitions in by_subtopology(tasks).items())


STABLE: Final = 1
UNREVOKED: Final = 2
UNRELEASED: Final = 3
STATE_NAMES: Final = {STABLE: "STABLE", UNREVOKED: "UNREVOKED_TASKS", UNRELEASED: "UNRELEASED_TASKS"}
"""Other numbers are states of a newer Kafka."""

LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2
"""The epoch of a static member that left and will return: it keeps its tasks."""


class Endpoint(NamedTuple):
    """The address at which a process answers interactive queries."""

    host: str
    port: int


class TaskOffsets(NamedTuple):
    """The offsets of a member's tasks and the ends of their logs, as last reported."""

    current: Mapping[TaskId, int] = MappingProxyType({})
    end: Mapping[TaskId, int] = MappingProxyType({})


class StreamsGroupMember(NamedTuple):
    """Shape: `assigned` and `revoking` (not yet confirmed) share no task in one role; `epochs` has the active tasks of both."""

    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    state: int = STABLE
    assigned: Tasks = NO_TASKS
    revoking: Tasks = NO_TASKS
    epochs: Epochs = NO_EPOCHS
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topology_epoch: int = 0
    process_id: str = ""
    endpoint: Endpoint | None = None
    client_tags: tuple[tuple[str, str], ...] = ()


STREAMS_GROUP: Final = 17
STREAMS_MEMBER: Final = 19
STREAMS_TARGET: Final = 20
STREAMS_TARGET_MEMBER: Final = 21
STREAMS_CURRENT: Final = 22
STREAMS_TOPOLOGY: Final = 23

RECORDS: Final = GroupRecords("Streams", STREAMS_GROUP, STREAMS_MEMBER, STREAMS_TARGET, STREAMS_TARGET_MEMBER, STREAMS_CURRENT)
member_tombstones: Final = RECORDS.member_tombstones

NOT_VALIDATED: Final = -1
Configs = tuple[tuple[str, str], ...]


class DescriptionEpochs(NamedTuple):
    """The topology epochs whose description a broker's plug-in has stored, and failed to store; -1 for none."""

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
    return RECORDS.of_group(group_id, value)


def topology_record(group_id: str, topology: messages.StreamsGroupTopologyValue) -> Record:
    return Record(STREAMS_TOPOLOGY, messages.StreamsGroupTopologyKey(group_id=group_id), topology)


def member_record(group_id: str, member: StreamsGroupMember) -> Record:
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
    return RECORDS.of_member(group_id, member.member_id, value)


def target_record(group_id: str, epoch: int, timestamp_ms: int) -> Record:
    value = messages.StreamsGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return RECORDS.of_target(group_id, value)


def target_member_record(group_id: str, member_id: str, target: Tasks) -> Record:
    kind = messages.StreamsGroupTargetAssignmentMemberValue
    active, standby, warmup = (task_entries(kind.TaskIds, tasks) for tasks in target)
    value = kind(active_tasks=active, standby_tasks=standby, warmup_tasks=warmup)
    return RECORDS.of_target_member(group_id, member_id, value)


def current_record(group_id: str, member: StreamsGroupMember) -> Record:
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
    return RECORDS.of_current(group_id, member.member_id, value)


def member_from_record(known: StreamsGroupMember, value: messages.StreamsGroupMemberMetadataValue) -> StreamsGroupMember:
    """Return the member with the fields of record 19."""
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


def current_from_record(known: StreamsGroupMember, value: messages.StreamsGroupCurrentMemberAssignmentValue) -> StreamsGroupMember:
    """Return the member with the tasks of record 22. Active tasks without an assignment epoch get the member's epoch."""
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


def group_tombstones(group_id: str, member_ids: Iterable[str]) -> list[Record]:
    """Return the records that remove a group, in Kafka's order."""
    topology = Record(STREAMS_TOPOLOGY, messages.StreamsGroupTopologyKey(group_id=group_id))
    return [*RECORDS.group_tombstones(group_id, member_ids), topology]


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
