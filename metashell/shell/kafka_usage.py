"""The command lines of Kafka's shell: what its parser accepts, and its texts, byte for byte.

Kafka's parser is a port of Python's argparse. Its habits are kept: commands and `--help` may be abbreviated, but the shell then
refuses an abbreviated command with a hint; left-over words are named up to the end of the line; a number is read last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metashell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_NEGATIVE_NUMBER = re.compile(r"-\d+")
_NUMBER = re.compile(r"[+-]?\d+")
_INT_MAX = (1 << 31) - 1
_HELP_COLUMN = 25


@dataclass(frozen=True, slots=True)
class KafkaCommand:
    """A command of Kafka's shell; `nargs` is empty for no argument, else as in argparse (`1`, `?`, `*`, `+`)."""

    name: str
    description: str
    argument: str = ""
    nargs: str = ""
    argument_help: str = ""
    is_number: bool = False
    one_shot: bool = False

    @property
    def usage(self) -> str:
        """The argument as usage lines show it: `[targets [targets ...]]`."""
        name = self.argument
        forms = {"": "", "1": name, "?": f"[{name}]", "*": f"[{name} [{name} ...]]", "+": f"{name} [{name} ...]"}
        return forms[self.nargs]


@dataclass(frozen=True, slots=True)
class KafkaCall:
    """A parsed line: the command, and its words."""

    command: KafkaCommand
    words: tuple[str, ...]


KAFKA_COMMANDS = {
    command.name: command
    for command in (
        KafkaCommand("cat", "Show the contents of metadata files.", "targets", "+", "The metadata files to display.", one_shot=True),
        KafkaCommand("cd", "Set the current working directory.", "target", "?", "The directory to change to."),
        KafkaCommand("exit", "Exit the metadata shell."),
        KafkaCommand("find", "Search for nodes in the directory hierarchy.", "paths", "*", "The paths to start at.", one_shot=True),
        KafkaCommand("help", "Display this help message."),
        KafkaCommand("history", "Print command history.", "numEntriesToShow", "?", "The number of entries to show.", is_number=True),
        KafkaCommand("ls", "List metadata nodes.", "targets", "*", "The metadata node paths to list.", one_shot=True),
        KafkaCommand("man", "Show the help text for a specific command.", "cmd", "1", "The command to get help text for."),
        KafkaCommand("pwd", "Print the current working directory."),
        KafkaCommand(
            "tree",
            "Show the contents of metadata nodes in a tree structure.",
            "targets",
            "+",
            "The metadata nodes to display.",
            one_shot=True,
        ),
    )
}

# The line of `tree` is as Kafka's formatter justifies it at 75 columns, which is what it has without a terminal.
HELP_TEXT = """\
Welcome to the Apache Kafka metadata shell.

usage:  {cat,cd,exit,find,help,history,ls,man,pwd,tree} ...

positional arguments:
  {cat,cd,exit,find,help,history,ls,man,pwd,tree}
    cat                  Show the contents of metadata files.
    cd                   Set the current working directory.
    exit                 Exit the metadata shell.
    find                 Search for nodes in the directory hierarchy.
    help                 Display this help message.
    history              Print command history.
    ls                   List metadata nodes.
    man                  Show the help text for a specific command.
    pwd                  Print the current working directory.
    tree                 Show the contents  of  metadata  nodes  in  a tree
                         structure.
"""


class KafkaHelp(Exception):
    """A command's `-h`; its text is the message."""


def parse_kafka(words: Sequence[str], *, one_shot: bool) -> KafkaCall | None:
    """The call for a line, None for an empty one.

    Errors: UsageError with the text that Kafka's shell prints; KafkaHelp for `-h`.
    Source: org.apache.kafka.shell.command.Commands, argparse4j 0.7.
    """
    end = len(words)
    while end and not words[end - 1]:
        end -= 1
    if end == 0:
        return None
    first, rest = words[0], words[1:end]
    if _is_option(first) or first == "--":
        raise UsageError(f"unrecognized arguments: '{rest[0] if first == '--' and rest else first}'")
    known = [name for name, command in KAFKA_COMMANDS.items() if command.one_shot or not one_shot]
    command = KAFKA_COMMANDS[_command_name(first, known)]
    values = _parse_arguments(command, rest)
    if first != command.name:
        raise UsageError(f"invalid choice: '{first}': did you mean '{command.name}'?")
    return KafkaCall(command, values)


def _command_name(word: str, known: Sequence[str]) -> str:
    if word in known:
        return word
    near = [name for name in known if name.startswith(word)]
    if len(near) == 1:
        return near[0]
    if near:
        raise UsageError(f"ambiguous command: {word} could match {', '.join(near)}")
    raise UsageError(f"invalid choice: '{word}' (choose from {', '.join(repr(name) for name in known)})")


def _parse_arguments(command: KafkaCommand, words: Sequence[str]) -> tuple[str, ...]:
    limit = {"": 0, "1": 1, "?": 1}.get(command.nargs, len(words))
    values: list[str] = []
    options = True
    for index, word in enumerate(words):
        if options and word == "--":
            options = False
        elif options and _is_option(word):
            _take_option(command, word)
        elif len(values) == limit:
            raise UsageError(f"unrecognized arguments: '{' '.join(words[index:])}'")
        else:
            values.append(word)
    if command.nargs in ("1", "+") and not values:
        raise UsageError("too few arguments")
    if command.is_number and values:
        _check_number(command.argument, values[0])
    return tuple(values)


def _is_option(word: str) -> bool:
    return len(word) > 1 and word.startswith("-") and word != "--" and not _NEGATIVE_NUMBER.fullmatch(word)


def _take_option(command: KafkaCommand, word: str) -> None:
    name, equals, value = word.partition("=")
    is_long = name.startswith("--")
    known = len(name) > 2 and "--help".startswith(name) if is_long else name.startswith("-h")
    if not known:
        raise UsageError(f"unrecognized arguments: '{word}'")
    if equals and name in ("-h", "--help"):
        raise UsageError(f"argument -h/--help: ignore implicit argument '{value}'")
    raise KafkaHelp(_help_text(command))


def _check_number(name: str, text: str) -> None:
    if not _NUMBER.fullmatch(text) or not -_INT_MAX - 1 <= int(text) <= _INT_MAX:
        raise UsageError(f"argument {name}: could not convert '{text}' to Integer (For input string: \"{text}\")")


def _help_text(command: KafkaCommand) -> str:
    usage = " ".join(filter(None, [f"usage:  {command.name} [-h]", command.usage]))
    options = f"\noptional arguments:\n{_argument_line('-h, --help', 'show this help message and exit')}"
    return f"{usage}\n{_argument_block(command)}{options}"


def man_text(command: KafkaCommand) -> str:
    """What `man` prints about a command."""
    usage = " ".join(filter(None, [f"usage: {command.name}", command.usage]))
    return f"{command.name}: {command.description}\n\n{usage}\n{_argument_block(command)}"


def _argument_block(command: KafkaCommand) -> str:
    if not command.nargs:
        return ""
    return f"\npositional arguments:\n{_argument_line(command.argument, command.argument_help)}"


def _argument_line(name: str, text: str) -> str:
    return f"  {name}".ljust(_HELP_COLUMN) + f"{text}\n"
