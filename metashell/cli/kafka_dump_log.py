"""kafka-dump-log: Kafka's tool by its own name, with its command line, output and statuses."""

from __future__ import annotations

import sys

from metashell.cli.common import STATUS_FAILED, STATUS_OK, EscapedErrors, kafka_tool, output_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.dump.options import DumpOptions

NAME = "kafka-dump-log"


def run(words: list[str]) -> int:
    """Dump what the command line names; help and version come before all checks, as in Kafka."""
    from metashell.errors import UsageError
    from metashell.options.dump_tools import KAFKA_DUMP_LOG
    from metashell.options.kafka_parsers import parse_joptsimple

    values = parse_joptsimple(KAFKA_DUMP_LOG, words)
    if not words or values.help:
        _print_help()
        return STATUS_FAILED
    if values.version:
        from metashell.codec.releases import NEWEST_RELEASE

        sys.stdout.write(f"{NEWEST_RELEASE.patch}\n")
        return STATUS_OK
    if values.files is None:
        raise UsageError('Missing required argument "[files]"', "--files")
    from metashell.dump import run_dump

    return run_dump(_options(values), output_target(), EscapedErrors())


def _print_help() -> None:
    from metashell.options.dump_tools import KAFKA_DUMP_LOG
    from metashell.options.help import render_help

    sys.stderr.write(render_help(KAFKA_DUMP_LOG))


def _options(values: SimpleNamespace) -> DumpOptions:
    from metashell.cli.dump_log import shared_options
    from metashell.dump.options import DumpOptions

    return DumpOptions(
        files=split_files(values.files),
        voice="kafka",
        output=values.output or "kafka",
        program=NAME,
        **shared_options(values),
        show_secrets=True,
    )


def split_files(text: str) -> tuple[str, ...]:
    """The parts between commas, as Java splits: not trimmed, trailing empty ones dropped.

    Source: java.lang.String.split.
    """
    parts = text.split(",")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return tuple(parts) if text.strip(",") or not text else ()


main = kafka_tool(NAME, run)
