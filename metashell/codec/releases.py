"""The releases of Kafka that are known here: which features and levels each one supports.

One table. The controller registers with it, joins and leads by it, formats with it, and `verify --start-safe` judges by it. A node outside
the range of one finalized feature does not start: it would apply records that it does not understand, and acknowledge what rests on them.

Source: org.apache.kafka.server.common.Feature, MetadataVersion and KRaftVersion of each release; KIP-584, KIP-1022.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.codec.metadata_version import KRAFT_VERSION, METADATA_VERSION, NEWEST_LEVEL, OLDEST_LEVEL, level_name, metadata_version_name

if TYPE_CHECKING:
    from collections.abc import Mapping

ELR_FEATURE: Final = "eligible.leader.replicas.version"


class FeatureLevel(NamedTuple):
    """One level of a feature: the release that brought it, the metadata.version from which new clusters have it, and the one it needs."""

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
"""Every feature beside metadata.version, in the order in which Kafka lists them; a level is its index."""


class Release(NamedTuple):
    """A release: its name (`4.4`), the newest patch that was tried (empty: it is only read), and its lowest metadata.version."""

    name: str
    patch: str
    oldest_level: int

    @property
    def newest_level(self) -> int:
        """The highest metadata.version that it uses in production: all that are named after it or an earlier release."""
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
"""Oldest first. `oldest_level` is that of org.apache.kafka.server.common.MetadataVersion.MINIMUM_VERSION."""

NEWEST_RELEASE: Final = RELEASES[-1]
_RECORD_TYPES_SINCE: Final = {28: "4.0", 29: "4.4"}
"""The release that brought a type of metadata record; all others were there in 3.9.

Source: org.apache.kafka.common.metadata.MetadataRecordType of each release.
"""


def releases_from(name: str) -> tuple[Release, ...]:
    """That release and all later ones."""
    return tuple(release for release in RELEASES if _number(release.name) >= _number(name))


def knows_record_type(release: Release, type_id: int) -> bool:
    """Whether a release from 3.9 on knows a type of record that is known here."""
    return _number(_RECORD_TYPES_SINCE.get(type_id, "0")) <= _number(release.name)


def supported_features(release: Release = NEWEST_RELEASE) -> dict[str, tuple[int, int]]:
    """The lowest and highest level of each feature that a controller of the release supports; what it does not know is left out."""
    ranges = {METADATA_VERSION: (release.oldest_level, release.newest_level)}
    for name, levels in FEATURES.items():
        highest = max((level for level, step in enumerate(levels) if _number(step.since) <= _number(release.name)), default=None)
        if highest is not None:
            ranges[name] = (0, highest)
    return ranges


class Unsupported(NamedTuple):
    """A finalized feature that a release cannot run with: its level, the levels supported (None: the feature is unknown), and the releases
    that support this one."""

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


def _number(name: str) -> tuple[int, ...]:
    """`4.10` and `4.10-IV2` as numbers that compare."""
    return tuple(int(part) for part in name.partition("-")[0].split("."))
