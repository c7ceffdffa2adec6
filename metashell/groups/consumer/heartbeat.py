"""ConsumerGroupHeartbeat: join, stay, change the subscription, confirm what was revoked, leave.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.consumerGroupHeartbeat; groups.md 10.2 and 10.3.
"""

from __future__ import annotations

from metashell.codec import messages
from metashell.codec.error_codes import GROUP_ID_NOT_FOUND, INVALID_REQUEST, UNSUPPORTED_ASSIGNOR
from metashell.groups.consumer.group import ConsumerGroup
from metashell.groups.consumer.joining import check_epoch, check_size, dynamic_member, joining_static_member, staying_static_member
from metashell.groups.consumer.leaving import leave
from metashell.groups.consumer.member import LEAVE_EPOCH, STATIC_LEAVE_EPOCH, Member, names_in_order
from metashell.groups.consumer.partitions import Held
from metashell.groups.consumer.step import step
from metashell.groups.consumer.timeouts import restart_session, settings_of
from metashell.groups.consumer.upgrade import upgraded
from metashell.groups.context import Context
from metashell.groups.decision import Decision, GroupError
from metashell.groups.error_answers import refused
from metashell.groups.record import Record
from metashell.groups.request import Answer, Request
from metashell.values import uuid_text


def heartbeat(context: Context, request: Request, now_ms: int) -> Decision:
    decision = Decision()
    try:
        _check(request, context.settings.consumer.assignors)
        if request.body.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            return leave(context, request, now_ms)
        _beat(context, request, now_ms, decision)
    except GroupError as error:
        return Decision(answers=[*decision.answers, refused(request, error)])
    return decision


def _beat(context: Context, request: Request, now_ms: int, decision: Decision) -> None:
    body, is_joining = request.body, request.body.member_epoch == 0
    records = decision.records
    group = _group(context, body.group_id, is_joining, now_ms, decision)
    check_size(group, body.member_id, body.instance_id, context.settings.consumer.max_size)
    member_id = body.member_id or uuid_text(context.chance.uuid())
    member = _member(group, member_id, body, records)
    updated = _updated(member, request)
    updated = step(context, group, member, updated, body.topic_partitions, now_ms, records)
    restart_session(context, body.group_id, updated, now_ms)
    is_full = (
        body.rebalance_timeout_ms != -1
        and (body.subscribed_topic_names is not None or body.subscribed_topic_regex is not None)
        and body.topic_partitions is not None
    )
    answer = messages.ConsumerGroupHeartbeatResponse(
        member_id=updated.member_id,
        member_epoch=updated.epoch,
        heartbeat_interval_ms=settings_of(context, body.group_id).heartbeat_interval_ms,
        assignment=_assignment(updated.assigned) if is_joining or is_full or member.assigned != updated.assigned else None,
    )
    decision.answers.append(Answer(request.ticket, answer))


def _group(context: Context, group_id: str, is_joining: bool, now_ms: int, decision: Decision) -> ConsumerGroup:
    """The group, or one that is to be made by this batch; of a classic one that has members, what becomes of it. Errors: GroupError 69."""
    group = context.state.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        return group
    if group is None:
        if not is_joining:
            raise GroupError(GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
        return ConsumerGroup(group_id)
    if is_joining and group.type == "classic":
        if group.is_empty:
            decision.records += group.tombstones()
            return ConsumerGroup(group_id)
        return upgraded(context, group, now_ms, decision)
    raise GroupError(GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")


def _member(group: ConsumerGroup, member_id: str, body: messages.ConsumerGroupHeartbeatRequest, records: list[Record]) -> Member:
    is_joining = body.member_epoch == 0
    if body.instance_id is None:
        member = dynamic_member(group, member_id, is_joining)
    elif is_joining:
        return joining_static_member(group, member_id, body.instance_id, False, records)
    else:
        member = staying_static_member(group, member_id, body.instance_id)
    check_epoch(member, body.member_epoch, body.topic_partitions)
    return member


def _updated(member: Member, request: Request) -> Member:
    """The member with what the request gives; what it leaves out stays."""
    body = request.body
    names = body.subscribed_topic_names
    return member._replace(
        instance_id=member.instance_id if body.instance_id is None else body.instance_id,
        rack_id=member.rack_id if body.rack_id is None else body.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if body.rebalance_timeout_ms == -1 else body.rebalance_timeout_ms,
        server_assignor=member.server_assignor if body.server_assignor is None else body.server_assignor,
        names=member.names if names is None else names_in_order(names),
        regex=member.regex if body.subscribed_topic_regex is None else body.subscribed_topic_regex,
        client_id=request.client_id,
        client_host=request.client_host,
        classic=None,
    )


def _assignment(assigned: Held) -> messages.ConsumerGroupHeartbeatResponse.Assignment:
    made = messages.ConsumerGroupHeartbeatResponse
    topics = tuple(made.TopicPartitions(topic_id=id, partitions=tuple(epochs)) for id, epochs in assigned.items())
    return made.Assignment(topic_partitions=topics)


def _check(request: Request, assignors: tuple[str, ...]) -> None:
    """Errors: GroupError 42 for fields that do not go together, 112 for an assignor that is not configured."""
    body, epoch = request.body, request.body.member_epoch
    if (request.version >= 1 or epoch > 0 or epoch == LEAVE_EPOCH) and not body.member_id.strip():
        raise GroupError(INVALID_REQUEST, "MemberId can't be empty.")
    for name, value in (("GroupId", body.group_id), ("InstanceId", body.instance_id), ("RackId", body.rack_id)):
        if value is not None and not value.strip():
            raise GroupError(INVALID_REQUEST, f"{name} can't be empty.")
    if epoch == 0:
        if body.rebalance_timeout_ms == -1:
            raise GroupError(INVALID_REQUEST, "RebalanceTimeoutMs must be provided in first request.")
        if body.topic_partitions is None or body.topic_partitions:
            raise GroupError(INVALID_REQUEST, "TopicPartitions must be empty when (re-)joining.")
        if body.subscribed_topic_names is None and body.subscribed_topic_regex is None:
            text = "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
            raise GroupError(INVALID_REQUEST, text)
    elif epoch == STATIC_LEAVE_EPOCH:
        if body.instance_id is None:
            raise GroupError(INVALID_REQUEST, "InstanceId can't be null.")
    elif epoch < STATIC_LEAVE_EPOCH:
        raise GroupError(INVALID_REQUEST, "MemberEpoch is invalid.")
    if body.server_assignor is not None and body.server_assignor not in assignors:
        supported = ", ".join(assignors)
        raise GroupError(UNSUPPORTED_ASSIGNOR, f"ServerAssignor {body.server_assignor} is not supported. Supported assignors: {supported}.")
