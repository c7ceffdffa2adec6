"""The loop of `follow` and `watch`, which prints changes until Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.errors import UsageError
from metashell.forms import JsonWriter
from metashell.image.newer import newer_line, newer_parts
from metashell.image.steps import Step
from metashell.progress import end
from metashell.shell.changes import Watch, change_fields, change_line
from metashell.shell.context import STATUS_FAILED
from metashell.shell.health_changes import HealthWatch, first_line, health_line, health_object
from metashell.shell.search.patterns import expand_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from metashell.image import MetadataImage
    from metashell.shell.context import Context
    from metashell.shell.feed import Feed

POLL_S = 0.5
FORMS = ("text", "json", "jsonl")
"""A table would have to wait for its rows."""


def print_changes(ctx: Context, patterns: Sequence[Sequence[str]]) -> None:
    """Print what changes below the patterns until Ctrl-C; without patterns all changes. The context ends at the last printed image."""
    feed = _feed(ctx)
    if feed is None:
        return
    for pattern in patterns:
        # The path may be created later, or it may be misspelt, and the user would wait for ever.
        if next(expand_path(ctx.root, pattern), None) is None:
            ctx.complain(f"{ctx.command}: /{'/'.join(pattern)}: does not exist yet, waiting", 0)
    end()  # to wait is not to work
    watch = Watch(patterns)

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
    """Print what is wrong, and then what begins and ceases to be, until Ctrl-C."""
    feed = _feed(ctx)
    if feed is None:
        return
    end()
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
    """Report what is newer than known since the last image: no change shows it."""
    parts = newer_parts(step.after)
    if parts and parts != newer_parts(step.before):
        ctx.complain(f"{ctx.command}: {newer_line(parts)}", STATUS_FAILED if any(part.missing for part in parts) else 0)


def _feed(ctx: Context) -> Feed | None:
    """The feed of changes; None where nothing changes, which is reported. Errors: UsageError for a form that changes do not have."""
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
            ctx.out.write("\n")  # after the ^C that the terminal shows
    finally:
        if writer is not None:
            writer.close()


def _steps(ctx: Context, feed: Feed) -> Iterator[Step]:
    """The steps from the image that the context shows; batches of an open transaction wait for its end."""
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
    """Report on stderr when the source stops being updated, and when it recovers; each once."""
    now = feed.view().trouble
    if bool(now) != bool(reported):
        ctx.complain(f"{ctx.command}: {ctx.source_label}: {now or 'is updated again'}", 0)
        return now
    return reported
