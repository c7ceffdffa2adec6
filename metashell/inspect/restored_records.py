"""The records of a restored cluster: those of the best source, with what a new quorum needs.

Topics with their ids, settings, ACLs, quotas, users and brokers stay as they are. Four things differ:

- The registrations of controllers are left out. Those that are gone would limit the features of the cluster for ever, and one that runs
  registers again at once.
- All brokers are fenced, as none has a session with the new quorum. Were they not, the controller would fence them one by one when the
  sessions end, and each would leave the in-sync replicas but the last. Which one that is would be chance, and the others would truncate
  their logs to its. So it is the last one that registers.
- Leader epochs and partition epochs of all partitions are raised by `EPOCH_MARGIN`. A broker keeps leader epochs on its disk, a client in
  its memory. If later elections were lost with the old quorum, the next ones would repeat their epochs: a broker would truncate its log to
  the wrong offset, and a client would ignore the new leader as an old one.
- The next producer id is raised by `PRODUCER_IDS_MARGIN`. If a later block of ids was lost, a second producer would get the same ids, and
  brokers would drop its records as repetitions of the first one's.

From a bundle, users and settings whose secrets it does not have are left out: they would be wrong.
Source: org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache; org.apache.kafka.clients.Metadata; KIP-101, KIP-320, KIP-360,
KIP-584, KIP-730."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from immutables import Map

from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.registry import message_type
from metashell.codec.releases import NEWEST_LEVEL, record_versions
from metashell.common.terminal import update_progress
from metashell.common.values import REDACTED
from metashell.disk.restore import EPOCH_MARGIN, EPOCH_MAX
from metashell.metadata.image.cluster import ClusterImage
from metashell.metadata.image.image import MetadataImage, ProducerIdsImage
from metashell.metadata.image.partitions import PartitionRegistration, partition_record
from metashell.metadata.image.topics import TopicsImage
from metashell.metadata.image.writer import write_image

if TYPE_CHECKING:
    from metashell.metadata.image.settings import ConfigsImage, ScramImage
    from metashell.metadata.image.topics import TopicImage

PRODUCER_IDS_MARGIN: Final = 1_000_000_000
_BEFORE_TOPICS: Final = frozenset({"FeatureLevelRecord", "ZkMigrationStateRecord", "RegisterBrokerRecord", "RegisterControllerRecord"})
_TOLD_EVERY: Final = 1000
# A PartitionRecord: frame, type and version take 3 bytes, its ids 20. Four arrays follow, then leader and epochs.
_ARRAYS_AT: Final = 23
_ARRAYS: Final = 4
_LEADER_SIZE: Final = 4
_EPOCHS: Final = Struct(">ii")
_LONG: Final = 127
_INT32_MAX: Final = (1 << 31) - 1
_INT64_MAX: Final = (1 << 63) - 1


class LeftOut(NamedTuple):
    """What a bundle does not have: users without their keys, and settings without their values."""

    users: int = 0
    settings: int = 0


def restored_image(image: MetadataImage) -> MetadataImage:
    """The image without controllers, with fenced brokers and the next producer id raised. Partitions are raised when they are written."""
    next_id = min(max(image.producer_ids.next_producer_id, 0) + PRODUCER_IDS_MARGIN, _INT64_MAX)
    brokers = Map({id: broker._replace(fenced=True) for id, broker in image.cluster.brokers.items()})
    return image._replace(cluster=ClusterImage(brokers), producer_ids=ProducerIdsImage(next_id))


def without_redacted(image: MetadataImage) -> tuple[MetadataImage, LeftOut]:
    """The image without users whose keys, and settings whose values were taken out of a bundle."""
    users = {mechanism: {name: one for name, one in each.items() if one.stored_key} for mechanism, each in image.scram.items()}
    settings = {place: {key: value for key, value in each.items() if value != REDACTED} for place, each in image.configs.items()}
    left_out = LeftOut(
        sum(map(len, image.scram.values())) - sum(map(len, users.values())),
        sum(map(len, image.configs.values())) - sum(map(len, settings.values())),
    )
    scram: ScramImage = Map({mechanism: Map(each) for mechanism, each in users.items() if each})
    configs: ConfigsImage = Map({place: Map(each) for place, each in settings.items() if each})
    return image._replace(scram=scram, configs=configs), left_out


def restored_values(image: MetadataImage) -> Iterator[bytes]:
    """The framed records of a restored image, in the order in which Kafka's controllers write a snapshot."""
    level = image.features.metadata_version or NEWEST_LEVEL
    has_topics = False
    for body, version in write_image(image._replace(topics=TopicsImage()), on_loss=_ignore_loss):
        if not has_topics and type(body).__name__ not in _BEFORE_TOPICS:
            yield from _topics(image, level)
            has_topics = True
        yield write_metadata_record(body, version)
    if not has_topics:
        yield from _topics(image, level)


def _topics(image: MetadataImage, level: int) -> Iterator[bytes]:
    make = message_type("metadata", "TopicRecord").cls
    version = record_versions(level).partition
    total = len(image.topics)
    for count, topic in enumerate(sorted(image.topics, key=attrgetter("name", "id"))):
        yield write_metadata_record(make(name=topic.name, topic_id=topic.id), 0)
        yield from _partitions(topic, level, version)
        if count % _TOLD_EVERY == 0:
            update_progress(f"writing topics, {count * 100 // total} % done")


def _partitions(topic: TopicImage, level: int, version: int) -> Iterator[bytes]:
    """The partitions of a topic. Nearly all of a large image are bytes of the same version, in which only the epochs are replaced."""
    index, overlay = topic.scan(), topic.overlay
    for partition_id in sorted({*index, *overlay}) if overlay else sorted(index):
        value = None
        if partition_id not in overlay:
            value = _raised(*index.place(partition_id), version)
        if value is None:
            partition = raised(topic.read(partition_id, index))
            record = partition_record(partition, topic.id, partition_id, level, _ignore_loss)
            value = write_metadata_record(record, version)
        yield value


def raised(partition: PartitionRegistration) -> PartitionRegistration:
    """A partition with its epochs raised."""
    return partition._replace(leader_epoch=_raised_epoch(partition.leader_epoch), partition_epoch=_raised_epoch(partition.partition_epoch))


def _raised_epoch(epoch: int) -> int:
    return min(max(epoch, 0) + EPOCH_MARGIN, _INT32_MAX)


def _raised(buf: bytes, start: int, end: int, version: int) -> bytes | None:
    """The same of the checked PartitionRecord `buf[start:end]`, without decoding it; None if it has to be decoded."""
    at = start + _ARRAYS_AT
    for _ in range(_ARRAYS):
        count = buf[at]
        if count > _LONG:
            return None
        at += 4 * count - 3
    at += _LEADER_SIZE
    leader_epoch, partition_epoch = _EPOCHS.unpack_from(buf, at)
    if buf[start + 2] != version or not (0 <= leader_epoch < EPOCH_MAX and 0 <= partition_epoch < EPOCH_MAX):
        return None
    return buf[start:at] + _EPOCHS.pack(leader_epoch + EPOCH_MARGIN, partition_epoch + EPOCH_MARGIN) + buf[at + _EPOCHS.size : end]


def _ignore_loss(loss: str) -> None:
    """Ignore what the image's own level cannot hold: a downgrade has left it, and Kafka's snapshots leave it out too."""
