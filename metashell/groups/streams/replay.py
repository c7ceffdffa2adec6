"""Records of streams groups, as a state takes them in.

Where a broker would refuse to load a log, because a record does not fit those before it, there is a finding.
Source: groups.md 2.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from metashell.groups.record import Place, Record
from metashell.groups.state import State
from metashell.groups.streams.group import StreamsGroup
from metashell.groups.streams.member import Member
from metashell.groups.streams.records import (
    CURRENT,
    GROUP,
    MEMBER,
    TARGET,
    TARGET_MEMBER,
    TOPOLOGY,
    DescriptionEpochs,
    current_of,
    member_of,
)
from metashell.groups.streams.tasks import NO_TASKS, Tasks, tasks_of

_NO_EPOCH: Final = -1


def _group_of(state: State, record: Record, place: Place) -> StreamsGroup | None:
    """The group that a record is about; a value makes it, in place of an empty group of another kind. None where there is nothing to do."""
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


def replay_group(state: State, record: Record, place: Place) -> None:
    group = _group_of(state, record, place)
    if group is None:
        return
    value = record.value
    if value is not None:
        group.epoch, group.metadata_hash, group.validated_epoch = value.epoch, value.metadata_hash, value.validated_topology_epoch
        group.described = DescriptionEpochs(value.stored_description_topology_epoch, value.failed_description_topology_epoch)
        group.configs = tuple((config.key, config.value) for config in value.last_assignment_configs or ())
        return
    if group.members or group.targets or group.assignment_epoch != _NO_EPOCH:
        state.find("GROUP_NOT_EMPTY", group.group_id, "the group is deleted while it has members or a target", place)
    del state.groups[group.group_id]


def replay_topology(state: State, record: Record, place: Place) -> None:
    group = _group_of(state, record, place)
    if group is not None:
        group.topology = record.value
        group.configured = None


def replay_member(state: State, record: Record, place: Place) -> None:
    group = _group_of(state, record, place)
    if group is None:
        return
    member_id = record.key.member_id
    known = group.members.get(member_id)
    if record.value is not None:
        group.put(member_of(known or Member(member_id), record.value))
        return
    if known is not None and (known.epoch != _NO_EPOCH or member_id in group.targets):
        state.find("MEMBER_NOT_GONE", group.group_id, f"member {member_id} is deleted while it has an epoch or a target", place)
    group.remove(member_id)


def replay_target(state: State, record: Record, place: Place) -> None:
    group = _group_of(state, record, place)
    if group is None:
        return
    if record.value is not None:
        group.assignment_epoch, group.assignment_ms = record.value.assignment_epoch, record.value.assignment_timestamp
        return
    if group.targets:
        state.find("TARGET_NOT_EMPTY", group.group_id, "the target is deleted while members have one", place)
    group.assignment_epoch, group.assignment_ms = _NO_EPOCH, 0


def replay_target_member(state: State, record: Record, place: Place) -> None:
    group = _group_of(state, record, place)
    if group is None:
        return
    value = record.value
    if value is None:
        group.targets.pop(record.key.member_id, None)
    else:
        group.targets[record.key.member_id] = Tasks(
            tasks_of(value.active_tasks), tasks_of(value.standby_tasks), tasks_of(value.warmup_tasks)
        )


def replay_current(state: State, record: Record, place: Place) -> None:
    group = _group_of(state, record, place)
    if group is None:
        return
    member_id = record.key.member_id
    known = group.members.get(member_id)
    if record.value is not None:
        group.put(current_of(known or Member(member_id), record.value))
    elif known is not None:
        group.members[member_id] = known._replace(
            epoch=_NO_EPOCH, previous_epoch=_NO_EPOCH, assigned=NO_TASKS, revoking=NO_TASKS, epochs={}
        )


REPLAYS: Final[dict[int, Callable[[State, Record, Place], None]]] = {
    GROUP: replay_group,
    MEMBER: replay_member,
    TARGET: replay_target,
    TARGET_MEMBER: replay_target_member,
    CURRENT: replay_current,
    TOPOLOGY: replay_topology,
}
