"""The command `clear`: clear the screen."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from metashell.shell.command import make_command

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


CLEAR_HELP: Final = """clear - clear the screen

SYNOPSIS
    clear

DESCRIPTION
    Does nothing where there is no terminal. At the prompt Ctrl-L does the same.

EXAMPLES
    >> clear
"""


_CLEAR = "\x1b[H\x1b[2J"


def run_clear(ctx: Context, args: SimpleNamespace) -> None:
    """Move to the top of an empty screen."""
    if ctx.display.width is not None and os.environ.get("TERM") != "dumb":
        ctx.out.write(_CLEAR)


CLEAR_COMMAND = make_command(run_clear, CLEAR_HELP, is_live=True)
