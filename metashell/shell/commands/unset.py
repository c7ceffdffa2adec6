"""The command `unset`: remove settings and quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.options import Argument
from metashell.shell.acting import VERB_OPTIONS, act
from metashell.shell.command import NODE_PATH, SET_KEY, make_command
from metashell.shell.deeds import unset_deeds

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


UNSET_HELP: Final = """unset - remove settings and quotas

SYNOPSIS
    unset PATH [KEY...]

DESCRIPTION
    Removes each KEY of a resource in /image/configs, of a topic, of a broker, or of an entity in /image/clientQuotas, so that its
    default applies again. A path may name the key itself.

    It does what `metashell configs unset` and `quotas unset` do, and asks first on a terminal. The shell must have been started
    with --allow-changes.

EXAMPLES
    >> unset /image/configs/TOPIC:orders/retention.ms
    unset: demo: a file or directory cannot be changed here: attach to its quorum with -C and --allow-changes
"""


def run_unset(ctx: Context, args: SimpleNamespace) -> None:
    """Remove the keys of what the path names."""
    args.path = (args.path,)
    act(ctx, args, lambda subjects: unset_deeds(subjects, args.key))


UNSET_COMMAND = make_command(
    run_unset,
    UNSET_HELP,
    options=VERB_OPTIONS,
    arguments=(
        Argument(name="path", kind=NODE_PATH, help="what to change"),
        Argument(name="key", nargs="*", kind=SET_KEY, help="a key"),
    ),
)
