"""The command `watch`: print the changes below paths as they are committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.options import Argument
from metashell.shell.command import NODE_PATH, make_command
from metashell.shell.following import print_changes, print_health
from metashell.shell.paths import absolute_components
from metashell.shell.search.patterns import refuse_deep

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


WATCH_HELP: Final = """watch - print the changes below paths as they are committed

SYNOPSIS
    watch PATH...
    watch health

DESCRIPTION
    Waits for changes at or below the paths and prints each with its offset until Ctrl-C, which ends the command with status 0. A
    path may be a pattern, or name something that does not exist yet, which is reported on stderr. A change concerns one leaf, or a
    topic that was created or removed as a whole. A quorum shows only committed changes; a directory shows all that its node
    writes.

    `watch health` prints the present findings, then each that begins or ends: its kind, as in `health`, with the count before and
    after. (A path of that name is ./health.)

    With -o jsonl each change is one object: path, type, kind (created, changed, removed), offset, epoch, timestamp, record (the type
    of the record that made the change, null for a snapshot), before and after.

EXAMPLES
    >> watch /image/topics/byName/orders
    watch: demo: this source does not change; open the directory of a running node, or a quorum with -C
"""


_HEALTH = "health"


def run_watch(ctx: Context, args: SimpleNamespace) -> None:
    """Print changes below the paths until Ctrl-C."""
    if list(args.path) == [_HEALTH]:
        print_health(ctx)
        return
    for path in args.path:
        refuse_deep(path)
    print_changes(ctx, [absolute_components(path, ctx.cwd) for path in args.path])


WATCH_COMMAND = make_command(
    run_watch, WATCH_HELP, is_live=True, arguments=(Argument(name="path", nargs="+", kind=NODE_PATH, help="what to look at"),)
)
