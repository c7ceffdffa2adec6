"""What the answers of a group server are made from: who it is, and the newest image."""

from __future__ import annotations

from dataclasses import dataclass

from metashell.group_server.offsets_log import TOPIC, topic_id
from metashell.image import MetadataImage
from metashell.image.topics import TopicImage
from metashell.net.addresses import Address


@dataclass(slots=True)
class Cluster:
    """The cluster as its one reachable broker shows it: every partition is led by it.

    `image` is replaced by a newer one. `offsets_topic_id` is that of `__consumer_offsets`, which no image has: one partition.
    """

    id: str
    node_id: int
    address: Address
    image: MetadataImage

    @property
    def offsets_topic_id(self) -> bytes:
        return topic_id(self.id)

    def topic(self, name: str) -> TopicImage | None:
        return self.image.topics.by_name.get(name)

    def name_of(self, id: bytes) -> str | None:
        """The name of a topic, None for an id that no topic has."""
        if id == self.offsets_topic_id:
            return TOPIC
        found = self.image.topics.by_id.get(id)
        return None if found is None else found.name

    def leader_epoch(self, name: str, partition: int) -> int | None:
        """The leader's epoch of a partition, None where there is no such partition."""
        if name == TOPIC:
            return 0 if partition == 0 else None
        topic = self.topic(name)
        if topic is None or not topic.has_partition(partition):
            return None
        return topic.partitions[partition].leader_epoch
