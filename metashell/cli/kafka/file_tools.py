"""kafka-storage and kafka-metadata-shell: Kafka's storage tool and shell, with Kafka's command lines, output and exit statuses."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from metashell.cli.controllers.storage import (
    ADD_SCRAM,
    ADD_SCRAM_FILE,
    CLUSTER_ID,
    CONFIG,
    CONTROLLERS,
    DRY_RUN,
    FEATURE,
    FEATURE_DEPENDENCIES,
    FORMAT,
    IGNORE_FORMATTED,
    INFO,
    LAYOUT,
    NO_CONTROLLERS,
    RANDOM_UUID,
    RELEASE,
    STANDALONE,
    STORAGE_FILES,
    VERSION_MAPPING,
    run_storage_command,
)
from metashell.cli.tool import kafka_tool
from metashell.common import options
from metashell.common.command import STATUS_FAILED, STATUS_OK
from metashell.common.errors import MetashellError, StorageError, UsageError
from metashell.common.options import MAX_DECOMPRESSED, CommandSpec, Option

if TYPE_CHECKING:
    from types import SimpleNamespace


_MINIMUM = "The minimum is 3.3-IV3; the default is 4.4-IV2"
_NOT_BACKWARD = (
    "Note: formatted directories are not forward-compatible — the broker version must be greater than or equal to the kafka-storage tool "
    "that formatted the directory, regardless of this setting."
)


def _kafka(own: CommandSpec, summary: str, *options: Option) -> CommandSpec:
    """Return one of our commands with Kafka's declaration."""
    return CommandSpec(own.name, summary, options=(*options, _KAFKA_OUTPUT), voice="kafka")


def _in_kafkas_words(option: Option, help: str) -> Option:
    """Return an option with Kafka's help, and the metavar that argparse4j makes from its name."""
    return option._replace(help=help, metavar=option.dest.upper())


def _no_static_voters(verb: str) -> str:
    return (
        f"When setting this flag, the controller.quorum.voters config {verb} not be set, and controller.quorum.bootstrap.servers is set "
        "instead."
    )


_KAFKA_OUTPUT = options.own_forms("text", "json", "kafka")._replace(default="kafka")
_KAFKA_CONFIG = _in_kafkas_words(CONFIG, "The Kafka configuration file to use.")
_KAFKA_FORMAT = _kafka(
    FORMAT,
    "Format the Kafka log directories on this node.",
    _KAFKA_CONFIG,
    _in_kafkas_words(CLUSTER_ID, "The cluster ID to use."),
    _in_kafkas_words(
        ADD_SCRAM,
        "A SCRAM_CREDENTIAL to add to the __cluster_metadata log e.g.\n'SCRAM-SHA-256=[name=alice,password=alice-secret]'\n"
        '\'SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]\'',
    ),
    _in_kafkas_words(
        IGNORE_FORMATTED,
        "When this option is passed, the format command will skip over already formatted directories rather than failing.",
    ),
    _in_kafkas_words(RELEASE, f"The release version to use for the initial feature settings. {_MINIMUM}. {_NOT_BACKWARD}"),
    _in_kafkas_words(FEATURE, "The setting to use for a specific feature, in feature=level format. For example: `kraft.version=1`."),
    _in_kafkas_words(
        STANDALONE,
        f"Used to initialize a controller as a single-node dynamic quorum. {_no_static_voters('must')}",
    ),
    _in_kafkas_words(
        NO_CONTROLLERS,
        f"Used to initialize a server without specifying a dynamic quorum. {_no_static_voters('should')}",
    ),
    _in_kafkas_words(
        CONTROLLERS,
        "Used to initialize a server with the specified dynamic quorum. The argument is a comma-separated list of "
        "id@hostname:port:directory. The same values must be used to format all nodes. For example:\n"
        "0@example.com:8082:JEXY6aqzQY-32P5TStzaFg,1@example.com:8083:MvDxzVmcRsaTz33bUuRU6A,"
        f"2@example.com:8084:07R5amHmR32VDA6jHkGbTA\n. {_no_static_voters('must')}",
    ),
    ADD_SCRAM_FILE._replace(hidden=True),
    LAYOUT._replace(hidden=True, default="4.4"),
    DRY_RUN._replace(hidden=True),
    options.SHOW_SECRETS._replace(hidden=True),
)

