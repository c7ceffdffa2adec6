"""Members of the classic protocol in a consumer group: their joins, syncs, heartbeats and leaves.

A join is a full heartbeat: subscription, rack and owned partitions come from the member's blob. Its answer has no leader and no members,
because the coordinator assigns. One rebalance of the classic protocol is one step of KIP-848: a member that has to revoke learns it from
its next assignment, joins again without the partitions, and by that confirms the revocation.
Source: KIP-848; org.apache.kafka.coordinator.group.GroupMetadataManager.classicGroupJoinToConsumerGroup and its neighbours; conversations
`classic-...consumer-group` of tests/golden/groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from metashell.codec.consumer_protocol import Assignment, Subscription, assignment_bytes, blob_version, by_topic, read_subscription
from metashell.codec.error_codes import (
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from metashell.codec.java import names_in_order, uuid_hash_order
from metashell.common.errors import DecodeError
from metashell.common.values import uuid_text
from metashell.groups.classic import Waiting, heartbeat_answer, join_answer, join_error, leave_answer, sync_answer, sync_error
from metashell.groups.classic.rebalance import identities
from metashell.groups.consumer import UNRELEASED, UNREVOKED, ClassicProtocols, ConsumerGroupMember
from metashell.groups.consumer.assignment import MemberTarget, reconcile_member, update_subscription, update_target
from metashell.groups.consumer.group import PROTOCOL_TYPE, ConsumerGroup
from metashell.groups.consumer.heartbeat import check_size, dynamic_member, joining_static_member, staying_static_member
from metashell.groups.consumer.leave import (
    JOIN,
    SYNC,
    can_downgrade,
    check_instance,
    downgrade_replacing_static_member,
    expect_join,
    expect_sync,
    fence_members,
    refuse_when_unwritten,
    restart_session,
    settings_of,
    static_member,
    timer_key,
)
from metashell.groups.decision import Decision, GroupError, Request
from metashell.groups.state import Context
from metashell.groups.topics import Topics

_REQUIRES_MEMBER_ID_SINCE: Final = 4


class _Reported(NamedTuple):
    """Partitions of one topic that the member's blob claims."""

    topic_id: bytes
    partitions: tuple[int, ...]


def join_as_classic_member(context: Context, request: Request, now_ms: int) -> Decision:
    """Errors: GroupError; the error answer names no member."""
    return _join(context, _group(context, request), request, now_ms)


def sync_as_classic_member(context: Context, request: Request, now_ms: int) -> Decision:
    body = request.body
    try:
        group = _group(context, request)
        member = _checked(group, body.member_id, body.group_instance_id, body.generation_id)
        _check_protocol(member, body.protocol_type, body.protocol_name)
        if group.assignment_epoch > member.epoch and member.state != UNREVOKED:
            # The target changed after its join, so it has to join again. A member that has to revoke syncs first: only the assignment
            # shows it what to revoke, and its next join confirms that.
            expect_join(context, group.group_id, member, now_ms)
            raise GroupError(REBALANCE_IN_PROGRESS)
    except GroupError as error:
        return Decision(answers=[sync_error(request.ticket, error.code)])
    context.timers.cancel(timer_key(SYNC, group.group_id, member.member_id))
    restart_session(context, group.group_id, member, now_ms)
    assignment = _assignment(member, context.state.topics)
    return Decision(answers=[sync_answer(request.ticket, body.protocol_type, body.protocol_name, assignment)])


def heartbeat_as_classic_member(context: Context, request: Request, now_ms: int) -> Decision:
    body = request.body
    try:
        group = _group(context, request)
        member = _checked(group, body.member_id, body.group_instance_id, body.generation_id)
    except GroupError as error:
        return Decision(answers=[heartbeat_answer(request.ticket, error.code)])
    restart_session(context, group.group_id, member, now_ms)
    code = NONE
    if member.epoch < group.assignment_epoch or member.state == UNREVOKED or _may_take_more(group, member):
        expect_join(context, group.group_id, member, now_ms)
        code = REBALANCE_IN_PROGRESS
    return Decision(answers=[heartbeat_answer(request.ticket, code)])


def leave_as_classic_member(context: Context, request: Request, now_ms: int) -> Decision:
    group = _group(context, request)
    gone: dict[str, ConsumerGroupMember] = {}
    results = []
    for identity in identities(request):
        try:
            member = _leaving(group, identity.member_id, identity.group_instance_id)
            gone[member.member_id] = member
            results.append((identity, NONE))
        except GroupError as error:
            results.append((identity, error.code))
    decision = fence_members(context, group, list(gone.values()), now_ms) if gone else Decision()
    decision.answers.append(leave_answer(request, results))
    return refuse_when_unwritten(decision, request)


