"""kafka-metadata-shell: Kafka's shell by its own name, with its command line, output and statuses."""

from __future__ import annotations

import os
import sys

from metashell.cli.common import STATUS_FAILED, kafka_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace

NAME = "kafka-metadata-shell"


def run(words: list[str]) -> int:
    """Open the file, then run one command, a prompt, or the lines of standard input."""
    from metashell.errors import UsageError
    from metashell.options.argparse_help import help_text, usage_text
    from metashell.options.kafka_parsers import parse_argparse4j
    from metashell.options.shell_tools import KAFKA_METADATA_SHELL

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
    from metashell.cli.loading import load, make_context, report_faults, run_commands
    from metashell.errors import MetashellError
    from metashell.options.shared import MAX_DECOMPRESSED

    if os.path.isdir(values.snapshot):
        raise MetashellError(f"Unexpected error: {values.snapshot} (Is a directory; kafka-shell opens directories)")
    limit = MAX_DECOMPRESSED.default
    assert isinstance(limit, int)
    loaded = load(values.snapshot, certain_only=False, max_decompressed=limit, takes_anything=True)
    report_faults(NAME, loaded, verbose=False)
    context = make_context(loaded, voice="kafka", output=values.output or "kafka", redact=False, width=not values.command)
    return run_commands(context, values.command)


main = kafka_tool(NAME, run)
