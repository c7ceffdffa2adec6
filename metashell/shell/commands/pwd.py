"""pwd - print the current working directory

SYNOPSIS
    pwd

EXAMPLES
    >> pwd
    /
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.forms import OBJECT_FORMS
from metashell.shell.command import make_command
from metashell.shell.output import node_object, write_objects

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


def run(ctx: Context, args: SimpleNamespace) -> None:
    """Print the working directory."""
    if ctx.output in OBJECT_FORMS:
        nodes = [match.node for match in ctx.matches(ctx.cwd)]
        write_objects(ctx, (node_object(ctx, ctx.cwd, node) for node in nodes), single=True)
    else:
        ctx.line(ctx.cwd)


COMMAND = make_command(run, __doc__)
