r"""exit - leave the shell

SYNOPSIS
    exit

DESCRIPTION
    Ctrl-D, `quit`, `\q` and `:q` do the same.

EXAMPLES
    >> exit
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.shell.command import make_command

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


def run(ctx: Context, args: SimpleNamespace) -> None:
    """Leave after this line."""
    ctx.leaving = True


COMMAND = make_command(run, __doc__)
