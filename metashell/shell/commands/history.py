"""history - print the lines typed so far

SYNOPSIS
    history [COUNT]

DESCRIPTION
    Each line has its number, from 0; this line is the last. With COUNT only the last COUNT lines are printed.

EXAMPLES
    >> history 1
        0  history 1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.forms import OBJECT_FORMS
from metashell.options import Argument
from metashell.shell.command import make_command
from metashell.shell.history import last_entries
from metashell.shell.output import write_objects

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


def run(ctx: Context, args: SimpleNamespace) -> None:
    """Print the lines that were typed so far, in the prompt also those of earlier runs."""
    entries = last_entries(ctx.history, args.count)
    if ctx.output in OBJECT_FORMS:
        write_objects(ctx, ({"number": number, "line": line} for number, line in entries))
        return
    for number, line in entries:
        ctx.line(f"{number: 5d}  {line}")


COMMAND = make_command(run, __doc__, arguments=(Argument(name="count", nargs="?", type="integer", help="how many lines, all by default"),))
