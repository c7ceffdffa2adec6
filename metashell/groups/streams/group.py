"""A streams group: what the records say of it, and what it answers to the rest of the coordinator.

Source: groups.md 13 and 15; golden scenarios streams-life and watched-streams-epochs.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from metashell.codec.error_codes import NON_EMPTY_GROUP, STALE_MEMBER_EPOCH, UNKNOWN_MEMBER_ID, UNSUPPORTED_VERSION
from metashell.groups.decision import GroupError
from metashell.groups.group import CommitClaim, Group
from metashell.groups.java_map import TimelineMap
from metashell.groups.record import Record
from metashell.groups.streams.member import STABLE, STATE_NAMES, Member, TaskOffsets
from metashell.groups.streams.records import NOT_DESCRIBED, NOT_VALIDATED, Configs, DescriptionEpochs, group_tombstones
from metashell.groups.streams.tasks import NO_TASKS, TaskId, Tasks, by_subtopology
from metashell.groups.streams.topology import Configured, input_topics
from metashell.groups.topics import Topics
from metashell.groups.view import GroupDescription, GroupSummary, MemberDescription, Parts

FIRST_EPOCH: Final = 1
"""Of a group that nobody has written yet."""
_MEMBERS_COMMIT_FROM: Final = 9


@dataclass(slots=True, eq=True)
class StreamsGroup(Group):
    """Shape: `topology` is the value of record 23, None until there is one.

    Not from records: `configured` and `checked_hash` are what the topology comes to with the topics of version `checked_version`;
    `endpoint_epoch` rises when members that answer queries change their tasks; `shutdown_by` is the member that asked all of them to stop;
    `task_offsets` are what members reported; `refined` is the target of an epoch as members come to it: Kafka keeps it beside the
    target, and who names an instance id, even in vain, takes over there what its owner had. The owner then gives up all, until the next
    epoch.
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
    members: MutableMapping[str, Member] = field(default_factory=TimelineMap)
    statics: dict[str, str] = field(default_factory=dict)
    targets: dict[str, Tasks] = field(default_factory=dict)
    checked_version: int = field(default=-1, compare=False)
    checked_hash: int = field(default=0, compare=False)
    configured: Configured | None = field(default=None, compare=False)
    endpoint_epoch: int = field(default=0, compare=False)
    shutdown_by: str | None = field(default=None, compare=False)
    task_offsets: dict[str, TaskOffsets] = field(default_factory=dict, compare=False)
    refined: tuple[int, dict[str, Tasks]] = field(default=(-1, {}), compare=False)

    def put(self, member: Member) -> None:
        """Take a member as it is now."""
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.statics[member.instance_id] = member.member_id

    def remove(self, member_id: str) -> None:
        """Drop a member; with the last one goes what is known only while there are some."""
        member = self.members.pop(member_id, None)
        if member is not None and member.instance_id is not None:
            self.statics.pop(member.instance_id, None)
        self.task_offsets.pop(member_id, None)
        if not self.members:
            self.shutdown_by = None

    def relabel_refined(self, old_id: str, new_id: str) -> None:
        """Another member takes the place of one in the refined target."""
        epoch, targets = self.refined
        if old_id in targets:
            self.refined = epoch, {id: tasks for id, tasks in targets.items() if id != old_id} | {new_id: targets[old_id]}

    def static_member(self, instance_id: str | None) -> Member | None:
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
        if topic is not None and claim.epoch < member.epoch and not self._had_task(member, topic, partition, claim.epoch):
            raise GroupError(STALE_MEMBER_EPOCH)

    def _had_task(self, member: Member, topic: str, partition: int, epoch: int) -> bool:
        """Whether the member has, since this epoch, a task that reads the partition: it commits late, but it is its own."""
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

    def _member_description(self, member: Member) -> MemberDescription:
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
