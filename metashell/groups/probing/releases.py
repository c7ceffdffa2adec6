"""What each release of Kafka Streams knows, and what the configuration `upgrade.from` does to it (groups.md 3.5 and 17.4)."""

from __future__ import annotations

from typing import Final, NamedTuple

from metashell.groups.probing.errors import ProbingError

LATEST_VERSIONS: Final = {
    "0.10.0": 1,
    **dict.fromkeys(("0.10.1", "0.10.2", "0.11.0", "1.0", "1.1"), 2),
    "2.0": 3,
    **dict.fromkeys(("2.1", "2.2", "2.3"), 4),
    "2.4": 5,
    "2.5": 6,
    **dict.fromkeys(("2.6", "2.7"), 8),
    "2.8": 9,
    **dict.fromkeys(("3.0", "3.1"), 10),
    **dict.fromkeys(("3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4"), 11),
}
"""The newest version of the metadata, by release, oldest first."""
_ORDER: Final = {release: number for number, release in enumerate(LATEST_VERSIONS)}
_FIRST_PROBING: Final = "2.0"
_FIRST_COOPERATIVE: Final = "2.4"
_FIRST_WITHOUT_EAGER: Final = "4.0"
_OLD_FOREIGN_KEYS_BEFORE: Final = "3.4"
_OLD_TABLE_CHANGES_BEFORE: Final = "3.5"


class Begins(NamedTuple):
    """How a member of a Streams application begins."""

    version: int
    is_cooperative: bool
    has_old_foreign_keys: bool = False
    """Whether it writes foreign-key joins in the old format."""
    has_old_table_changes: bool = False
    """The same for repartitioned table changes."""


def is_before(release: str, other: str) -> bool:
    return _ORDER[release] < _ORDER[other]


def allowed_upgrade_from(release: str) -> list[str]:
    """The values of `upgrade.from` that code of this release takes, besides none."""
    oldest = _FIRST_COOPERATIVE if not is_before(release, _FIRST_WITHOUT_EAGER) else "0.10.0"
    return [one for one in LATEST_VERSIONS if is_before(one, release) and not is_before(one, oldest)]


def begin(release: str, upgrade_from: str | None = None) -> Begins:
    """The first version that code of a release sends. Errors: ProbingError for a value that it refuses."""
    latest = LATEST_VERSIONS[release]
    is_cooperative = not is_before(release, _FIRST_COOPERATIVE)
    if upgrade_from is None:
        return Begins(latest, is_cooperative)
    allowed = allowed_upgrade_from(release)
    if upgrade_from not in allowed:
        text = f"Invalid value {upgrade_from} for configuration upgrade.from: String must be one of: {', '.join(('null', *allowed))}"
        raise ProbingError("ConfigException", text)
    is_old = is_before(upgrade_from, _FIRST_PROBING)
    return Begins(
        LATEST_VERSIONS[upgrade_from] if is_old else latest,
        is_cooperative and not is_before(upgrade_from, _FIRST_COOPERATIVE),
        is_before(upgrade_from, _OLD_FOREIGN_KEYS_BEFORE),
        is_before(upgrade_from, _OLD_TABLE_CHANGES_BEFORE),
    )


def answers_future_with_nothing(release: str) -> bool:
    """Whether a leader of this release gives members of the future no tasks, as the first ones did that probed: 2.0 to 2.3."""
    return not is_before(release, _FIRST_PROBING) and is_before(release, _FIRST_COOPERATIVE)


def probes(release: str) -> bool:
    """Whether a leader of this release answers members of the future at all."""
    return not is_before(release, _FIRST_PROBING)
