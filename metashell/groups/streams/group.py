"""A streams group as its records describe it, and its topology checked against the topics that exist.

The topology gives the number of tasks of each subtopology, and the internal topics that are missing.
Source: org.apache.kafka.coordinator.group.streams.StreamsGroup, topics.InternalTopicManager; golden scenarios streams-life,
streams-validation, watched-streams-epochs, -internal, -refused and -topics in tests/golden/groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple

from metashell.codec.error_codes import (
    NON_EMPTY_GROUP,
    STALE_MEMBER_EPOCH,
    STREAMS_INVALID_TOPOLOGY,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_SERVER_ERROR,
    UNSUPPORTED_VERSION,
)
from metashell.codec.java import TimelineMap
from metashell.groups.decision import GroupError, Record
from metashell.groups.state import CommitClaim, Group
from metashell.groups.streams import (
    NO_TASKS,
    NOT_DESCRIBED,
    NOT_VALIDATED,
    STABLE,
    STATE_NAMES,
    Configs,
    DescriptionEpochs,
    StreamsGroupMember,
    TaskId,
    TaskOffsets,
    Tasks,
    by_subtopology,
    group_tombstones,
)
from metashell.groups.topics import Topics
from metashell.groups.view import GroupDescription, GroupSummary, MemberDescription, Parts

FIRST_EPOCH: Final = 1
"""The epoch of a group without records."""
_MEMBERS_COMMIT_FROM: Final = 9


@dataclass(slots=True, eq=True)
class StreamsGroup(Group):
    """A streams group. Shape: `topology` is the value of record 23, None before the first.

    Not from records: `configured` and `checked_hash` are the topology matched with the topics of metadata version `checked_version`, and
    its hash; `endpoint_epoch` rises when members with endpoints change their tasks; `shutdown_by` is the member that requested a shutdown
    of the application; `task_offsets` are those that members reported.

    `refined` is the target of an epoch that members move towards; Kafka keeps it beside the target of the records. A heartbeat that names
    an instance id takes over its owner's entry there, even if the heartbeat is then refused. The owner gives up all its tasks until the
    next epoch, as in Kafka.
    """

    type: ClassVar[str] = "streams"

    group_id: str
    epoch: int = FIRST_EPOCH
    metadata_hash: int = 0
    validated_epoch: int = NOT_VALIDATED
    configs: Configs = ()
    described: DescriptionEpochs = NOT_DESCRIBED
    topology: Any = None
    assignment_epoch: int = FIRST_EPOCH
    assignment_ms: int = 0
    members: MutableMapping[str, StreamsGroupMember] = field(default_factory=TimelineMap)
    statics: dict[str, str] = field(default_factory=dict)
    targets: dict[str, Tasks] = field(default_factory=dict)
    checked_version: int = field(default=-1, compare=False)
    checked_hash: int = field(default=0, compare=False)
    configured: Configured | None = field(default=None, compare=False)
    endpoint_epoch: int = field(default=0, compare=False)
    shutdown_by: str | None = field(default=None, compare=False)
    task_offsets: dict[str, TaskOffsets] = field(default_factory=dict, compare=False)
    refined: tuple[int, dict[str, Tasks]] = field(default=(-1, {}), compare=False)

    def put(self, member: StreamsGroupMember) -> None:
        """Add or replace a member."""
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.statics[member.instance_id] = member.member_id

    def remove(self, member_id: str) -> None:
        """Remove a member. With the last one, the state that depends on members is reset."""
        member = self.members.pop(member_id, None)
        if member is not None and member.instance_id is not None:
            self.statics.pop(member.instance_id, None)
        self.task_offsets.pop(member_id, None)
        if not self.members:
            self.shutdown_by = None

    def relabel_refined(self, old_id: str, new_id: str) -> None:
        """Rename a static member in the refined target."""
        epoch, targets = self.refined
        if old_id in targets:
            self.refined = epoch, {id: tasks for id, tasks in targets.items() if id != old_id} | {new_id: targets[old_id]}

    def static_member(self, instance_id: str | None) -> StreamsGroupMember | None:
        member_id = None if instance_id is None else self.statics.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def state_name(self) -> str:
        if not self.members:
            return "Empty"
        if self.topology is None or self.validated_epoch != self.topology.epoch:
            return "NotReady"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        is_settled = all(member.state == STABLE and member.epoch == self.assignment_epoch for member in self.members.values())
        return "Stable" if is_settled else "Reconciling"

    @property
    def protocol_type(self) -> str:
        return "streams"

    @property
    def is_empty(self) -> bool:
        return not self.members

    def check_commit(self, claim: CommitClaim, topic: str | None = None, topic_id: bytes = b"", partition: int = -1) -> None:
        if claim.epoch < 0 and (not self.members or (claim.is_transactional and not claim.member_id and claim.instance_id is None)):
            return
        member = self.members.get(claim.member_id)
        if member is None:
            raise GroupError(UNKNOWN_MEMBER_ID)
        if not claim.is_transactional and claim.version < _MEMBERS_COMMIT_FROM:
            raise GroupError(UNSUPPORTED_VERSION)
        if claim.epoch > member.epoch or claim.epoch < 0:
            raise GroupError(STALE_MEMBER_EPOCH)
        # As in consumer groups, a late commit is valid for a task that the member has had since the epoch of the commit.
        if topic is not None and claim.epoch < member.epoch and not self._had_task(member, topic, partition, claim.epoch):
            raise GroupError(STALE_MEMBER_EPOCH)

    def _had_task(self, member: StreamsGroupMember, topic: str, partition: int, epoch: int) -> bool:
        """Return whether the member has had a task that reads the partition since this epoch: then a late commit is valid."""
        return any(
            since <= epoch and task[1] == partition and topic in input_topics(self.topology, task[0])
            for task, since in member.epochs.items()
            if self.topology is not None
        )

    def check_fetch(self, claim: CommitClaim) -> None:
        if claim.epoch < 0 and not claim.member_id:
            return
        member = self.members.get(claim.member_id)
        if member is None:
            raise GroupError(UNKNOWN_MEMBER_ID)
        if claim.epoch != member.epoch:
            raise GroupError(STALE_MEMBER_EPOCH)

    def check_delete_offsets(self) -> None:
        return None

    def check_delete(self) -> None:
        if self.members:
            raise GroupError(NON_EMPTY_GROUP)

    def is_subscribed(self, topic: str) -> bool:
        if not self.members or self.topology is None:
            return False
        return any(topic in input_topics(self.topology, part.subtopology_id) for part in self.topology.subtopologies)

    def expiry_base_ms(self, commit_ms: int) -> int | None:
        return commit_ms

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
        members = tuple(self._member_description(member) for member in self.members.values())
        details: dict[str, Any] = {"configs": dict(self.configs), "validated_topology_epoch": self.validated_epoch}
        if self.described != NOT_DESCRIBED:
            details |= {"stored_description_topology_epoch": self.described.stored}
            details |= {"failed_description_topology_epoch": self.described.failed}
        if self.topology is not None:
            parts = {part.subtopology_id: input_topics(self.topology, part.subtopology_id) for part in self.topology.subtopologies}
            details |= {"topology_epoch": self.topology.epoch, "subtopologies": parts}
        return GroupDescription(summary=self.summary(), members=members, assignment_epoch=self.assignment_epoch, details=details)

    def _member_description(self, member: StreamsGroupMember) -> MemberDescription:
        target = self.targets.get(member.member_id, NO_TASKS)
        endpoint = None if member.endpoint is None else f"{member.endpoint.host}:{member.endpoint.port}"
        return MemberDescription(
            member_id=member.member_id,
            member_type="streams",
            client_id=member.client_id,
            client_host=member.client_host,
            instance_id=member.instance_id,
            rack=member.rack_id,
            epoch=member.epoch,
            state=STATE_NAMES.get(member.state, "UNKNOWN"),
            assigned=_parts(member.assigned.active),
            target=_parts(target.active),
            revoking=_parts(member.revoking.active),
            details={
                "process": member.process_id,
                "endpoint": endpoint,
                "topology_epoch": member.topology_epoch,
                "tags": dict(member.client_tags),
                "standby": _listed(member.assigned.standby),
                "warmup": _listed(member.assigned.warmup),
                "target_standby": _listed(target.standby),
            },
        )


def _parts(tasks: frozenset[TaskId]) -> Parts:
    return tuple(by_subtopology(tasks).items())


def _listed(tasks: frozenset[TaskId]) -> dict[str, list[int]]:
    return {id: list(partitions) for id, partitions in by_subtopology(tasks).items()}


STALE_TOPOLOGY: Final = 0
MISSING_SOURCE_TOPICS: Final = 1
INCORRECTLY_PARTITIONED_TOPICS: Final = 2
MISSING_INTERNAL_TOPICS: Final = 3
SHUTDOWN_APPLICATION: Final = 4
ASSIGNMENT_DELAYED: Final = 5

NewTopic = tuple[int, int, tuple[tuple[str, str], ...]]
"""Partitions, replication factor and configs."""


class Status(NamedTuple):
    """The reason why a group cannot run, as in a heartbeat's answer."""

    code: int
    detail: str


