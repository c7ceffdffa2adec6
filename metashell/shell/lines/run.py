"""Runs one command or a script of commands, by our own rules or by those of Kafka's shell.

Our own shell reports on stderr, with status 2 for a wrong command line and 1 for anything that failed, and a script ends with its
first failure. Kafka's prints its messages on stdout, continues, and its status is 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.shell.context import STATUS_USAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from metashell.shell.context import Context


def run_command(ctx: Context, words: Sequence[str]) -> int:
    """Run one command given as words, after which none follows, and return its status."""
    ctx.status = 0
    ctx.is_last = True
    ctx.refresh()
    if ctx.speaks_kafka:
        from metashell.shell.kafka_voice import run_kafka

        run_kafka(ctx, words, one_shot=True)
    else:
        from metashell.shell.lines.steps import run_words

        run_words(ctx, words)
    return ctx.status


def run_line(ctx: Context, line: str) -> int:
    """Run a typed line and return its status, which is that of its first step that failed; the line is remembered for `history`."""
    from metashell.shell.remembering import remember

    ctx.status = 0
    ctx.refresh()
    if ctx.speaks_kafka:
        from metashell.shell.kafka_voice import run_kafka
        from metashell.shell.lines.words import split_line

        remember(ctx.history, line)
        run_kafka(ctx, split_line(line), one_shot=False)
        return ctx.status
    from metashell.shell.lines.aliases import with_aliases
    from metashell.shell.lines.grammar import LineError, parse_line

    aliases = ctx.settings.aliases
    remember(ctx.history, line, aliases)
    try:
        steps = with_aliases(parse_line(line), aliases, line).steps
    except LineError as error:
        ctx.command = "cannot read the line"
        ctx.complain_of(error, STATUS_USAGE)
        return ctx.status
    from metashell.shell.lines.steps import run_steps

    return run_steps(ctx, steps)


def run_typed(ctx: Context, text: str, keep: Callable[[str], None]) -> int:
    """Run what was typed or pasted at a prompt, line by line; `keep` gets each as it is to be kept in the history of the prompt."""
    status = 0
    # Not splitlines: a name may hold what that takes for the end of a line.
    for typed in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = typed
        if not ctx.speaks_kafka and typed.lstrip().startswith("!"):
            from metashell.shell.lines.grammar import LineError
            from metashell.shell.lines.recall import recalled

            try:
                line = recalled(typed, ctx.history)
            except LineError as error:
                ctx.complain(str(error), STATUS_USAGE)
                continue
            if line != typed:
                ctx.complain(line, 0)
        keep(line)
        status = run_line(ctx, line)
        ctx.out.flush()
        if ctx.leaving:
            break
    return status


def run_script(ctx: Context, lines: Iterable[str], keep_going: bool = False) -> int:
    """Run every line; without `keep_going` stop at the first that fails. The status is that of the first failure."""
    if ctx.speaks_kafka:
        from metashell.shell.kafka_voice import run_kafka_session

        return run_kafka_session(ctx, lines, run_line)
    first_failure = 0
    for line in lines:
        status = run_line(ctx, line.rstrip("\n"))
        first_failure = first_failure or status
        # A program that feeds the lines may wait for each answer.
        ctx.out.flush()
        if ctx.leaving or (status and not keep_going):
            break
    return first_failure
