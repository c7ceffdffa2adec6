"""Members that leave a consumer group, or are put out of it; with the last one of the consumer protocol the group becomes classic.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.consumerGroupLeave and consumerGroupFenceMembers.
"""

from __future__ import annotations

from collections.abc import Sequence

from metashell.codec import messages
from metashell.codec.error_codes import FENCED_INSTANCE_ID, GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID
from metashell.groups.consumer.downgrade import is_possible, refused_too, without
from metashell.groups.consumer.group import ConsumerGroup
from metashell.groups.consumer.member import STATIC_LEAVE_EPOCH, Member
from metashell.groups.consumer.partitions import NOTHING
from metashell.groups.consumer.records import current_record, group_record, member_tombstones, regex_tombstone, target_record
from metashell.groups.consumer.subscription import last_users, subscribers_without
from metashell.groups.consumer.timer_keys import cancel_all
from metashell.groups.context import Context
from metashell.groups.decision import Decision, GroupError
from metashell.groups.metadata_hash import group_hash
from metashell.groups.record import Record
from metashell.groups.request import Answer, Request


def leave(context: Context, request: Request, now_ms: int) -> Decision:
    """A heartbeat with epoch -1, or -2 for a static member that comes back. Errors: GroupError."""
    body = request.body
    group = known_group(context, body.group_id)
    if body.instance_id is None:
        member = group.member(body.member_id)
    else:
        member = static_member(group, body.instance_id)
        check_instance(member, body.member_id, body.instance_id)
        if body.member_epoch == STATIC_LEAVE_EPOCH:
            return Decision([current_record(group.group_id, away(member))], [_left(request, member.member_id, STATIC_LEAVE_EPOCH)])
    decision = fence(context, group, [member], now_ms)
    decision.answers.append(_left(request, body.member_id, body.member_epoch))
    return refused_too(decision, request)


def fence(context: Context, group: ConsumerGroup, gone: Sequence[Member], now_ms: int) -> Decision:
    """Put members out: of the group, or, where only such of the classic protocol are left, make it classic."""
    if is_possible(context, group, gone):
        return without(context, group, gone, now_ms)
    group_id, records = group.group_id, list[Record]()
    for member in gone:
        records += member_tombstones(group_id, member.member_id)
    regexes = last_users(group, gone)
    records += [regex_tombstone(group_id, regex) for regex in regexes]
    metadata_hash = group_hash(subscribers_without(group, gone, regexes), context.state.topics)
    records.append(group_record(group_id, group.epoch + 1, metadata_hash))
    if len(gone) == len(group.members):
        # An empty group has nothing to assign: its assignment is up to date, and was made at no time.
        records.append(target_record(group_id, group.epoch + 1, 0))
    for member in gone:
        cancel_all(context.timers, group_id, member.member_id)
    return Decision(records)


def known_group(context: Context, group_id: str) -> ConsumerGroup:
    """Errors: GroupError 69."""
    group = context.state.groups.get(group_id)
    if group is None:
        raise GroupError(GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    if not isinstance(group, ConsumerGroup):
        raise GroupError(GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    return group


def static_member(group: ConsumerGroup, instance_id: str) -> Member:
    """Errors: GroupError 25."""
    member = group.static_member(instance_id)
    if member is None:
        raise GroupError(UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    return member


def check_instance(member: Member, member_id: str, instance_id: str) -> None:
    """Errors: GroupError 82 where another member has the instance id now."""
    if member.member_id != member_id:
        text = f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}."
        raise GroupError(FENCED_INSTANCE_ID, text)


def away(member: Member) -> Member:
    """A static member that left for a while: what it has stays its own, so that nobody else gets it."""
    kept = {topic_id: dict.fromkeys(epochs, 0) for topic_id, epochs in member.assigned.items()}
    return member._replace(epoch=STATIC_LEAVE_EPOCH, assigned=kept, revoking=NOTHING)


def _left(request: Request, member_id: str, epoch: int) -> Answer:
    return Answer(request.ticket, messages.ConsumerGroupHeartbeatResponse(member_id=member_id, member_epoch=epoch))
