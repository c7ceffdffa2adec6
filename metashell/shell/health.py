"""Counts of what is wrong with partitions, in one pass over a topic or over all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metashell.image import MetadataImage, PartitionRegistration, TopicImage


def topic_health(topic: TopicImage) -> dict[str, int]:
    """How many partitions of a topic have no leader (`leaderless`) and fewer replicas in sync than assigned (`under_replicated`)."""
    return _count(topic.partitions.values())


def image_health(image: MetadataImage) -> dict[str, int]:
    """The same over all topics."""
    total = {"leaderless": 0, "under_replicated": 0}
    for topic in image.topics.by_id.values():
        for name, count in topic_health(topic).items():
            total[name] += count
    return total


def _count(partitions: Iterable[PartitionRegistration]) -> dict[str, int]:
    leaderless = under_replicated = 0
    for partition in partitions:
        leaderless += partition.leader < 0
        under_replicated += len(partition.isr) < len(partition.replicas)
    return {"leaderless": leaderless, "under_replicated": under_replicated}
