"""The command `set`: change settings, quotas, passwords and feature levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.options import Argument
from metashell.shell.acting import VERB_OPTIONS, act
from metashell.shell.command import NODE_PATH, SETTING, make_command
from metashell.shell.deeds import set_deeds

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


SET_HELP: Final = """set - change settings, quotas, passwords and feature levels

SYNOPSIS
    set PATH [KEY=VALUE...]

DESCRIPTION
    Sets each KEY of a resource in /image/configs, of a topic, of a broker, or of an entity in /image/clientQuotas; other keys
    stay. The resource need not exist yet. KEY+=VALUE and KEY-=VALUE add to a list and remove from it. For a path that names a
    key, VALUE alone is enough; for a feature in /image/features its level, or a release for metadataVersion. For a user in
    /image/scram it asks for the password.

    It does what `metashell configs set`, `quotas set`, `scram set` and `features upgrade` or `downgrade` do, and asks first on a
    terminal. The shell must have been started with --allow-changes.

EXAMPLES
    >> set /image/configs/TOPIC:orders retention.ms=3600000
    set: demo: a file or directory cannot be changed here: attach to its quorum with -C and --allow-changes
    >> set '/image/clientQuotas/user(alice)' producer_byte_rate=10M
    set: demo: a file or directory cannot be changed here: attach to its quorum with -C and --allow-changes
"""


def run_set(ctx: Context, args: SimpleNamespace) -> None:
    """Set the keys of what the path names."""
    args.path = (args.path,)
    act(ctx, args, lambda subjects: set_deeds(subjects, args.setting, ctx.image))


SET_COMMAND = make_command(
    run_set,
    SET_HELP,
    options=VERB_OPTIONS,
    arguments=(
        Argument(name="path", kind=NODE_PATH, help="what to change"),
        Argument(name="setting", nargs="*", metavar="KEY=VALUE", kind=SETTING, help="a key and its value"),
    ),
)
