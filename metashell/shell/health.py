"""Counts of what is wrong with partitions, in one pass over a topic or over all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from metashell.image import MetadataImage, PartitionRegistration, TopicImage


Health = dict[str, int]


def is_under_replicated(isr: Sequence[int], replicas: Sequence[int], adding: Sequence[int]) -> bool:
    """Whether fewer replicas are in sync than should be; those that a reassignment adds do not count until it ends.

    Source: org.apache.kafka.tools.TopicCommand, kafka.cluster.Partition.
    """
    return len(isr) < len(replicas) - len(adding)


def topic_health(topic: TopicImage) -> Health:
    """How many partitions of a topic have no leader (`leaderless`), too few replicas in sync (`under_replicated`), or move."""
    return _count(topic.partitions.values())


def image_health(image: MetadataImage) -> Health:
    """The same over all topics."""
    return _count(partition for _, _, partition in image.topics.iter_partitions())


def _count(partitions: Iterable[PartitionRegistration]) -> Health:
    leaderless = under_replicated = reassigning = 0
    for partition in partitions:
        adding = partition.adding_replicas
        leaderless += partition.leader < 0
        under_replicated += len(partition.isr) < len(partition.replicas) - len(adding)
        if adding or partition.removing_replicas:
            reassigning += 1
    return {"leaderless": leaderless, "under_replicated": under_replicated, "reassigning": reassigning}
