"""The broker's assignor `range`: of each topic, partitions that follow each other.

Source: groups.md 14.3.
"""

from __future__ import annotations

from collections import Counter

from metashell.groups.assignors.client_group import member_order
from metashell.groups.assignors.errors import ASSIGNOR_EXCEPTION, AssignorError
from metashell.groups.assignors.server_group import Assigned, PartitionCount, ServerGroup


def assign_range(group: ServerGroup, partition_count: PartitionCount) -> Assigned:
    """Members with an instance id come first, by it; then the others, by member id. What they had before plays no part."""
    order = sorted(group.members, key=lambda member_id: member_order(member_id, group.members[member_id].instance_id))
    topics_of = {member_id: group.members[order[0] if group.is_homogeneous else member_id].topic_ids for member_id in order}
    subscribers = Counter(topic_id for topic_ids in topics_of.values() for topic_id in topic_ids)
    ranges = {topic_id: _Ranges(partition_count(topic_id), count) for topic_id, count in subscribers.items()}
    assigned: Assigned = {}
    for member_id, topic_ids in topics_of.items():
        taken = ((topic_id, ranges[topic_id].take()) for topic_id in topic_ids)
        assigned[member_id] = {topic_id: partitions for topic_id, partitions in taken if partitions}
    return assigned


class _Ranges:
    """The partitions of a topic, from the first on."""

    def __init__(self, count: int | None, subscribers: int) -> None:
        if count is None:
            raise AssignorError(ASSIGNOR_EXCEPTION, "Member is subscribed to a non-existent topic")
        self._share, self._extras = divmod(count, subscribers)
        self._next = 0

    def take(self) -> tuple[int, ...]:
        first = self._next
        self._next += self._share + (self._extras > 0)
        self._extras -= 1
        return tuple(range(first, self._next))
