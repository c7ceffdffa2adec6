"""Runs commands as Kafka's shell does: its parser, its session on a pipe, and where it ends.

Messages are printed on stdout and the status is 0; only a listed name that has no node ends the shell, with status 1.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

from metashell.errors import UsageError
from metashell.shell.commands import find_command
from metashell.shell.context import STATUS_FAILED
from metashell.shell.kafka_usage import KafkaCall, KafkaHelp, parse_kafka
from metashell.shell.search.globs import BrokenChildError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from metashell.shell.command import Command
    from metashell.shell.context import Context

KAFKA_PROMPT = ">> "
KAFKA_BANNER = "Loading...\nStarting...\n[ Kafka Metadata Shell ]\n"


def run_kafka_session(ctx: Context, lines: Iterable[str], run_line: Callable[[Context, str], int]) -> int:
    """Run lines as kafka-metadata-shell does on a pipe, and return its status.

    Shape: a banner, then a prompt before each answer and one at the end. Errors do not stop it; a last line without a newline is
    not run.
    """
    ctx.out.write(KAFKA_BANNER + KAFKA_PROMPT)
    for line in lines:
        if not line.endswith("\n"):
            break
        if run_line(ctx, line.rstrip("\r\n")):
            return ctx.status
        if ctx.leaving:
            break
        ctx.out.write(KAFKA_PROMPT)
        ctx.out.flush()
    return 0


def run_kafka(ctx: Context, words: Sequence[str], *, one_shot: bool) -> None:
    """Run one command; `one_shot` is for the command line of the operating system, which has fewer."""
    try:
        call = parse_kafka(words, one_shot=one_shot)
    except KafkaHelp as text:
        ctx.write(str(text))
        return
    except UsageError as error:
        ctx.say(str(error))
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
    """The words of Kafka's parser under the names of our command's arguments; our own options have their defaults."""
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
