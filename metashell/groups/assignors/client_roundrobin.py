"""The clients' assignor `roundrobin`: one walk round the members over all partitions.

Source: groups.md 16.2.
"""

from __future__ import annotations

from collections.abc import Mapping

from metashell.codec.java_hash import string_order
from metashell.groups.assignors.client_group import Members, Partition, PartitionRacks, in_member_order, known_topics
from metashell.groups.assignors.errors import AssignorError


def assign_roundrobin(members: Members, topics: Mapping[str, PartitionRacks]) -> dict[str, list[Partition]]:
    """Who is not subscribed to a topic is passed over."""
    if not members:
        raise AssignorError("java.lang.IllegalArgumentException", "CircularIterator can only be used on non-empty lists")
    given: dict[str, list[Partition]] = {member_id: [] for member_id in members}
    known = known_topics(members, topics)
    order = in_member_order(members)
    subscribed = {member_id: frozenset(member.topics) for member_id, member in members.items()}
    at = 0
    for topic in sorted(known, key=string_order):
        for partition in range(len(known[topic])):
            while topic not in subscribed[order[at]]:
                at = (at + 1) % len(order)
            given[order[at]].append((topic, partition))
            at = (at + 1) % len(order)
    return given
