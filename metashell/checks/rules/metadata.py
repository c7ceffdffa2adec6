"""The metadata itself: whether all of it is there and could be applied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from metashell.checks.facts import IMAGE
from metashell.checks.model import BAD, UNUSUAL, Found
from metashell.checks.registry import check
from metashell.codec.metadata_version import BOOTSTRAP_SNAPSHOT_LEVEL, KRAFT_VERSION, level_name
from metashell.codec.releases import NEWEST_RELEASE
from metashell.image.newer import damage_of, newer_parts

if TYPE_CHECKING:
    from metashell.checks.facts import Facts


@check(
    "metadata.incomplete",
    BAD,
    "the log begins late and without a snapshot: what came before is missing, so nothing else is judged",
    IMAGE,
    follows=("lost_checkpoint",),
    of_a_part=True,
)
def incomplete(facts: Facts) -> Iterator[Found]:
    begins_at = facts.image.provenance.begins_at
    if begins_at:
        yield Found(f"the log before offset {begins_at}")


@check("metadata.not_followed", BAD, "the quorum is not followed, and this is not its newest state", IMAGE, of_a_part=True)
def not_followed(facts: Facts) -> Iterator[Found]:
    if facts.not_followed:
        yield Found(facts.not_followed)


@check(
    "metadata.empty",
    UNUSUAL,
    "the metadata is as it was formatted: no node has written to it, so there is nothing to judge",
    IMAGE,
)
def empty(facts: Facts) -> Iterator[Found]:
    if facts.image.is_as_formatted:
        yield Found("neither a leader nor a node nor a topic")


@check(
    "metadata.no_metadata_version",
    BAD,
    "no metadata.version is finalized: a controller of Kafka does not start on this log",
    IMAGE,
    follows=("lost_checkpoint", "torn_checkpoint"),
)
def no_metadata_version(facts: Facts) -> Iterator[Found]:
    image = facts.image
    if image.leader is not None and image.features.metadata_version is None:
        yield Found("metadata.version")


@check("metadata.fault", BAD, "records that could not be applied", IMAGE, follows=("lost_checkpoint", "torn_checkpoint"), of_a_part=True)
def fault(facts: Facts) -> Iterator[Found]:
    return (Found(str(one)) for one in damage_of(facts.image))


@check(
    "metadata.newer_record",
    BAD,
    f"records newer than Kafka {NEWEST_RELEASE.name}: what they change cannot be relied on",
    IMAGE,
    of_a_part=True,
)
def newer_record(facts: Facts) -> Iterator[Found]:
    return (Found(part.text) for part in newer_parts(facts.image) if part.missing)


@check(
    "metadata.newer_level",
    UNUSUAL,
    f"feature levels, or versions of records, newer than Kafka {NEWEST_RELEASE.name}: their rules are not judged here",
    IMAGE,
    of_a_part=True,
)
def newer_level(facts: Facts) -> Iterator[Found]:
    return (Found(part.place) for part in newer_parts(facts.image) if not part.missing)


@check(
    "metadata.first_records",
    UNUSUAL,
    "records that formatting left where only Kafka from 4.4 on takes them into the log: 4.3 begins at 4.3-IV0 without them",
    IMAGE,
)
def first_records(facts: Facts) -> Iterator[Found]:
    """Those of a bootstrap snapshot: nothing else gives an image at offset 0 of a directory its features."""
    image = facts.image
    level = image.features.metadata_version
    if image.provenance.source_kind != "directory" or image.provenance.end_offset or level is None or level >= BOOTSTRAP_SNAPSHOT_LEVEL:
        return
    # What the quorum itself runs at is in control records, which every server reads.
    yield from (Found(f"SCRAM user {name}") for name in sorted({name for users in image.scram.values() for name in users}))
    finalized = sorted(image.features.finalized.items())
    yield from (Found(level_name(name, level)) for name, level in finalized if name != KRAFT_VERSION and level)
