"""Timers of streams members (session, revocation, delay of the first assignment), and the answer to a member.

The answer holds the member's tasks, and the endpoints where the state of other members can be queried.
Source: org.apache.kafka.coordinator.group.GroupMetadataManager; golden scenarios streams-life, watched-streams-members and
watched-streams-delay to -delay-kept in tests/golden/groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from metashell.codec import messages
from metashell.codec.error_codes import UNKNOWN_SERVER_ERROR
from metashell.groups.decision import Action, Decision, GroupError, Record, TimerKey
from metashell.groups.state import Context
from metashell.groups.streams import (
    UNREVOKED,
    StreamsGroupMember,
    TaskId,
    by_subtopology,
    group_record,
    member_tombstones,
    target_record,
    task_entries,
)
from metashell.groups.streams.assignor import compute_target
from metashell.groups.streams.group import StreamsGroup, input_topics

SESSION: Final = "streams-session-timeout"
REBALANCE: Final = "streams-rebalance-timeout"
INITIAL_DELAY: Final = "streams-initial-rebalance-timeout"


def start_session(context: Context, group_id: str, member_id: str, now_ms: int) -> None:
    """Restart a member's session."""

    def expire(at_ms: int) -> Decision:
        group, member = _member_of(context, group_id, member_id)
        return Decision() if group is None or member is None else Decision(remove_streams_member(context, group, member))

    timeout_ms = context.group_setting(group_id, "streams.session.timeout.ms", context.settings.streams.session_timeout_ms)
    context.timers.schedule((SESSION, group_id, member_id), now_ms + timeout_ms, expire)


def watch_revocation(context: Context, group_id: str, member: StreamsGroupMember, now_ms: int) -> None:
    """Give a member that must revoke tasks its rebalance timeout, from the heartbeat that told it so."""
    key = (REBALANCE, group_id, member.member_id)
    if member.state != UNREVOKED:
        context.timers.cancel(key)
        return

    def expire(at_ms: int) -> Decision:
        group, known = _member_of(context, group_id, member.member_id)
        if group is None or known is None or known.epoch != member.epoch:
            return Decision()
        return Decision(remove_streams_member(context, group, known))

    if key not in context.timers:
        context.timers.schedule(key, now_ms + max(member.rebalance_timeout_ms, 0), expire)


def start_streams_timers(context: Context, now_ms: int) -> None:
    """Start the timers of all members after loading."""
    for group in context.state.groups.values():
        for member in tuple(group.members.values()) if isinstance(group, StreamsGroup) else ():
            start_session(context, group.group_id, member.member_id, now_ms)
            watch_revocation(context, group.group_id, member, now_ms)


def delay_first_assignment(context: Context, group_id: str, now_ms: int) -> None:
    """Start the initial delay, which waits for more members before the first assignment; a running delay continues.

    As in Kafka, the delay that starts with the group's first heartbeat does not compute an assignment at its end, because the group did
    not exist when it was scheduled. Another heartbeat within the delay changes that (`keep_delay`); else the next heartbeat computes one.
    """
    delay_ms = context.settings.streams.initial_rebalance_delay_ms
    key = (INITIAL_DELAY, group_id)
    if delay_ms <= 0 or key in context.timers:
        return
    is_known = isinstance(context.state.groups.get(group_id), StreamsGroup)
    context.timers.schedule(key, now_ms + delay_ms, _first_assignment(context, group_id) if is_known else lambda at_ms: Decision())


def keep_delay(context: Context, group_id: str) -> bool:
    """Return whether the first assignment is still delayed. If the group exists by now, the end of the delay computes it."""
    key = (INITIAL_DELAY, group_id)
    if key not in context.timers:
        return False
    if isinstance(context.state.groups.get(group_id), StreamsGroup):
        context.timers.redirect(key, _first_assignment(context, group_id))
    return True


def _first_assignment(context: Context, group_id: str) -> Action:
    def assign(at_ms: int) -> Decision:
        group = context.state.groups.get(group_id)
        if not isinstance(group, StreamsGroup) or not group.members or group.epoch <= group.assignment_epoch:
            return Decision()
        return Decision(compute_target(context, group, group.members, group.targets, group.epoch, at_ms).records)

    return assign


