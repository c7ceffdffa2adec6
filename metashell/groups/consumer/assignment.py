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
from metashell.codec.java import (
    bucket_count,
    copy_capacity,
    hash_order,
    names_in_order,
    string_hash_order,
    table_order,
    uuid_hash,
    uuid_hash_order,
)
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
    """Run all three stages, add their records, and return the member after them. Errors: GroupError 110, 128, -1."""
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
    """Run the first stage. Returns the change, and whether the member's subscription has changed.

    With the configured `assignors`, a change of the group's preferred assignor raises its epoch too.
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
    """Run the last stage and return the member after it. Errors: GroupError 110."""
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
"""The assignor whose partitions are ranges and ascend. The others keep partitions in the order of a hash set."""


class MemberTarget(NamedTuple):
    """The target of one member and its epoch."""

    epoch: int
    target: Target


def update_target(change: Change, topics: Topics, settings: KindSettings, now_ms: int, records: list[Record]) -> MemberTarget:
    """Run the second stage: compute a new assignment if one is due, add its records, and return the member's target.

    Errors: GroupError -1 if the assignor fails.
    """
    group, updated = change.group, change.updated
    if change.epoch <= group.assignment_epoch or not _may_compute(group, settings.assignment_interval_ms, now_ms):
        return MemberTarget(group.assignment_epoch, group.target_of(updated.member_id, updated.instance_id))
    members = _members_in_order(group, updated)
    # A static member that returns under a new member id continues with the target of the old one.
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
            target = targets[member_id] = _in_map_order(target, given.members[member_id].previous, assignor, change.is_homogeneous)
        known = group.targets.get(place if member_id == updated.member_id else member_id)
        if known is None or not _is_same(known, target):
            records.append(target_member_record(group.group_id, member_id, target))
    records.append(target_record(group.group_id, change.epoch, now_ms))
    return MemberTarget(change.epoch, targets[updated.member_id])


def subscribed_names(group: ConsumerGroup, member: ConsumerGroupMember) -> Sequence[str]:
    """Return the topics that a member names and those that its regular expression matches, in Kafka's order of iteration."""
    resolved = group.resolved.get(member.regex) if member.regex else None
    if resolved is None or not resolved.topics:
        return member.names
    matched = names_in_order(sorted(resolved.topics))
    first, second = (member.names, matched) if len(member.names) > len(matched) else (matched, member.names)
    return tuple(dict.fromkeys((*first, *second)))


def _may_compute(group: ConsumerGroup, interval_ms: int, now_ms: int) -> bool:
    return group.assignment_ms == 0 or interval_ms == 0 or now_ms >= group.assignment_ms + interval_ms


def _members_in_order(group: ConsumerGroup, updated: ConsumerGroupMember) -> dict[str, ConsumerGroupMember]:
    """Return the members for the assignor: with the changed one, without the static member that it replaces."""
    members = {**group.members, updated.member_id: updated}
    ids = string_hash_order(members)
    replaced = None if updated.instance_id is None else group.statics.get(updated.instance_id)
    return {id: members[id] for id in ids if id == updated.member_id or id != replaced}


def _server_member(group: ConsumerGroup, member: ConsumerGroupMember, previous: Target, topics: Topics) -> ServerMember:
    known = (topics.named(name) for name in subscribed_names(group, member))
    ids = tuple(topic.id for topic in known if topic is not None)
    return ServerMember(ids, in_java_order(previous), member.instance_id, member.rack_id)


def changes_assignor(change: Change, assignors: Sequence[str]) -> bool:
    """Return whether the change makes the group prefer another assignor."""
    counts = change.group.assignors
    before = most_wanted({name: counts[name] for name in counts if name in assignors})
    return _assignor(change, assignors) != (assignors[0] if before is None else before)


