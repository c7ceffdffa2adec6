"""Finalized features, and the metadata.version that decides how everything else is written."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from immutables import Map

from metashell.codec.metadata_version import KRAFT_VERSION, METADATA_VERSION, OLDEST_LEVEL, ZK_MIGRATION_LEVEL
from metashell.codec.registry import message_type
from metashell.image.faults import ReplayError
from metashell.image.loss import LossHandler, VersionedRecord


class FeaturesImage(NamedTuple):
    """The level of every finalized feature.

    Shape: `metadata_version` is None until a record sets it; `kraft_version` comes from control records and is 0
    without one; `levels` has all others, none of them 0. `zk_migration_state` is obsolete, 0 where never set.
    """

    metadata_version: int | None = None
    kraft_version: int = 0
    levels: Map[str, int] = Map()
    zk_migration_state: int = 0

    @property
    def finalized(self) -> dict[str, int]:
        """The level of every finalized feature by name, kraft.version and metadata.version too where they are set."""
        levels = dict(self.levels)
        if self.metadata_version is not None:
            levels[METADATA_VERSION] = self.metadata_version
        if self.kraft_version:
            levels[KRAFT_VERSION] = self.kraft_version
        return levels

    def write(self, level: int, loss: LossHandler) -> Iterator[VersionedRecord]:
        """The records of the features: metadata.version first, so that a reader knows what follows."""
        make = message_type("metadata", "FeatureLevelRecord").cls
        yield make(name=METADATA_VERSION, feature_level=level), 0
        for name in sorted(self.levels):
            yield make(name=name, feature_level=self.levels[name]), 0
        if self.zk_migration_state:
            if level < ZK_MIGRATION_LEVEL:
                loss("the ZooKeeper migration state")
            else:
                yield message_type("metadata", "ZkMigrationStateRecord").cls(zk_migration_state=self.zk_migration_state), 0


class FeaturesDelta:
    """Gathers changes of feature levels."""

    def __init__(self, image: FeaturesImage) -> None:
        self._image = image
        self._metadata_version = image.metadata_version
        self._levels = image.levels.mutate()
        self._zk_migration_state = image.zk_migration_state

    def replay_feature_level(self, record: Any) -> None:
        """Errors: ReplayError for a metadata.version that means nothing. `newer.py` judges one that is newer than ours."""
        name, level = record.name, record.feature_level
        if name == METADATA_VERSION:
            self._set_metadata_version(level)
        elif name == KRAFT_VERSION:
            return  # Its level is that of the control records; Kafka ignores the record too.
        elif level == 0:
            self._levels.pop(name, None)
        else:
            self._levels[name] = level

    def _set_metadata_version(self, level: int) -> None:
        if level < OLDEST_LEVEL:
            raise ReplayError(f"metadata.version {level} is below the oldest, {OLDEST_LEVEL}")
        self._metadata_version = level

    def replay_zk_migration_state(self, record: Any) -> None:
        self._zk_migration_state = record.zk_migration_state

    def apply(self) -> FeaturesImage:
        return FeaturesImage(self._metadata_version, self._image.kraft_version, self._levels.finish(), self._zk_migration_state)
