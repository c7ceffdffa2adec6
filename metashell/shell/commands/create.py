"""The command `create`: create a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.options import Argument, Option
from metashell.shell.acting import VERB_OPTIONS, act
from metashell.shell.command import NODE_PATH, SETTING, make_command
from metashell.shell.deeds import create_deeds

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


CREATE_HELP: Final = """create - create a topic

SYNOPSIS
    create PATH [KEY=VALUE...] [--partitions N] [--replication-factor N]

DESCRIPTION
    Creates the topic of PATH, /image/topics/byName/NAME, with these settings. Partitions and replication factor are the cluster's
    defaults unless they are given.

    It does what `metashell topics create` does, and asks first on a terminal. The shell must have been started with
    --allow-changes.

EXAMPLES
    >> create /image/topics/byName/payments retention.ms=3600000 --partitions 3
    create: demo: a file or directory cannot be changed here: attach to its quorum with -C and --allow-changes
"""


def run_create(ctx: Context, args: SimpleNamespace) -> None:
    """Make the topic that the path names."""
    numbers = {"--partitions": args.partitions, "--replication-factor": args.replication_factor}
    options = [f"{name}={number}" for name, number in numbers.items() if number is not None]
    args.path = (args.path,)
    act(ctx, args, lambda subjects: create_deeds(subjects, args.setting, options))


CREATE_COMMAND = make_command(
    run_create,
    CREATE_HELP,
    options=(
        Option(names=("--partitions", "-p"), metavar="N", type="int", help="number of partitions"),
        Option(names=("--replication-factor", "-r"), metavar="N", type="int", help="number of replicas of each"),
        *VERB_OPTIONS,
    ),
    arguments=(
        Argument(name="path", kind=NODE_PATH, help="the topic's path"),
        Argument(name="setting", nargs="*", metavar="KEY=VALUE", kind=SETTING, help="a setting of the topic"),
    ),
)
