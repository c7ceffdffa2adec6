"""dump-log: batches and records of logs and checkpoints as JSON lines."""

from __future__ import annotations

import sys

from metashell.cli.common import EscapedErrors, declared_tool, output_target
from metashell.options.dump_tools import DUMP_LOG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace
    from typing import Any

    from metashell.dump.options import DumpOptions

NAME = "dump-log"


def _dump(values: SimpleNamespace) -> int:
    """Dump what the command line names."""
    from metashell.cli.attaching import names_quorum

    if names_quorum(values):
        from metashell.cli.dump_quorum import dump_quorum

        return dump_quorum(values, _options(values))
    from metashell.dump import run_dump

    return run_dump(_options(values), output_target(), EscapedErrors())


def _options(values: SimpleNamespace) -> DumpOptions:
    from metashell.dump.options import DumpOptions
    from metashell.errors import UsageError

    if values.summary and values.output == "kafka":
        raise UsageError("--summary has no form of Kafka's: -o takes table, json or jsonl", "--summary")
    if values.output == "table" and not values.summary:
        raise UsageError("-o table is the form of --summary: records have jsonl, json and kafka", "table")
    shared = shared_options(values)
    if values.bootstrap_controller or values.bootstrap_server:
        shared["cluster_metadata_decoder"] = True  # what comes from a quorum is its metadata log, whether that is said or not
    return DumpOptions(
        files=_files(values, is_needed=not (values.bootstrap_controller or values.bootstrap_server)),
        output=values.output or ("table" if values.summary else "jsonl"),
        program=NAME,
        **shared,
        types=values.type,
        offsets=values.offset or (None, None),
        since_ms=values.since,
        until_ms=values.until,
        key_pattern=values.key,
        value_pattern=values.value,
    )


def shared_options(values: SimpleNamespace) -> dict[str, Any]:
    """The values that were given of the options that are called as in `DumpOptions`."""
    from metashell.dump.options import DumpOptions

    names = set(DumpOptions._fields) - {"files", "output"}
    return {name: value for name, value in vars(values).items() if name in names and value is not None}


def _files(values: SimpleNamespace, *, is_needed: bool) -> tuple[str, ...]:
    from metashell.errors import UsageError

    listed = [part for joined in values.files for part in joined.split(",") if part]
    files = (*listed, *values.file)
    if values.files and not listed:
        raise UsageError("option --files: no file is named", "")
    if files or not is_needed:
        return files
    if sys.stdin.isatty():
        raise UsageError("missing FILE: name a log, a checkpoint, a directory of them, or - for standard input")
    return ("-",)


main = declared_tool(NAME, DUMP_LOG, _dump)
