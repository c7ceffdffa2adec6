"""Partitions that a member holds, each with the epoch in which it was assigned, in the order in which Kafka's maps have them.

A member's partitions are `topic id -> partition -> assignment epoch`. The order of partitions shows in records and answers: Kafka keeps
each topic's in a java.util.HashMap, whose table may be smaller than the highest partition, so they do not always ascend.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from metashell.codec.java_hash import hash_order

Held = Mapping[bytes, Mapping[int, int]]
"""Topic id -> partition -> the epoch in which the member got it."""

NOTHING: Held = {}


class TopicPartitions(Protocol):
    """Partitions of one topic as requests and records have them."""

    @property
    def topic_id(self) -> bytes: ...

    @property
    def partitions(self) -> tuple[int, ...]: ...


def held(entries: Iterable[tuple[int, int]], buckets: int = 16) -> dict[int, int]:
    """Partitions with their epochs as a java.util.HashMap of that many buckets has them."""
    epochs = dict(entries)
    return {partition: epochs[partition] for partition in hash_order(epochs, buckets)}


def buckets_of_copy(count: int) -> int:
    """How many buckets a java.util.HashMap gets that is made as a copy of one of `count` entries."""
    return 16 if count == 0 else 1 << int(count / 0.75).bit_length()


def held_of_record(topics: Iterable[TopicPartitions], epoch: int) -> dict[bytes, dict[int, int]]:
    """What a record says that a member holds; partitions without an assignment epoch have the member's `epoch`."""
    found = {}
    for topic in topics:
        epochs: tuple[int, ...] | None = getattr(topic, "assignment_epochs", None)
        if epochs is None or len(epochs) != len(topic.partitions):
            epochs = (max(epoch, 0),) * len(topic.partitions)
        found[topic.topic_id] = held(zip(topic.partitions, epochs, strict=True))
    return found


def holds_any(reported: Iterable[TopicPartitions], of: Held) -> bool:
    """Whether a member still reports one of these."""
    return any(partition in of.get(topic.topic_id, ()) for topic in reported for partition in topic.partitions)


def is_within(reported: Iterable[TopicPartitions] | None, of: Held) -> bool:
    """Whether a member reports its partitions, and only such as these."""
    if reported is None:
        return False
    return all(topic.topic_id in of and all(partition in of[topic.topic_id] for partition in topic.partitions) for topic in reported)