def _assignor(change: Change, assignors: Sequence[str]) -> str:
    """Return the assignor that most members ask for after the change, else the first configured one."""
    counts = dict(change.group.assignors)
    # Among equals Kafka takes the first of a hash table sized for the assignors asked for before; a new one is first in its bucket.
    buckets = buckets_of_copy(len(counts))
    if change.member.server_assignor is not None:
        add_count(counts, change.member.server_assignor, -1)
    if change.updated.server_assignor is not None:
        counts = {change.updated.server_assignor: 0, **counts} if change.updated.server_assignor not in counts else counts
        add_count(counts, change.updated.server_assignor, 1)
    wanted = most_wanted({name: counts[name] for name in string_hash_order(counts, buckets) if name in assignors})
    return assignors[0] if wanted is None else wanted


def _in_set_order(assigned: Target, previous: Mapping[bytes, Collection[int]]) -> Target:
    """Return a target with partitions in the order of Kafka's hash sets. If a member keeps partitions of a topic, the set is a copy of the
    old one and has its capacity.
    """
    ordered = {}
    for topic_id, partitions in assigned.items():
        known = previous.get(topic_id, ())
        mine = set(partitions)
        stays = [partition for partition in known if partition in mine]
        comes = sorted(mine.difference(stays))
        ordered[topic_id] = hash_order((*stays, *comes), copy_capacity(len(known)) if stays else 16)
    return ordered


def _in_map_order(assigned: Target, previous: Mapping[bytes, Collection[int]], assignor: str, is_homogeneous: bool) -> Target:
    """Return a target with topics in the order of Kafka's hash map: in a bucket, new topics first, the newest first (`computeIfAbsent`).

    `range` makes a map with room for the topics. `uniform` makes one with as many buckets if all members have one subscription; else one of
    two, which grows at the call after the one that made it too full. As observed in Kafka 4.3.1.
    """
    before = {} if assignor == RANGE else previous
    came = [topic_id for topic_id in assigned if topic_id not in before]
    kept = [topic_id for topic_id in before if topic_id in assigned]
    if assignor == RANGE:
        came = list(uuid_hash_order(came))
        buckets = bucket_count(buckets_of_copy(len(assigned)), len(assigned))
    elif is_homogeneous:
        buckets = bucket_count(len(assigned), len(assigned))
    else:
        is_last_call_new = bool(came) and len(assigned[came[-1]]) == 1
        buckets = bucket_count(2, len(assigned) - is_last_call_new)
    return {topic_id: assigned[topic_id] for topic_id in table_order((*reversed(came), *kept), uuid_hash, buckets)}


def _is_same(one: Target, other: Target) -> bool:
    return one.keys() == other.keys() and all(set(one[id]) == set(other[id]) for id in one)


class Goal(NamedTuple):
    """A member's target and what its next step depends on.

    Shape: `topic_ids` are the existing topics that it subscribes to; `owners` has every partition that some member holds; `reported` are
    the partitions that the member reports, None if it reports none at all.
    """

    epoch: int
    target: Target
    topic_ids: Set[bytes]
    owners: Mapping[tuple[bytes, int], int]
    reported: Collection[TopicPartitions] | None
    has_subscription_changed: bool = False


def reconcile_consumer_member(member: ConsumerGroupMember, goal: Goal) -> ConsumerGroupMember:
    """Move the member one step towards its target, unless it has to wait. Errors: GroupError 110 for an unknown state.

    The steps of KIP-848's state machine: from STABLE to UNREVOKED while it must give up partitions, to UNRELEASED while others still hold
    what it gets, and back to STABLE. A member takes the new epoch only when it has revoked everything; until then its commits must still
    be accepted in the old one.
    """
    if member.state == STABLE:
        if member.epoch != goal.epoch:
            return _next(member, member.epoch, goal)
        return _without_unsubscribed(member, goal) if goal.has_subscription_changed else member
    if member.state == UNREVOKED:
        # A partition that the member no longer reports is revoked. A heartbeat without the field (null) confirms nothing: clients send
        # their partitions only when they change.
        if _reports_any(goal, member.revoking):
            return _without_unsubscribed(member, goal) if goal.has_subscription_changed else member
        return _next(member, member.epoch, goal)
    if member.state == UNRELEASED:
        return _next(member, member.epoch, goal)
    # A newer coordinator wrote this state, so its meaning is not known: the member has to start over without partitions.
    if goal.reported is None or goal.reported:
        raise GroupError(
            FENCED_MEMBER_EPOCH, "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin."
        )
    return _next(member, goal.epoch, goal)


