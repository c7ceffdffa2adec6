"""What `log`, `at` and `diff` share: the history of the source, and moments in it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from metashell.amounts import moment_text
from metashell.errors import MetashellError
from metashell.history import parse_moment
from metashell.image.image import EMPTY_IMAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metashell.history import Past
    from metashell.image import MetadataImage
    from metashell.shell.context import Context

_OTHER_NAMES: Final = {
    "topics": ("image", "topics", "byName"),
    "topicIds": ("image", "topics", "byId"),
    "brokers": ("image", "cluster", "brokers"),
}
"""Directories of the second view that hold the same nodes as one below /image."""


def past_of(ctx: Context) -> Past:
    """The history of the source. Errors: MetashellError where there is none."""
    if ctx.past is None:
        raise MetashellError(f"{ctx.source_label}: this source has no history: open a file, a directory, or a quorum with -C")
    return ctx.past()


def image_at(ctx: Context, text: str) -> MetadataImage:
    """The image as of a moment. Errors: UsageError for no moment, MetashellError for one that is not known."""
    moment = parse_moment(text, now_ms())
    return newest(ctx) if moment.is_end else past_of(ctx).image_of(moment)


def is_certain(image: MetadataImage) -> bool:
    """Whether all that an image shows is committed."""
    position = image.provenance
    return position.certain_to is not None and position.certain_to >= position.end_offset


def newest(ctx: Context) -> MetadataImage:
    """The newest image, as other commands would see it now; read here where the shell did not load it."""
    if ctx.feed is not None:
        return ctx.feed.view().image
    image = ctx.present or ctx.image
    return past_of(ctx).newest() if image is EMPTY_IMAGE and ctx.past is not None else image


def now_ms() -> int:
    return round(time.time() * 1000)


def place_words(image: MetadataImage) -> str:
    """`offset 312, epoch 4, 2026-11-20T03:12:09Z` of the last record in an image."""
    position = image.provenance
    return f"offset {position.end_offset}, epoch {position.epoch}, {moment_text(position.timestamp_ms)}"


def usual_path(components: Sequence[str]) -> list[str]:
    """The path below /image of a node that has names in the second view too."""
    if components and components[0] in _OTHER_NAMES:
        return [*_OTHER_NAMES[components[0]], *components[1:]]
    return list(components)
