"""The command `time`: run a command and show how long it took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.errors import UsageError
from metashell.options import Argument
from metashell.shell.command import COMMAND_NAME, make_command

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


TIME_HELP: Final = """time - run a command and show how long it took

SYNOPSIS
    time COMMAND...

DESCRIPTION
    Runs the rest of the step, including its pipe, and prints on stderr how long it took: wall-clock time, and CPU time of this
    process. `timing on` does the same for every command.

EXAMPLES
    >> time
    time: missing COMMAND
"""


def run_time(ctx: Context, args: SimpleNamespace) -> None:
    """Refuse `time` without a command; the runner of steps handles it with one."""
    raise UsageError("name a command after it", args.command[0])


TIME_COMMAND = make_command(
    run_time, TIME_HELP, arguments=(Argument(name="command", nargs="+", kind=COMMAND_NAME, help="the command, with its words"),)
)
