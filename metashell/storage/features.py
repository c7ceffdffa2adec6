"""Levels of features as they are typed and as new clusters get them: what a release stands for, what depends on what.

Source: org.apache.kafka.server.common.Feature, MetadataVersion, KRaftVersion; KIP-584, KIP-1022.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.codec.java_text import java_int
from metashell.codec.metadata_version import KRAFT_VERSION, METADATA_VERSION, NEWEST_LEVEL, SCRAM_LEVEL, metadata_version_name
from metashell.codec.releases import FEATURES, NEWEST_RELEASE
from metashell.storage.errors import ConfigError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

OLDEST_RELEASE_LEVEL: Final = NEWEST_RELEASE.oldest_level
NEWEST_RELEASE_LEVEL: Final = NEWEST_RELEASE.newest_level
"""The newest metadata.version that production clusters may use."""
NEWEST_TESTING_LEVEL: Final = NEWEST_LEVEL
"""The newest one of all, which unstable.feature.versions.enable allows."""


def default_level(feature: str, metadata_version: int) -> int:
    """The level of a feature in a new cluster of that metadata.version."""
    levels = FEATURES[feature]
    return max(level for level, step in enumerate(levels) if step.default_from <= metadata_version)


def release_level(text: str, *, unstable: bool) -> int:
    """The metadata.version that a release text means: `4.3-IV0`, or `3.7` for the last one of 3.7.

    Errors: StorageError in Kafka's words, which list all that would do.
    """
    newest = NEWEST_TESTING_LEVEL if unstable else NEWEST_RELEASE_LEVEL
    names = {metadata_version_name(level): level for level in range(OLDEST_RELEASE_LEVEL, newest + 1)}
    by_release = {name.partition("-")[0]: level for name, level in names.items() if level <= NEWEST_RELEASE_LEVEL}
    # A patch release is the release: of `4.3.1` only the first two numbers count.
    key = ".".join(text.split(".")[:2]) if len(_java_split(text)) > 2 else text
    level = names.get(key) or by_release.get(key)
    if level is None:
        message = f"Unknown metadata.version '{text}'. Supported metadata.version are: {', '.join(names)}"
        raise StorageError(message, text, (*by_release, *names))
    return level


def _java_split(text: str) -> list[str]:
    parts = text.split(".")
    while parts and not parts[-1]:
        parts.pop()
    return parts


def parse_feature_levels(texts: Iterable[str]) -> dict[str, int]:
    """`feature=level` words as levels by name; of a repeated feature the last one counts.

    Errors: ConfigError in Kafka's words.
    """
    levels = {}
    for text in texts:
        name, equals, number = text.partition("=")
        if not equals:
            raise ConfigError(f"Can't parse feature=level string {text}: equals sign not found.")
        level = java_int(number.strip(), 16)
        if level is None:
            raise ConfigError(f"Can't parse feature=level string {text}: unable to parse {number.strip()} as a short.")
        levels[name.strip()] = level
    return levels


def effective_metadata_version(release: int | None, asked: Mapping[str, int], *, unstable: bool) -> int:
    """The metadata.version of a new cluster: as asked for by release or by feature, else the newest.

    Errors: StorageError and ConfigError in Kafka's words.
    """
    if METADATA_VERSION in asked:
        if release is not None:
            raise StorageError("Use --release-version instead of --feature metadata.version=X to avoid ambiguity.")
        return _known_stable(asked[METADATA_VERSION], unstable=unstable)
    if release is not None:
        return release
    return NEWEST_TESTING_LEVEL if unstable else NEWEST_RELEASE_LEVEL


def _known_stable(level: int, *, unstable: bool) -> int:
    if not OLDEST_RELEASE_LEVEL <= level <= NEWEST_TESTING_LEVEL:
        raise ConfigError(
            f"No MetadataVersion with feature level {level}. "
            f"Valid feature levels are from {OLDEST_RELEASE_LEVEL} to {NEWEST_TESTING_LEVEL}."
        )
    if level > NEWEST_RELEASE_LEVEL and not unstable:
        raise StorageError(f"metadata.version {metadata_version_name(level)} is not yet stable.")
    return level


def effective_levels(metadata_version: int, asked: Mapping[str, int], *, dynamic_quorum: bool) -> dict[str, int]:
    """The level of every feature in a new cluster, by name, metadata.version among them.

    Errors: StorageError and ConfigError in Kafka's words.
    """
    for name in sorted(asked):
        if name not in FEATURES and name != METADATA_VERSION:
            raise StorageError(f"Unsupported feature: {name}. Supported features are: {', '.join(sorted(FEATURES))}", name, FEATURES)
    levels = {METADATA_VERSION: metadata_version}
    for name in FEATURES:
        if name == KRAFT_VERSION:
            levels[name] = _kraft_version(asked.get(name), dynamic_quorum=dynamic_quorum)
        else:
            levels[name] = asked.get(name, default_level(name, metadata_version))
    for name in sorted(FEATURES):
        _check_level(name, levels[name], metadata_version)
    return levels


def _kraft_version(asked: int | None, *, dynamic_quorum: bool) -> int:
    flags = "one of the flags --standalone, --initial-controllers, or --no-initial-controllers is used"
    if asked is None:
        return 1 if dynamic_quorum else 0
    if asked == 0 and dynamic_quorum:
        raise StorageError(
            f"Cannot set kraft.version to 0 if controller.quorum.voters is empty and {flags}. "
            "For dynamic controllers support, try removing the --feature flag for kraft.version."
        )
    if asked != 0 and not dynamic_quorum:
        raise StorageError(
            f"Cannot set kraft.version to {asked} unless controller.quorum.voters is empty and {flags}. "
            "For dynamic controllers support, try using one of --standalone, --initial-controllers, or "
            "--no-initial-controllers and removing controller.quorum.voters."
        )
    return asked


def _check_level(name: str, level: int, metadata_version: int) -> None:
    if not 0 <= level < len(FEATURES[name]):
        raise ConfigError(f"No feature:{name} with feature level {level}")
    needs = FEATURES[name][level].needs
    if metadata_version < needs:
        raise ConfigError(f"{name} could not be set to {level} because it depends on {METADATA_VERSION} level {needs}")


def check_scram_allowed(metadata_version: int) -> None:
    """Refuse SCRAM records that the metadata.version does not know. Errors: StorageError."""
    if metadata_version < SCRAM_LEVEL:
        raise StorageError(f"SCRAM is only supported in metadata.version {metadata_version_name(SCRAM_LEVEL)} or later.")


class Dependencies(NamedTuple):
    """A feature's level and the other levels that it needs, by feature."""

    feature: str
    level: int
    needs: dict[str, int]


def dependencies(text: str) -> Dependencies:
    """The dependencies of the level in a `feature=level` word.

    Errors: StorageError in Kafka's words.
    """
    name, equals, number = text.partition("=")
    if not equals or "=" in number:
        raise StorageError(f"Invalid feature format: {text}. Expected format: 'feature=version' (e.g. 'group.version=1')")
    level = java_int(number, 16)
    if level is None:
        raise StorageError(f"Invalid version format: {number} for feature {name}")
    if name == METADATA_VERSION:
        if not OLDEST_RELEASE_LEVEL <= level <= NEWEST_TESTING_LEVEL:
            raise StorageError(f"Unknown metadata.version {level}")
        return Dependencies(name, level, {})
    if name not in FEATURES:
        raise StorageError(f"Unknown feature: {name}", name, (*FEATURES, METADATA_VERSION))
    if not 0 <= level < len(FEATURES[name]):
        raise StorageError(f"No feature:{name} with feature level {level}")
    needs = FEATURES[name][level].needs
    return Dependencies(name, level, {METADATA_VERSION: needs} if needs else {})
