"""Three stages of a member's request: its subscription and the group's epoch, the group's target, and the member's step towards it.

The assignor computes a target when the group's epoch is newer than the target's. A member first revokes what its target lacks, and gets a
partition once no other member holds it. Example: p0 moves from A to B. A's heartbeat tells it to revoke p0, A confirms, and only B's next
heartbeat assigns p0; between the two, nobody owns it.
Source: org.apache.kafka.coordinator.group.GroupMetadataManager.consumerGroupHeartbeat, maybeReconcile and maybeUpdateTargetAssignment;
org.apache.kafka.coordinator.group.modern.TargetAssignmentBuilder, consumer.CurrentAssignmentBuilder."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Final, NamedTuple

from metashell.codec.error_codes import FENCED_MEMBER_EPOCH, UNKNOWN_SERVER_ERROR
from metashell.codec.java import copy_capacity, hash_order, string_hash_order, uuid_hash_order
from metashell.groups.assignors import AssignorError, ServerGroup, ServerMember, in_java_order
from metashell.groups.assignors.server import run_server_assignor
from metashell.groups.consumer import (
    NOTHING,
    STABLE,
    UNRELEASED,
    UNREVOKED,
    ConsumerGroupMember,
    Held,
    Target,
    TopicPartitions,
    buckets_of_copy,
    current_record,
    held,
    holds_any,
    most_wanted,
    names_in_order,
    target_member_record,
    target_record,
)
from metashell.groups.consumer.group import Change, ConsumerGroup, add_count, is_homogeneous
from metashell.groups.consumer.leave import settings_of, watch_revocation
from metashell.groups.consumer.subscription import RegexChange, is_refresh_due, names_changed, update_epoch, update_regex
from metashell.groups.decision import GroupError, Record
from metashell.groups.state import Context, KindSettings
from metashell.groups.topics import Topics


def advance_member(
    context: Context,
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    updated: ConsumerGroupMember,
    reported: Collection[TopicPartitions] | None,
    now_ms: int,
    records: list[Record],
) -> ConsumerGroupMember:
    """The member after all three stages, whose records are added. Errors: GroupError 110, 128, -1."""
    settings = settings_of(context, group.group_id)
    change, has_changed = update_subscription(context, group, member, updated, now_ms, records, settings.assignors)
    goal = update_target(change, context.state.topics, settings, now_ms, records)
    return reconcile_member(context, group, updated, goal, reported, has_changed, now_ms, records)


def update_subscription(
    context: Context,
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    updated: ConsumerGroupMember,
    now_ms: int,
    records: list[Record],
    assignors: Sequence[str] = (),
) -> tuple[Change, bool]:
    """The first stage, and whether the member has changed what it is subscribed to.

    With the `assignors` that are configured, the group's epoch is raised also where another one becomes its choice.
    """
    has_new_names = names_changed(group.group_id, member, updated, records)
    regex = update_regex(context, group, member, updated, now_ms, records)
    change = Change(group, member, updated, group.epoch, is_homogeneous(group.regexes, group.subscribers, len(group.members)))
    is_bumped = has_new_names or regex is RegexChange.RESOLVED or (bool(assignors) and changes_assignor(change, assignors))
    if is_bumped or is_refresh_due(group, now_ms):
        change = update_epoch(change, is_bumped, context.state.topics, now_ms, records)
    return change, has_new_names or regex is not RegexChange.NONE


def reconcile_member(
    context: Context,
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    goal: MemberTarget,
    reported: Collection[TopicPartitions] | None,
    has_changed: bool,
    now_ms: int,
    records: list[Record],
) -> ConsumerGroupMember:
    """The last stage. Errors: GroupError 110."""
    if not has_changed and member.is_reconciled_to(goal.epoch):
        return member
    known = (context.state.topics.named(name) for name in subscribed_names(group, member))
    ids = {topic.id for topic in known if topic is not None}
    moved = reconcile_consumer_member(member, Goal(goal.epoch, goal.target, ids, group.owners, reported, has_changed))
    if moved != member:
        records.append(current_record(group.group_id, moved))
        watch_revocation(context, group.group_id, moved, now_ms)
    return moved


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
        assigned = run_server_assignor(assignor, given, topics)
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


def subscribed_names(group: ConsumerGroup, member: ConsumerGroupMember) -> Sequence[str]:
    """The topics that a member names, and those that its regular expression matches, in the order in which Kafka goes over them."""
    resolved = group.resolved.get(member.regex) if member.regex else None
    if resolved is None or not resolved.topics:
        return member.names
    matched = names_in_order(sorted(resolved.topics))
    first, second = (member.names, matched) if len(member.names) > len(matched) else (matched, member.names)
    return tuple(dict.fromkeys((*first, *second)))


def _may_compute(group: ConsumerGroup, interval_ms: int, now_ms: int) -> bool:
    return group.assignment_ms == 0 or interval_ms == 0 or now_ms >= group.assignment_ms + interval_ms


def _members_in_order(group: ConsumerGroup, updated: ConsumerGroupMember) -> dict[str, ConsumerGroupMember]:
    """All members as the assignor sees them: with the one that changes, without the static one whose place it takes."""
    members = {**group.members, updated.member_id: updated}
    ids = string_hash_order(members)
    replaced = None if updated.instance_id is None else group.statics.get(updated.instance_id)
    return {id: members[id] for id in ids if id == updated.member_id or id != replaced}


def _server_member(group: ConsumerGroup, member: ConsumerGroupMember, previous: Target, topics: Topics) -> ServerMember:
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


class Goal(NamedTuple):
    """Where a member has to come to.

    Shape: `topic_ids` are those that it subscribes to and that exist; `owners` has every partition that some member holds; `reported` is
    what the member says to hold, None where it does not say.
    """

    epoch: int
    target: Target
    topic_ids: Set[bytes]
    owners: Mapping[tuple[bytes, int], int]
    reported: Collection[TopicPartitions] | None
    has_subscription_changed: bool = False


def reconcile_consumer_member(member: ConsumerGroupMember, goal: Goal) -> ConsumerGroupMember:
    """The member one step nearer to its goal, or as it is where it has to wait. Errors: GroupError 110 for a state that is not known."""
    if member.state == STABLE:
        if member.epoch != goal.epoch:
            return _next(member, member.epoch, goal)
        return _without_unsubscribed(member, goal) if goal.has_subscription_changed else member
    if member.state == UNREVOKED:
        # What the member does not report is revoked; while it reports nothing at all, it is not.
        if _reports_any(goal, member.revoking):
            return _without_unsubscribed(member, goal) if goal.has_subscription_changed else member
        return _next(member, member.epoch, goal)
    if member.state == UNRELEASED:
        return _next(member, member.epoch, goal)
    # A newer coordinator wrote this state: the member has to begin again with nothing.
    if goal.reported is None or goal.reported:
        raise GroupError(
            FENCED_MEMBER_EPOCH, "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin."
        )
    return _next(member, goal.epoch, goal)


def _reports_any(goal: Goal, partitions: Held) -> bool:
    return goal.reported is None or holds_any(goal.reported, partitions)


def _without_unsubscribed(member: ConsumerGroupMember, goal: Goal) -> ConsumerGroupMember:
    """Take topics from the member that it does not subscribe to any more, before the next target does."""
    dropped = {topic_id: epochs for topic_id, epochs in member.assigned.items() if topic_id not in goal.topic_ids}
    if not dropped:
        # Kafka takes a member without any topics for one that changed, even if it had nothing.
        return member if goal.topic_ids or member.revoking else member._replace(previous_epoch=member.epoch)
    kept = {topic_id: epochs for topic_id, epochs in member.assigned.items() if topic_id in goal.topic_ids}
    revoking = dict(member.revoking)
    for topic_id, epochs in dropped.items():
        revoking[topic_id] = _merged(member.revoking.get(topic_id), epochs)
    if _reports_any(goal, revoking):
        return _moved(member, member.epoch, UNREVOKED, kept, revoking)
    return member._replace(previous_epoch=member.epoch, assigned=kept)


def _merged(known: Mapping[int, int] | None, added: Mapping[int, int]) -> Mapping[int, int]:
    if known is None:
        return added
    return held([*known.items(), *added.items()], buckets_of_copy(len(known)))


def _next(member: ConsumerGroupMember, epoch: int, goal: Goal) -> ConsumerGroupMember:
    """What is in the target stays, the rest is to be given up; only when nothing is, what is free is taken."""
    kept: dict[bytes, dict[int, int]] = {}
    revoking: dict[bytes, dict[int, int]] = {}
    wanted: dict[bytes, list[int]] = {}
    is_blocked = False
    for topic_id in dict.fromkeys((*goal.target, *member.assigned)):
        target: Iterable[int] = goal.target.get(topic_id, ()) if topic_id in goal.topic_ids else ()
        current = member.assigned.get(topic_id, {})
        mine = set(target)
        # Kafka copies the table of all that the member held, whose size then decides the order of what is left and of what is added.
        copy = held(current.items(), buckets_of_copy(len(current)))
        if stay := {partition: since for partition, since in copy.items() if partition in mine}:
            kept[topic_id] = stay
        if go := {partition: since for partition, since in copy.items() if partition not in mine}:
            revoking[topic_id] = go
        own = member.revoking.get(topic_id, {})
        missing = [partition for partition in target if partition not in current]
        free = [partition for partition in missing if (topic_id, partition) not in goal.owners or partition in own]
        is_blocked = is_blocked or len(free) < len(missing)
        if free:
            wanted[topic_id] = free
    if revoking and _reports_any(goal, revoking):
        return _moved(member, epoch, UNREVOKED, kept, revoking)
    for topic_id, free in wanted.items():
        buckets = buckets_of_copy(len(member.assigned.get(topic_id, ())) if topic_id in kept else 0)
        kept[topic_id] = held([*kept.get(topic_id, {}).items(), *((partition, goal.epoch) for partition in free)], buckets)
    return _moved(member, goal.epoch, UNRELEASED if is_blocked else STABLE, kept, NOTHING)


def _moved(member: ConsumerGroupMember, epoch: int, state: int, assigned: Held, revoking: Held) -> ConsumerGroupMember:
    return member._replace(epoch=epoch, previous_epoch=member.epoch, state=state, assigned=assigned, revoking=revoking)
