"""What the broker's assignors are given, and give."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from metashell.codec.java_hash import copy_capacity, hash_order, uuid_hash_order
from metashell.groups.assignors.errors import ASSIGNOR_EXCEPTION, AssignorError
from metashell.values import uuid_text

Assigned = dict[str, dict[bytes, tuple[int, ...]]]
"""By member, by topic id: partitions, sorted or in the order of Kafka's set.

A topic may have none, and a member that is missing has none of any topic.
"""
PartitionCount = Callable[[bytes], int | None]
"""How many partitions a topic has, None where it is not known."""


class ServerMember(NamedTuple):
    """A member as the broker's assignors see it. Orders of collections are those of Kafka's sets and maps: see `in_java_order`."""

    topic_ids: Collection[bytes] = ()
    """What it is subscribed to."""
    previous: Mapping[bytes, Collection[int]] = {}
    """Its target so far."""
    instance_id: str | None = None
    rack_id: str | None = None


class ServerGroup(NamedTuple):
    """Shape: `members` in the order of Kafka's map. `assignable` are the only partitions that may be given (share groups); None for all."""

    members: Mapping[str, ServerMember]
    is_homogeneous: bool
    assignable: Mapping[bytes, Collection[int]] | None = None


def in_java_order(target: Mapping[bytes, Iterable[int]]) -> dict[bytes, tuple[int, ...]]:
    """A member's target as the coordinator holds it that has read the record: topics in the order of a HashMap, partitions of a HashSet."""
    ordered = {}
    for topic_id in uuid_hash_order(target):
        partitions = tuple(target[topic_id])
        ordered[topic_id] = hash_order(partitions, copy_capacity(len(partitions)))
    return ordered


def are_homogeneous(members: Iterable[ServerMember]) -> bool:
    """Whether all are subscribed to the same topics."""
    return len({frozenset(member.topic_ids) for member in members}) < 2


def known_count(topic_id: bytes, partition_count: PartitionCount) -> int:
    """How many partitions a topic has. Errors: AssignorError where it is not known."""
    count = partition_count(topic_id)
    if count is None:
        text = f"Members are subscribed to topic {uuid_text(topic_id)} which doesn't exist in the topic metadata."
        raise AssignorError(ASSIGNOR_EXCEPTION, text)
    return count


def sorted_targets(targets: Mapping[str, Mapping[bytes, Iterable[int]]]) -> Assigned:
    """An assignment in the form of `Assigned`."""
    return {
        member_id: {topic_id: tuple(sorted(partitions)) for topic_id, partitions in target.items()} for member_id, target in targets.items()
    }
