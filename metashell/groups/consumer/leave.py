"""Members that leave a consumer group or are removed from it by a timeout, and the downgrade to a classic group.

Timeouts: a silent member, slow revocation, and, with the classic protocol, a slow join or sync. When the last member of the consumer
protocol leaves and members of the classic protocol remain, the group becomes classic again.
Source: org.apache.kafka.coordinator.group.GroupMetadataManager: consumerGroupLeave, consumerGroupFenceMembers and the schedule... methods;
conversations `...downgrade...` of tests/golden/groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

from metashell.codec import messages
from metashell.codec.consumer_protocol import Assignment, assignment_bytes, blob_version
from metashell.codec.error_codes import FENCED_INSTANCE_ID, GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID
from metashell.common.errors import DecodeError
from metashell.groups.assignors import in_java_order
from metashell.groups.classic import ClassicGroupMember, Protocol
from metashell.groups.classic.group import ClassicGroup, ClassicState
from metashell.groups.classic.rebalance import forget_timers, prepare_rebalance, record_of, restart_classic_session
from metashell.groups.consumer import (
    NOTHING,
    STATIC_LEAVE_EPOCH,
    UNREVOKED,
    ConsumerGroupMember,
    Target,
    current_record,
    group_record,
    group_tombstones,
    member_tombstones,
    regex_tombstone,
    target_record,
)
from metashell.groups.consumer.group import PROTOCOL_TYPE, ConsumerGroup
from metashell.groups.consumer.subscription import last_users, subscribers_without
from metashell.groups.decision import Answer, Decision, GroupError, Record, Request, Timers, error_body
from metashell.groups.state import Context, KindSettings
from metashell.groups.topics import Topics, group_hash


def leave_consumer_group(context: Context, request: Request, now_ms: int) -> Decision:
    """Decide a heartbeat with epoch -1, or -2 from a static member that will return. Errors: GroupError."""
    body = request.body
    group = known_group(context, body.group_id)
    if body.instance_id is None:
        member = group.member(body.member_id)
    else:
        member = static_member(group, body.instance_id)
        check_instance(member, body.member_id, body.instance_id)
        if body.member_epoch == STATIC_LEAVE_EPOCH:
            return Decision(
                [current_record(group.group_id, release_static_member(member))],
                [_leave_answer(request, member.member_id, STATIC_LEAVE_EPOCH)],
            )
    decision = fence_members(context, group, [member], now_ms)
    decision.answers.append(_leave_answer(request, body.member_id, body.member_epoch))
    return refuse_when_unwritten(decision, request)


def fence_members(context: Context, group: ConsumerGroup, gone: Sequence[ConsumerGroupMember], now_ms: int) -> Decision:
    """Remove members from the group. If only members of the classic protocol remain, the group becomes classic."""
    if can_downgrade(context, group, gone):
        return downgrade_without(context, group, gone, now_ms)
    group_id, records = group.group_id, list[Record]()
    for member in gone:
        records += member_tombstones(group_id, member.member_id)
    regexes = last_users(group, gone)
    records += [regex_tombstone(group_id, regex) for regex in regexes]
    metadata_hash = group_hash(subscribers_without(group, gone, regexes), context.state.topics)
    records.append(group_record(group_id, group.epoch + 1, metadata_hash))
    if len(gone) == len(group.members):
        # An empty group has nothing to assign, so its assignment is up to date; timestamp 0 lets the next one be computed at once.
        records.append(target_record(group_id, group.epoch + 1, 0))
    for member in gone:
        cancel_all(context.timers, group_id, member.member_id)
    return Decision(records)


def known_group(context: Context, group_id: str) -> ConsumerGroup:
    """Return the consumer group of that name. Errors: GroupError 69."""
    group = context.state.groups.get(group_id)
    if group is None:
        raise GroupError(GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    if not isinstance(group, ConsumerGroup):
        raise GroupError(GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    return group


def static_member(group: ConsumerGroup, instance_id: str) -> ConsumerGroupMember:
    """Return the member with an instance id. Errors: GroupError 25."""
    member = group.static_member(instance_id)
    if member is None:
        raise GroupError(UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    return member


def check_instance(member: ConsumerGroupMember, member_id: str, instance_id: str) -> None:
    """Errors: GroupError 82 if another member has the instance id now."""
    if member.member_id != member_id:
        text = f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}."
        raise GroupError(FENCED_INSTANCE_ID, text)


def release_static_member(member: ConsumerGroupMember) -> ConsumerGroupMember:
    """Return a static member that left and will return. It keeps its partitions, so that nobody else gets them."""
    kept = {topic_id: dict.fromkeys(epochs, 0) for topic_id, epochs in member.assigned.items()}
    return member._replace(epoch=STATIC_LEAVE_EPOCH, assigned=kept, revoking=NOTHING)


def _leave_answer(request: Request, member_id: str, epoch: int) -> Answer:
    return Answer(request.ticket, messages.ConsumerGroupHeartbeatResponse(member_id=member_id, member_epoch=epoch))


# ---- the downgrade to a classic group


def can_downgrade(context: Context, group: ConsumerGroup, gone: Collection[ConsumerGroupMember], comes: int = 0) -> bool:
    """Return whether the group becomes classic when these members leave and `comes` members of the classic protocol join."""
    settings = context.settings
    left = len(group.members) - len(gone) + comes
    if settings.migration_policy not in ("downgrade", "bidirectional") or not 0 < left <= settings.max_size:
        return False
    return group.classic_count - sum(member.classic is not None for member in gone) == len(group.members) - len(gone)


def downgrade_without(context: Context, group: ConsumerGroup, gone: Collection[ConsumerGroupMember], now_ms: int) -> Decision:
    """Convert the group, without these members, to a classic one that rebalances."""
    decision = Decision(replays=False)
    decision.records += group.tombstones()
    made = _made(context, group, {member.member_id for member in gone}, None, now_ms)
    _take_over(context, group, made, decision, now_ms)
    prepare_rebalance(context, made, decision, now_ms)
    return decision


def downgrade_replacing_static_member(
    context: Context,
    group: ConsumerGroup,
    old: ConsumerGroupMember,
    new: ConsumerGroupMember,
    has_changed: bool,
    records: list[Record],
    now_ms: int,
) -> Decision:
    """Convert the group whose last member of the consumer protocol is a static one that returns with the classic protocol.

    `records` are those of this request so far: they remove the old member and write the new one. The new classic group rebalances only if
    the member has changed its subscription.
    """
    decision = Decision(replays=False)
    ids = [new.member_id if id == old.member_id else id for id in group.members]
    decision.records += [*records, *group_tombstones(group.group_id, ids, group.resolved)]
    made = _made(context, group, {old.member_id}, (old, new), now_ms)
    _take_over(context, group, made, decision, now_ms)
    if has_changed:
        prepare_rebalance(context, made, decision, now_ms)
    return decision


def _made(
    context: Context,
    group: ConsumerGroup,
    gone: Collection[str],
    replaced_by: tuple[ConsumerGroupMember, ConsumerGroupMember] | None,
    now_ms: int,
) -> ClassicGroup:
    made = ClassicGroup(group.group_id, ClassicState.STABLE, now_ms)
    made.restore(group.epoch, PROTOCOL_TYPE, None, None)
    targets: dict[str, Target] = {}
    for member in group.members.values():
        if member.member_id not in gone:
            made.add(_classic(member), PROTOCOL_TYPE)
            targets[member.member_id] = group.target_of(member.member_id)
    if replaced_by is not None:
        old, new = replaced_by
        made.add(_classic(new), PROTOCOL_TYPE)
        targets[new.member_id] = group.target_of(old.member_id)
    made.protocol_name = made.select_protocol()
    made.subscribed = made.compute_subscribed()
    for classic in made.members.values():
        classic.assignment = _assignment(targets[classic.member_id], classic, context.state.topics)
    return made


def _classic(member: ConsumerGroupMember) -> ClassicGroupMember:
    classic = member.classic
    assert classic is not None, "only members of the classic protocol are left"
    return ClassicGroupMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        classic.session_timeout_ms,
        tuple(Protocol(name, metadata) for name, metadata in classic.protocols),
    )


def _assignment(target: Target, member: ClassicGroupMember, topics: Topics) -> bytes:
    """Return the target as a blob of the version of the member's subscription."""
    partitions = []
    for topic_id, numbers in in_java_order(target).items():
        topic = topics.with_id(topic_id)
        if topic is not None:
            partitions += [(topic.name, number) for number in numbers]
    return assignment_bytes(Assignment(tuple(partitions), version=_version(member)))


