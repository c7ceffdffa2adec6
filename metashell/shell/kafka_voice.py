"""Kafka's shell: its parser and texts, byte for byte, its session on a pipe, and how it ends.

Messages are printed on stdout and the status is 0. Only a listed name that has no node ends the shell, with status 1. The shell refuses
an abbreviated command, with a hint, although its parser accepts it."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

from metashell.common.errors import UsageError
from metashell.common.kafka_options import named_command, optional_text, parse_argparse4j, positional_text, usage_text
from metashell.common.options import Argument, CommandSpec
from metashell.shell.commands import find_command
from metashell.shell.context import STATUS_FAILED
from metashell.shell.paths import BrokenChildError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from metashell.shell.commands import Command
    from metashell.shell.context import Context


KAFKA_PROMPT = ">> "
KAFKA_BANNER = "Loading...\nStarting...\n[ Kafka Metadata Shell ]\n"


def run_kafka_session(ctx: Context, lines: Iterable[str], run_line: Callable[[Context, str], int]) -> int:
    """Run lines as kafka-metadata-shell does on a pipe, and return its status.

    Shape: a banner, then a prompt before each answer and one at the end. Errors do not stop it. A last line without a newline does not
    run.
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
    """Run one command; `one_shot` is for the command line of the operating system, which has fewer commands."""
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
    """Return the words of Kafka's parser under the names of our command's arguments. Our own options have their defaults."""
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


_NUMBER = re.compile(r"[+-]?\d{1,4000}")  # int() takes no more
_INT_MAX = (1 << 31) - 1
_ONE_SHOT = ("cat", "find", "ls", "tree")


def _command(name: str, summary: str, argument: str = "", nargs: str = "", help: str = "", type: str = "str") -> CommandSpec:
    declared = Argument(name="words", metavar=argument, nargs=nargs, help=help, type=type)
    return CommandSpec(name=name, summary=summary, arguments=(declared,) if nargs else ())


KAFKA_SHELL = CommandSpec(
    name="",
    summary="Welcome to the Apache Kafka metadata shell.",
    commands=(
        _command("cat", "Show the contents of metadata files.", "targets", "+", "The metadata files to display."),
        _command("cd", "Set the current working directory.", "target", "?", "The directory to change to."),
        _command("exit", "Exit the metadata shell."),
        _command("find", "Search for nodes in the directory hierarchy.", "paths", "*", "The paths to start at."),
        _command("help", "Display this help message."),
        _command("history", "Print command history.", "numEntriesToShow", "?", "The number of entries to show.", "integer"),
        _command("ls", "List metadata nodes.", "targets", "*", "The metadata node paths to list."),
        _command("man", "Show the help text for a specific command.", "cmd", "1", "The command to get help text for."),
        _command("pwd", "Print the current working directory."),
        _command("tree", "Show the contents of metadata nodes in a tree structure.", "targets", "+", "The metadata nodes to display."),
    ),
)
KAFKA_COMMANDS = {command.name: command for command in KAFKA_SHELL.commands}


class KafkaCall(NamedTuple):
    """A parsed line: the command, and its words."""

    command: CommandSpec
    words: tuple[str, ...]


class KafkaHelp(Exception):
    """The `-h` of a command; the message is its text."""


def parse_kafka(words: Sequence[str], *, one_shot: bool) -> KafkaCall | None:
    """Return the call for a line, or None for an empty one.

    Errors: UsageError with the text that Kafka's shell prints; KafkaHelp for `-h`.
    Source: org.apache.kafka.shell.command.Commands, argparse4j 0.7.
    """
    end = len(words)
    while end and not words[end - 1]:
        end -= 1
    if end == 0:
        return None
    first, rest = words[0], words[1:end]
    if len(first) > 1 and first.startswith("-") and not _NUMBER.fullmatch(first):
        raise UsageError(f"unrecognized arguments: '{rest[0] if first == '--' and rest else first}'")
    command = named_command([command for command in KAFKA_SHELL.commands if command.name in _ONE_SHOT or not one_shot], first)
    values = parse_argparse4j(command, rest)
    if values.help:
        raise KafkaHelp(usage_text(command, KAFKA_SHELL) + positional_text(command) + optional_text(command))
    found: tuple[str, ...] = getattr(values, "words", ())
    if found and command.arguments[0].type == "integer":
        _check_number(command.arguments[0].label, found[0])
    if first != command.name:
        raise UsageError(f"invalid choice: '{first}': did you mean '{command.name}'?")
    return KafkaCall(command, found)


def _check_number(name: str, text: str) -> None:
    if not _NUMBER.fullmatch(text) or not -_INT_MAX - 1 <= int(text) <= _INT_MAX:
        raise UsageError(f"argument {name}: could not convert '{text}' to Integer (For input string: \"{text}\")")


def shell_help() -> str:
    """Return the text that `help` prints."""
    return f"{KAFKA_SHELL.summary}\n\n{usage_text(KAFKA_SHELL, has_help=False)}{positional_text(KAFKA_SHELL)}"


def man_text(command: CommandSpec) -> str:
    """Return the text that `man` prints about a command."""
    return f"{command.name}: {command.summary}\n\n{usage_text(command, has_help=False)}{positional_text(command)}"
