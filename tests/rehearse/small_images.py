"""Small images for tests, made of the records that a controller would have written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from metashell.codec import messages
from metashell.codec.releases import ELR_FEATURE, METADATA_VERSION
from metashell.metadata.image import EMPTY_IMAGE, MetadataDelta, MetadataImage, Voter, VoterSet
from metashell.metadata.image.partitions import PartitionRegistration, partition_record
from metashell.quorum.controller.decision import SUPPORTED_FEATURES

LEVEL = 30


def broker_id_bytes(kind: int, id: int) -> bytes:
    return bytes([kind, id % 256]) * 8


def small_image(
    brokers: Mapping[int, str | None],
    topics: Mapping[str, Sequence[PartitionRegistration]],
    *,
    fenced: Iterable[int] = (),
    settings: Mapping[tuple[int, str], Mapping[str, str]] = {},
    voters: Sequence[int] = (),
    elr: bool = True,
) -> MetadataImage:
    """An image with these brokers (id to rack), topics, and settings by (type, name)."""
    delta = MetadataDelta(EMPTY_IMAGE)
    delta.replay(messages.FeatureLevelRecord(name=METADATA_VERSION, feature_level=LEVEL))
    if elr:
        delta.replay(messages.FeatureLevelRecord(name=ELR_FEATURE, feature_level=1))
    made = messages.RegisterBrokerRecord
    for epoch, (id, rack) in enumerate(brokers.items(), 1):
        delta.replay(
            made(
                broker_id=id,
                broker_epoch=epoch,
                incarnation_id=broker_id_bytes(1, id),
                rack=rack,
                fenced=id in fenced,
                log_dirs=(broker_id_bytes(2, id),),
                end_points=(made.BrokerEndpoint(name="PLAINTEXT", host="h", port=9092, security_protocol=0),),
                features=tuple(
                    made.BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
                    for name, (low, high) in SUPPORTED_FEATURES.items()
                ),
            )
        )
    for number, (name, partitions) in enumerate(topics.items(), 1):
        topic_id = broker_id_bytes(9, number)
        delta.replay(messages.TopicRecord(name=name, topic_id=topic_id))
        for partition_id, partition in enumerate(partitions):
            delta.replay(partition_record(partition, topic_id, partition_id, LEVEL, lambda what: None))
    for (type, name), values in settings.items():
        for key, value in values.items():
            delta.replay(messages.ConfigRecord(resource_type=type, resource_name=name, name=key, value=value))
    image = delta.apply()
    quorum = VoterSet(0, tuple(Voter(id, bytes(16)) for id in voters)) if voters else None
    return image._replace(voters=quorum)


def partition(
    *replicas: int,
    isr: Sequence[int] | None = None,
    leader: int | None = None,
    elr: Sequence[int] = (),
    last_known_elr: Sequence[int] = (),
) -> PartitionRegistration:
    """A partition on these brokers, in sync and led by the first one unless something else is said."""
    in_sync = tuple(replicas if isr is None else isr)
    return PartitionRegistration(
        replicas=replicas,
        directories=tuple(broker_id_bytes(2, id) for id in replicas),
        isr=in_sync,
        elr=tuple(elr),
        last_known_elr=tuple(last_known_elr),
        leader=(in_sync[0] if in_sync else -1) if leader is None else leader,
    )
