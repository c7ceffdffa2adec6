"""`watch health`: what begins and ceases to be wrong, as it is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from metashell.amounts import moment_text
from metashell.health import KINDS, Health
from metashell.shell.looking_back import place_words

if TYPE_CHECKING:
    from metashell.health import Kind
    from metashell.image import MetadataImage
    from metashell.shell.context import Context

Counts = dict[str, int]


class HealthChange(NamedTuple):
    """How many there were of a kind, and are since some image."""

    kind: Kind
    before: int
    after: int
    image: MetadataImage


class HealthWatch:
    """The changes of health from image to image; what no metadata differs in is not judged again."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._image: MetadataImage | None = None
        self._counts: Counts = {}

    def changes(self, image: MetadataImage) -> list[HealthChange]:
        """What changed since the last call; at the first, all that is wrong."""
        known = self._image
        if known is not None and image.has_same_metadata(known) and (image.faults, image.unread) == (known.faults, known.unread):
            return []
        health = Health(image, voter_ids=self._ctx.voter_ids)
        counts = {finding.kind.name: finding.count for finding in health.findings()}
        found = [
            HealthChange(kind, self._counts.get(kind.name, 0), counts.get(kind.name, 0), image)
            for kind in KINDS
            if self._counts.get(kind.name, 0) != counts.get(kind.name, 0)
        ]
        self._image, self._counts = image, counts
        return found


def nothing_wrong(health: Health, *, what: str = "nothing") -> str:
    """`nothing is wrong: 36 partitions, 3 brokers`."""
    return f"{what} is wrong: {health.counts()['partitions']} partitions, {len(health.image.cluster.brokers)} brokers"


def first_line(ctx: Context, image: MetadataImage) -> str:
    """What is said of a sound cluster when the watch begins, so that one sees that there is one."""
    return f"{nothing_wrong(Health(image, voter_ids=ctx.voter_ids))}, as of {place_words(image)}"


def health_line(ctx: Context, change: HealthChange) -> str:
    """One change as text."""
    position, display, kind = change.image.provenance, ctx.display, change.kind
    counts = f"{change.before} -> {change.after}"
    role = kind.severity if change.after else "good"
    return display.joined(
        (f"{position.end_offset}  {moment_text(position.timestamp_ms)}  ", display.paint(role, kind.name), f"  {counts}  {kind.words}")
    )


def health_object(change: HealthChange) -> dict[str, object]:
    """One change as a JSON object."""
    position = change.image.provenance
    return {
        "path": "/",
        "type": "health",
        "kind": change.kind.name,
        "severity": change.kind.severity,
        "before": change.before,
        "after": change.after,
        "timestamp": position.timestamp_ms,
        "certain_to": position.certain_to,
        "end_offset": position.end_offset,
    }
