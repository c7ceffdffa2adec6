"""How an image differs from a later one, where the records between them say what they touched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from metashell.controller.records import finalized_features
from metashell.controller.state import partition_of
from metashell.image import MetadataImage, PartitionRegistration
from metashell.rehearse.outcome import BrokerDiff, ConfigDiff, FeatureDiff, ImageDiff, PartitionDiff
from metashell.rehearse.watch import PartitionKey

_NOTHING: Mapping[str, str] = {}


class Touched:
    """The topics, brokers and settings that the records of a rehearsal touched."""

    def __init__(self) -> None:
        self.partitions: dict[PartitionKey, None] = {}
        self.removed_topics: set[bytes] = set()
        self.made_topics: set[bytes] = set()


def changed_partitions(
    before: MetadataImage, after: MetadataImage, touched: Touched
) -> Iterator[tuple[str, PartitionKey, PartitionRegistration | None, PartitionRegistration | None]]:
    """The partitions that differ, with the names of their topics; those of removed topics among them."""
    keys = [*touched.partitions]
    for topic_id in touched.removed_topics:
        topic = before.topics.by_id.get(topic_id)
        if topic is not None:
            keys += [(topic_id, partition_id) for partition_id in topic.partition_ids()]
    for topic_id, partition_id in dict.fromkeys(keys):
        was, now = before.topics.by_id.get(topic_id), after.topics.by_id.get(topic_id)
        old = None if was is None else partition_of(was, partition_id)
        new = None if now is None else partition_of(now, partition_id)
        if old != new:
            topic = was or now
            assert topic is not None, "one of both has the partition"
            yield topic.name, (topic_id, partition_id), old, new


def image_diff(before: MetadataImage, after: MetadataImage, touched: Touched, partitions: Iterable[PartitionDiff]) -> ImageDiff:
    """All differences, each part in order."""
    return ImageDiff(
        topics_created=_names(after, before, touched.made_topics),
        topics_deleted=_names(before, after, touched.removed_topics),
        partitions=tuple(sorted(partitions, key=lambda diff: (diff.topic, diff.partition))),
        brokers=tuple(_broker_diffs(before, after)),
        configs=tuple(_config_diffs(before, after)),
        features=tuple(_feature_diffs(before, after)),
    )


def _names(having: MetadataImage, lacking: MetadataImage, topic_ids: Iterable[bytes]) -> tuple[str, ...]:
    found = (having.topics.by_id[id] for id in topic_ids if id in having.topics.by_id and id not in lacking.topics.by_id)
    return tuple(sorted(topic.name for topic in found))


def _broker_diffs(before: MetadataImage, after: MetadataImage) -> Iterator[BrokerDiff]:
    was, now = before.cluster.brokers, after.cluster.brokers
    for id in sorted({*was, *now}):
        if was.get(id) != now.get(id):
            yield BrokerDiff(id, was.get(id), now.get(id))


def _config_diffs(before: MetadataImage, after: MetadataImage) -> Iterator[ConfigDiff]:
    if before.configs is after.configs:
        return
    for resource in sorted({*before.configs, *after.configs}):
        was: Mapping[str, str] = before.configs.get(resource, _NOTHING)
        now: Mapping[str, str] = after.configs.get(resource, _NOTHING)
        if was is now:
            continue
        for name in sorted({*was, *now}):
            if was.get(name) != now.get(name):
                yield ConfigDiff(*resource, name, was.get(name), now.get(name))


def _feature_diffs(before: MetadataImage, after: MetadataImage) -> Iterator[FeatureDiff]:
    was, now = finalized_features(before), finalized_features(after)
    for name in sorted({*was, *now}):
        if was.get(name, 0) != now.get(name, 0):
            yield FeatureDiff(name, was.get(name, 0), now.get(name, 0))