class Configured(NamedTuple):
    """Shape: `task_counts` by subtopology, empty while there is a `fault`; `stateful` are those with changelogs, which can have standbys.
    `missing` are internal topics to create. `partition_counts` has every topic of the topology whose number is known.
    """

    task_counts: dict[str, int]
    stateful: frozenset[str]
    partition_counts: dict[str, int]
    missing: dict[str, NewTopic]
    fault: Status | None


def configure(topology: Any, topics: Topics) -> Configured:
    """Match a topology with the existing topics. Errors: GroupError for a topology that is invalid with any topics."""
    parts = topology.subtopologies
    _check(parts)
    sources = sorted({name for part in parts for name in part.source_topics})
    counts = {name: topic.partition_count for name in sources if (topic := topics.named(name)) is not None}
    if missing := [name for name in sources if name not in counts]:
        return _faulty(counts, Status(MISSING_SOURCE_TOPICS, f"Source topics {', '.join(missing)} are missing."))
    if uneven := list(_uneven(parts, counts)):
        detail = f"Following topics do not have the same number of partitions: [{', '.join(uneven)}]"
        return _faulty(counts, Status(INCORRECTLY_PARTITIONED_TOPICS, detail))
    _count_repartition_topics(parts, counts)
    tasks = {part.subtopology_id: max((counts[name] for name in _inputs(part)), default=0) for part in parts}
    for part in parts:
        counts.update({topic.name: tasks[part.subtopology_id] for topic in part.state_changelog_topics})
    internal = {topic.name: topic for part in parts for topic in part.repartition_source_topics}
    internal |= {topic.name: topic for part in parts for topic in part.state_changelog_topics}
    if wrong := [name for name in internal if (known := topics.named(name)) is not None and known.partition_count != counts[name]]:
        found = ", ".join(f"{name} has {_count(topics, name)} partitions instead of {counts[name]}" for name in wrong)
        return _faulty(counts, Status(INCORRECTLY_PARTITIONED_TOPICS, f"Internal topics with another number of partitions: {found}"))
    lacking = {name: _new_topic(topic, counts[name]) for name, topic in internal.items() if topics.named(name) is None}
    if lacking:
        fault = Status(MISSING_INTERNAL_TOPICS, f"Internal topics are missing: {', '.join(lacking)}")
        return _faulty(counts, fault)._replace(missing=lacking)
    stateful = frozenset(part.subtopology_id for part in parts if part.state_changelog_topics)
    return Configured(tasks, stateful, counts, {}, None)


