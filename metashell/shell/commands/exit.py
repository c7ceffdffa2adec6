"""The command `exit`: leave the shell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.shell.command import make_command

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


EXIT_HELP: Final = r"""exit - leave the shell

SYNOPSIS
    exit

DESCRIPTION
    Ctrl-D, `quit`, `\q` and `:q` do the same.

EXAMPLES
    >> exit
"""


def run_exit(ctx: Context, args: SimpleNamespace) -> None:
    """Leave after this line."""
    ctx.leaving = True


EXIT_COMMAND = make_command(run_exit, EXIT_HELP)
