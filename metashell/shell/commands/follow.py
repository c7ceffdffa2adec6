"""The command `follow`: print every change as it is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.shell.command import make_command
from metashell.shell.following import print_changes

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


FOLLOW_HELP: Final = """follow - print every change as it is committed

SYNOPSIS
    follow

DESCRIPTION
    Like `watch /image`: waits for changes of the metadata and prints each with its offset until Ctrl-C, which ends the command
    with status 0. Records that change nothing, such as the two that a controller writes every second, are omitted.

EXAMPLES
    >> follow
    follow: demo: this source does not change; open the directory of a running node, or a quorum with -C
"""


def run_follow(ctx: Context, args: SimpleNamespace) -> None:
    """Print all changes until Ctrl-C."""
    print_changes(ctx, [])


FOLLOW_COMMAND = make_command(run_follow, FOLLOW_HELP, is_live=True)