KAFKA_STORAGE = CommandSpec(
    name="kafka-storage",
    summary="The Kafka storage tool.",
    description="""
        Kafka's own storage tool under its name: options, output and exit statuses are those of Apache Kafka 4.4.0. Two things are
        better: a directory whose server is running is refused, and an interrupted format is completed. The additions of `metashell
        storage` work here too: --dry-run, --add-scram-file, --layout and -o json.
        """,
    commands=(
        _kafka(INFO, "Get information about the Kafka log directories on this node.", _KAFKA_CONFIG),
        _KAFKA_FORMAT,
        _kafka(
            VERSION_MAPPING,
            "Look up the corresponding features for a given metadata version. Using the command with no --release-version  "
            "argument will return the mapping for the latest stable metadata version",
            _in_kafkas_words(RELEASE, f"The release version to use for the corresponding feature mapping. {_MINIMUM}"),
        ),
        _kafka(
            FEATURE_DEPENDENCIES,
            "Look up dependencies for a given feature version. If the feature is not known or the version not yet defined, an "
            "error is thrown. Multiple features can be specified.",
            _in_kafkas_words(
                FEATURE._replace(required=True),
                "The features and their versions to look up dependencies for, in feature=version format. For example: "
                "`metadata.version=5`.",
            ),
        ),
        _kafka(RANDOM_UUID, "Print a random UUID."),
    ),
    examples=(
        ("kafka-storage info --config server.properties", "the log directories of a node"),
        ("kafka-storage format --standalone -t ID -c server.properties", "format a single controller"),
    ),
    epilog=(options.KAFKA_EXIT_STATUS,),
    files=STORAGE_FILES,
    voice="kafka",
)


STORAGE_NAME = "kafka-storage"


def run_kafka_storage(words: list[str]) -> int:
    """Run the sub-command. Errors that Kafka prints in one line have the same wording."""
    from metashell.common.kafka_options import command_help_text, parse_argparse4j_command, splice_argument_files

    try:
        command, values = parse_argparse4j_command(KAFKA_STORAGE, splice_argument_files(words))
    except UsageError as error:
        from metashell.cli.kafka import usage_error

        raise usage_error(KAFKA_STORAGE, error) from None
    if values.help:
        tool = None if command is KAFKA_STORAGE else KAFKA_STORAGE
        sys.stdout.write(command_help_text(command, tool))
        return STATUS_OK

    try:
        return run_storage_command(STORAGE_NAME, command.name, values)
    except StorageError as error:
        sys.stdout.flush()
        sys.stderr.write(f"{error}\n")
        return STATUS_FAILED


storage_main = kafka_tool(STORAGE_NAME, run_kafka_storage)


SHELL_NAME = "kafka-metadata-shell"


def run_kafka_metadata_shell(words: list[str]) -> int:
    """Open the file, then run one command, the prompt, or the lines of standard input."""
    from metashell.cli.shell_options import KAFKA_METADATA_SHELL
    from metashell.common.kafka_options import help_text, parse_argparse4j, usage_text

    try:
        values = parse_argparse4j(KAFKA_METADATA_SHELL, words)
    except UsageError as error:
        sys.stderr.write(usage_text(KAFKA_METADATA_SHELL))
        raise UsageError(f"error: {error}", error.argument) from None
    if values.help:
        sys.stdout.write(help_text(KAFKA_METADATA_SHELL))
        return STATUS_FAILED
    return _run_on_file(values)


def _run_on_file(values: SimpleNamespace) -> int:
    from metashell.cli.images import load_image, make_context, report_faults, run_commands

    if os.path.isdir(values.snapshot):
        raise MetashellError(f"Unexpected error: {values.snapshot} (Is a directory; kafka-shell opens directories)")
    limit = MAX_DECOMPRESSED.default
    assert isinstance(limit, int)
    loaded = load_image(values.snapshot, certain_only=False, max_decompressed=limit, takes_anything=True)
    report_faults(SHELL_NAME, loaded, verbose=False)
    context = make_context(loaded, voice="kafka", output=values.output or "kafka", redact=False, width=not values.command)
    return run_commands(context, values.command)


shell_main = kafka_tool(SHELL_NAME, run_kafka_metadata_shell)
