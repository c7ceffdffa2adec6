"""Kafka's releases: the levels of metadata.version and of the other features, and the levels that each release supports.

The controller registers, joins, leads and formats by this one table, and `verify --start-safe` judges by it. A node does not start if a
finalized feature is outside of its range: it would apply records that it does not understand, and acknowledge later ones that rest on
them.
Source: org.apache.kafka.server.common.Feature, MetadataVersion and KRaftVersion of each release; KIP-584, KIP-1022."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"

_NAMES = (
    *("3.0-IV1", "3.1-IV0", "3.2-IV0", "3.3-IV0", "3.3-IV1", "3.3-IV2", "3.3-IV3", "3.4-IV0"),
    *("3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2"),
    *("3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0"),
    *("4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0-IV3", "4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1"),
    *("4.3-IV0", "4.4-IV0", "4.4-IV1", "4.4-IV2", "4.5-IV0"),
)
OLDEST_LEVEL: Final = 1
NEWEST_LEVEL: Final = len(_NAMES)
"""The newest level that has a name. It may belong to no release yet; `RELEASES` has the levels that releases support."""

IN_CONTROLLED_SHUTDOWN_LEVEL: Final = 7
ZK_MIGRATION_LEVEL: Final = 8
SCRAM_LEVEL: Final = 11
DELEGATION_TOKEN_LEVEL: Final = 14
REGISTER_CONTROLLER_LEVEL: Final = 15
DIRECTORY_ASSIGNMENT_LEVEL: Final = 17
ELR_LEVEL: Final = 23
CORDONED_DIRECTORIES_LEVEL: Final = 30
ACL_RANGES_LEVEL: Final = 32
"""From this level on, the host of an ACL may be a CIDR range."""
UNREGISTER_CONTROLLER_LEVEL: Final = 33
BOOTSTRAP_SNAPSHOT_LEVEL: Final = 31
"""The first level of 4.4: servers that know it find the first records of a cluster in its bootstrap snapshot."""


def metadata_version_name(level: int) -> str:
    """The name of a level, `4.0-IV3`; the number of a level without a name here."""
    return _NAMES[level - 1] if OLDEST_LEVEL <= level <= NEWEST_LEVEL else str(level)


def level_name(feature: str, level: int) -> str:
    """The level of a feature for a person: `metadata.version 33 (4.4-IV2)`, `share.version 2`."""
    is_named = feature == METADATA_VERSION and OLDEST_LEVEL <= level <= NEWEST_LEVEL
    return f"{feature} {level} ({metadata_version_name(level)})" if is_named else f"{feature} {level}"


class RecordVersions(NamedTuple):
    """The versions of the records whose version depends on the level; every other record is version 0."""

    register_broker: int
    partition: int


def record_versions(level: int) -> RecordVersions:
    """The versions of the records that a controller at `level` writes."""
    return RecordVersions(
        register_broker=_newest_at(level, (CORDONED_DIRECTORIES_LEVEL, 4), (17, 3), (8, 2), (7, 1)),
        partition=_newest_at(level, (ELR_LEVEL, 2), (DIRECTORY_ASSIGNMENT_LEVEL, 1)),
    )


def _newest_at(level: int, *steps: tuple[int, int]) -> int:
    return next((version for from_level, version in steps if level >= from_level), 0)


ELR_FEATURE: Final = "eligible.leader.replicas.version"


class FeatureLevel(NamedTuple):
    """A feature's level: the release that brought it, the metadata.version from which new clusters have it, and the one that it needs."""

    since: str
    default_from: int
    needs: int = 0


FEATURES: Final[dict[str, tuple[FeatureLevel, ...]]] = {
    KRAFT_VERSION: (FeatureLevel("3.3", 7), FeatureLevel("3.9", 21)),
    "transaction.version": (FeatureLevel("4.0", 7), FeatureLevel("4.0", 24), FeatureLevel("4.0", 24)),
    "group.version": (FeatureLevel("4.0", 7), FeatureLevel("4.0", 22)),
    ELR_FEATURE: (FeatureLevel("4.0", 7), FeatureLevel("4.0", 26, needs=23)),
    "share.version": (FeatureLevel("4.1", 7), FeatureLevel("4.1", 28), FeatureLevel("4.4", 31)),
    "streams.version": (FeatureLevel("4.2", 7), FeatureLevel("4.2", 29)),
}
"""Every feature but metadata.version, in the order of Kafka's lists; a level is its index."""


