"""The commands watch and follow, which print changes until Ctrl-C, and `watch health`, which prints findings as they begin and end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.common.errors import UsageError
from metashell.common.forms import JsonWriter
from metashell.common.options import Argument
from metashell.common.terminal import end_progress
from metashell.common.values import moment_text
from metashell.metadata.checks import Facts, Health, all_checks, judge
from metashell.metadata.image.differences import Step
from metashell.metadata.image.image import newer_line, newer_parts
from metashell.shell.commands import NODE_PATH, make_command
from metashell.shell.context import STATUS_FAILED
from metashell.shell.differences import ChangeWatch, change_fields, change_line
from metashell.shell.health_text import cluster_size, summary_line
from metashell.shell.past import position_text
from metashell.shell.paths import absolute_components, expand_path, refuse_deep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import SimpleNamespace

    from metashell.metadata.checks import Check
    from metashell.metadata.image import MetadataImage
    from metashell.shell.context import Context, Feed


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


FOLLOW_HELP: Final = """follow - print every change as it is committed

SYNOPSIS
    follow

DESCRIPTION
    Like `watch /image`: waits for changes of the metadata and prints each with its offset until Ctrl-C, which ends the command
    with status 0. Records that change nothing, such as the two that a controller writes every second, are omitted.

EXAMPLES
    >> follow
    follow: demo: this source does not change; open the directory of a running node, or a quorum with -C
"""


def run_follow(ctx: Context, args: SimpleNamespace) -> None:
    """Print all changes until Ctrl-C."""
    print_changes(ctx, [])


FOLLOW_COMMAND = make_command(run_follow, FOLLOW_HELP, is_live=True)


POLL_S = 0.5
FORMS = ("text", "json", "jsonl")
"""Forms of the output. A table is not among them, since it would have to wait for all rows."""


def print_changes(ctx: Context, patterns: Sequence[Sequence[str]]) -> None:
    """Print the changes below the patterns until Ctrl-C; without patterns, all changes. The context ends at the last printed image."""
    feed = _feed(ctx)
    if feed is None:
        return
    for pattern in patterns:
        # The path may be created later, but if it is misspelt, the user would wait forever.
        if next(expand_path(ctx.root, pattern), None) is None:
            ctx.complain(f"{ctx.command}: /{'/'.join(pattern)}: does not exist yet, waiting", 0)
    end_progress()  # waiting is not progress
    watch = ChangeWatch(patterns)

    def show(step: Step) -> None:
        before = ctx.root
        ctx.show(step.after)
        _say_newer(ctx, step)
        for change in watch.changes(step, before, ctx.root, ctx.redact):
            if writer is None:
                ctx.line(change_line(ctx, change))
            else:
                writer.add({**change_fields(change), **ctx.certainty()})

    writer = _writer(ctx)
    _print_steps(ctx, feed, writer, show)


def print_health(ctx: Context) -> None:
    """Print the findings, then each one that begins or ends, until Ctrl-C."""
    feed = _feed(ctx)
    if feed is None:
        return
    end_progress()
    watch = HealthWatch(ctx)

    def show(image: MetadataImage, *, is_first: bool = False) -> None:
        ctx.show(image)
        changes = watch.changes(image)
        if is_first and not changes and writer is None:
            ctx.line(first_line(ctx, image))
        for change in changes:
            if writer is None:
                ctx.line(health_line(ctx, change))
            else:
                writer.add(health_object(change))

    writer = _writer(ctx)
    show(ctx.image, is_first=True)
    ctx.out.flush()
    _print_steps(ctx, feed, writer, lambda step: show(step.after))


def _say_newer(ctx: Context, step: Step) -> None:
    """Report unknown newer records since the last image, since no change shows them."""
    parts = newer_parts(step.after)
    if parts and parts != newer_parts(step.before):
        ctx.complain(f"{ctx.command}: {newer_line(parts)}", STATUS_FAILED if any(part.missing for part in parts) else 0)


def _feed(ctx: Context) -> Feed | None:
    """Return the feed of changes. If the source has none, report it and return None. Errors: UsageError for a form that changes lack."""
    if ctx.feed is None:
        ctx.fail(ctx.source_label, "this source does not change; open the directory of a running node, or a quorum with -C")
        return None
    if ctx.at is not None:
        ctx.fail(f"at offset {ctx.at}", "changes are followed on the newest state only; `at end` goes there")
        return None
    if ctx.output not in FORMS:
        raise UsageError(f"-o {ctx.output}: changes have the forms {', '.join(FORMS)}", ctx.output)
    return ctx.feed


def _writer(ctx: Context) -> JsonWriter | None:
    return None if ctx.output == "text" else JsonWriter(ctx.display, ctx.output)


def _print_steps(ctx: Context, feed: Feed, writer: JsonWriter | None, show: Callable[[Step], None]) -> None:
    try:
        for step in _steps(ctx, feed):
            show(step)
            ctx.out.flush()
    except KeyboardInterrupt:
        if ctx.display.is_terminal:
            ctx.out.write("\n")  # the terminal shows ^C, so begin a new line
    finally:
        if writer is not None:
            writer.close()


def _steps(ctx: Context, feed: Feed) -> Iterator[Step]:
    """Yield the steps from the context's image on. Batches of an open transaction wait for its end."""
    held: Step | None = None
    subscription = feed.subscribe()
    trouble = ""
    try:
        if subscription.start is not ctx.image:
            yield Step(ctx.image, subscription.start, None)
        while True:
            step = subscription.next(POLL_S)
            trouble = _report_trouble(ctx, feed, trouble)
            if step is None:
                continue
            if held is not None:
                batches = None if held.batches is None or step.batches is None else (*held.batches, *step.batches)
                step = Step(held.before, step.after, batches)
            held = step if step.in_transaction else None
            if held is None:
                yield step
    finally:
        subscription.close()


