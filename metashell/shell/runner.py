"""Runs one command, a line or a script, by our own rules or by those of Kafka's shell.

Our own shell reports on stderr, with status 2 for a wrong command line and 1 for other failures, and a script ends with its first
failure. Kafka's prints its messages on stdout and continues, and its status is 0.

Every fault of a step that can be found without running it is reported before a file is opened or a process started for it."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter, process_time
from typing import TYPE_CHECKING

from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.common.terminal import show_progress
from metashell.common.values import duration_text
from metashell.shell.commands import MOMENT, find_command, unknown_command
from metashell.shell.context import STATUS_FAILED, STATUS_USAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from metashell.shell.context import Context


def run_command(ctx: Context, words: Sequence[str]) -> int:
    """Run a single command given as words, and return its status."""
    ctx.status = 0
    ctx.is_last = True
    ctx.refresh()
    if ctx.speaks_kafka:
        from metashell.shell.kafka_voice import run_kafka

        run_kafka(ctx, words, one_shot=True)
    else:
        run_words(ctx, words)
    return ctx.status


def run_line(ctx: Context, line: str) -> int:
    """Run a typed line and return the status of its first failed step; the line is added to the `history`."""
    from metashell.shell.grammar import remember_line

    ctx.status = 0
    ctx.refresh()
    if ctx.speaks_kafka:
        from metashell.shell.kafka_voice import run_kafka
        from metashell.shell.words import split_line

        remember_line(ctx.history, line)
        run_kafka(ctx, split_line(line), one_shot=False)
        return ctx.status
    from metashell.shell.grammar import parse_line, with_aliases
    from metashell.shell.words import LineError

    aliases = ctx.settings.aliases
    remember_line(ctx.history, line, aliases)
    try:
        steps = with_aliases(parse_line(line), aliases, line).steps
    except LineError as error:
        ctx.command = "cannot read the line"
        ctx.complain_of(error, STATUS_USAGE)
        return ctx.status

    return run_steps(ctx, steps)


def run_typed(ctx: Context, text: str, keep: Callable[[str], None]) -> int:
    """Run text typed or pasted at a prompt, line by line; `keep` gets each line in the form for the history of the prompt."""
    status = 0
    # splitlines would also break at characters that a name may hold.
    for typed in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = typed
        if not ctx.speaks_kafka and typed.lstrip().startswith("!"):
            from metashell.shell.grammar import expand_recall
            from metashell.shell.words import LineError

            try:
                line = expand_recall(typed, ctx.history)
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
    """Run every line, or without `keep_going` stop at the first that fails. Return the status of the first failure."""
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


if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from metashell.shell.commands import Command
    from metashell.shell.context import Context
    from metashell.shell.grammar import Step

    Work = Callable[[], None]

TIME = "time"
"""The word before a command that is to be timed."""
_AND = "&&"


def run_steps(ctx: Context, steps: Sequence[Step]) -> int:
    """Run the steps in order; one after `&&` only if the previous one succeeded. Return the status of the first that failed."""
    first_failure = status = 0
    for step in steps:
        if status and step.connector == _AND:
            continue
        ctx.status = 0
        ctx.refresh()
        run_words(ctx, step.words, step)
        status = ctx.status
        first_failure = first_failure or status
        if ctx.leaving:
            break
    ctx.status = first_failure
    return first_failure


def run_words(ctx: Context, words: Sequence[str], step: Step | None = None) -> None:
    """Run one command; without `step` its answer goes to the screen. The status is left in the context."""
    if not words:
        return
    is_timed = ctx.is_timing
    if words[0] == TIME and len(words) > 1 and not words[1].startswith("-"):
        is_timed, words = True, words[1:]
    name = words[0]
    command = find_command(name)
    ctx.command = name
    if command is None:
        ctx.complain(unknown_command(name), STATUS_USAGE)
        return
    output = ctx.output
    try:
        work, also_read = _prepared(ctx, command, words[1:])
        with _timed(ctx) if is_timed else nullcontext(), _written(ctx, command, step, also_read):
            _perform(ctx, " ".join(words), work, is_piped=step is not None and step.pipe is not None)
    except MetashellError as error:
        _complain(ctx, error)
    finally:
        ctx.output = output


def _perform(ctx: Context, text: str, work: Work, *, is_piped: bool) -> None:
    try:
        # The process that reads the pipe may use the terminal.
        with nullcontext() if is_piped else show_progress(text):
            work()
    except MetashellError as error:
        _complain(ctx, error)


def _complain(ctx: Context, error: MetashellError) -> None:
    is_usage = isinstance(error, UsageError) and not isinstance(error, PathError)
    ctx.complain_of(error, STATUS_USAGE if is_usage else STATUS_FAILED)


def _prepared(ctx: Context, command: Command, words: Sequence[str]) -> tuple[Work, list[str]]:
    """Return the work of the words, a command or its page, and the other sources it reads. Errors: UsageError."""
    from metashell.common.option_parser import HelpRequested, parse_command

    if any(argument.kind == MOMENT for argument in command.spec.arguments):
        # `-2h` means a time ago, like `2h`.
        words = [word[1:] if word[:1] == "-" and word[1:2].isdigit() else word for word in words]
    taken = None
    if command.split_words is not None:
        words, taken = command.split_words(list(words))
    try:
        args = parse_command(command.spec, words)
    except HelpRequested:
        from metashell.shell.commands import command_page

        return lambda: ctx.write(command_page(command, ctx.display.width)), []
    args.taken = taken
    ctx.output = args.output or ctx.output

    other = getattr(args, "snapshot", None)
    return lambda: command.run(ctx, args), [other] if other else []


def _written(ctx: Context, command: Command, step: Step | None, also_read: Sequence[str]) -> AbstractContextManager[None]:
    """Return the context in which the answer goes to its destination.

    Errors: UsageError; MetashellError for a file that cannot be opened.
    """
    if step is not None and (step.redirect is not None or step.pipe is not None):
        from metashell.shell.streams import to_command, to_file

        if command.changes_cluster:
            raise UsageError("its questions and answers need the terminal: no pipe, no file")
        if step.redirect is not None:
            return to_file(ctx, step.redirect, also_read)
        assert step.pipe is not None
        return to_command(ctx, step.pipe)
    return _on_pages(ctx) if ctx.has_pager and not command.is_live else nullcontext()


@contextmanager
def _on_pages(ctx: Context) -> Iterator[None]:
    from metashell.shell.streams import paged, pager_command

    pager = pager_command(ctx.settings.pager)
    if not pager:
        yield
        return

    def note(text: str, can_run: bool) -> None:
        ctx.has_pager = can_run
        ctx.complain(text, 0)

    with paged(ctx.display, ctx.err, pager, note) as (display, err), ctx.writing_to(display, err):
        yield


@contextmanager
def _timed(ctx: Context) -> Iterator[None]:
    """Report at the end how long the block took: elapsed time, and processor time of this process."""
    began, cpu = perf_counter(), process_time()
    yield
    took, used = ((now - then) * 1000 for now, then in ((perf_counter(), began), (process_time(), cpu)))
    ctx.complain(f"time: {duration_text(round(took))}, cpu {duration_text(round(used))}", 0)
