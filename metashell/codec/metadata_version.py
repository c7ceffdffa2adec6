"""The levels of metadata.version: their names, and which records each of them writes.

Source: org.apache.kafka.server.common.MetadataVersion.
"""

from __future__ import annotations

from typing import Final, NamedTuple

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
"""The newest level that has a name: it may belong to no release yet. `releases.py` says which levels a release supports."""

IN_CONTROLLED_SHUTDOWN_LEVEL: Final = 7
ZK_MIGRATION_LEVEL: Final = 8
SCRAM_LEVEL: Final = 11
DELEGATION_TOKEN_LEVEL: Final = 14
REGISTER_CONTROLLER_LEVEL: Final = 15
DIRECTORY_ASSIGNMENT_LEVEL: Final = 17
ELR_LEVEL: Final = 23
CORDONED_DIRECTORIES_LEVEL: Final = 30
ACL_RANGES_LEVEL: Final = 32
"""From here on the host of an ACL may be a CIDR range."""
UNREGISTER_CONTROLLER_LEVEL: Final = 33
BOOTSTRAP_SNAPSHOT_LEVEL: Final = 31
"""The first level of 4.4: servers that know it find the first records of a cluster in its bootstrap snapshot."""


def metadata_version_name(level: int) -> str:
    """The name of a level, `4.0-IV3`; of one that has no name here, its number."""
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
