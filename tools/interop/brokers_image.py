"""What the metadata image says of brokers: what they lead, what lies in which of their directories, and which throttles are set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from metashell.disk.names import META_PROPERTIES
from metashell.disk.properties import read_meta_properties
from metashell.metadata.image import MetadataImage
from metashell.metadata.image.partitions import PartitionRegistration

THROTTLES: Final = {
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
}


def throttled(image: MetadataImage) -> set[str]:
    """The keys of throttles that are set on anything."""
    return {key for values in image.configs.values() for key in values if key in THROTTLES}


def led_by(image: MetadataImage, id: int) -> list[str]:
    """The partitions that a broker leads."""
    return [f"{topic.name}-{number}" for topic, number, partition in image.topics.iter_partitions() if partition.leader == id]


def placed_in(image: MetadataImage, id: int, directory: bytes) -> Iterator[tuple[str, PartitionRegistration]]:
    """The replicas of a broker that lie in one of its log directories."""
    for topic, number, partition in image.topics.iter_partitions():
        if dict(zip(partition.replicas, partition.directories, strict=True)).get(id) == directory:
            yield f"{topic.name}-{number}", partition


def directory_id(path: Path) -> bytes:
    """The id of a log directory."""
    found = read_meta_properties(str(path / META_PROPERTIES)).directory_id
    assert found is not None, path
    return found
