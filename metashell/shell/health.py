"""Counts of what is wrong with partitions, in one pass over a topic or over all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metashell.image import MetadataImage, PartitionRegistration, TopicImage


Health = dict[str, int]


def topic_health(topic: TopicImage) -> Health:
    """How many partitions of a topic have no leader (`leaderless`) and fewer replicas in sync than assigned (`under_replicated`)."""
    return _count(topic.partitions.values())


def image_health(image: MetadataImage) -> Health:
    """The same over all topics."""
    return _count(partition for _, _, partition in image.topics.iter_partitions())


def _count(partitions: Iterable[PartitionRegistration]) -> Health:
    leaderless = under_replicated = 0
    for partition in partitions:
        leaderless += partition.leader < 0
        under_replicated += len(partition.isr) < len(partition.replicas)
    return {"leaderless": leaderless, "under_replicated": under_replicated}