def _join(context: Context, group: ConsumerGroup, request: Request, now_ms: int) -> Decision:
    body, settings = request.body, context.settings
    if settings.migration_policy == "disabled":
        raise GroupError(INCONSISTENT_GROUP_PROTOCOL)
    is_new = not body.member_id
    member_id = body.member_id or uuid_text(context.chance.uuid())
    check_size(group, member_id, body.group_instance_id, settings_of(context, group.group_id).max_size)
    _check_supported(group, body.protocol_type, [protocol.name for protocol in body.protocols])
    if is_new and body.group_instance_id is None and request.version >= _REQUIRES_MEMBER_ID_SINCE:
        return Decision(answers=[join_error(Waiting.of(request), MEMBER_ID_REQUIRED, member_id)])
    decision = Decision()
    records = decision.records
    replaces = group.static_member(body.group_instance_id)
    if body.group_instance_id is None:
        member = dynamic_member(group, member_id, is_joining=True)
    elif is_new:
        member = joining_static_member(group, member_id, body.group_instance_id, True, records)
    else:
        member = staying_static_member(group, member_id, body.group_instance_id)
    try:
        subscription = read_subscription(body.protocols[0].metadata)
    except DecodeError as error:
        raise GroupError(INCONSISTENT_GROUP_PROTOCOL) from error
    updated = _joined(member, request, subscription)
    change, has_changed = update_subscription(context, group, member, updated, now_ms, records)
    reported = _reported(subscription, context.state.topics)
    if replaces is not None and can_downgrade(context, group, [replaces], comes=1):
        goal = MemberTarget(group.assignment_epoch, group.target_of(updated.member_id, updated.instance_id))
        if change.epoch <= group.assignment_epoch:
            updated = reconcile_member(context, group, updated, goal, reported, has_changed, now_ms, records)
        decision = downgrade_replacing_static_member(
            context, group, replaces, updated, change.epoch > group.assignment_epoch, records, now_ms
        )
    else:
        goal = update_target(change, context.state.topics, settings_of(context, group.group_id), now_ms, records)
        updated = reconcile_member(context, group, updated, goal, reported, has_changed, now_ms, records)
        context.timers.cancel(timer_key(JOIN, group.group_id, updated.member_id))
        restart_session(context, group.group_id, updated, now_ms)
        expect_sync(context, group.group_id, updated.member_id, body.rebalance_timeout_ms, now_ms)
    assert updated.classic is not None
    answer = join_answer(
        Waiting.of(request),
        member_id=updated.member_id,
        generation=updated.epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=updated.classic.name,
        leader="",
    )
    decision.answers.append(answer)
    return refuse_when_unwritten(decision, request)


def _group(context: Context, request: Request) -> ConsumerGroup:
    group = context.state.groups[request.body.group_id]
    assert isinstance(group, ConsumerGroup)
    return group


def _checked(group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int) -> ConsumerGroupMember:
    """Return the member of a request. Errors: GroupError 25, 82, 22."""
    member = group.member(member_id) if instance_id is None else static_member(group, instance_id)
    if instance_id is not None:
        check_instance(member, member_id, instance_id)
    _check_classic(member)
    if generation != member.epoch:
        raise GroupError(ILLEGAL_GENERATION)
    return member


def _leaving(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerGroupMember:
    """Return the member that leaves. An administrator may name a static one by its instance id alone. Errors: GroupError 25, 82."""
    if instance_id is None:
        return group.member(member_id)
    member = static_member(group, instance_id)
    if member_id:
        check_instance(member, member_id, instance_id)
    return member


def _check_classic(member: ConsumerGroupMember) -> None:
    if member.classic is None:
        raise GroupError(UNKNOWN_MEMBER_ID, f"Member {member.member_id} does not use the classic protocol.")


def _check_protocol(member: ConsumerGroupMember, protocol_type: str | None, protocol_name: str | None) -> None:
    assert member.classic is not None
    if protocol_type not in (None, PROTOCOL_TYPE) or protocol_name not in (None, member.classic.name):
        raise GroupError(INCONSISTENT_GROUP_PROTOCOL)


def _check_supported(group: ConsumerGroup, protocol_type: str, names: list[str]) -> None:
    """Errors: GroupError 23 if the classic members have no protocol in common with these."""
    if (
        protocol_type != PROTOCOL_TYPE
        or not names
        or not any(group.classic_protocols.get(name, 0) == group.classic_count for name in names)
    ):
        raise GroupError(INCONSISTENT_GROUP_PROTOCOL)


def _joined(member: ConsumerGroupMember, request: Request, subscription: Subscription) -> ConsumerGroupMember:
    """Return the member with the fields of its join. The classic protocol has no regular expressions."""
    body = request.body
    return member._replace(
        instance_id=member.instance_id if body.group_instance_id is None else body.group_instance_id,
        rack_id=subscription.rack or member.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if body.rebalance_timeout_ms == -1 else body.rebalance_timeout_ms,
        names=names_in_order(subscription.topics),
        regex="",
        client_id=request.client_id,
        client_host=request.client_host,
        classic=ClassicProtocols(body.session_timeout_ms, tuple((one.name, bytes(one.metadata)) for one in body.protocols)),
    )


def _reported(subscription: Subscription, topics: Topics) -> list[_Reported]:
    found = ((topics.named(name), partitions) for name, partitions in by_topic(subscription.owned).items())
    return [_Reported(topic.id, tuple(partitions)) for topic, partitions in found if topic is not None]


def _assignment(member: ConsumerGroupMember, topics: Topics) -> bytes:
    """Return the member's current partitions as a blob of the version of its subscription."""
    assert member.classic is not None
    partitions = []
    for topic_id in uuid_hash_order(member.assigned):
        topic = topics.with_id(topic_id)
        if topic is not None:
            partitions += [(topic.name, partition) for partition in member.assigned[topic_id]]
    return assignment_bytes(Assignment(tuple(partitions), version=blob_version(member.classic.metadata)))


def _may_take_more(group: ConsumerGroup, member: ConsumerGroupMember) -> bool:
    """Return whether the member waits for partitions that nobody holds any more."""
    if member.state != UNRELEASED:
        return False
    missing: Iterable[tuple[bytes, int]] = (
        (topic_id, partition)
        for topic_id, partitions in group.target_of(member.member_id).items()
        for partition in partitions
        if partition not in member.assigned.get(topic_id, {})
    )
    return not any(partition in group.owners for partition in missing)
