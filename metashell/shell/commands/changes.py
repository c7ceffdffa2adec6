"""The commands that change the cluster: alter, create, delete, elect, set, unregister, unset.

They are off unless the shell was started with --allow-changes on a live quorum. A path may be a pattern; a path without wildcards may
name something that does not exist yet. `change_commands` turns the subjects of the paths into administration commands, which cli runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from metashell.common.options import Argument, Option, flag
from metashell.metadata.nodes.places import subject_of
from metashell.shell.change_commands import (
    alter_commands,
    create_commands,
    delete_commands,
    elect_commands,
    set_commands,
    unregister_commands,
    unset_commands,
)
from metashell.shell.commands import NODE_PATH, SET_KEY, SETTING, make_command
from metashell.shell.context import MISSING
from metashell.shell.paths import absolute_components, has_wildcards, refuse_deep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import SimpleNamespace

    from metashell.metadata.nodes.places import Subject
    from metashell.shell.change_commands import AdminCommand, Administrator
    from metashell.shell.context import Context


SEEN_S: Final = 2.0
"""The longest wait until the tree shows the change."""
_POLL_S = 0.005
FORMS: Final = ("json", "jsonl", "table", "csv")

YES = flag("--yes", "-y", help="do it without asking")
DRY_RUN = flag("--dry-run", "-n", help="change nothing: show what would be done")
VERB_OPTIONS: tuple[Option, ...] = (DRY_RUN, YES)


def run_changes(ctx: Context, args: SimpleNamespace, decide: Callable[[Sequence[Subject]], list[AdminCommand]]) -> None:
    """Run the commands that `decide` returns for the subjects of `args.path`; wait for the tree. Errors: UsageError; MetashellError."""
    if ctx.administrator is None:
        ctx.fail(ctx.source_label, how_to_allow(ctx))
        return
    if ctx.at is not None:
        ctx.fail(f"at offset {ctx.at}", "only the newest state can be changed; `at end` goes there")
        return
    subjects = _subjects(ctx, args.path)
    if subjects is None:
        return
    options = [name for name, given in (("--dry-run", args.dry_run), ("--yes", args.yes)) if given]
    options += [f"--output={ctx.output}"] if ctx.output in FORMS else []
    deeds = decide(subjects)
    try:
        for deed in deeds:
            ctx.out.flush()
            ctx.status = max(ctx.status, ctx.administrator.perform(ctx.command, deed, options))
    finally:
        if deeds and not args.dry_run and not ctx.is_last:
            _wait_until_seen(ctx, ctx.administrator)


def how_to_allow(ctx: Context) -> str:
    """Return why changes are off, and how to start a shell with changes."""
    if ctx.feed is not None and ctx.feed.is_live:
        return "changes are off: start kafka-shell with --allow-changes"
    return "a file or directory cannot be changed here: attach to its quorum with -C and --allow-changes"


def _subjects(ctx: Context, targets: Sequence[str]) -> list[Subject] | None:
    """Return the subjects of the paths, each once. If a path has no subject, report it and return None, so that nothing is changed."""
    found: dict[Subject, None] = {}
    for target in targets:
        refuse_deep(target)
        components = absolute_components(target, ctx.cwd)
        paths = [[part for part in match.path.split("/") if part] for match in ctx.matches(target)]
        if not paths:
            if has_wildcards("/".join(components)):
                ctx.fail(target, MISSING)
                return None
            paths = [components]
        for path in paths:
            subject = subject_of(path, ctx.image)
            if subject is None:
                ctx.fail(target, "it cannot be changed: topics, partitions, brokers, configs, clientQuotas, acls, scram and features can")
                return None
            found[subject] = None
    return list(found)


def _wait_until_seen(ctx: Context, administrator: Administrator) -> None:
    offset = administrator.committed_offset()
    ends_at = time.monotonic() + SEEN_S
    while offset is not None and ctx.feed is not None and time.monotonic() < ends_at:
        if ctx.feed.view().image.provenance.end_offset >= offset:
            break
        time.sleep(_POLL_S)
    ctx.refresh()


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
    """Add partitions to the topics of the paths."""
    run_changes(ctx, args, lambda subjects: alter_commands(subjects, args.partitions))


ALTER_COMMAND = make_command(
    run_alter,
    ALTER_HELP,
    options=(
        Option(names=("--partitions", "-p"), metavar="N", type="int", required=True, help="number of partitions in all"),
        *VERB_OPTIONS,
    ),
    arguments=(Argument(name="path", nargs="+", kind=NODE_PATH, help="topics"),),
)


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
    """Create the topic of the path."""
    numbers = {"--partitions": args.partitions, "--replication-factor": args.replication_factor}
    options = [f"{name}={number}" for name, number in numbers.items() if number is not None]
    args.path = (args.path,)
    run_changes(ctx, args, lambda subjects: create_commands(subjects, args.setting, options))


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
    """Delete the subjects of the paths."""
    run_changes(ctx, args, lambda subjects: delete_commands(subjects, ctx.image))


DELETE_COMMAND = make_command(
    run_delete, DELETE_HELP, options=VERB_OPTIONS, arguments=(Argument(name="path", nargs="+", kind=NODE_PATH, help="what to delete"),)
)


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
    """Elect leaders for the partitions or topics of the paths."""
    run_changes(ctx, args, lambda subjects: elect_commands(subjects, is_unclean=args.unclean))


ELECT_COMMAND = make_command(
    run_elect,
    ELECT_HELP,
    options=(flag("--unclean", help="of partitions without a leader, also a replica that is not in sync"), *VERB_OPTIONS),
    arguments=(Argument(name="path", nargs="+", kind=NODE_PATH, help="topics and partitions"),),
)


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
    """Set keys of the subjects of the paths."""
    args.path = (args.path,)
    run_changes(ctx, args, lambda subjects: set_commands(subjects, args.setting, ctx.image))


SET_COMMAND = make_command(
    run_set,
    SET_HELP,
    options=VERB_OPTIONS,
    arguments=(
        Argument(name="path", kind=NODE_PATH, help="what to change"),
        Argument(name="setting", nargs="*", metavar="KEY=VALUE", kind=SETTING, help="a key and its value"),
    ),
)


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
    """Unregister the brokers and controllers of the paths."""
    run_changes(ctx, args, lambda subjects: unregister_commands(subjects, is_forced=args.force))


UNREGISTER_COMMAND = make_command(
    run_unregister,
    UNREGISTER_HELP,
    options=(flag("--force", help="also a broker that is not fenced, and a controller that votes or runs"), *VERB_OPTIONS),
    arguments=(Argument(name="path", nargs="+", kind=NODE_PATH, help="brokers and controllers"),),
)


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
    """Remove keys from the subject of the path."""
    args.path = (args.path,)
    run_changes(ctx, args, lambda subjects: unset_commands(subjects, args.key))


UNSET_COMMAND = make_command(
    run_unset,
    UNSET_HELP,
    options=VERB_OPTIONS,
    arguments=(
        Argument(name="path", kind=NODE_PATH, help="what to change"),
        Argument(name="key", nargs="*", kind=SET_KEY, help="a key"),
    ),
)
