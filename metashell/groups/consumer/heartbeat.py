"""ConsumerGroupHeartbeat: a member joins, changes its subscription, confirms revoked partitions, or leaves.

The first member of the consumer protocol that joins a classic group upgrades it.
Source: org.apache.kafka.coordinator.group.GroupMetadataManager.consumerGroupHeartbeat and getOrMaybeSubscribe...ConsumerGroupMember;
conversations `upgrade-...` of tests/golden/groups."""

from __future__ import annotations

from collections.abc import Collection

from metashell.codec import messages
from metashell.codec.consumer_protocol import read_assignment, read_subscription
from metashell.codec.error_codes import (
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    GROUP_MAX_SIZE_REACHED,
    INVALID_REQUEST,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_SERVER_ERROR,
    UNRELEASED_INSTANCE_ID,
    UNSUPPORTED_ASSIGNOR,
)
from metashell.codec.java import names_in_order, uuid_hash_order
from metashell.common.errors import DecodeError
from metashell.common.values import uuid_text
from metashell.groups.assignors import in_java_order
from metashell.groups.classic import ClassicGroupMember
from metashell.groups.classic.group import ClassicGroup
from metashell.groups.consumer import (
    LEAVE_EPOCH,
    STABLE,
    STATIC_LEAVE_EPOCH,
    ClassicProtocols,
    ConsumerGroupMember,
    Held,
    TopicPartitions,
    current_record,
    group_record,
    held,
    is_within,
    member_record,
    member_tombstones,
    target_member_record,
    target_record,
)
from metashell.groups.consumer.assignment import advance_member
from metashell.groups.consumer.group import PROTOCOL_TYPE, ConsumerGroup
from metashell.groups.consumer.leave import cancel_all, check_instance, leave_consumer_group, restart_session, settings_of, static_member
from metashell.groups.decision import Answer, Decision, GroupError, Record, Request, refuse_request
from metashell.groups.state import Context, Group
from metashell.groups.topics import Topics, group_hash


def handle_consumer_heartbeat(context: Context, request: Request, now_ms: int) -> Decision:
    decision = Decision()
    try:
        _check_request(request, context.settings.consumer.assignors)
        if request.body.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            return leave_consumer_group(context, request, now_ms)
        _decide_heartbeat(context, request, now_ms, decision)
    except GroupError as error:
        return Decision(answers=[*decision.answers, refuse_request(request, error)])
    return decision


