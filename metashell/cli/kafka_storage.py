"""kafka-storage: Kafka's storage tool by its own name, with its command line, output and statuses."""

from __future__ import annotations

import sys

from metashell.cli.common import STATUS_FAILED, STATUS_OK, kafka_tool

NAME = "kafka-storage"


def run(words: list[str]) -> int:
    """Run the sub-command; errors that Kafka prints in one line have the same words."""
    from metashell.errors import UsageError
    from metashell.options.argparse_help import command_help_text
    from metashell.options.kafka_parsers import parse_argparse4j_command, splice_argument_files
    from metashell.options.kafka_storage_tools import KAFKA_STORAGE

    try:
        command, values = parse_argparse4j_command(KAFKA_STORAGE, splice_argument_files(words))
    except UsageError as error:
        from metashell.cli.kafka_admin import usage_error

        raise usage_error(KAFKA_STORAGE, error) from None
    if values.help:
        tool = None if command is KAFKA_STORAGE else KAFKA_STORAGE
        sys.stdout.write(command_help_text(command, tool))
        return STATUS_OK
    from metashell.cli.storage_commands import run_storage_command
    from metashell.storage.errors import StorageError

    try:
        return run_storage_command(NAME, command.name, values)
    except StorageError as error:
        sys.stdout.flush()
        sys.stderr.write(f"{error}\n")
        return STATUS_FAILED


main = kafka_tool(NAME, run)
