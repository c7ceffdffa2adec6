"""Other orders of words: options after what they are not about (`kafka-shell ls / --snapshot DIR`, `rehearse kill-broker 3 -o json`), and
the path that kafka-shell opens as its first word (`kafka-shell DIR ls /`)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import SimpleNamespace

    from metashell.options import Option

_SOURCES = ("snapshot", "demo", "bootstrap_controller", "bootstrap_server")


def name_source(values: SimpleNamespace, words: Sequence[str]) -> list[str]:
    """The words with `--snapshot` before a first word that names a path, if no option names a source.

    The name of a command is always a command, whatever files there are; a word with a slash is always a path.
    Errors: UsageError for such a path besides a source.
    """
    import os

    from metashell.errors import UsageError
    from metashell.shell.commands import find_command

    words = list(words)
    first = values.command[0]
    if find_command(first) is not None or not ("/" in first or os.path.exists(first)):
        return words
    for name in _SOURCES:
        if getattr(values, name):
            raise UsageError(f"--{name.replace('_', '-')} and a path exclude each other", first)
    del words[len(words) - len(values.command)]
    return ["--snapshot", first, *words]


def lift_options(values: SimpleNamespace, words: Sequence[str]) -> list[str]:
    """The words with the tool's own options moved before the command.

    Shape: `values.command` is the tail of `words`. An option that the command has too stays where it is. After `--` nothing is an option.
    """
    from metashell.options.shell_tools import KAFKA_SHELL
    from metashell.shell.commands import find_command

    command = values.command

    called = find_command(command[0])
    taken = {name for option in called.spec.options for name in option.names} if called else set()
    own = {name: option for option in KAFKA_SHELL.options for name in option.names if name not in taken}
    lifted: list[str] = []
    kept: list[str] = []
    rest = list(command)
    while rest:
        word = rest.pop(0)
        if word == "--":
            kept += [word, *rest]
            break
        name, equals, _ = word.partition("=")
        if name not in own:
            kept.append(word)
            kept += _value_of(called.spec.options if called else (), name, equals, rest)
            continue
        lifted.append(word)
        lifted += _value_of((own[name],), name, equals, rest)
    before = list(words[: len(words) - len(command)])
    return [*lifted, *before, *kept] if lifted else list(words)


def split_options(options: Sequence[Option], words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words that are options of these, with their values, and all the others, wherever either stand.

    Shape: before the first other word an unknown option is among the former, where its error can name those that there are. After `--`
    nothing is an option.
    """
    own = {name: option for option in options for name in (*option.names, "--help", "-h")}
    mine: list[str] = []
    others: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            others += rest
            break
        name, equals, _ = word.partition("=")
        is_joined = name not in own and not word.startswith("--") and word[:2] in own
        if name in own or is_joined or (word.startswith("-") and not others):
            mine.append(word)
            mine += [] if is_joined else _value_of(options, name, equals, rest)
        else:
            others.append(word)
    return mine, others


def _value_of(options: Sequence[Option], name: str, equals: str, rest: list[str]) -> list[str]:
    """The next word, taken from `rest`, if it is the value of the option of that name."""
    takes_value = any(name in option.names and not option.is_flag for option in options)
    return [rest.pop(0)] if takes_value and not equals and rest else []