def required_topics(topology: Any) -> set[str]:
    """Return the topics in the group's metadata hash."""
    parts = topology.subtopologies
    changelogs = {topic.name for part in parts for topic in part.state_changelog_topics}
    return changelogs.union(*(_inputs(part) for part in parts))


def input_topics(topology: Any, subtopology: str) -> list[str]:
    """Return the topics that a subtopology's tasks read."""
    return next((_inputs(part) for part in topology.subtopologies if part.subtopology_id == subtopology), [])


def _inputs(part: Any) -> list[str]:
    return [*part.source_topics, *(topic.name for topic in part.repartition_source_topics)]


def _check(parts: Iterable[Any]) -> None:
    seen: set[str] = set()
    for part in parts:
        if part.subtopology_id in seen:
            raise GroupError(UNKNOWN_SERVER_ERROR)
        seen.add(part.subtopology_id)
        for group in part.copartition_groups:
            own = ((group.source_topics, part.source_topics), (group.repartition_source_topics, part.repartition_source_topics))
            if any(not 0 <= index < len(names) for indexes, names in own for index in indexes):
                raise GroupError(UNKNOWN_SERVER_ERROR)
        for topic in part.state_changelog_topics:
            if topic.partitions:
                text = f"Changelog topic {topic.name} must have an undefined partition count, but it is set to {topic.partitions}."
                raise GroupError(STREAMS_INVALID_TOPOLOGY, text)


def _uneven(parts: Iterable[Any], counts: dict[str, int]) -> Iterator[str]:
    """Return source topics that must have equal numbers of partitions and do not."""
    for part in parts:
        for group in part.copartition_groups:
            found = {part.source_topics[index]: counts[part.source_topics[index]] for index in group.source_topics}
            if len(set(found.values())) > 1:
                yield "{" + ", ".join(f"{name}={count}" for name, count in found.items()) + "}"


def _count_repartition_topics(parts: Iterable[Any], counts: dict[str, int]) -> None:
    """Set each repartition topic's number of partitions: its own, its copartition group's, or the largest of those that write to it."""
    parts = list(parts)
    waiting = {topic.name for part in parts for topic in part.repartition_source_topics if not topic.partitions}
    counts.update({topic.name: topic.partitions for part in parts for topic in part.repartition_source_topics if topic.partitions})
    progress = True
    while waiting and progress:
        progress = False
        for name in sorted(waiting):
            writers = [part for part in parts if name in part.repartition_sink_topics]
            if writers and all(input in counts for part in writers for input in _inputs(part)):
                counts[name] = max((counts[input] for part in writers for input in _inputs(part)), default=0)
                waiting.discard(name)
                progress = True
    if waiting:
        text = "because a repartition source topic is never used as a sink topic."
        raise GroupError(STREAMS_INVALID_TOPOLOGY, f"Failed to compute number of partitions for all repartition topics, {text}")
    for part in parts:
        for group in part.copartition_groups:
            own = [part.repartition_source_topics[index].name for index in group.repartition_source_topics]
            others = [counts[part.source_topics[index]] for index in group.source_topics]
            count = max(others or [counts[name] for name in own], default=0)
            counts.update(dict.fromkeys(own, count))


def _new_topic(topic: Any, partitions: int) -> NewTopic:
    configs = tuple((config.key, config.value) for config in topic.topic_configs)
    return partitions, topic.replication_factor or -1, configs


def _count(topics: Topics, name: str) -> int:
    topic = topics.named(name)
    return 0 if topic is None else topic.partition_count


def _faulty(counts: dict[str, int], fault: Status) -> Configured:
    return Configured({}, frozenset(), counts, {}, fault)
