"""Runs one command or a script of commands, by our own rules or by those of Kafka's shell.

Our own shell reports on stderr, with status 2 for a wrong command line and 1 for anything that failed, and a script ends with its
first failure. Kafka's prints its messages on stdout, continues, and its status is 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.errors import MetashellError, UsageError
from metashell.shell.commands import find_command, unknown_command
from metashell.shell.context import STATUS_FAILED, STATUS_USAGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import SimpleNamespace

    from metashell.shell.command import Command
    from metashell.shell.context import Context

_COMMENT = "#"
_PIPE = "|"


def run_command(ctx: Context, words: Sequence[str]) -> int:
    """Run one command given as words, after which none follows, and return its status."""
    ctx.status = 0
    ctx.is_last = True
    ctx.refresh()
    if ctx.speaks_kafka:
        from metashell.shell.kafka_voice import run_kafka

        run_kafka(ctx, words, one_shot=True)
    else:
        _run_own(ctx, words)
    return ctx.status


def run_line(ctx: Context, line: str) -> int:
    """Run a typed line and return its status; the line is remembered for `history`."""
    from metashell.shell.history import remember
    from metashell.shell.words import split_line, split_partial

    ctx.status = 0
    ctx.refresh()
    remember(ctx.history, line)
    if ctx.speaks_kafka:
        from metashell.shell.kafka_voice import run_kafka

        run_kafka(ctx, split_line(line), one_shot=False)
    elif not line.lstrip().startswith(_COMMENT):
        partial = split_partial(line)
        words = partial.all_words
        if partial.is_open:
            ctx.complain(f"{line.strip()}: unclosed quote", STATUS_USAGE)
        elif _PIPE in words and _PIPE in line.split():  # a quoted one is an argument
            ctx.complain(f"{words[0]}: pipes are not supported; use `find -name`, or run kafka-shell with a command", STATUS_USAGE)
        else:
            _run_own(ctx, words)
    return ctx.status


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


def _run_own(ctx: Context, words: Sequence[str]) -> None:
    if not words:
        return
    name, *rest = words
    command = find_command(name)
    ctx.command = name
    if command is None:
        ctx.complain(unknown_command(name), STATUS_USAGE)
        return
    output = ctx.output
    try:
        args = _parse(ctx, command, rest)
        if args is not None:
            ctx.output = args.output or output
            command.run(ctx, args)
    except UsageError as error:
        ctx.complain(f"{name}: {error}", STATUS_USAGE)
    except MetashellError as error:
        ctx.complain(f"{name}: {error}", STATUS_FAILED)
    finally:
        ctx.output = output


def _parse(ctx: Context, command: Command, words: Sequence[str]) -> SimpleNamespace | None:
    """The parsed words, None if they ask for the command's page, which is then printed."""
    from metashell.options.parser import HelpRequested, parse

    try:
        return parse(command.spec, words)
    except HelpRequested:
        from metashell.shell.pages import command_page

        ctx.write(command_page(command, ctx.display.width))
        return None
