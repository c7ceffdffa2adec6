"""Verbs that change the cluster: from paths to subjects, and from subjects to administration commands, which cli runs.

Off unless the shell was started with --allow-changes on a live quorum. A path may be a pattern; one without wildcards may name what is not
there yet.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from metashell.nodes.subjects import subject_of
from metashell.options import Option
from metashell.options.spec import flag
from metashell.shell.context import MISSING
from metashell.shell.paths import absolute_components
from metashell.shell.search.patterns import has_wildcards, refuse_deep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import SimpleNamespace

    from metashell.nodes.subjects import Subject
    from metashell.shell.administrator import Administrator
    from metashell.shell.context import Context
    from metashell.shell.deeds import Deed

SEEN_S: Final = 2.0
"""How long to wait until the tree shows what was done."""
_POLL_S = 0.005
FORMS: Final = ("json", "jsonl", "table", "csv")

YES = flag("--yes", "-y", help="do it without asking")
DRY_RUN = flag("--dry-run", "-n", help="change nothing: show what would be done")
VERB_OPTIONS: tuple[Option, ...] = (DRY_RUN, YES)


def act(ctx: Context, args: SimpleNamespace, decide: Callable[[Sequence[Subject]], list[Deed]]) -> None:
    """Do what `decide` makes of the subjects of `args.path`, and wait until the tree shows it. Errors: UsageError; MetashellError."""
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
    """Why nothing can be changed here, and how to start a shell in which it can."""
    if ctx.feed is not None and ctx.feed.is_live:
        return "changes are off: start kafka-shell with --allow-changes"
    return "a file or directory cannot be changed here: attach to its quorum with -C and --allow-changes"


def _subjects(ctx: Context, targets: Sequence[str]) -> list[Subject] | None:
    """The subjects of the paths, each once; None if a path has no subject, which is reported: then nothing is changed at all."""
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
