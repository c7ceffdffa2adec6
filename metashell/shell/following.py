"""The loop of `follow` and `watch`, which prints changes until Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.errors import UsageError
from metashell.forms import JsonWriter
from metashell.image.steps import Step
from metashell.shell.changes import Watch, change_line, change_object
from metashell.shell.globs import expand

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metashell.shell.context import Context
    from metashell.shell.feed import Feed

POLL_S = 0.5
FORMS = ("text", "json", "jsonl")
"""A table would have to wait for its rows."""


def print_changes(ctx: Context, patterns: Sequence[Sequence[str]]) -> None:
    """Print what changes below the patterns until Ctrl-C; without patterns all changes. The context ends at the last printed image."""
    if ctx.feed is None:
        ctx.fail(ctx.source_label, "this source does not change; open the directory of a running node, or a quorum with -C")
        return
    if ctx.output not in FORMS:
        raise UsageError(f"-o {ctx.output}: changes have the forms {', '.join(FORMS)}", ctx.output)
    for pattern in patterns:
        # The path may be created later, or it may be misspelt, and the user would wait for ever.
        if next(expand(ctx.root, pattern, lenient=True), None) is None:
            ctx.complain(f"{ctx.command}: /{'/'.join(pattern)}: nothing there yet, waiting", 0)
    watch = Watch(patterns)
    writer = None if ctx.output == "text" else JsonWriter(ctx.display, ctx.output)
    try:
        for step in _steps(ctx, ctx.feed):
            before = ctx.root
            ctx.show(step.after)
            for change in watch.changes(step, before, ctx.root, ctx.redact):
                if writer is None:
                    ctx.line(change_line(ctx, change))
                else:
                    writer.add(change_object(ctx, change))
            ctx.out.flush()
    except KeyboardInterrupt:
        if ctx.display.is_terminal:
            ctx.out.write("\n")  # after the ^C that the terminal shows
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