def _report_trouble(ctx: Context, feed: Feed, reported: str) -> str:
    """Report on stderr when the source stops being updated, and when it recovers; each only once."""
    now = feed.view().trouble
    if bool(now) != bool(reported):
        ctx.complain(f"{ctx.command}: {ctx.source_label}: {now or 'is updated again'}", 0)
        return now
    return reported


Counts = dict[str, int]


class HealthChange(NamedTuple):
    """The number of findings of a kind before and after an image."""

    check: Check
    before: int
    after: int
    image: MetadataImage


class HealthWatch:
    """The changes of health between images. An image with the same metadata is not judged again."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._image: MetadataImage | None = None
        self._counts: Counts = {}

    def changes(self, image: MetadataImage) -> list[HealthChange]:
        """Return the changes since the last call; at the first call, all findings."""
        known = self._image
        if known is not None and image.has_same_metadata(known) and (image.faults, image.unread) == (known.faults, known.unread):
            return []
        verdict = judge(Facts(health=Health(image, voter_ids=self._ctx.voter_ids)))
        counts = {finding.check.id: finding.count for finding in verdict.findings}
        found = [
            HealthChange(check, self._counts.get(check.id, 0), counts.get(check.id, 0), image)
            for check in all_checks()
            if self._counts.get(check.id, 0) != counts.get(check.id, 0)
        ]
        self._image, self._counts = image, counts
        return found


def first_line(ctx: Context, image: MetadataImage) -> str:
    """Return the first line for a cluster without findings, so that the user sees that the watch has begun."""
    facts = Facts(health=Health(image, voter_ids=ctx.voter_ids))
    return f"{summary_line(judge(facts), what=cluster_size(facts))}, as of {position_text(image)}"


def health_line(ctx: Context, change: HealthChange) -> str:
    """Return one change as text."""
    position, display, check = change.image.provenance, ctx.display, change.check
    counts = f"{change.before} -> {change.after}"
    role = check.severity if change.after else "good"
    return display.joined(
        (f"{position.end_offset}  {moment_text(position.timestamp_ms)}  ", display.paint(role, check.id), f"  {counts}  {check.words}")
    )


def health_object(change: HealthChange) -> dict[str, object]:
    """Return one change as a JSON object."""
    position = change.image.provenance
    return {
        "path": "/",
        "type": "health",
        "kind": change.check.id,
        "severity": change.check.severity,
        "before": change.before,
        "after": change.after,
        "timestamp": position.timestamp_ms,
        "certain_to": position.certain_to,
        "end_offset": position.end_offset,
    }
