"""What the records of consumer groups do to the state. Never raises: what a record contradicts is a finding, and the record counts.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.replay; where that throws, a broker refuses to load the partition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from metashell.groups.consumer.group import ConsumerGroup, Resolved
from metashell.groups.consumer.member import LEAVE_EPOCH, Member, with_assignment, with_metadata
from metashell.groups.consumer.partitions import NOTHING
from metashell.groups.consumer.records import CURRENT, GROUP, MEMBER, PARTITION_METADATA, REGEX, TARGET, TARGET_MEMBER
from metashell.groups.record import Place, Record
from metashell.groups.state import State
from metashell.values import uuid_text

NO_ASSIGNMENT: Final = -1
"""The assignment epoch of a group whose target was deleted: only then may the group be."""


def replay_group(state: State, record: Record, place: Place) -> None:
    """Type 3."""
    group_id = record.key.group_id
    if record.value is not None:
        group = _made(state, group_id, place)
        group.epoch, group.metadata_hash = record.value.epoch, record.value.metadata_hash
        return
    known = _known(state, group_id)
    if known is None:
        return
    if known.members or known.targets or known.assignment_epoch != NO_ASSIGNMENT:
        state.find("GROUP_NOT_EMPTY", group_id, f"deleted with {len(known.members)} members and {len(known.targets)} targets", place)
    del state.groups[group_id]


def replay_partition_metadata(state: State, record: Record, place: Place) -> None:
    """Type 4, which only 4.0 wrote: newer releases delete it with the next epoch."""
    group = _known(state, record.key.group_id) if record.value is None else _made(state, record.key.group_id, place)
    if group is not None:
        group.has_partition_metadata = record.value is not None


def replay_member(state: State, record: Record, place: Place) -> None:
    """Type 5."""
    group_id, member_id = record.key.group_id, record.key.member_id
    if record.value is not None:
        group = _made(state, group_id, place)
        group.put(with_metadata(group.members.get(member_id) or Member(member_id), record.value))
        return
    known = _known(state, group_id)
    if known is None or member_id not in known.members:
        return
    if known.members[member_id].epoch != LEAVE_EPOCH or member_id in known.targets:
        state.find("MEMBER_NOT_GONE", group_id, f"member {member_id} deleted while it has an assignment or a target", place)
    known.remove(member_id)


def replay_target(state: State, record: Record, place: Place) -> None:
    """Type 6."""
    group_id = record.key.group_id
    if record.value is not None:
        group = _made(state, group_id, place)
        group.assignment_epoch, group.assignment_ms = record.value.assignment_epoch, record.value.assignment_timestamp
        return
    known = _known(state, group_id)
    if known is None:
        return
    if known.targets:
        state.find("TARGETS_NOT_GONE", group_id, f"target deleted while {len(known.targets)} members have one", place)
    known.assignment_epoch, known.assignment_ms = NO_ASSIGNMENT, 0


def replay_target_member(state: State, record: Record, place: Place) -> None:
    """Type 7."""
    group_id, member_id = record.key.group_id, record.key.member_id
    if record.value is not None:
        _made(state, group_id, place).targets[member_id] = {topic.topic_id: topic.partitions for topic in record.value.topic_partitions}
        return
    known = _known(state, group_id)
    if known is not None:
        known.targets.pop(member_id, None)


def replay_current(state: State, record: Record, place: Place) -> None:
    """Type 8."""
    group_id, member_id = record.key.group_id, record.key.member_id
    if record.value is not None:
        group = _made(state, group_id, place)
        for topic_id, partition in group.put(with_assignment(group.members.get(member_id) or Member(member_id), record.value)):
            text = f"{uuid_text(topic_id)}-{partition} goes to {member_id} with epoch {record.value.member_epoch} while it is held"
            state.find("OWNERSHIP_OVERLAP", group_id, text, place)
        return
    known = _known(state, group_id)
    member = None if known is None else known.members.get(member_id)
    if known is not None and member is not None:
        known.put(member._replace(epoch=LEAVE_EPOCH, previous_epoch=LEAVE_EPOCH, assigned=NOTHING, revoking=NOTHING))


def replay_regex(state: State, record: Record, place: Place) -> None:
    """Type 16."""
    group_id, regex = record.key.group_id, record.key.regular_expression
    if record.value is not None:
        resolved = Resolved(frozenset(record.value.topics), record.value.version, record.value.timestamp)
        _made(state, group_id, place).resolve(regex, resolved)
        return
    known = _known(state, group_id)
    if known is not None:
        known.resolve(regex, None)


def _known(state: State, group_id: str) -> ConsumerGroup | None:
    group = state.groups.get(group_id)
    return group if isinstance(group, ConsumerGroup) else None


def _made(state: State, group_id: str, place: Place) -> ConsumerGroup:
    """The group, made where there is none or only one that offsets made (a simple classic group)."""
    group = state.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        return group
    if group is not None and not (group.type == "classic" and group.is_empty and not group.protocol_type):
        state.find_other_kind(group, ConsumerGroup.type, place)
    made = state.groups[group_id] = ConsumerGroup(group_id)
    return made


CONSUMER_REPLAYS: Final[dict[int, Callable[[State, Record, Place], None]]] = {
    GROUP: replay_group,
    PARTITION_METADATA: replay_partition_metadata,
    MEMBER: replay_member,
    TARGET: replay_target,
    TARGET_MEMBER: replay_target_member,
    CURRENT: replay_current,
    REGEX: replay_regex,
}
