"""Metadata records at the versions that a metadata.version writes.

Source: org.apache.kafka.server.common.MetadataVersion.
"""

from __future__ import annotations

from typing import Any, Final

from metashell.codec import messages
from metashell.codec.metadata_version import KRAFT_VERSION, METADATA_VERSION, record_versions
from metashell.codec.releases import ELR_FEATURE, NEWEST_RELEASE, supported_features
from metashell.image import MetadataImage
from metashell.image.loss import VersionedRecord

TRANSACTIONS_LEVEL: Final = 13
LEADER_EPOCH_KEPT_LEVEL: Final = 12
"""From here on a smaller ISR no longer needs a new leader epoch."""
_JAVA_ORDER: Final = (
    "group.version",
    KRAFT_VERSION,
    METADATA_VERSION,
    "share.version",
    "streams.version",
    "transaction.version",
    ELR_FEATURE,
)
SUPPORTED_FEATURES: Final = {name: supported_features()[name] for name in _JAVA_ORDER}
"""What a controller of ours supports, in the order in which Kafka's says so."""

FENCE: Final = 1
UNFENCE: Final = -1

MIN_ISR: Final = "min.insync.replicas"
UNCLEAN_ELECTION: Final = "unclean.leader.election.enable"


def partition_version(level: int) -> int:
    """The version of PartitionRecord and PartitionChangeRecord."""
    return record_versions(level).partition


def fencing(broker_id: int, epoch: int, fenced: int) -> VersionedRecord:
    return messages.BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, fenced=fenced), 0


def entering_shutdown(broker_id: int, epoch: int) -> VersionedRecord:
    return messages.BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, in_controlled_shutdown=1), 1


def remaining_directories(broker_id: int, epoch: int, directories: tuple[bytes, ...]) -> VersionedRecord:
    return messages.BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, log_dirs=directories), 2


def cordoned_directories(broker_id: int, epoch: int, directories: tuple[bytes, ...]) -> VersionedRecord:
    return messages.BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, cordoned_log_dirs=directories), 3


def feature_level(name: str, level: int) -> VersionedRecord:
    return messages.FeatureLevelRecord(name=name, feature_level=level), 0


def config(resource_type: int, resource_name: str, name: str, value: str | None) -> VersionedRecord:
    return messages.ConfigRecord(resource_type=resource_type, resource_name=resource_name, name=name, value=value), 0


def clear_elr(topic: str) -> VersionedRecord:
    return messages.ClearElrRecord(topic_name=topic), 0


def level_of(image: MetadataImage) -> int:
    """The metadata.version of an image; before the bootstrap records it is the oldest that a controller takes."""
    return image.features.metadata_version or NEWEST_RELEASE.oldest_level


def elr_enabled(image: MetadataImage) -> bool:
    """Whether eligible leader replicas are on."""
    return image.features.levels.get(ELR_FEATURE, 0) > 0


def finalized_features(image: MetadataImage) -> dict[str, int]:
    """Every feature with its level, metadata.version and kraft.version among them."""
    levels: dict[str, int] = dict(image.features.levels.items())
    levels[METADATA_VERSION] = level_of(image)
    levels[KRAFT_VERSION] = image.features.kraft_version
    return levels


def is_config_of(record: Any, name: str) -> bool:
    return isinstance(record, messages.ConfigRecord) and record.name == name
