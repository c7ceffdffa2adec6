"""The command `alter`: add partitions to topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.options import Argument, Option
from metashell.shell.acting import VERB_OPTIONS, act
from metashell.shell.command import NODE_PATH, make_command
from metashell.shell.deeds import alter_deeds

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


ALTER_HELP: Final = """alter - add partitions to topics

SYNOPSIS
    alter PATH... --partitions N

DESCRIPTION
    Raises the number of partitions of topics to N. Partitions cannot be removed again, and records with a key go to another
    partition than before. `set` changes settings.

    It does what `metashell topics alter` does. It asks first; without a terminal it needs --yes. The shell must have been
    started with --allow-changes.

EXAMPLES
    >> alter /image/topics/byName/orders --partitions 6
    alter: demo: a file or directory cannot be changed here: attach to its quorum with -C and --allow-changes
"""


def run_alter(ctx: Context, args: SimpleNamespace) -> None:
    """Add partitions to what the paths name."""
    act(ctx, args, lambda subjects: alter_deeds(subjects, args.partitions))


ALTER_COMMAND = make_command(
    run_alter,
    ALTER_HELP,
    options=(
        Option(names=("--partitions", "-p"), metavar="N", type="int", required=True, help="number of partitions in all"),
        *VERB_OPTIONS,
    ),
    arguments=(Argument(name="path", nargs="+", kind=NODE_PATH, help="topics"),),
)
