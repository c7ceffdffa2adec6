"""The command `pwd`: print the current working directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.shell.command import make_command
from metashell.shell.output import node_object, write_answer

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


PWD_HELP: Final = """pwd - print the current working directory

SYNOPSIS
    pwd

EXAMPLES
    >> pwd
    /
"""


def run_pwd(ctx: Context, args: SimpleNamespace) -> None:
    """Print the working directory."""
    objects = (node_object(ctx, ctx.cwd, match.node) for match in ctx.matches(ctx.cwd))
    write_answer(ctx, objects, [ctx.cwd], single=True)


PWD_COMMAND = make_command(run_pwd, PWD_HELP)
