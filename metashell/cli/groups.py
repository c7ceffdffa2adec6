"""metashell groups: what groups do with topics and partitions."""

from __future__ import annotations

from importlib import import_module

from metashell.cli.common import Tool, run_sub_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from metashell.options import CommandSpec

NAME = "metashell groups"
_COMMANDS = {
    "list": "groups_logs:list_groups",
    "describe": "groups_logs:describe",
    "offsets": "groups_logs:offsets",
    "why": "groups_story:why",
    "history": "groups_story:history",
    "expiring": "groups_logs:expiring",
    "downgrade-check": "groups_story:downgrade_check",
    "streams-upgrade": "groups_story:streams_upgrade",
    "assign": "groups_assign:assign",
}
"""Where the function of each command stands: it takes the command's spec and its words, and gives a status."""


def run(words: list[str]) -> int:
    """Find the command and run it. Options and paths may stand before it: `metashell groups LOGDIR list`."""
    from metashell.options.group_tools import GROUPS

    return run_sub_command(GROUPS._replace(name=NAME), _command_first(words), _run_command)


def _command_first(words: list[str]) -> list[str]:
    """The words with the command before the options and paths that stood before it; these paths then come last."""
    from metashell.cli.lifting import split_options
    from metashell.options.group_tools import COMMANDS

    at = next((index for index, word in enumerate(words) if word in _COMMANDS), 0)
    if not at or words[0] in ("--help", "-h", "--version"):
        return words
    command = next(command for command in COMMANDS if command.name == words[at])
    options, paths = split_options(command.options, words[:at])
    return [words[at], *options, *words[at + 1 :], *paths]


def _run_command(command: CommandSpec, words: list[str]) -> int:
    module, _, function = _COMMANDS[command.name.rpartition(" ")[2]].partition(":")
    status = getattr(import_module(f"metashell.cli.{module}"), function)(command, words)
    assert isinstance(status, int)
    return status


main = Tool(NAME, run)
