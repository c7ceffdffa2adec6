"""The broker's assignors by name: uniform and range of consumer groups, simple of share groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from metashell.groups.assignors.server_group import Assigned, PartitionCount, ServerGroup
from metashell.groups.assignors.server_range import assign_range
from metashell.groups.assignors.simple import assign_simple
from metashell.groups.assignors.uniform import assign_homogeneous
from metashell.groups.assignors.uniform_uneven import assign_heterogeneous
from metashell.groups.topics import Topics


def _uniform(group: ServerGroup, partition_count: PartitionCount) -> Assigned:
    return (assign_homogeneous if group.is_homogeneous else assign_heterogeneous)(group, partition_count)


SERVER_ASSIGNORS: Final[dict[str, Callable[[ServerGroup, PartitionCount], Assigned]]] = {
    "uniform": _uniform,
    "range": assign_range,
    "simple": assign_simple,
}


def assign(name: str, group: ServerGroup, topics: Topics) -> Assigned:
    """What the assignor of this name gives.

    Errors: AssignorError where Kafka's class throws; KeyError for a name that is none of `SERVER_ASSIGNORS`.
    """
    counts: dict[bytes, int | None] = {}

    def partition_count(topic_id: bytes) -> int | None:
        if topic_id not in counts:
            topic = topics.with_id(topic_id)
            counts[topic_id] = None if topic is None else topic.partition_count
        return counts[topic_id]

    return SERVER_ASSIGNORS[name](group, partition_count) if group.members else {}
