"""The command `cd`: set the current working directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.options import Argument
from metashell.shell.command import NODE_PATH, make_command
from metashell.shell.context import NOT_DIRECTORY
from metashell.shell.paths import ROOT
from metashell.shell.search.patterns import refuse_deep

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


CD_HELP: Final = """cd - set the current working directory

SYNOPSIS
    cd [PATH]

DESCRIPTION
    A PATH that does not begin with / starts at the working directory. Without PATH the working directory becomes /. If a
    pattern matches several directories, the last is used.

EXAMPLES
    >> cd /image/topics
    >> pwd
    /image/topics
    >> cd ..
    >> pwd
    /image
"""


def run_cd(ctx: Context, args: SimpleNamespace) -> None:
    """Change the working directory."""
    target = args.path or ROOT
    if not ctx.speaks_kafka:
        refuse_deep(target)
    for match in ctx.resolve([target]):
        if match.node.is_directory:
            ctx.cwd = match.path
        else:
            ctx.fail(target, NOT_DIRECTORY)


CD_COMMAND = make_command(
    run_cd, CD_HELP, arguments=(Argument(name="path", nargs="?", kind=NODE_PATH, help="the directory, / by default"),)
)
