"""dump-log: batches and records of logs and checkpoints as JSON lines."""

from __future__ import annotations

import sys

from metashell.cli.common import EscapedErrors, declared_tool, output_target

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
        raise UsageError("--summary has no form of Kafka's: -o takes json or jsonl", "--summary")
    return DumpOptions(
        files=_files(values, is_needed=not (values.bootstrap_controller or values.bootstrap_server)),
        output=values.output or ("table" if values.summary else "jsonl"),
        summary=values.summary,
        program=NAME,
        **_kafkas_options(values),
        batches=values.batches or "no",
        types=values.type,
        offsets=values.offset or (None, None),
        since_ms=values.since,
        until_ms=values.until,
        key_pattern=values.key,
        value_pattern=values.value,
        follow=values.follow,
        show_secrets=values.show_secrets,
        max_decompressed=values.max_decompressed,
        verbose=values.verbose,
        jobs=values.jobs or 0,
    )


def _kafkas_options(values: SimpleNamespace) -> dict[str, Any]:
    """The same as `kafkas_options`; what comes from a quorum is its metadata log, whether that is said or not."""
    options = kafkas_options(values)
    if values.bootstrap_controller or values.bootstrap_server:
        options["cluster_metadata_decoder"] = True
    return options


_KAFKAS_OPTIONS = (
    "offsets_decoder",
    "transaction_log_decoder",
    "cluster_metadata_decoder",
    "remote_log_metadata_decoder",
    "share_group_state_decoder",
    "key_decoder_class",
    "value_decoder_class",
    "verify_index_only",
    "index_sanity_check",
    "print_data_log",
    "deep_iteration",
    "skip_record_metadata",
    "max_bytes",
    "max_message_size",
)


def kafkas_options(values: SimpleNamespace) -> dict[str, Any]:
    """The values of the options that Kafka's tool and ours both have."""
    return {name: getattr(values, name) for name in _KAFKAS_OPTIONS}


def _files(values: SimpleNamespace, *, is_needed: bool) -> tuple[str, ...]:
    from metashell.errors import UsageError

    listed = [part for joined in values.files for part in joined.split(",") if part]
    files = (*listed, *values.file)
    if files or not is_needed:
        return files
    if sys.stdin.isatty():
        raise UsageError("missing FILE: name a log, a checkpoint, a directory of them, or - for standard input")
    return ("-",)


main = declared_tool(NAME, "dump_tools:DUMP_LOG", _dump)