def _version(member: ClassicGroupMember) -> int:
    try:
        return blob_version(member.protocols[0].metadata)
    except DecodeError:
        return 0  # joins with such a blob are refused, but a log may hold one


def _take_over(context: Context, group: ConsumerGroup, made: ClassicGroup, decision: Decision, now_ms: int) -> None:
    """Put the classic group in place of the consumer group at once: it knows more than its record, which is not replayed.

    The consumer group's timers stay: they do nothing while it is gone, and it comes back if the batch cannot be written.
    """
    decision.records.append(record_of(made, {id: member.assignment for id, member in made.members.items()}))
    context.state.groups[made.group_id] = made
    forget_timers(context, made)
    for classic in made.members.values():
        restart_classic_session(context, made, classic, now_ms)

    def undo(_code: int, _now_ms: int) -> Decision:
        context.state.groups[made.group_id] = group
        return Decision()

    decision.on_failure = undo


def refuse_when_unwritten(decision: Decision, request: Request) -> Decision:
    """Make a decision refuse its request, after undoing its changes, if its batch cannot be written."""
    undo = decision.on_failure
    if undo is None:
        return decision

    def fail(code: int, now_ms: int) -> Decision:
        undone = undo(code, now_ms)
        undone.answers.append(Answer(request.ticket, error_body(request, code)))
        return undone

    decision.on_failure = fail
    return decision


