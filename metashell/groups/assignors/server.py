"""The broker's assignors by name: uniform and range of consumer groups, simple of share groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from metashell.groups.assignors import server_range, simple, uniform, uniform_uneven
from metashell.groups.assignors.server_group import Assigned, PartitionCount, ServerGroup, ServerMember, are_homogeneous, in_java_order
from metashell.groups.topics import Topics

__all__ = ["SERVER_ASSIGNORS", "Assigned", "ServerGroup", "ServerMember", "are_homogeneous", "assign", "in_java_order"]


def _uniform(group: ServerGroup, partition_count: PartitionCount) -> Assigned:
    return (uniform.assign if group.is_homogeneous else uniform_uneven.assign)(group, partition_count)


SERVER_ASSIGNORS: Final[dict[str, Callable[[ServerGroup, PartitionCount], Assigned]]] = {
    "uniform": _uniform,
    "range": server_range.assign,
    "simple": simple.assign,
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
