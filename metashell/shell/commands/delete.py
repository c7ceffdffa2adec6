"""The command `delete`: delete topics, settings, quotas, access control entries and credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.options import Argument
from metashell.shell.acting import VERB_OPTIONS, act
from metashell.shell.command import NODE_PATH, make_command
from metashell.shell.deeds import delete_deeds

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


DELETE_HELP: Final = """delete - delete topics, settings, quotas, access control entries and credentials

SYNOPSIS
    delete PATH...

DESCRIPTION
    Deletes topics with all their records, access control entries, and credentials of users. For a resource in /image/configs or an
    entity in /image/clientQuotas it removes all settings, for a key in it that key. A feature is switched off. Paths may be
    patterns.

    It does what `metashell topics delete`, `acls remove`, `scram delete`, `configs unset` and `quotas unset` do. It shows what
    would be lost and asks; without a terminal topics, entries and credentials need --yes. The shell must have been started
    with --allow-changes.

EXAMPLES
    >> delete /image/topics/byName/orders
    delete: demo: a file or directory cannot be changed here: attach to its quorum with -C and --allow-changes
"""


def run_delete(ctx: Context, args: SimpleNamespace) -> None:
    """Delete what the paths name."""
    act(ctx, args, lambda subjects: delete_deeds(subjects, ctx.image))


DELETE_COMMAND = make_command(
    run_delete, DELETE_HELP, options=VERB_OPTIONS, arguments=(Argument(name="path", nargs="+", kind=NODE_PATH, help="what to delete"),)
)
