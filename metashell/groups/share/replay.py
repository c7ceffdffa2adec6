"""Records of share groups, as a state takes them in.

Where a broker would refuse to load a log, because a record does not fit those before it, there is a finding.
Source: groups.md 2.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from metashell.groups.record import Place, Record
from metashell.groups.share.group import ShareGroup
from metashell.groups.share.member import NOTHING, Member, names_in_order
from metashell.groups.share.records import CURRENT, GROUP, MEMBER, SHARE_STATE, TARGET, TARGET_MEMBER, share_state_of
from metashell.groups.state import State

_NO_EPOCH: Final = -1


def _group_of(state: State, record: Record, place: Place) -> ShareGroup | None:
    """The group that a record is about; a value makes it. None where there is nothing to do."""
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


def replay_group(state: State, record: Record, place: Place) -> None:
    group = _group_of(state, record, place)
    if group is None:
        return
    if record.value is not None:
        group.epoch, group.metadata_hash = record.value.epoch, record.value.metadata_hash
        return
    if group.members or group.targets or group.assignment_epoch != _NO_EPOCH:
        state.find("GROUP_NOT_EMPTY", group.group_id, "the group is deleted while it has members or a target", place)
    del state.groups[group.group_id]


def replay_member(state: State, record: Record, place: Place) -> None:
    group = _group_of(state, record, place)
    if group is None:
        return
    member_id, value = record.key.member_id, record.value
    if value is None:
        known = group.members.get(member_id)
        if known is not None and (known.epoch != _NO_EPOCH or member_id in group.targets):
            state.find("MEMBER_NOT_GONE", group.group_id, f"member {member_id} is deleted while it has an epoch or a target", place)
        group.remove(member_id)
        return
    known = group.members.get(member_id) or Member(member_id)
    group.put(
        known._replace(
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            names=names_in_order(value.subscribed_topic_names),
        )
    )


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
    if record.value is None:
        group.targets.pop(record.key.member_id, None)
    else:
        group.targets[record.key.member_id] = {topic.topic_id: topic.partitions for topic in record.value.topic_partitions}


def replay_current(state: State, record: Record, place: Place) -> None:
    group = _group_of(state, record, place)
    if group is None:
        return
    member_id, value = record.key.member_id, record.value
    known = group.members.get(member_id)
    if value is None:
        if known is not None:
            group.put(known._replace(epoch=_NO_EPOCH, previous_epoch=_NO_EPOCH, assigned=NOTHING))
        return
    group.put(
        (known or Member(member_id))._replace(
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=value.state,
            assigned={topic.topic_id: topic.partitions for topic in value.assigned_partitions},
        )
    )


def replay_share_state(state: State, record: Record, place: Place) -> None:
    group = _group_of(state, record, place)
    if group is not None:
        group.share_state = None if record.value is None else share_state_of(record.value)
        group.state_asked_ms = place.timestamp_ms


REPLAYS: Final[dict[int, Callable[[State, Record, Place], None]]] = {
    GROUP: replay_group,
    MEMBER: replay_member,
    TARGET: replay_target,
    TARGET_MEMBER: replay_target_member,
    CURRENT: replay_current,
    SHARE_STATE: replay_share_state,
}
