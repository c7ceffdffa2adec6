"""The command `timing`: show how long each command takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.options import Argument
from metashell.shell.command import make_command
from metashell.shell.output import write_answer

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


TIMING_HELP: Final = """timing - show how long each command takes

SYNOPSIS
    timing [on|off]

DESCRIPTION
    After `timing on` a line on stderr after each command says how long it took, as `time COMMAND` does for one. Without an argument
    it prints whether this is on.

EXAMPLES
    >> timing
    timing is off
"""


_ON, _OFF = "on", "off"


def run_timing(ctx: Context, args: SimpleNamespace) -> None:
    """Switch it, or say how it stands."""
    if args.state is None:
        state = _ON if ctx.is_timing else _OFF
        write_answer(ctx, [{"timing": state}], [f"timing is {state}"])
    else:
        ctx.timing = args.state == _ON


TIMING_COMMAND = make_command(
    run_timing,
    TIMING_HELP,
    arguments=(Argument(name="state", nargs="?", type="choice", choices=(_ON, _OFF), metavar="on|off", help="switch it on or off"),),
)
