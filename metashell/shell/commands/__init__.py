"""The commands of the shell; a line in `_MODULES` registers a command and names its module.

The module defines `NAME_COMMAND`, and `NAME_HELP` is the page of the command. It is imported when the command is first used, so that a
one-shot `cat` does not import the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from metashell.shell.command import Command

    COMMANDS: tuple[Command, ...]

_MODULES: Final = {
    "alter": "alter",
    "at": "at",
    "cat": "cat",
    "cd": "cd",
    "clear": "clear",
    "count": "count",
    "create": "create",
    "delete": "delete",
    "diff": "diff",
    "du": "du",
    "elect": "elect",
    "exit": "exit",
    "find": "find",
    "follow": "follow",
    "grep": "grep",
    "health": "health",
    "help": "help",
    "history": "history",
    "log": "log",
    "ls": "ls",
    "man": "man",
    "pwd": "pwd",
    "set": "set",
    "stat": "stat",
    "status": "status",
    "time": "time",
    "timing": "timing",
    "tree": "tree",
    "unregister": "unregister",
    "unset": "unset",
    "watch": "watch",
    "why": "why",
}
"""The module of each command."""
NAMES: Final = tuple(_MODULES)


ALIASES = {"quit": "exit", "q": "exit", ":q": "exit", "?": "help", "rm": "delete"}
"""Names that people type out of habit; `\\q` comes here as `q`."""


def find_command(name: str) -> Command | None:
    """The command of exactly this name or alias."""
    name = ALIASES.get(name, name)
    if name not in _MODULES:
        return None
    command: Command = getattr(import_module(f"{__name__}.{_MODULES[name]}"), f"{name.upper()}_COMMAND")
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
