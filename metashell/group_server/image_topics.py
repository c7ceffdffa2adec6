"""The topics of a metadata image as the coordinator wants them."""

from __future__ import annotations

from collections.abc import Iterator

from metashell.groups.topics import Topic
from metashell.image import MetadataImage
from metashell.image.topics import TopicImage


class ImageTopics:
    """A `Topics` over one image. What is asked for is made once; a view of the next image takes over what did not change."""

    def __init__(self, image: MetadataImage, version: int, before: ImageTopics | None = None) -> None:
        self.image = image
        self._version = version
        self._racks = {id: broker.rack for id, broker in image.cluster.brokers.items()}
        self._known: dict[bytes, tuple[TopicImage, Topic]] = {}
        if before is not None and before._racks == self._racks:
            self._known = before._known

    @property
    def version(self) -> int:
        return self._version

    def named(self, name: str) -> Topic | None:
        return self._topic(self.image.topics.by_name.get(name))

    def with_id(self, id: bytes) -> Topic | None:
        return self._topic(self.image.topics.by_id.get(id))

    def names(self) -> Iterator[str]:
        return iter(self.image.topics.by_name)

    def _topic(self, topic: TopicImage | None) -> Topic | None:
        if topic is None:
            return None
        known = self._known.get(topic.id)
        if known is None or known[0] is not topic:
            known = self._known[topic.id] = topic, Topic(topic.id, topic.name, self._racks_of(topic))
        return known[1]

    def _racks_of(self, topic: TopicImage) -> tuple[tuple[str, ...], ...]:
        found = []
        for _, partition in sorted(topic.partitions.items()):
            racks = (self._racks.get(id) for id in partition.replicas)
            found.append(tuple(sorted(rack for rack in racks if rack is not None)))
        return tuple(found)


def changes(before: MetadataImage, after: MetadataImage) -> tuple[set[str], set[str]]:
    """Names of topics that are new or not as they were, and of those that are gone. One that was made anew is in both."""
    if before.topics is after.topics:
        return set(), set()
    old, new = before.topics.by_name, after.topics.by_name
    changed = {name for name, topic in new.items() if old.get(name) is not topic}
    deleted = {name for name, topic in old.items() if name not in new or new[name].id != topic.id}
    return changed, deleted
