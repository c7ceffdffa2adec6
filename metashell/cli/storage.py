"""metashell storage: what a server needs on disk before it first starts, and what is there."""

from __future__ import annotations

import sys
from functools import partial

from metashell.cli.common import STATUS_OK, STATUS_USAGE, Tool, parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from metashell.options import CommandSpec

NAME = "metashell storage"


def run(words: list[str]) -> int:
    """Find the sub-command and run it."""
    from metashell.errors import UsageError
    from metashell.options.help import render_help
    from metashell.options.kafka_parsers import splice_argument_files
    from metashell.options.storage_tools import STORAGE
    from metashell.options.values import did_you_mean

    words = splice_argument_files(words)
    tool = STORAGE._replace(name=NAME)
    if not words:
        sys.stderr.write(render_help(tool))
        return STATUS_USAGE
    commands = {command.name: command for command in tool.commands}
    if words[0] in commands:
        name = f"{NAME} {words[0]}"
        return Tool(name, partial(_run_command, commands[words[0]]._replace(name=name)))(words[1:])
    if not words[0].startswith("-"):
        raise UsageError(f"unknown command {words[0]}{did_you_mean(words[0], list(commands))}", words[0])
    values = parsed(tool, words)
    if values is not None:
        raise UsageError("name the command first (metashell storage --help lists them)")
    return STATUS_OK


def _run_command(command: CommandSpec, words: list[str]) -> int:
    from metashell.errors import MetashellError, UsageError

    try:
        values = parsed(command, words)
    except UsageError as error:
        # A misplaced word may hold a password.
        raise (UsageError("unexpected argument [hidden]") if "password" in str(error) else error) from None
    if values is None:
        return STATUS_OK
    from metashell.cli.storage_commands import run_storage_command
    from metashell.options.values import did_you_mean
    from metashell.storage.errors import ConfigError, StorageError

    try:
        return run_storage_command(command.name, command.name.rpartition(" ")[2], values)
    except ConfigError as error:
        raise MetashellError(f"{error.file}: {error.plain}" if error.file else error.plain) from None
    except StorageError as error:
        raise MetashellError(f"{error}{did_you_mean(error.word, error.known)}") from None


main = Tool(NAME, run)
