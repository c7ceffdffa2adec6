"""The commands of the shell, one file each; a line in `NAMES` registers a command and names its module.

A module is imported when its command is first used, so that a one-shot `cat` does not import the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metashell.shell.command import Command

    COMMANDS: tuple[Command, ...]

NAMES = (
    "alter",
    "at",
    "cat",
    "cd",
    "clear",
    "count",
    "create",
    "delete",
    "diff",
    "du",
    "elect",
    "exit",
    "find",
    "follow",
    "grep",
    "health",
    "help",
    "history",
    "log",
    "ls",
    "man",
    "pwd",
    "set",
    "stat",
    "status",
    "time",
    "timing",
    "tree",
    "unregister",
    "unset",
    "watch",
    "why",
)


ALIASES = {"quit": "exit", "q": "exit", ":q": "exit", "?": "help", "rm": "delete"}
"""What people type out of habit; `\\q` comes here as `q`."""


def find_command(name: str) -> Command | None:
    """The command of exactly this name or alias."""
    name = ALIASES.get(name, name)
    if name not in NAMES:
        return None
    command: Command = import_module(f"{__name__}.{name}").COMMAND
    return command


def command_names() -> list[str]:
    """All names, sorted."""
    return sorted(NAMES)


def unknown_command(name: str) -> str:
    """The message about a name that no command has."""
    from metashell.options.values import did_you_mean

    hint = did_you_mean(name, command_names()) or "; `help` lists them"
    return f"{name or repr(name)}: unknown command{hint}"


def __getattr__(name: str) -> object:
    """`COMMANDS`, all of them, for help, man pages and completions."""
    if name != "COMMANDS":
        raise AttributeError(name)
    return tuple(find_command(each) for each in NAMES)
