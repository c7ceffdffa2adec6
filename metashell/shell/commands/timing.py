"""timing - show how long each command takes

SYNOPSIS
    timing [on|off]

DESCRIPTION
    After `timing on` each command is followed by a line on stderr that says how long it took, as `time COMMAND` does for one. Alone it
    says whether this is on.

EXAMPLES
    >> timing
    timing is off
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.options import Argument
from metashell.shell.command import make_command
from metashell.shell.output import write_answer

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context

_ON, _OFF = "on", "off"


def run(ctx: Context, args: SimpleNamespace) -> None:
    """Switch it, or say how it stands."""
    if args.state is None:
        state = _ON if ctx.is_timing else _OFF
        write_answer(ctx, [{"timing": state}], [f"timing is {state}"])
    else:
        ctx.timing = args.state == _ON


COMMAND = make_command(
    run,
    __doc__,
    arguments=(Argument(name="state", nargs="?", type="choice", choices=(_ON, _OFF), metavar="on|off", help="switch it on or off"),),
)
