"""What a streams member is told: its tasks, and where the state of the others can be asked.

Source: golden scenarios streams-life and watched-streams-members.
"""

from __future__ import annotations

from typing import Any

from metashell.codec import messages
from metashell.groups.context import Context
from metashell.groups.streams.group import StreamsGroup
from metashell.groups.streams.member import Member
from metashell.groups.streams.tasks import TaskId, task_entries
from metashell.groups.streams.timeouts import group_setting
from metashell.groups.streams.topology import input_topics

_Response = messages.StreamsGroupHeartbeatResponse


def answer_of(context: Context, body: Any, group: StreamsGroup, change: tuple[Member, Member], topology: Any) -> _Response:
    """The answer to a heartbeat that changed a member. Tasks are in it at a join, and when they have changed."""
    known, member = change
    response = _Response(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=group_setting(
            context, group.group_id, "streams.heartbeat.interval.ms", context.settings.streams.heartbeat_interval_ms
        ),
    )
    if body.member_epoch == 0 or member.assigned != known.assigned:
        response.active_tasks, response.standby_tasks, response.warmup_tasks = (
            task_entries(_Response.TaskIds, tasks) for tasks in member.assigned
        )
    is_new = member.member_id not in group.members
    if member.endpoint is not None and group.members and (is_new or member.assigned != known.assigned):
        group.endpoint_epoch += 1
    response.endpoint_information_epoch = group.endpoint_epoch
    if body.endpoint_information_epoch != group.endpoint_epoch:
        others = [other for other in group.members.values() if other.member_id != member.member_id]
        response.partitions_by_user_endpoint = tuple(
            _endpoint(other, topology) for other in (*others, member) if other.endpoint is not None
        )
    return response


def _endpoint(member: Member, topology: Any) -> _Response.EndpointToPartitions:
    assert member.endpoint is not None
    return _Response.EndpointToPartitions(
        user_endpoint=_Response.Endpoint(host=member.endpoint.host, port=member.endpoint.port),
        active_partitions=_partitions(member.assigned.active, topology),
        standby_partitions=_partitions(member.assigned.standby, topology),
    )


def _partitions(tasks: frozenset[TaskId], topology: Any) -> tuple[_Response.TopicPartition, ...]:
    """What tasks read, by topic, whether the topic has that partition or not."""
    found: dict[str, list[int]] = {}
    for subtopology, partition in sorted(tasks):
        for topic in input_topics(topology, subtopology):
            found.setdefault(topic, []).append(partition)
    return tuple(_Response.TopicPartition(topic=topic, partitions=tuple(numbers)) for topic, numbers in found.items())