def _reports_any(goal: Goal, partitions: Held) -> bool:
    return goal.reported is None or holds_any(goal.reported, partitions)


def _without_unsubscribed(member: ConsumerGroupMember, goal: Goal) -> ConsumerGroupMember:
    """Take unsubscribed topics from the member at once, before the next target does (KIP-848 lets the target be computed later)."""
    dropped = {topic_id: epochs for topic_id, epochs in member.assigned.items() if topic_id not in goal.topic_ids}
    if not dropped:
        # Kafka treats a member without topics as changed, even if it had no partitions.
        return member if goal.topic_ids or member.revoking else member._replace(previous_epoch=member.epoch)
    kept = {topic_id: epochs for topic_id, epochs in member.assigned.items() if topic_id in goal.topic_ids}
    revoking = dict(member.revoking)
    for topic_id, epochs in dropped.items():
        revoking[topic_id] = _merged(member.revoking.get(topic_id), epochs)
    if _reports_any(goal, revoking):
        ordered = {topic_id: revoking[topic_id] for topic_id in uuid_hash_order(revoking, buckets_of_copy(len(revoking)))}
        return _moved(member, member.epoch, UNREVOKED, kept, ordered)
    return member._replace(previous_epoch=member.epoch, assigned=kept)


def _merged(known: Mapping[int, int] | None, added: Mapping[int, int]) -> Mapping[int, int]:
    if known is None:
        return added
    return held([*known.items(), *added.items()], buckets_of_copy(len(known)))


def _next(member: ConsumerGroupMember, epoch: int, goal: Goal) -> ConsumerGroupMember:
    """Keep the partitions in the target and revoke the others. Only if there are none to revoke, add those that are free.

    Revoking comes first because the member's epoch rises with the added partitions: with p0 still to revoke, the new epoch would fence
    the commits for p0 that the client sends before it gives p0 up.
    """
    kept: dict[bytes, dict[int, int]] = {}
    revoking: dict[bytes, dict[int, int]] = {}
    wanted: dict[bytes, list[int]] = {}
    is_blocked = False
    for topic_id in dict.fromkeys((*goal.target, *member.assigned)):
        target: Iterable[int] = goal.target.get(topic_id, ()) if topic_id in goal.topic_ids else ()
        current = member.assigned.get(topic_id, {})
        mine = set(target)
        # Kafka copies the hash table of the member's partitions, so the size of the old table orders both kept and added ones.
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
        return _moved(member, epoch, UNREVOKED, kept, {topic_id: revoking[topic_id] for topic_id in uuid_hash_order(revoking)})
    came: dict[bytes, dict[int, int]] = {}
    for topic_id, free in wanted.items():
        buckets = buckets_of_copy(len(member.assigned.get(topic_id, ())) if topic_id in kept else 0)
        (kept if topic_id in kept else came)[topic_id] = held(
            [*kept.get(topic_id, {}).items(), *((partition, goal.epoch) for partition in free)], buckets
        )
    # A topic that the member did not have is first in its bucket of Kafka's hash map, the newest first.
    assigned = {**dict(reversed(came.items())), **kept}
    return _moved(member, goal.epoch, UNRELEASED if is_blocked else STABLE, assigned, NOTHING)


def _moved(member: ConsumerGroupMember, epoch: int, state: int, assigned: Held, revoking: Held) -> ConsumerGroupMember:
    kept = {topic_id: assigned[topic_id] for topic_id in uuid_hash_order(assigned)} if len(assigned) > 1 else assigned
    return member._replace(epoch=epoch, previous_epoch=member.epoch, state=state, assigned=kept, revoking=revoking)
