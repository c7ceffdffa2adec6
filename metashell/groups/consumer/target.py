"""The target of a group: what the assignor gives its members, computed when the group epoch has moved on.

Source: org.apache.kafka.coordinator.group.modern.TargetAssignmentBuilder and GroupMetadataManager.maybeUpdateTargetAssignment.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from metashell.codec.error_codes import UNKNOWN_SERVER_ERROR
from metashell.codec.java_hash import copy_capacity, hash_order, string_hash_order, uuid_hash_order
from metashell.groups.assignors.errors import AssignorError
from metashell.groups.assignors.server import assign
from metashell.groups.assignors.server_group import ServerGroup, ServerMember, in_java_order
from metashell.groups.consumer.change import Change
from metashell.groups.consumer.description import most_wanted
from metashell.groups.consumer.group import ConsumerGroup, add_count
from metashell.groups.consumer.member import Member, names_in_order
from metashell.groups.consumer.partitions import buckets_of_copy
from metashell.groups.consumer.records import Target, target_member_record, target_record
from metashell.groups.decision import GroupError
from metashell.groups.record import Record
from metashell.groups.settings import KindSettings
from metashell.groups.topics import Topics

RANGE: Final = "range"
"""The assignor whose partitions are ranges, and so ascend; those of the others are in the order of a hash set."""


class MemberTarget(NamedTuple):
    """What one member has to come to."""

    epoch: int
    target: Target


def update_target(change: Change, topics: Topics, settings: KindSettings, now_ms: int, records: list[Record]) -> MemberTarget:
    """The member's target, from a new assignment where one is due; its records are added.

    Errors: GroupError -1 where the assignor fails.
    """
    group, updated = change.group, change.updated
    if change.epoch <= group.assignment_epoch or not _may_compute(group, settings.assignment_interval_ms, now_ms):
        return MemberTarget(group.assignment_epoch, group.target_of(updated.member_id, updated.instance_id))
    members = _members_in_order(group, updated)
    # A static member that comes back goes on from the target of the one whose place it takes.
    place = group.statics.get(updated.instance_id or "", updated.member_id)
    previous = {**group.targets, updated.member_id: group.target_of(place)}
    given = ServerGroup(
        {id: _server_member(group, member, previous.get(id, {}), topics) for id, member in members.items()}, change.is_homogeneous
    )
    assignor = _assignor(change, settings.assignors)
    try:
        assigned = assign(assignor, given, topics)
    except AssignorError as error:
        text = f"Failed to compute a new target assignment for epoch {change.epoch}: {error}"
        raise GroupError(UNKNOWN_SERVER_ERROR, text) from error
    targets: dict[str, Target] = {id: assigned.get(id, {}) for id in members}
    if assignor != RANGE and change.is_homogeneous:
        targets = {id: _in_set_order(target, given.members[id].previous) for id, target in targets.items()}
    for member_id, target in targets.items():
        if len(target) > 1:
            kept = {} if assignor == RANGE else given.members[member_id].previous
            target = targets[member_id] = _in_map_order(target, kept)
        known = group.targets.get(place if member_id == updated.member_id else member_id)
        if known is None or not _is_same(known, target):
            records.append(target_member_record(group.group_id, member_id, target))
    records.append(target_record(group.group_id, change.epoch, now_ms))
    return MemberTarget(change.epoch, targets[updated.member_id])


def subscribed_names(group: ConsumerGroup, member: Member) -> Sequence[str]:
    """The topics that a member names, and those that its regular expression matches, in the order in which Kafka goes over them."""
    resolved = group.resolved.get(member.regex) if member.regex else None
    if resolved is None or not resolved.topics:
        return member.names
    matched = names_in_order(sorted(resolved.topics))
    first, second = (member.names, matched) if len(member.names) > len(matched) else (matched, member.names)
    return tuple(dict.fromkeys((*first, *second)))


def _may_compute(group: ConsumerGroup, interval_ms: int, now_ms: int) -> bool:
    return group.assignment_ms == 0 or interval_ms == 0 or now_ms >= group.assignment_ms + interval_ms


def _members_in_order(group: ConsumerGroup, updated: Member) -> dict[str, Member]:
    """All members as the assignor sees them: with the one that changes, without the static one whose place it takes."""
    members = {**group.members, updated.member_id: updated}
    ids = string_hash_order(members)
    replaced = None if updated.instance_id is None else group.statics.get(updated.instance_id)
    return {id: members[id] for id in ids if id == updated.member_id or id != replaced}


def _server_member(group: ConsumerGroup, member: Member, previous: Target, topics: Topics) -> ServerMember:
    known = (topics.named(name) for name in subscribed_names(group, member))
    ids = tuple(topic.id for topic in known if topic is not None)
    return ServerMember(ids, in_java_order(previous), member.instance_id, member.rack_id)


def changes_assignor(change: Change, assignors: Sequence[str]) -> bool:
    """Whether another assignor becomes the group's choice."""
    counts = change.group.assignors
    before = most_wanted({name: counts[name] for name in counts if name in assignors})
    return _assignor(change, assignors) != (assignors[0] if before is None else before)


def _assignor(change: Change, assignors: Sequence[str]) -> str:
    """The one that most members ask for, the change counted in; else the first that is configured."""
    counts = dict(change.group.assignors)
    # Of equal ones Kafka takes the first of a table that is made for those asked for before; a new one comes first in its bucket.
    buckets = buckets_of_copy(len(counts))
    if change.member.server_assignor is not None:
        add_count(counts, change.member.server_assignor, -1)
    if change.updated.server_assignor is not None:
        counts = {change.updated.server_assignor: 0, **counts} if change.updated.server_assignor not in counts else counts
        add_count(counts, change.updated.server_assignor, 1)
    wanted = most_wanted({name: counts[name] for name in string_hash_order(counts, buckets) if name in assignors})
    return assignors[0] if wanted is None else wanted


def _in_set_order(assigned: Target, previous: Mapping[bytes, Collection[int]]) -> Target:
    """A target with partitions in the order of Kafka's sets: one of which something stays is a copy of the old one, whose size decides."""
    ordered = {}
    for topic_id, partitions in assigned.items():
        known = previous.get(topic_id, ())
        mine = set(partitions)
        stays = [partition for partition in known if partition in mine]
        comes = sorted(mine.difference(stays))
        ordered[topic_id] = hash_order((*stays, *comes), copy_capacity(len(known)) if stays else 16)
    return ordered


def _in_map_order(assigned: Target, previous: Mapping[bytes, Collection[int]]) -> Target:
    """A target with topics in the order of Kafka's map: in a bucket, those that came last are first (`computeIfAbsent`), then what was."""
    came = [topic_id for topic_id in assigned if topic_id not in previous]
    kept = [topic_id for topic_id in previous if topic_id in assigned]
    return {topic_id: assigned[topic_id] for topic_id in uuid_hash_order((*reversed(came), *kept))}


def _is_same(one: Target, other: Target) -> bool:
    return one.keys() == other.keys() and all(set(one[id]) == set(other[id]) for id in one)
