"""watch - print the changes below paths as they are committed

SYNOPSIS
    watch PATH...

DESCRIPTION
    Waits for changes of the nodes that the paths name or hold, and prints each with its offset until Ctrl-C, which ends
    the command with status 0. A path may be a pattern. It may also name something that does not exist yet; a line on stderr says so.
    Changes are those of leaves, and of topics that are created or removed. A quorum shows committed changes only, a directory those
    that its node writes.

    With -o jsonl each change is one object: path, type, kind (created, changed, removed), offset, epoch, timestamp, record (the type
    of the record that did it, null where a snapshot took its place), before and after.

EXAMPLES
    >> watch /image/topics/byName/orders
    watch: demo: it does not go on; name a directory or a quorum
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.options import Argument
from metashell.shell.command import NODE_PATH, make_command
from metashell.shell.following import print_changes
from metashell.shell.paths import absolute_components

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


def run(ctx: Context, args: SimpleNamespace) -> None:
    """Print changes below the paths until Ctrl-C."""
    print_changes(ctx, [absolute_components(path, ctx.cwd) for path in args.path])


COMMAND = make_command(run, __doc__, arguments=(Argument(name="path", nargs="+", kind=NODE_PATH, help="what to look at"),))
