"""metashell: the front door, which calls the other commands by short names."""

from __future__ import annotations

import sys

from metashell.cli.common import STATUS_OK, STATUS_USAGE, answers_version, parsed, run_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "metashell"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its status."""
    if answers_version(NAME, argv):
        return STATUS_OK
    words = list(sys.argv[1:] if argv is None else argv)
    module = _module_of(words[0]) if words else None
    if module is not None:
        # The command is its own program from here on; it answers even --version without anything heavy.
        return _main_of(module, words[1:])
    return run_tool(NAME, run, words)


def run(words: list[str]) -> int:
    """Answer what is not a known command: help, the version, or an error."""
    from metashell.errors import UsageError
    from metashell.options.front_door import METASHELL
    from metashell.options.help import render_help
    from metashell.options.subcommands import SUBCOMMANDS
    from metashell.options.values import did_you_mean

    if not words:
        sys.stderr.write(render_help(METASHELL))
        return STATUS_USAGE
    values = parsed(METASHELL, words)
    if values is None:
        return STATUS_OK
    if not values.command:
        raise UsageError("missing COMMAND (metashell --help lists them)")
    name = values.command[0]
    module = _module_of(name)
    if module is None:
        raise UsageError(f"unknown command {name}{did_you_mean(name, list(SUBCOMMANDS))}", name)
    return _main_of(module, list(values.command[1:]))


def _module_of(name: str) -> str | None:
    from metashell.options.subcommands import SUBCOMMANDS

    entry = SUBCOMMANDS.get(name)
    return entry[0] if entry else None


def _main_of(module: str, words: list[str]) -> int:
    from importlib import import_module

    status = import_module(f"metashell.cli.{module}").main(words)
    assert isinstance(status, int)
    return status
