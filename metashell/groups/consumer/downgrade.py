"""From a consumer group back to a classic one, when only members of the classic protocol are left in it.

Source: groups.md 11.2 and the conversations `...downgrade...` of tests/golden/groups.
"""

from __future__ import annotations

from collections.abc import Collection

from metashell.codec.blobs.consumer_protocol import Assignment, assignment_bytes, blob_version
from metashell.errors import DecodeError
from metashell.groups.assignors.server_group import in_java_order
from metashell.groups.classic.group import ClassicGroup, ClassicState
from metashell.groups.classic.member import ClassicMember, Protocol
from metashell.groups.classic.rebalance import forget_timers, prepare_rebalance, record_of, restart_session
from metashell.groups.consumer.group import PROTOCOL_TYPE, ConsumerGroup
from metashell.groups.consumer.member import Member
from metashell.groups.consumer.records import Target, group_tombstones
from metashell.groups.context import Context
from metashell.groups.decision import Decision
from metashell.groups.error_answers import error_body
from metashell.groups.record import Record
from metashell.groups.request import Answer, Request
from metashell.groups.topics import Topics


def is_possible(context: Context, group: ConsumerGroup, gone: Collection[Member], comes: int = 0) -> bool:
    """Whether the group becomes classic when these members go, and that many of the classic protocol take their places."""
    settings = context.settings
    left = len(group.members) - len(gone) + comes
    if settings.migration_policy not in ("downgrade", "bidirectional") or not 0 < left <= settings.max_size:
        return False
    return group.classic_count - sum(member.classic is not None for member in gone) == len(group.members) - len(gone)


def without(context: Context, group: ConsumerGroup, gone: Collection[Member], now_ms: int) -> Decision:
    """The group without these members, as a classic one that has to rebalance."""
    decision = Decision(replays=False)
    decision.records += group.tombstones()
    made = _made(context, group, {member.member_id for member in gone}, None, now_ms)
    _take_over(context, group, made, decision, now_ms)
    prepare_rebalance(context, made, decision, now_ms)
    return decision


def replaced(
    context: Context, group: ConsumerGroup, old: Member, new: Member, has_changed: bool, records: list[Record], now_ms: int
) -> Decision:
    """The group whose last member of the consumer protocol was a static one that now comes back with the classic protocol.

    `records` are those of this request so far: they have removed the old member and written the new one. A rebalance is only
    needed where the member has changed its subscription.
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
    context: Context, group: ConsumerGroup, gone: Collection[str], replaced_by: tuple[Member, Member] | None, now_ms: int
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


def _classic(member: Member) -> ClassicMember:
    classic = member.classic
    assert classic is not None, "only members of the classic protocol are left"
    return ClassicMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        classic.session_timeout_ms,
        tuple(Protocol(name, metadata) for name, metadata in classic.protocols),
    )


def _assignment(target: Target, member: ClassicMember, topics: Topics) -> bytes:
    """The target in the version in which the member wrote its subscription."""
    partitions = []
    for topic_id, numbers in in_java_order(target).items():
        topic = topics.with_id(topic_id)
        if topic is not None:
            partitions += [(topic.name, number) for number in numbers]
    return assignment_bytes(Assignment(tuple(partitions), version=_version(member)))


def _version(member: ClassicMember) -> int:
    try:
        return blob_version(member.protocols[0].metadata)
    except DecodeError:
        return 0  # what does not decode was never let in; a log may have it all the same


def _take_over(context: Context, group: ConsumerGroup, made: ClassicGroup, decision: Decision, now_ms: int) -> None:
    """The classic group is live from now on: it knows more than its record, which is not replayed.

    Timers of the consumer group stay: without it they do nothing, and it is back where the batch cannot be written.
    """
    decision.records.append(record_of(made, {id: member.assignment for id, member in made.members.items()}))
    context.state.groups[made.group_id] = made
    forget_timers(context, made)
    for classic in made.members.values():
        restart_session(context, made, classic, now_ms)

    def undo(_code: int, _now_ms: int) -> Decision:
        context.state.groups[made.group_id] = group
        return Decision()

    decision.on_failure = undo


def refused_too(decision: Decision, request: Request) -> Decision:
    """The decision, whose request is refused where its batch could not be written, after what was changed is undone."""
    undo = decision.on_failure
    if undo is None:
        return decision

    def fail(code: int, now_ms: int) -> Decision:
        undone = undo(code, now_ms)
        undone.answers.append(Answer(request.ticket, error_body(request, code)))
        return undone

    decision.on_failure = fail
    return decision
