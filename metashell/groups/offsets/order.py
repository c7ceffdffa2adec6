"""Partitions in the order in which Kafka goes over a group's offsets: a table of topics, each with a table of partitions."""

from __future__ import annotations

from collections.abc import Iterable

from metashell.codec.java_hash import string_hash
from metashell.groups.java_map import timeline_order
from metashell.groups.state import PartitionKey


def by_topic(keys: Iterable[PartitionKey]) -> dict[str, list[int]]:
    """Partitions by topic, both in Kafka's order; the keys are given from the oldest on."""
    found: dict[str, list[int]] = {}
    for topic, partition in keys:
        found.setdefault(topic, []).append(partition)
    topics = timeline_order(list(found), {topic: string_hash(topic) for topic in found})
    return {topic: timeline_order(found[topic], {partition: partition for partition in found[topic]}) for topic in topics}


def in_order(keys: Iterable[PartitionKey]) -> list[PartitionKey]:
    """The keys in Kafka's order."""
    return [(topic, partition) for topic, partitions in by_topic(keys).items() for partition in partitions]