class Release(NamedTuple):
    """A release: its name (`4.4`), the newest patch release that we tested (empty: only read), and its lowest metadata.version."""

    name: str
    patch: str
    oldest_level: int

    @property
    def newest_level(self) -> int:
        """The highest metadata.version for production: the newest one that is named after it or an earlier release."""
        return max(level for level in range(OLDEST_LEVEL, NEWEST_LEVEL + 1) if _number(metadata_version_name(level)) <= _number(self.name))


RELEASES: Final = (
    Release("3.3", "3.3.2", 1),
    Release("3.4", "", 1),
    Release("3.5", "", 1),
    Release("3.6", "", 1),
    Release("3.7", "", 1),
    Release("3.8", "", 1),
    Release("3.9", "3.9.2", 1),
    Release("4.0", "", 7),
    Release("4.1", "", 7),
    Release("4.2", "4.2.1", 7),
    Release("4.3", "4.3.1", 7),
    Release("4.4", "4.4.0", 7),
)
"""Oldest first. `oldest_level` is the level of org.apache.kafka.server.common.MetadataVersion.MINIMUM_VERSION."""

NEWEST_RELEASE: Final = RELEASES[-1]
_RECORD_TYPES_SINCE: Final = {28: "4.0", 29: "4.4"}
"""The release that brought a type of metadata record; 3.9 has all others.

Source: org.apache.kafka.common.metadata.MetadataRecordType of each release.
"""


def releases_from(name: str) -> tuple[Release, ...]:
    """The release of that name and all later ones."""
    return tuple(release for release in RELEASES if _number(release.name) >= _number(name))


def knows_record_type(release: Release, type_id: int) -> bool:
    """Whether a release from 3.9 on knows a record type that we know."""
    return _number(_RECORD_TYPES_SINCE.get(type_id, "0")) <= _number(release.name)


def supported_features(release: Release = NEWEST_RELEASE) -> dict[str, tuple[int, int]]:
    """The lowest and highest level of each feature that a controller of the release supports; unknown features are left out."""
    ranges = {METADATA_VERSION: (release.oldest_level, release.newest_level)}
    for name, levels in FEATURES.items():
        highest = max((level for level, step in enumerate(levels) if _number(step.since) <= _number(release.name)), default=None)
        if highest is not None:
            ranges[name] = (0, highest)
    return ranges


class Unsupported(NamedTuple):
    """A finalized feature that a release cannot run with: its level, the supported levels (None: the feature is unknown), and the releases
    that support this level."""

    feature: str
    level: int
    supported: tuple[int, int] | None
    releases: tuple[str, ...]

    @property
    def text(self) -> str:
        """One clause for a person: `metadata.version 33 (4.4-IV2) is not supported: 7 to 30 are; Kafka 4.4 supports it`."""
        supported = "the feature is unknown" if self.supported is None else f"{self.supported[0]} to {self.supported[1]} are"
        if not self.releases:
            who = f"no release up to {NEWEST_RELEASE.name} supports it"
        elif self.releases[-1] == NEWEST_RELEASE.name:
            who = f"Kafka {self.releases[0]} and later support it" if len(self.releases) > 1 else f"Kafka {self.releases[0]} supports it"
        else:
            who = f"Kafka {self.releases[0]} to {self.releases[-1]} support it"
        return f"{level_name(self.feature, self.level)} is not supported: {supported}; {who}"


def unsupported_features(levels: Mapping[str, int], release: Release = NEWEST_RELEASE) -> list[Unsupported]:
    """The finalized features with which a node of the release must not run, in order of their names.

    Level 0 of a feature means that it is off, which every release can do, except for metadata.version.
    """
    ranges = supported_features(release)
    found = []
    for name, level in sorted(levels.items()):
        supported = ranges.get(name)
        if level == 0 and name != METADATA_VERSION:
            continue
        if supported is None or not supported[0] <= level <= supported[1]:
            found.append(Unsupported(name, level, supported, tuple(one.name for one in RELEASES if _supports(one, name, level))))
    return found


def _supports(release: Release, feature: str, level: int) -> bool:
    low, high = supported_features(release).get(feature, (0, -1))
    return low <= level <= high


@functools.cache
def _number(name: str) -> tuple[int, ...]:
    """`4.10` and `4.10-IV2` as numbers that compare."""
    return tuple(int(part) for part in name.partition("-")[0].split("."))
