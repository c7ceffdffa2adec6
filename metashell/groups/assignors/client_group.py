"""What the assignors of clients are given: members by id, and the racks of each topic's partitions by its name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from metashell.codec.java_hash import string_hash_order, string_order

Partition = tuple[str, int]
"""Topic and partition."""
PartitionRacks = Sequence[Collection[str]]
"""For each partition of a topic the racks of its replicas; none where they are not known."""


class ClientMember(NamedTuple):
    """What a member says of itself when it joins, and its instance id. `generation` is -1 where it says none."""

    topics: Sequence[str]
    owned: Sequence[Partition] = ()
    generation: int = -1
    user_data: bytes | None = None
    instance_id: str | None = None
    rack: str | None = None


Members = Mapping[str, ClientMember]
"""By id, in the order in which the leader's list has them."""


def member_order(member_id: str, instance_id: str | None) -> tuple[bool, bytes]:
    """A sort key: members with an instance id come first, by it; then the others, by member id."""
    return instance_id is None, string_order(member_id if instance_id is None else instance_id)


def in_member_order(members: Members) -> list[str]:
    """The ids, sorted so that a static member has its place also under another id."""
    return sorted(members, key=lambda member_id: member_order(member_id, members[member_id].instance_id))


def partition_order(partition: Partition) -> tuple[bytes, int]:
    """A sort key: by topic, then by number."""
    return string_order(partition[0]), partition[1]


def known_topics(members: Members, topics: Mapping[str, PartitionRacks]) -> dict[str, list[frozenset[str]]]:
    """Topics that somebody is subscribed to and that have partitions, as a hash set of all that are wanted has them; racks as sets."""
    wanted = string_hash_order(topic for member in members.values() for topic in member.topics)
    return {topic: [frozenset(racks) for racks in topics[topic]] for topic in wanted if topics.get(topic)}


def racks_matter(member_racks: Collection[str], partition_racks: Iterable[frozenset[str]]) -> bool:
    """Whether racks are looked at: where members' racks and replicas' racks meet, and some partition is not in all racks.

    Source: groups.md 16, KIP-881.
    """
    racks = list(partition_racks)
    every = frozenset().union(*racks)
    return not every.isdisjoint(member_racks) and any(one != every for one in racks)
