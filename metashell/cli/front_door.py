"""metashell: calls the other commands by short names."""

from __future__ import annotations

import sys

from metashell.cli.common import STATUS_OK, STATUS_USAGE, Tool, parsed

NAME = "metashell"


def run(words: list[str]) -> int:
    """Hand the words after a command's name to that command; without one print help, the version or an error."""
    from metashell.options.subcommands import SUBCOMMANDS

    if not words:
        from metashell.options.front_door import METASHELL
        from metashell.options.help import render_help

        sys.stderr.write(render_help(METASHELL))
        return STATUS_USAGE
    if words[0] == "help":
        words = [*words[1:2], "--help"]
    if words[0] not in SUBCOMMANDS and not (words := _command_words(words)):
        return STATUS_OK

    # From here on the command is its own program; even its --version imports nothing heavy.
    return tool_of(words[0])(words[1:])


def tool_of(name: str) -> Tool:
    """The command of that name, whose module is imported now."""
    from importlib import import_module

    from metashell.options.subcommands import SUBCOMMANDS

    module, _, attribute = SUBCOMMANDS[name][0].partition(":")
    tool = getattr(import_module(f"metashell.cli.{module}"), attribute or "main")
    assert isinstance(tool, Tool)
    return tool


def _command_words(words: list[str]) -> list[str]:
    """The words from the command's name on; none if the line asks for help or the version, which is then printed."""
    from metashell.errors import UsageError
    from metashell.options.front_door import METASHELL
    from metashell.options.subcommands import SUBCOMMANDS
    from metashell.options.values import did_you_mean

    values = parsed(METASHELL, words)
    if values is None:
        return []
    name = values.command[0]
    if name not in SUBCOMMANDS:
        raise UsageError(f"unknown command {name}{did_you_mean(name, list(SUBCOMMANDS))}", name)
    return list(values.command)


main = Tool(NAME, run)
