"""The answer to a streams member: its tasks, and where the state of the others can be asked.

Source: golden scenarios streams-life and watched-streams-members.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from metashell.codec import messages
from metashell.codec.error_codes import UNKNOWN_SERVER_ERROR
from metashell.groups.context import Context
from metashell.groups.decision import GroupError
from metashell.groups.streams.group import StreamsGroup
from metashell.groups.streams.member import Member
from metashell.groups.streams.tasks import TaskId, by_subtopology, task_entries
from metashell.groups.streams.timeouts import group_setting
from metashell.groups.streams.topology import input_topics

_Response = messages.StreamsGroupHeartbeatResponse


class Inputs(NamedTuple):
    """A topology, and how many partitions its topics have."""

    value: Any
    counts: dict[str, int]
    is_faulty: bool


def answer_of(
    context: Context, body: Any, group: StreamsGroup, others: Sequence[Member], change: tuple[Member, Member], topology: Inputs
) -> _Response:
    """The answer to a heartbeat that changed a member. Tasks are in it at a join, and when they have changed."""
    known, member = change
    settings = context.settings.streams
    response = _Response(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=group_setting(context, group.group_id, "streams.heartbeat.interval.ms", settings.heartbeat_interval_ms),
        task_offset_interval_ms=group_setting(context, group.group_id, "streams.task.offset.interval.ms", settings.task_offset_interval_ms),
        acceptable_recovery_lag=group_setting(context, group.group_id, "streams.acceptable.recovery.lag", settings.acceptable_recovery_lag),
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
        # Kafka cannot look at the tasks of a topology that lacks topics, once a member answers queries.
        if topology.is_faulty and any(other.endpoint is not None for other in (*others, member)):
            raise GroupError(UNKNOWN_SERVER_ERROR)
        response.partitions_by_user_endpoint = tuple(
            _endpoint(other, topology) for other in (*others, member) if other.endpoint is not None
        )
    return response


def _endpoint(member: Member, topology: Inputs) -> _Response.EndpointToPartitions:
    assert member.endpoint is not None
    return _Response.EndpointToPartitions(
        user_endpoint=_Response.Endpoint(host=member.endpoint.host, port=member.endpoint.port),
        active_partitions=_partitions(member.assigned.active, topology),
        standby_partitions=_partitions(member.assigned.standby, topology),
    )


def _partitions(tasks: frozenset[TaskId], group: Inputs) -> tuple[_Response.TopicPartition, ...]:
    """What tasks read, by topic: of a topic that has fewer partitions than there are tasks, those that it has."""
    found: dict[str, list[int]] = {}
    for subtopology, numbers in by_subtopology(tasks).items():
        for topic in input_topics(group.value, subtopology):
            found.setdefault(topic, []).extend(number for number in numbers if number < group.counts.get(topic, 0))
    return tuple(_Response.TopicPartition(topic=topic, partitions=tuple(numbers)) for topic, numbers in found.items() if numbers)