# ---- timeouts


def settings_of(context: Context, group_id: str) -> KindSettings:
    """Return the settings of consumer groups with this group's own configs."""
    kind = context.settings.consumer
    if not context.state.group_configs.get(group_id):
        return kind
    return replace(
        kind,
        session_timeout_ms=context.group_setting(group_id, "consumer.session.timeout.ms", kind.session_timeout_ms),
        heartbeat_interval_ms=context.group_setting(group_id, "consumer.heartbeat.interval.ms", kind.heartbeat_interval_ms),
        assignment_interval_ms=context.group_setting(group_id, "consumer.assignment.interval.ms", kind.assignment_interval_ms),
    )


def restart_session(context: Context, group_id: str, member: ConsumerGroupMember, now_ms: int) -> None:
    """Remove the member when it has been silent for its session timeout."""
    timeout_ms = settings_of(context, group_id).session_timeout_ms if member.classic is None else member.classic.session_timeout_ms
    _schedule(context, SESSION, group_id, member.member_id, now_ms + timeout_ms)


def watch_revocation(context: Context, group_id: str, member: ConsumerGroupMember, now_ms: int) -> None:
    """Remove a member that does not revoke within its rebalance timeout. Members of the classic protocol have `expect_join` instead."""
    if member.classic is not None:
        return
    if member.state != UNREVOKED:
        context.timers.cancel(timer_key(REBALANCE, group_id, member.member_id))
        return
    _schedule(
        context, REBALANCE, group_id, member.member_id, now_ms + member.rebalance_timeout_ms, lambda current: current.epoch == member.epoch
    )


def expect_join(context: Context, group_id: str, member: ConsumerGroupMember, now_ms: int) -> None:
    """Remove a member that was told to join again and does not. The time runs from when it was first told."""
    if timer_key(JOIN, group_id, member.member_id) not in context.timers:
        _schedule(context, JOIN, group_id, member.member_id, now_ms + member.rebalance_timeout_ms)


def expect_sync(context: Context, group_id: str, member_id: str, timeout_ms: int, now_ms: int) -> None:
    """Remove a member that has joined and does not sync."""
    _schedule(context, SYNC, group_id, member_id, now_ms + timeout_ms)


def _schedule(
    context: Context,
    kind: str,
    group_id: str,
    member_id: str,
    due_ms: int,
    still: Callable[[ConsumerGroupMember], bool] = lambda member: True,
) -> None:
    def expire(now_ms: int) -> Decision:
        group = context.state.groups.get(group_id)
        member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
        if not isinstance(group, ConsumerGroup) or member is None or not still(member):
            return Decision()
        return fence_members(context, group, [member], now_ms)

    context.timers.schedule(timer_key(kind, group_id, member_id), due_ms, expire)


SESSION: Final = "session-timeout"
REBALANCE: Final = "rebalance-timeout"
JOIN: Final = "consumer-join"
SYNC: Final = "consumer-sync"

TimerKey = tuple[str, str, str]


def timer_key(kind: str, group_id: str, member_id: str) -> TimerKey:
    return kind, group_id, member_id


def cancel_all(timers: Timers, group_id: str, member_id: str) -> None:
    for kind in (SESSION, REBALANCE, JOIN, SYNC):
        timers.cancel(timer_key(kind, group_id, member_id))


# ---- loading, and new metadata


def begin_consumers(context: Context, now_ms: int) -> None:
    """Start the timers of all members after loading. Each has a whole session to send a heartbeat."""
    context.new_topics_version = context.state.topics.version
    for group in context.state.groups.values():
        if isinstance(group, ConsumerGroup):
            for member in group.members.values():
                restart_session(context, group.group_id, member, now_ms)
                if member.state == UNREVOKED:
                    watch_revocation(context, group.group_id, member, now_ms)


def consumer_topics_changed(
    context: Context, old: Topics, new: Topics, changed: Collection[str], deleted: Collection[str], now_ms: int
) -> list[Record]:
    """Make groups compute their metadata hash with the next heartbeat, and match regular expressions again if there are new topics."""
    before = [old.named(name) for name in changed]
    after = [new.named(name) for name in changed]
    if any(topic is not None and (known is None or known.id != topic.id) for known, topic in zip(before, after, strict=True)):
        context.new_topics_version = new.version
    names = {*changed, *deleted}
    for group in context.state.groups.values():
        if isinstance(group, ConsumerGroup) and not names.isdisjoint(group.subscribers):
            group.refresh_ms = group.refresh_epoch = 0
    return []
