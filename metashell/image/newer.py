"""What of an image is newer than the newest release known here, and what cannot be relied on for that reason.

One judgement and one wording for every command: the records of an unknown type or version that are left out, the fields of applied
records that nobody here can read, and the finalized levels beyond the table of `codec/releases.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.codec.dispatch import METADATA_TYPES
from metashell.codec.frame import RECORD_TYPE_NAMES
from metashell.codec.metadata_version import level_name
from metashell.codec.releases import NEWEST_RELEASE, unsupported_features
from metashell.forms import counted
from metashell.image.delta import area_of

if TYPE_CHECKING:
    from metashell.image.faults import Fault
    from metashell.image.image import MetadataImage

_AREAS: Final = {
    "features": "feature levels",
    "cluster": "brokers and controllers",
    "topics": "topics and partitions",
    "configs": "settings",
    "client_quotas": "quotas",
    "producer_ids": "producer ids",
    "acls": "ACLs",
    "scram": "SCRAM credentials",
    "delegation_tokens": "delegation tokens",
}
"""What the records of each area are about, in words."""
ANYTHING: Final = "any answer"
_NAME_OF_TYPE: Final = {name: METADATA_TYPES[type] for type, name in RECORD_TYPE_NAMES.items()}


class Newer(NamedTuple):
    """One thing that is newer than what is known.

    Shape: `records` have it, the first at `offset` of `file`; a level has 0 and -1. `missing` says what may lack something for that
    reason, empty where all of it was applied.
    """

    what: str
    records: int = 0
    offset: int = -1
    file: str = ""
    missing: str = ""

    @property
    def text(self) -> str:
        """`record type 30 (12 records, the first at offset 812): any answer may lack what it says`."""
        return f"{self.place}: {f'{self.missing} may lack what it says' if self.missing else 'all that is known was applied'}"

    @property
    def place(self) -> str:
        """What it is and where: `record type 30 (12 records, the first at offset 812)`."""
        if not self.records:
            return self.what
        inside = f" of {self.file.rpartition('/')[2]}" if self.file.endswith(".checkpoint") else ""
        place = f"{self.records} records, the first at" if self.records > 1 else "1 record, at"
        return f"{self.what} ({place} offset {self.offset}{inside})"


def newer_parts(image: MetadataImage) -> list[Newer]:
    """Everything in an image that is newer than what is known: records first, then levels."""
    return [*_records(image), *newer_levels(image.features.finalized)]


def is_newer(image: MetadataImage) -> bool:
    """Whether anything in an image is newer than what is known, for who asks at every key."""
    return bool(image.unread or any(fault.newer for fault in image.faults) or newer_levels(image.features.finalized))


def newer_levels(levels: Mapping[str, int]) -> list[Newer]:
    """The finalized levels above those of the newest release known, and features that it does not have."""
    found = unsupported_features(levels)
    return [Newer(level_name(one.feature, one.level)) for one in found if one.supported is None or one.level > one.supported[1]]


def lacks_some(image: MetadataImage) -> bool:
    """Whether an answer from the image may lack something: records that could not be applied, or parts of them that could not be read."""
    return bool(image.faults) or any(part.missing for part in newer_parts(image))


def damage_of(image: MetadataImage) -> list[Fault]:
    """The faults that no newer release explains."""
    return [fault for fault in image.faults if not fault.newer]


def trouble_lines(image: MetadataImage) -> Iterator[str]:
    """One line for what is damaged, and one for what is newer than what is known."""
    damage = damage_of(image)
    if damage:
        yield f"{damage[0]} ({counted(len(damage), 'fault')})"
    if line := newer_line(newer_parts(image)):
        yield line


def newer_line(parts: Iterable[Newer]) -> str:
    """One line for a person; empty where nothing is newer."""
    words = "; ".join(part.text for part in parts)
    return f"newer than Kafka {NEWEST_RELEASE.name}, the newest release known: {words}" if words else ""


def newer_values(parts: Iterable[Newer]) -> list[dict[str, Any]]:
    """The same for programs; what does not apply is null."""
    return [
        {
            "what": part.what,
            "records": part.records,
            "offset": None if part.offset < 0 else part.offset,
            "missing": part.missing or None,
        }
        for part in parts
    ]


def _records(image: MetadataImage) -> Iterator[Newer]:
    found: dict[tuple[str, str], Newer] = {}
    for fault in (*image.faults, *image.unread):
        if not fault.newer:
            continue
        missing = "" if fault.is_whole else _about(fault.record_type)
        key = fault.newer, missing
        known = found.get(key)
        found[key] = (
            Newer(fault.newer, fault.record_count, fault.offset, fault.file, missing)
            if known is None
            else known._replace(records=known.records + fault.record_count)
        )
    yield from found.values()


def _about(record_type: str) -> str:
    area = area_of(_NAME_OF_TYPE.get(record_type, ""))
    return _AREAS.get(area, ANYTHING)
