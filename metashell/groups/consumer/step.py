"""What a member's request comes to, in three stages: its subscription and the group's epoch, the target, its way to it.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.consumerGroupHeartbeat and maybeReconcile.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from metashell.groups.consumer.change import Change
from metashell.groups.consumer.group import ConsumerGroup, is_homogeneous
from metashell.groups.consumer.member import Member
from metashell.groups.consumer.partitions import TopicPartitions
from metashell.groups.consumer.reconcile import Goal, reconciled
from metashell.groups.consumer.records import current_record
from metashell.groups.consumer.subscription import RegexChange, is_refresh_due, names_changed, update_epoch, update_regex
from metashell.groups.consumer.target import MemberTarget, changes_assignor, subscribed_names, update_target
from metashell.groups.consumer.timeouts import settings_of, watch_revocation
from metashell.groups.context import Context
from metashell.groups.record import Record


def step(
    context: Context,
    group: ConsumerGroup,
    member: Member,
    updated: Member,
    reported: Collection[TopicPartitions] | None,
    now_ms: int,
    records: list[Record],
) -> Member:
    """The member after all three stages, whose records are added. Errors: GroupError 110, 128, -1."""
    settings = settings_of(context, group.group_id)
    change, has_changed = update_subscription(context, group, member, updated, now_ms, records, settings.assignors)
    goal = update_target(change, context.state.topics, settings, now_ms, records)
    return reconcile(context, group, updated, goal, reported, has_changed, now_ms, records)


def update_subscription(
    context: Context,
    group: ConsumerGroup,
    member: Member,
    updated: Member,
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


def reconcile(
    context: Context,
    group: ConsumerGroup,
    member: Member,
    goal: MemberTarget,
    reported: Collection[TopicPartitions] | None,
    has_changed: bool,
    now_ms: int,
    records: list[Record],
) -> Member:
    """The last stage. Errors: GroupError 110."""
    if not has_changed and member.is_reconciled_to(goal.epoch):
        return member
    known = (context.state.topics.named(name) for name in subscribed_names(group, member))
    ids = {topic.id for topic in known if topic is not None}
    moved = reconciled(member, Goal(goal.epoch, goal.target, ids, group.owners, reported, has_changed))
    if moved != member:
        records.append(current_record(group.group_id, moved))
        watch_revocation(context, group.group_id, moved, now_ms)
    return moved