def remove_streams_member(context: Context, group: StreamsGroup, member: StreamsGroupMember) -> list[Record]:
    """Return the records that remove a member, and cancel its timers."""
    keys: tuple[TimerKey, ...] = tuple((kind, group.group_id, member.member_id) for kind in (SESSION, REBALANCE))
    for key in keys:
        context.timers.cancel(key)
    epoch = group.epoch + 1
    epoch_record = group_record(group.group_id, epoch, group.metadata_hash, group.validated_epoch, group.configs, group.described)
    # An empty group has nothing to assign, so its assignment is up to date; timestamp 0 lets the next one be computed at once.
    emptied = [target_record(group.group_id, epoch, 0)] if len(group.members) == 1 else []
    return [*member_tombstones(group.group_id, member.member_id), epoch_record, *emptied]


def _member_of(context: Context, group_id: str, member_id: str) -> tuple[StreamsGroup | None, StreamsGroupMember | None]:
    group = context.state.groups.get(group_id)
    return (group, group.members.get(member_id)) if isinstance(group, StreamsGroup) else (None, None)


_Response = messages.StreamsGroupHeartbeatResponse


class Inputs(NamedTuple):
    """A topology, and the numbers of partitions of its topics."""

    value: Any
    counts: dict[str, int]
    is_faulty: bool


def answer_of(
    context: Context,
    body: Any,
    group: StreamsGroup,
    others: Sequence[StreamsGroupMember],
    change: tuple[StreamsGroupMember, StreamsGroupMember],
    topology: Inputs,
) -> _Response:
    """Return the answer to a heartbeat. It includes tasks for a member that joins, and when they have changed."""
    known, member = change
    settings = context.settings.streams
    response = _Response(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=context.group_setting(group.group_id, "streams.heartbeat.interval.ms", settings.heartbeat_interval_ms),
        task_offset_interval_ms=context.group_setting(group.group_id, "streams.task.offset.interval.ms", settings.task_offset_interval_ms),
        acceptable_recovery_lag=context.group_setting(group.group_id, "streams.acceptable.recovery.lag", settings.acceptable_recovery_lag),
    )
    if body.member_epoch == 0 or member.assigned != known.assigned:
        response.active_tasks, response.standby_tasks, response.warmup_tasks = (
            task_entries(_Response.TaskIds, tasks) for tasks in member.assigned
        )
    is_founder = body.group_id not in context.state.groups
    tells_endpoint = member.endpoint != known.endpoint or (member.endpoint is not None and member.assigned != known.assigned)
    if tells_endpoint and not is_founder:
        group.endpoint_epoch += 1
    response.endpoint_information_epoch = group.endpoint_epoch
    if body.endpoint_information_epoch != group.endpoint_epoch or (tells_endpoint and is_founder):
        # Kafka fails on a topology with missing topics once a member has an endpoint.
        if topology.is_faulty and any(other.endpoint is not None for other in (*others, member)):
            raise GroupError(UNKNOWN_SERVER_ERROR)
        response.partitions_by_user_endpoint = tuple(
            _endpoint(other, topology) for other in (*others, member) if other.endpoint is not None
        )
    return response


def _endpoint(member: StreamsGroupMember, topology: Inputs) -> _Response.EndpointToPartitions:
    assert member.endpoint is not None
    return _Response.EndpointToPartitions(
        user_endpoint=_Response.Endpoint(host=member.endpoint.host, port=member.endpoint.port),
        active_partitions=_partitions(member.assigned.active, topology),
        standby_partitions=_partitions(member.assigned.standby, topology),
    )


def _partitions(tasks: frozenset[TaskId], group: Inputs) -> tuple[_Response.TopicPartition, ...]:
    """Return the partitions that tasks read, by topic; a topic may have fewer partitions than there are tasks."""
    found: dict[str, list[int]] = {}
    for subtopology, numbers in by_subtopology(tasks).items():
        for topic in input_topics(group.value, subtopology):
            found.setdefault(topic, []).extend(number for number in numbers if number < group.counts.get(topic, 0))
    return tuple(_Response.TopicPartition(topic=topic, partitions=tuple(numbers)) for topic, numbers in found.items() if numbers)
