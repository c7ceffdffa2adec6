"""metashell storage: what a server needs on disk before it first starts, and what is there."""

from __future__ import annotations

import sys

from metashell.cli.common import STATUS_OK, STATUS_USAGE, Tool, parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.options import CommandSpec

NAME = "metashell storage"


def run(words: list[str]) -> int:
    """Find the sub-command and do it."""
    from metashell.errors import UsageError
    from metashell.options.help import render_help
    from metashell.options.kafka_parsers import splice_argument_files
    from metashell.options.storage_tools import STORAGE
    from metashell.options.values import did_you_mean

    words = splice_argument_files(words)
    if not words:
        sys.stderr.write(render_help(STORAGE))
        return STATUS_USAGE
    commands = {command.name: command for command in STORAGE.commands}
    if words[0] in commands:
        return _run_command(commands[words[0]], words[1:])
    if not words[0].startswith("-"):
        raise UsageError(f"unknown command {words[0]}{did_you_mean(words[0], list(commands))}", words[0])
    values = parsed(STORAGE, words)
    if values is not None:
        raise UsageError("name the command first (metashell storage --help lists them)")
    return STATUS_OK


def _run_command(command: CommandSpec, words: list[str]) -> int:
    from metashell.errors import UsageError
    from metashell.options.parser import HelpRequested, parse

    spec = command._replace(name=f"{NAME} {command.name}")
    try:
        values = parse(spec, words)
    except HelpRequested as help_text:
        sys.stdout.write(str(help_text))
        return STATUS_OK
    except UsageError as error:
        # A word that went astray may hold a password.
        raise (UsageError("unexpected argument [hidden]") if "password" in str(error) else error) from None
    _refuse_rivals(spec, values)
    from metashell.cli.storage_commands import run_storage_command

    return run_storage_command(NAME, command.name, values)


def _refuse_rivals(spec: CommandSpec, values: SimpleNamespace) -> None:
    """Refuse more than one of the options that exclude each other."""
    from metashell.errors import UsageError

    given = [option.names[0] for option in spec.options if option.exclusive and getattr(values, option.dest)]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} exclude each other", given[1])


main = Tool(NAME, run)