def _decide_heartbeat(context: Context, request: Request, now_ms: int, decision: Decision) -> None:
    body, is_joining = request.body, request.body.member_epoch == 0
    records = decision.records
    group = _group(context, body.group_id, is_joining, now_ms, decision)
    check_size(group, body.member_id, body.instance_id, context.settings.consumer.max_size)
    member_id = body.member_id or uuid_text(context.chance.uuid())
    member = _find_or_make_member(group, member_id, body, records)
    updated = _updated(member, request)
    updated = advance_member(context, group, member, updated, body.topic_partitions, now_ms, records)
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
    """Return the group, or a new one that this batch creates. A classic group with members is upgraded. Errors: GroupError 69."""
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
        return upgrade_classic_group(context, group, now_ms, decision)
    raise GroupError(GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")


def _find_or_make_member(
    group: ConsumerGroup, member_id: str, body: messages.ConsumerGroupHeartbeatRequest, records: list[Record]
) -> ConsumerGroupMember:
    is_joining = body.member_epoch == 0
    if body.instance_id is None:
        member = dynamic_member(group, member_id, is_joining)
    elif is_joining:
        return joining_static_member(group, member_id, body.instance_id, False, records)
    else:
        member = staying_static_member(group, member_id, body.instance_id)
    check_epoch(member, body.member_epoch, body.topic_partitions)
    return member


def _updated(member: ConsumerGroupMember, request: Request) -> ConsumerGroupMember:
    """Return the member with the fields of the request. Omitted fields stay."""
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


def _check_request(request: Request, assignors: tuple[str, ...]) -> None:
    """Errors: GroupError 42 for invalid fields, 112 for an assignor that is not configured."""
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


def check_size(group: ConsumerGroup, member_id: str, instance_id: str | None, max_size: int) -> None:
    """Errors: GroupError 81 for a new member of a full group. One that replaces a static member is not new."""
    if len(group.members) >= max_size and member_id not in group.members and instance_id not in group.statics:
        raise GroupError(GROUP_MAX_SIZE_REACHED, f"The consumer group has reached its maximum capacity of {max_size} members.")


def check_epoch(member: ConsumerGroupMember, epoch: int, reported: Collection[TopicPartitions] | None) -> None:
    """Errors: GroupError 110 for an epoch that is not the member's.

    The previous epoch is accepted from a member that reports no partition beyond its own: the answer with the new epoch may have been lost.
    """
    if epoch == 0 or epoch == member.epoch:
        return
    if epoch < member.epoch and epoch == member.previous_epoch and is_within(reported, member.assigned):
        return
    word = "greater" if epoch > member.epoch else "smaller"
    raise GroupError(
        FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {word} member epoch ({epoch}) than the one known by the group coordinator ({member.epoch}). "
        "The member must abandon all its partitions and rejoin.",
    )


def dynamic_member(group: ConsumerGroup, member_id: str, is_joining: bool) -> ConsumerGroupMember:
    """Return the member, a new one if it joins. Errors: GroupError 25 for an unknown member that does not join."""
    if is_joining and member_id not in group.members:
        return ConsumerGroupMember(member_id)
    return group.member(member_id)


def joining_static_member(
    group: ConsumerGroup, member_id: str, instance_id: str, is_classic: bool, records: list[Record]
) -> ConsumerGroupMember:
    """Return a static member that joins, and add the records that replace its predecessor. Errors: GroupError 111."""
    known = group.static_member(instance_id)
    if known is None:
        return dynamic_member(group, member_id, is_joining=True)
    if not is_classic and known.classic is None and known.epoch != STATIC_LEAVE_EPOCH:
        raise GroupError(
            UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id is owned by "
            f"{known.member_id} member.",
        )
    member = known._replace(member_id=member_id, epoch=0, previous_epoch=0)
    group_id = group.group_id
    records += member_tombstones(group_id, known.member_id)
    records.append(member_record(group_id, member))
    records.append(target_member_record(group_id, member_id, in_java_order(group.target_of(known.member_id))))
    records.append(current_record(group_id, member))
    return member


def staying_static_member(group: ConsumerGroup, member_id: str, instance_id: str) -> ConsumerGroupMember:
    """Return a static member that does not join. Errors: GroupError 25, 82."""
    member = static_member(group, instance_id)
    check_instance(member, member_id, instance_id)
    return member


_CUSTOM_ASSIGNOR = (
    "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default assignor before re-attempting the "
    "upgrade"
)


def upgrade_classic_group(context: Context, group: Group, now_ms: int, decision: Decision) -> ConsumerGroup:
    """Convert a classic group to a consumer group, and add its records to the decision. Errors: GroupError 69.

    The generation becomes the epoch of group, target and members, so that members which still speak the classic protocol go on in the
    generation that they know. The target is what each member has now: the upgrade itself moves no partition.
    """
    assert isinstance(group, ClassicGroup)
    _check_upgrade(context, group)
    # Members that wait must join again, even if the upgrade then fails because a blob cannot be read.
    decision.answers += group.refuse_all_waiting(REBALANCE_IN_PROGRESS)
    topics, generation = context.state.topics, group.generation
    made = ConsumerGroup(group.group_id, epoch=generation, assignment_epoch=generation)
    for classic in group.members.values():
        member = _upgraded_member(group, classic, topics)
        made.put(member)
        made.targets[member.member_id] = {topic_id: tuple(epochs) for topic_id, epochs in member.assigned.items()}
    made.metadata_hash = group_hash(made.subscribers, topics)
    decision.records += [
        *group.tombstones(),
        *(member_record(made.group_id, member) for member in made.members.values()),
        group_record(made.group_id, made.epoch, made.metadata_hash),
        *(target_member_record(made.group_id, member_id, made.targets[member_id]) for member_id in made.members),
        target_record(made.group_id, generation, 0),
        *(current_record(made.group_id, member) for member in made.members.values()),
    ]
    # The classic group's timers stay: they do nothing once it is gone, and it is still there if the batch cannot be written.
    for member in made.members.values():
        cancel_all(context.timers, made.group_id, member.member_id)
        restart_session(context, made.group_id, member, now_ms)
    return made


def _check_upgrade(context: Context, group: ClassicGroup) -> None:
    settings = context.settings
    if settings.migration_policy not in ("upgrade", "bidirectional"):
        raise _upgrade_refused(group, "online upgrade is disabled")
    if group.protocol_type != PROTOCOL_TYPE:
        raise _upgrade_refused(group, "the group does not use the consumer embedded protocol")
    if len(group.members) > settings.consumer.max_size:
        raise _upgrade_refused(group, "the group size exceeds the consumer group maximum size")


def _upgraded_member(group: ClassicGroup, classic: ClassicGroupMember, topics: Topics) -> ConsumerGroupMember:
    """Convert a member with its assignment, without topics that no longer exist. Errors: GroupError 69."""
    metadata = classic.metadata(group.protocol_name or "")
    if metadata is None:
        # It joined after the protocol was chosen and does not support it. Kafka answers UNKNOWN_SERVER_ERROR without a message.
        raise GroupError(UNKNOWN_SERVER_ERROR)
    try:
        assignment = read_assignment(classic.assignment)
        subscription = read_subscription(metadata)
    except DecodeError as error:
        raise _upgrade_refused(group, "the embedded consumer protocol is malformed") from error
    if assignment.user_data:
        raise _upgrade_refused(group, _CUSTOM_ASSIGNOR)
    assigned: dict[bytes, dict[int, int]] = {}
    for topic_name, partition in assignment.partitions:
        topic = topics.named(topic_name)
        if topic is not None:
            assigned.setdefault(topic.id, {})[partition] = group.generation
    return ConsumerGroupMember(
        classic.member_id,
        epoch=group.generation,
        previous_epoch=group.generation,
        state=STABLE,
        assigned={topic_id: held(assigned[topic_id].items()) for topic_id in uuid_hash_order(assigned)},
        instance_id=classic.instance_id,
        rack_id=subscription.rack or None,
        rebalance_timeout_ms=classic.rebalance_timeout_ms,
        client_id=classic.client_id,
        client_host=classic.client_host,
        names=names_in_order(subscription.topics),
        classic=ClassicProtocols(classic.session_timeout_ms, tuple((name, metadata) for name, metadata in classic.protocols)),
    )


def _upgrade_refused(group: ClassicGroup, reason: str) -> GroupError:
    return GroupError(GROUP_ID_NOT_FOUND, f"Cannot upgrade classic group {group.group_id} to consumer group because {reason}.")
