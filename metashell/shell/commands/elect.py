"""The command `elect`: elect another leader of partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.options import Argument
from metashell.options.spec import flag
from metashell.shell.acting import VERB_OPTIONS, act
from metashell.shell.command import NODE_PATH, make_command
from metashell.shell.deeds import elect_deeds

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


ELECT_HELP: Final = """elect - elect another leader of partitions

SYNOPSIS
    elect [--unclean] PATH...

DESCRIPTION
    Makes the first replica of a partition its leader, if it is in sync; for a topic, of all its partitions. With --unclean a
    partition without a leader gets one that is not in sync: the records that this replica lacks are lost.

    It does what `metashell elect preferred` and `elect unclean` do, and asks first on a terminal; without a terminal --unclean
    needs --yes. The shell must have been started with --allow-changes.

EXAMPLES
    >> elect /image/topics/byName/orders/0
    elect: demo: a file or directory cannot be changed here: attach to its quorum with -C and --allow-changes
"""


def run_elect(ctx: Context, args: SimpleNamespace) -> None:
    """Elect leaders of what the paths name."""
    act(ctx, args, lambda subjects: elect_deeds(subjects, is_unclean=args.unclean))


ELECT_COMMAND = make_command(
    run_elect,
    ELECT_HELP,
    options=(flag("--unclean", help="of partitions without a leader, also a replica that is not in sync"), *VERB_OPTIONS),
    arguments=(Argument(name="path", nargs="+", kind=NODE_PATH, help="topics and partitions"),),
)
