"""metashell storage: what a server needs on disk before it first starts, and what is there."""

from __future__ import annotations

from metashell.cli.common import STATUS_OK, Tool, parsed, run_sub_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from metashell.options import CommandSpec

NAME = "metashell storage"


def run(words: list[str]) -> int:
    """Find the sub-command and run it."""
    from metashell.options.kafka_parsers import splice_argument_files
    from metashell.options.storage_tools import STORAGE

    return run_sub_command(STORAGE._replace(name=NAME), splice_argument_files(words), _run_command)


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
