"""Running commands: one, or a script of them; which parser and which rules apply is a matter of the voice.

The own voice reports on stderr, answers with statuses that tell the truth (2 for a command line that is wrong, 1 for anything that
failed), and a script ends with its first failure. Kafka's voice prints its messages on stdout, goes on, and its status is 0.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

from metashell.errors import MetashellError, UsageError
from metashell.shell.commands import command_names, find_command
from metashell.shell.context import STATUS_FAILED, STATUS_USAGE
from metashell.shell.globs import BrokenChildError
from metashell.shell.history import remember
from metashell.shell.kafka_usage import KafkaCall, KafkaHelp, parse_kafka
from metashell.shell.words import split_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from metashell.shell.command import Command
    from metashell.shell.context import Context

_COMMENT = "#"
KAFKA_PROMPT = ">> "
KAFKA_BANNER = "Loading...\nStarting...\n[ Kafka Metadata Shell ]\n"


def run_command(ctx: Context, words: Sequence[str]) -> int:
    """Run one command given as words, as the operating system's shell hands them over, and return its status."""
    ctx.status = 0
    if ctx.speaks_kafka:
        _run_kafka(ctx, words, one_shot=True)
    else:
        _run_own(ctx, words)
    return ctx.status


def run_line(ctx: Context, line: str) -> int:
    """Run a typed line and return its status; what it says is remembered for `history`."""
    ctx.status = 0
    remember(ctx.history, line)
    if ctx.speaks_kafka:
        _run_kafka(ctx, split_line(line), one_shot=False)
    elif not line.lstrip().startswith(_COMMENT):
        _run_own(ctx, split_line(line))
    return ctx.status


def run_script(ctx: Context, lines: Iterable[str], keep_going: bool = False) -> int:
    """Run every line; without `keep_going` the first that fails is the last. The status is that of the first failure.

    Kafka's voice shows its banner and a prompt before each answer, goes on after errors, and leaves a last line
    that no newline ends unread, as the real one does on a pipe.
    """
    if ctx.speaks_kafka:
        return _run_kafka_session(ctx, lines)
    first_failure = 0
    for line in lines:
        status = run_line(ctx, line.rstrip("\n"))
        first_failure = first_failure or status
        if ctx.leaving or (status and not keep_going):
            break
    return first_failure


def _run_kafka_session(ctx: Context, lines: Iterable[str]) -> int:
    ctx.out.write(KAFKA_BANNER + KAFKA_PROMPT)
    for line in lines:
        if not line.endswith("\n"):
            break
        if run_line(ctx, line.rstrip("\r\n")):
            return ctx.status
        if ctx.leaving:
            break
        ctx.out.write(KAFKA_PROMPT)
    return 0


def _run_own(ctx: Context, words: Sequence[str]) -> None:
    if not words:
        return
    name, *rest = words
    command = find_command(name)
    ctx.command = name
    if command is None:
        ctx.complain(f"{name}: unknown command{_hint(name)}", STATUS_USAGE)
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


def _hint(name: str) -> str:
    from metashell.options.values import did_you_mean

    return did_you_mean(name, command_names()) or "; `help` lists them"


def _parse(ctx: Context, command: Command, words: Sequence[str]) -> SimpleNamespace | None:
    """The parsed words, None when they asked for the command's page, which is then printed."""
    from metashell.options.parser import HelpRequested, parse

    try:
        return parse(command.spec, words)
    except HelpRequested:
        from metashell.shell.pages import command_page

        ctx.write(command_page(command))
        return None


def _run_kafka(ctx: Context, words: Sequence[str], *, one_shot: bool) -> None:
    try:
        call = parse_kafka(words, one_shot=one_shot)
    except KafkaHelp as text:
        ctx.write(str(text))
        return
    except UsageError as error:
        ctx.line(str(error))
        return
    if call is None:
        return
    command = find_command(call.command.name)
    assert command is not None
    ctx.command = command.name
    try:
        command.run(ctx, _kafka_arguments(command, call))
    except BrokenChildError as error:
        # Kafka's shell ends here, in the middle of the answer.
        ctx.complain(f"Unexpected error: {error}", STATUS_FAILED)


def _kafka_arguments(command: Command, call: KafkaCall) -> SimpleNamespace:
    """The words of Kafka's parser under the names that our command reads; our own options have their defaults."""
    values = SimpleNamespace(
        **{option.dest: () if option.multiple else option.default or (False if option.is_flag else None) for option in command.spec.options}
    )
    for argument in command.spec.arguments:
        words: tuple[str, ...] | str | int | None = call.words
        if argument.nargs in ("1", "?"):
            words = call.words[0] if call.words else None
            if words is not None and argument.type == "integer":
                words = int(words)
        setattr(values, argument.name, words)
    return values
