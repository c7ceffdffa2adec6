"""A streams group as StreamsGroupDescribe shows it.

Source: golden scenarios streams-life and watched-streams-internal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from metashell.codec import messages
from metashell.groups.context import Context
from metashell.groups.streams.group import StreamsGroup
from metashell.groups.streams.member import Member, TaskOffsets
from metashell.groups.streams.tasks import NO_TASKS, TaskId, Tasks, task_entries

_Response = messages.StreamsGroupDescribeResponse


NOT_STORED: Final = 1
"""The status of a topology's description, which was asked for: it is kept by a plug-in of the broker, and there is none."""


def described(context: Context, group: StreamsGroup) -> _Response.DescribedGroup:
    """A group with its topology and members. Internal topics have the number of partitions that they have come to."""
    return _Response.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name(),
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        topology=None if group.topology is None else _topology(group),
        members=tuple(
            _member(member, group.targets.get(member.member_id, NO_TASKS), group.task_offsets.get(member.member_id, TaskOffsets()))
            for member in group.members.values()
        ),
        assignor_name=context.settings.streams.assignors[0],
    )


def _topology(group: StreamsGroup) -> _Response.Topology:
    configured = group.configured
    counts = configured.partition_counts if configured is not None and configured.fault is None else {}
    return _Response.Topology(
        epoch=group.topology.epoch,
        subtopologies=tuple(
            _Response.Subtopology(
                subtopology_id=part.subtopology_id,
                source_topics=tuple(sorted(part.source_topics)),
                repartition_sink_topics=tuple(sorted(part.repartition_sink_topics)),
                state_changelog_topics=_topics(part.state_changelog_topics, counts),
                repartition_source_topics=_topics(part.repartition_source_topics, counts),
            )
            for part in group.topology.subtopologies
        ),
    )


def _topics(topics: Any, counts: dict[str, int]) -> tuple[_Response.TopicInfo, ...]:
    return tuple(
        _Response.TopicInfo(
            name=topic.name,
            partitions=counts.get(topic.name, topic.partitions),
            replication_factor=topic.replication_factor,
            topic_configs=tuple(_Response.KeyValue(key=config.key, value=config.value) for config in topic.topic_configs),
        )
        for topic in topics
    )


def _member(member: Member, target: Tasks, offsets: TaskOffsets) -> _Response.Member:
    endpoint = member.endpoint
    return _Response.Member(
        member_id=member.member_id,
        member_epoch=member.epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if endpoint is None else _Response.Endpoint(host=endpoint.host, port=endpoint.port),
        client_tags=tuple(_Response.KeyValue(key=key, value=value) for key, value in member.client_tags),
        task_offsets=_offsets(offsets.current),
        task_end_offsets=_offsets(offsets.end),
        assignment=_assignment(member.assigned),
        target_assignment=_assignment(target),
    )


def _offsets(offsets: Mapping[TaskId, int]) -> tuple[_Response.TaskOffset, ...]:
    return tuple(_Response.TaskOffset(subtopology_id=id, partition=partition, offset=at) for (id, partition), at in sorted(offsets.items()))


def _assignment(tasks: Tasks) -> _Response.Assignment:
    active, standby, warmup = (task_entries(_Response.TaskIds, own) for own in tasks)
    return _Response.Assignment(active_tasks=active, standby_tasks=standby, warmup_tasks=warmup)
