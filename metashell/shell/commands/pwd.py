"""pwd - print the current working directory

SYNOPSIS
    pwd

EXAMPLES
    >> pwd
    /
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.shell.command import make_command
from metashell.shell.output import node_object, write_answer

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


def run(ctx: Context, args: SimpleNamespace) -> None:
    """Print the working directory."""
    objects = (node_object(ctx, ctx.cwd, match.node) for match in ctx.matches(ctx.cwd))
    write_answer(ctx, objects, [ctx.cwd], single=True)


COMMAND = make_command(run, __doc__)
