"""What a streams heartbeat must look like, and what it holds.

Source: golden scenarios streams-validation and watched-streams-refused, which have each of these words.
"""

from __future__ import annotations

from typing import Any

from metashell.codec import messages
from metashell.codec.error_codes import INVALID_REQUEST
from metashell.groups.decision import GroupError
from metashell.groups.request import Request
from metashell.groups.streams.member import LEAVE_EPOCH, STATIC_LEAVE_EPOCH, Endpoint, Member
from metashell.groups.streams.tasks import TaskId, Tasks, tasks_of
from metashell.groups.streams.topology import Configured


def check_heartbeat(body: Any) -> None:
    """Errors: GroupError for a request that makes no sense, whatever the groups are."""
    has_regex = body.topology is not None and any(part.source_topic_regex for part in body.topology.subtopologies)
    _refuse(has_regex, "Regular expressions for source topics are not supported yet.")
    _refuse(not body.member_id.strip(), "MemberId can't be empty.")
    _refuse(not body.group_id.strip(), "GroupId can't be empty.")
    _refuse(body.instance_id is not None and not body.instance_id.strip(), "InstanceId can't be empty.")
    _refuse(body.rack_id is not None and not body.rack_id.strip(), "RackId can't be empty.")
    _refuse(body.member_epoch < STATIC_LEAVE_EPOCH, f"MemberEpoch is {body.member_epoch}, but must be greater than or equal to -2.")
    _refuse(body.member_epoch == STATIC_LEAVE_EPOCH and body.instance_id is None, "InstanceId can't be null.")
    if body.member_epoch == 0:
        _check_join(body)
    given = [tasks is not None for tasks in (body.active_tasks, body.standby_tasks, body.warmup_tasks)]
    _refuse(any(given) and not all(given), "If one task-type is non-null, all must be non-null.")
    _refuse(body.member_epoch != 0 and body.topology is not None, "Topology can only be provided when (re-)joining.")


def check_tasks(owned: Tasks, configured: Configured) -> None:
    """Errors: GroupError for tasks that the topology does not have."""
    if configured.fault is not None:
        return
    for subtopology, partition in sorted(frozenset().union(*owned)):
        count = configured.task_counts.get(subtopology)
        if count is None:
            raise GroupError(INVALID_REQUEST, f"Subtopology {subtopology} does not exist in the topology.")
        text = f"Task {partition} for subtopology {subtopology} is invalid. Number of tasks for this subtopology: {count}"
        _refuse(not 0 <= partition < count, text)


def owned_tasks(body: Any) -> Tasks | None:
    """What a member says it runs, None where it says nothing."""
    if body.active_tasks is None:
        return None
    return Tasks(tasks_of(body.active_tasks), tasks_of(body.standby_tasks), tasks_of(body.warmup_tasks))


def task_offsets(entries: Any) -> dict[TaskId, int]:
    """How far tasks are, as a member reports it. Errors: GroupError for one that is named twice."""
    offsets: dict[TaskId, int] = {}
    for entry in entries:
        task = (entry.subtopology_id, entry.partition)
        text = f"Task offsets contain a duplicate entry for subtopology {task[0]} and partition {task[1]}."
        _refuse(task in offsets, text)
        offsets[task] = entry.offset
    return offsets


def merged(known: Member, request: Request) -> Member:
    """The member with what it says of itself; what it leaves out stays, but for the endpoint of one that joins."""
    body = request.body
    endpoint = None if body.user_endpoint is None else Endpoint(body.user_endpoint.host, body.user_endpoint.port)
    return known._replace(
        instance_id=known.instance_id if body.instance_id is None else body.instance_id,
        rack_id=known.rack_id if body.rack_id is None else body.rack_id,
        rebalance_timeout_ms=known.rebalance_timeout_ms if body.rebalance_timeout_ms < 0 else body.rebalance_timeout_ms,
        client_id=request.client_id,
        client_host=request.client_host,
        topology_epoch=known.topology_epoch if body.topology is None else body.topology.epoch,
        process_id=known.process_id if body.process_id is None else body.process_id,
        endpoint=known.endpoint if endpoint is None and body.member_epoch != 0 else endpoint,
        client_tags=known.client_tags if body.client_tags is None else tuple((tag.key, tag.value) for tag in body.client_tags),
    )


def topology_value(topology: Any) -> messages.StreamsGroupTopologyValue:
    """A request's topology as its record has it."""
    kind = messages.StreamsGroupTopologyValue
    parts = tuple(
        kind.Subtopology(
            subtopology_id=part.subtopology_id,
            source_topics=part.source_topics,
            source_topic_regex=part.source_topic_regex,
            state_changelog_topics=_topics(kind, part.state_changelog_topics),
            repartition_sink_topics=part.repartition_sink_topics,
            repartition_source_topics=_topics(kind, part.repartition_source_topics),
            copartition_groups=tuple(
                kind.CopartitionGroup(
                    source_topics=group.source_topics,
                    source_topic_regex=group.source_topic_regex,
                    repartition_source_topics=group.repartition_source_topics,
                )
                for group in part.copartition_groups
            ),
        )
        for part in topology.subtopologies
    )
    return kind(epoch=topology.epoch, subtopologies=parts)


def is_leaving(body: Any) -> bool:
    return body.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH)


def _check_join(body: Any) -> None:
    _refuse(body.rebalance_timeout_ms < 0, "RebalanceTimeoutMs must be provided in first request.")
    _refuse(body.topology is None, "Topology must be non-null when (re-)joining.")
    for name in ("active", "standby", "warmup"):
        tasks = getattr(body, f"{name}_tasks")
        _refuse(tasks is None or bool(tasks), f"{name.capitalize()}Tasks must be empty when (re-)joining.")


def _refuse(is_wrong: bool, text: str) -> None:
    if is_wrong:
        raise GroupError(INVALID_REQUEST, text)


def _topics(kind: Any, topics: Any) -> tuple[Any, ...]:
    return tuple(
        kind.TopicInfo(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_configs=tuple(kind.TopicConfig(key=config.key, value=config.value) for config in topic.topic_configs),
        )
        for topic in topics
    )
