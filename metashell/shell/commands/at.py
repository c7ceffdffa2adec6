"""The command `at`: show everything as it was at an offset or a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.history import parse_moment
from metashell.image.newer import lacks_some, trouble_lines
from metashell.options import Argument
from metashell.shell.command import MOMENT, make_command
from metashell.shell.context import STATUS_FAILED
from metashell.shell.looking_back import image_at, newest, now_ms, place_words
from metashell.shell.output import node_object, write_answer

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


AT_HELP: Final = """at - show everything as it was at an offset or a time

SYNOPSIS
    at [MOMENT]

DESCRIPTION
    From now on all commands answer as of MOMENT: an offset, a time such as 2026-11-20T03:00 (UTC where no zone is given), a time ago
    such as -2h, or `end`, which goes back to the newest state. An offset is the state before the record of that offset, as the name of a
    checkpoint gives it; a time is the state before the first batch that was written later. Without MOMENT it prints the present moment.

    Older checkpoints in the directory are used as far back as they reach. If the clocks of controllers differ, times in the log may
    run backwards: then a time means the first later batch after the newest checkpoint that is not later. Groups are not shown: their
    logs have other offsets.

EXAMPLES
    >> at 300
    at offset 300, epoch 1, 2026-11-21T00:23:36.718Z
    >> at
    at offset 300, epoch 1, 2026-11-21T00:23:36.718Z
    >> at end
    at the end: offset 521, epoch 2, 2026-11-21T00:25:57.050Z
"""


def run_at(ctx: Context, args: SimpleNamespace) -> None:
    """Move to the moment, and say where that is."""
    if args.moment:
        moment = parse_moment(args.moment, now_ms())
        image = image_at(ctx, args.moment)
        if moment.is_end:
            ctx.at = None
            ctx.show(image)
            ctx.present = None
            ctx.refresh()
        else:
            ctx.present = newest(ctx)
            ctx.at = image.provenance.end_offset
            ctx.show(image)
        for line in trouble_lines(image):
            ctx.complain(f"{ctx.command}: {line}", STATUS_FAILED if lacks_some(image) else 0)
    is_past = ctx.at is not None
    words = f"at {place_words(ctx.image)}" if is_past else f"at the end: {place_words(ctx.image)}"
    position = ctx.image.provenance
    fields = {"offset": position.offset, "epoch": position.epoch, "timestamp": position.timestamp_ms, "is_newest": not is_past}
    write_answer(ctx, [node_object(ctx, "/", ctx.root, **fields)], [words], single=True)


AT_COMMAND = make_command(
    run_at,
    AT_HELP,
    arguments=(Argument(name="moment", nargs="?", kind=MOMENT, help="an offset, a time, a time ago (-2h), or `end`"),),
)
