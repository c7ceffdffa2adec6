"""`watch health`: what begins and ceases to be wrong, as it is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from metashell.amounts import moment_text
from metashell.checks import Facts, Health, all_checks, judge
from metashell.shell.looking_back import place_words
from metashell.shell.verdict_text import cluster_size, summary_line

if TYPE_CHECKING:
    from metashell.checks import Check
    from metashell.image import MetadataImage
    from metashell.shell.context import Context

Counts = dict[str, int]


class HealthChange(NamedTuple):
    """How many there were of a kind, and are since some image."""

    check: Check
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
        """The changes since the last call; at the first call all findings."""
        known = self._image
        if known is not None and image.has_same_metadata(known) and (image.faults, image.unread) == (known.faults, known.unread):
            return []
        verdict = judge(Facts(health=Health(image, voter_ids=self._ctx.voter_ids)))
        counts = {finding.check.id: finding.count for finding in verdict.findings}
        found = [
            HealthChange(check, self._counts.get(check.id, 0), counts.get(check.id, 0), image)
            for check in all_checks()
            if self._counts.get(check.id, 0) != counts.get(check.id, 0)
        ]
        self._image, self._counts = image, counts
        return found


def first_line(ctx: Context, image: MetadataImage) -> str:
    """The line for a sound cluster when the watch begins, so that the user sees that it has begun."""
    facts = Facts(health=Health(image, voter_ids=ctx.voter_ids))
    return f"{summary_line(judge(facts), what=cluster_size(facts))}, as of {place_words(image)}"


def health_line(ctx: Context, change: HealthChange) -> str:
    """One change as text."""
    position, display, check = change.image.provenance, ctx.display, change.check
    counts = f"{change.before} -> {change.after}"
    role = check.severity if change.after else "good"
    return display.joined(
        (f"{position.end_offset}  {moment_text(position.timestamp_ms)}  ", display.paint(role, check.id), f"  {counts}  {check.words}")
    )


def health_object(change: HealthChange) -> dict[str, object]:
    """One change as a JSON object."""
    position = change.image.provenance
    return {
        "path": "/",
        "type": "health",
        "kind": change.check.id,
        "severity": change.check.severity,
        "before": change.before,
        "after": change.after,
        "timestamp": position.timestamp_ms,
        "certain_to": position.certain_to,
        "end_offset": position.end_offset,
    }
