"""metashell groups: what groups do with topics and partitions."""

from __future__ import annotations

from importlib import import_module

from metashell.cli.common import Tool, run_sub_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from metashell.options import CommandSpec

NAME = "metashell groups"
_COMMANDS = {"assign": "groups_assign:assign"}
"""Where the function of each command stands: it takes the command's spec and its words, and gives a status."""


def run(words: list[str]) -> int:
    """Find the command and run it."""
    from metashell.options.group_tools import GROUPS

    return run_sub_command(GROUPS._replace(name=NAME), words, _run_command)


def _run_command(command: CommandSpec, words: list[str]) -> int:
    module, _, function = _COMMANDS[command.name.rpartition(" ")[2]].partition(":")
    status = getattr(import_module(f"metashell.cli.{module}"), function)(command, words)
    assert isinstance(status, int)
    return status


main = Tool(NAME, run)
