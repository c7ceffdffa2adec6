"""The commands of the shell, one file each; a command is registered by its line in `COMMANDS`."""

from __future__ import annotations

from metashell.shell.command import Command
from metashell.shell.commands import cat, cd, exit, find, help, history, ls, man, pwd, status, tree

COMMANDS: tuple[Command, ...] = (
    cat.COMMAND,
    cd.COMMAND,
    exit.COMMAND,
    find.COMMAND,
    help.COMMAND,
    history.COMMAND,
    ls.COMMAND,
    man.COMMAND,
    pwd.COMMAND,
    status.COMMAND,
    tree.COMMAND,
)

_BY_NAME = {command.name: command for command in COMMANDS}


def find_command(name: str) -> Command | None:
    """The command of exactly this name."""
    return _BY_NAME.get(name)


def command_names() -> list[str]:
    """All names, sorted."""
    return sorted(_BY_NAME)
