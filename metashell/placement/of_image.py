"""Brokers and partitions of an image, as plans are made from."""

from __future__ import annotations

from metashell.image import MetadataImage
from metashell.placement.situation import BrokerState, PartitionState, Situation
from metashell.values import uuid_text


def brokers_of(image: MetadataImage) -> tuple[BrokerState, ...]:
    """The registered brokers, ordered by id."""
    return tuple(
        BrokerState(
            id=id,
            rack=broker.rack,
            is_fenced=broker.fenced,
            is_leaving=broker.in_controlled_shutdown,
            is_cordoned=broker.is_cordoned,
        )
        for id, broker in sorted(image.cluster.brokers.items())
    )


def situation_of(image: MetadataImage) -> Situation:
    """The situation that an image describes."""
    partitions = []
    for topic in sorted(image.topics, key=lambda topic: topic.name):
        topic_id = uuid_text(topic.id)
        for number, found in sorted(topic.partitions.items()):
            partitions.append(
                PartitionState(topic.name, number, found.replicas, found.adding_replicas, found.removing_replicas, topic_id, found.isr)
            )
    return Situation(brokers_of(image), tuple(partitions))
