"""Which paths records touched from an offset on: for `find -changed-since` and `-newer`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.errors import UsageError
from metashell.history import Story
from metashell.history.targets import target_of
from metashell.nodes.places import paths_of
from metashell.shell.lifespan import life_of
from metashell.shell.looking_back import past_of, usual_path
from metashell.shell.paths import absolute_components

if TYPE_CHECKING:
    from metashell.shell.context import Context


def touched_since(ctx: Context, offset: int) -> frozenset[str]:
    """The paths that a record from `offset` on touched, and all above them, up to the image that is shown.

    Of a topic that was made, its leaves are among them. What is said of the time before the log begins is a note on stderr.
    """
    story = Story(past_of(ctx), target_of(["image"]), since=offset)
    found: set[str] = set()
    end = ctx.image.provenance.end_offset
    for touch in story:
        if touch.origin.offset >= end:
            break
        if touch.origin.offset < offset or (touch.origin.record == "CLEAR_ELR_RECORD" and touch.before.has_same_metadata(touch.after)):
            continue
        for place in touch.places:
            for path in paths_of(tuple(place), touch.after, touch.before):
                below = ((*path, "id"), (*path, "name")) if place[0] == "topic" else ()
                for touched in (path, *below):
                    found.update("/" + "/".join(touched[:depth]) for depth in range(1, len(touched) + 1))
    if offset < story.start:
        ctx.complain(f"{ctx.command}: the log begins at offset {story.start}: earlier changes are unknown", 0)
    for fault in story.faults:
        ctx.complain(f"{ctx.command}: {fault}", 1)
    return frozenset(found)


def last_change(ctx: Context, path: str) -> int:
    """The offset of the last record that touched a path; that before the log where it holds none.

    Errors: UsageError for a path that names no single node below /image.
    """
    matches = list(ctx.matches(path))
    if len(matches) != 1:
        raise UsageError(f"-newer: {path}: {'more than one node' if matches else 'no such path'}", path)
    components = usual_path(absolute_components(matches[0].path, ctx.cwd))
    if components[:1] != ["image"] or components[1:2] in (["provenance"], ["faults"]):
        raise UsageError(f"-newer: {path}: no records: it works below /image", path)
    life = life_of(ctx, components)
    return life.start - 1 if life.changed is None else life.changed.offset
