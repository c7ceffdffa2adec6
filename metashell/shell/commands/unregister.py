"""The command `unregister`: remove brokers and controllers that are gone for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.options import Argument
from metashell.options.spec import flag
from metashell.shell.acting import VERB_OPTIONS, act
from metashell.shell.command import NODE_PATH, make_command
from metashell.shell.deeds import unregister_deeds

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


UNREGISTER_HELP: Final = """unregister - remove brokers and controllers that are gone for good

SYNOPSIS
    unregister [--force] PATH...

DESCRIPTION
    For nodes that will not come back under their ids. It does what `metashell brokers unregister` and `metashell quorum
    unregister-controller` do: it refuses a broker that runs and a controller that votes or runs, unless --force is given, and
    asks; without a terminal it needs --yes. The shell must have been started with --allow-changes.

EXAMPLES
    >> unregister /image/cluster/brokers/4
    unregister: demo: a file or directory cannot be changed here: attach to its quorum with -C and --allow-changes
"""


def run_unregister(ctx: Context, args: SimpleNamespace) -> None:
    """Unregister the brokers and controllers that the paths name."""
    act(ctx, args, lambda subjects: unregister_deeds(subjects, is_forced=args.force))


UNREGISTER_COMMAND = make_command(
    run_unregister,
    UNREGISTER_HELP,
    options=(flag("--force", help="also a broker that is not fenced, and a controller that votes or runs"), *VERB_OPTIONS),
    arguments=(Argument(name="path", nargs="+", kind=NODE_PATH, help="brokers and controllers"),),
)
