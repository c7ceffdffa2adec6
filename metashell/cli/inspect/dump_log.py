"""dump-log prints batches and records of logs, checkpoints and live quorums as JSON lines; kafka-dump-log is Kafka's tool of that name.

From a quorum it prints the snapshot, then the log up to the high watermark."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from metashell.cli.connection import QUORUM_OPTIONS, names_quorum, target_of
from metashell.cli.tool import declared_tool, kafka_tool, output_target
from metashell.codec.releases import NEWEST_RELEASE
from metashell.common import options
from metashell.common.command import STATUS_FAILED, STATUS_OK, EscapedErrors
from metashell.common.errors import UsageError
from metashell.common.options import CommandSpec, Option, file_option, flag, source_argument

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import SimpleNamespace
    from typing import Any

    from metashell.inspect.dump.options import DumpOptions
    from metashell.inspect.dump.own_session import Piece
    from metashell.quorum.observer.attach import ChunkSource


_FILES = file_option("--files", metavar="A,B", help="the files to dump, separated by commas")._replace(type="str")
_CLUSTER_METADATA = flag("--cluster-metadata-decoder", help="decode records of the metadata log and its checkpoints")
_PRINT_DATA = flag("--print-data-log", help="print keys and values too; any decoder turns it on")
_DEEP = flag("--deep-iteration", help="print the records of each batch; --print-data-log turns it on")
_SKIP_METADATA = flag("--skip-record-metadata", help="print only the key and value of a record; control records are left out")
_MAX_MESSAGE_SIZE = Option(
    names=("--max-message-size",),
    metavar="SIZE",
    type="size",
    default=5242880,
    help="size of the largest message that an index entry may point at",
)
_MAX_BYTES = _MAX_MESSAGE_SIZE._replace(
    names=("--max-bytes",), default=2147483647, help="read only this many bytes of each log or checkpoint"
)
_DECODERS = tuple(
    flag(name, help=f"decode records of {topic}")
    for name, topic in (
        ("--offsets-decoder", "__consumer_offsets"),
        ("--transaction-log-decoder", "__transaction_state"),
        ("--share-group-state-decoder", "__share_group_state"),
        ("--remote-log-metadata-decoder", "__remote_log_metadata"),
    )
)
_CLASSES = tuple(
    Option(
        names=(f"--{part}-decoder-class",),
        metavar="CLASS",
        type="decoder-class",
        help=f"how to read {part}s: String, Integer, Long or Default (bytes), or Kafka's class of that name",
    )
    for part in ("key", "value")
)
_VERIFY_INDEX = flag("--verify-index-only", help="check an index and print no entries")
_INDEX_SANITY = flag("--index-sanity-check", help="run only the check of an index that a broker runs when it starts")
_SINCE = Option(
    names=("--since",),
    metavar="TIME",
    type="time",
    help="only records of this time or later: ISO 8601 (UTC where no zone is given), Unix ms, or 10m: ten minutes ago",
)
_KEY = Option(names=("--key",), metavar="REGEX", type="regex", help="only records whose key contains a match")

DUMP_LOG = CommandSpec(
    name="dump-log",
    summary="print the batches and records of Kafka's logs and checkpoints as JSON lines",
    description="""
        Prints one JSON object a line for each batch, record, control record and fault, in the order of the file. Without a decoder
        these are batches, and with --deep-iteration or --print-data-log also records with their raw keys and values. With
        --cluster-metadata-decoder, or the decoder of another internal topic, they are decoded records and control records, with what
        follows from them (embedded subscriptions and assignments, names of states) in `decoded`. --type, --key, --value and --summary
        choose the decoder from a file's content and location; a decoder that does not match the log is an error.

        Offset and time indexes are listed and compared with the log beside them. Transaction indexes, producer snapshots,
        leader-epoch-checkpoint and the other text checkpoints, partition.metadata, quorum-state and meta.properties are listed. What is
        wrong is a line of kind `mismatch` or `corrupt`.

        A batch with a bad CRC becomes a line of kind `corrupt`, and reading continues where the framing still holds. For a
        directory, its newest complete checkpoint is printed, if the log no longer starts at offset 0, and then all segments. The
        log directory of a node means its metadata log, or the logs of the decoder or --type. Compressed files (gzip, bzip2, xz, zstd,
        lz4) are decompressed. `-` reads standard input, and so does a command without files whose standard input is not a terminal.

        With --bootstrap-controller or --bootstrap-server there are no files: the newest snapshot of a live quorum and its log are
        fetched by an observer, which does not count as a voter, and committed records are decoded as with --cluster-metadata-decoder.

        Secrets are redacted in every form and by every decoder, also in -o kafka, which prints whole files and accepts no
        filters. Bytes that do not decode and could hold a secret are redacted too, such as records of types newer than this program.
        """,
    options=(
        _FILES._replace(multiple=True),
        _CLUSTER_METADATA,
        *_DECODERS,
        *_CLASSES,
        _PRINT_DATA,
        _DEEP,
        _SKIP_METADATA,
        _VERIFY_INDEX,
        _INDEX_SANITY,
        _MAX_BYTES,
        _MAX_MESSAGE_SIZE,
        Option(
            names=("--type", "-t"),
            metavar="TYPE",
            multiple=True,
            kind="record-type",
            help="only records of this type, such as TOPIC_RECORD or GROUP_METADATA",
        ),
        Option(names=("--offset",), metavar="FROM..TO", type="range", help="only these offsets, both included; either may be missing"),
        _SINCE,
        _SINCE._replace(names=("--until",), help="only records of this time or earlier"),
        _KEY,
        _KEY._replace(names=("--value",), help="only records whose printed value contains a match"),
        Option(
            names=("--batches",),
            metavar="only",
            type="optional-choice",
            choices=("also", "only"),
            help="print batches along with records; =only prints nothing else",
        ),
        flag("--follow", "-f", help="wait at the end for what the node writes, or the quorum commits, next; Ctrl-C ends it"),
        *QUORUM_OPTIONS,
        options.DEMO,
        flag("--summary", help="print counts by type and version, offsets, time span, epochs, gaps and compression; a table without -o"),
        options.output("jsonl", "json", "kafka", "table", default=None)._replace(
            help="one object a line (jsonl, the default), or another form; only --summary has table"
        ),
        options.SHOW_SECRETS,
        options.MAX_DECOMPRESSED,
        options.JOBS,
        options.VERBOSE,
        options.VERSION,
    ),
    arguments=(
        source_argument(
            "file", "FILE", "*", "a .log, a .checkpoint, a directory of them, -, an index, a .snapshot, a text checkpoint, or @NAME"
        ),
    ),
    examples=(
        ("dump-log --cluster-metadata-decoder 00000000000000000000.log | jq .type", "the type of every record"),
        ("dump-log --type TOPIC_RECORD --offset 100.. DIR", "topics created at offset 100 or later"),
        ("dump-log --batches=only FILE.checkpoint", "the batches of a checkpoint, with their CRC and sizes"),
        ("dump-log --cluster-metadata-decoder -f /var/lib/kafka/__cluster_metadata-0", "the log of a running node, as it grows"),
        ("dump-log --follow --bootstrap-controller controller-1:9093", "the records of a live quorum, as they are committed"),
        ("dump-log --type GROUP_METADATA DIR | jq .decoded.members", "subscriptions and assignments of the members of classic groups"),
        ("dump-log --verify-index-only *.index *.timeindex", "whether indexes fit their logs"),
        ("dump-log --summary /var/lib/kafka/__consumer_offsets-12", "what a partition holds, in numbers"),
        (
            "dump-log --type OFFSET_COMMIT DIR -o jsonl > commits.jsonl",
            "a table for other readers, one record type a file: pandas.read_json('commits.jsonl', lines=True), "
            "pyarrow.json.read_json('commits.jsonl'), DuckDB: from 'commits.jsonl', spark.read.json('commits.jsonl')",
        ),
    ),
    epilog=(options.EXIT_STATUS,),
    files=options.LOG_FILES,
    environment=options.TERMINAL_ENVIRONMENT,
)


KAFKA_DUMP_LOG = CommandSpec(
    name="kafka-dump-log",
    summary="This tool helps to parse a log file and dump its contents to the console, "
    "useful for debugging a seemingly corrupt log segment.",
    description="""
        Kafka's own tool under its name: options, output and exit statuses are those of Apache Kafka 4.4.0, except that a stack trace is
        one line, and that no file is ever changed.
        """,
    options=(
        _FILES._replace(required=True),
        _CLUSTER_METADATA,
        _PRINT_DATA,
        _DEEP,
        _SKIP_METADATA,
        _MAX_BYTES._replace(metavar="N", type="int32"),
        _MAX_MESSAGE_SIZE._replace(metavar="N", type="int32"),
        _VERIFY_INDEX,
        _INDEX_SANITY,
        *_DECODERS,
        *(option._replace(type="optional-str") for option in _CLASSES),
        options.own_forms("jsonl", "json", "kafka"),
        options.VERSION,
    ),
    examples=(
        ("kafka-dump-log --cluster-metadata-decoder --files 00000000000000000000.log", "the metadata log as Kafka prints it"),
        ("kafka-dump-log --print-data-log --files a.log,b.log", "the records of two segments"),
    ),
    epilog=(options.KAFKA_EXIT_STATUS,),
    files=options.LOG_FILES,
    voice="kafka",
)


NAME = "dump-log"


def _dump(values: SimpleNamespace) -> int:
    """Dump what the command line names."""
    if names_quorum(values):
        return dump_quorum(values, _options(values))
    from metashell.inspect.dump import run_dump

    return run_dump(_options(values), output_target(), EscapedErrors())


def _options(values: SimpleNamespace) -> DumpOptions:
    from metashell.inspect.dump.options import DumpOptions

    if values.summary and values.output == "kafka":
        raise UsageError("--summary has no form of Kafka's: -o takes table, json or jsonl", "--summary")
    if values.output == "table" and not values.summary:
        raise UsageError("-o table is the form of --summary: records have jsonl, json and kafka", "table")
    shared = shared_options(values)
    if values.bootstrap_controller or values.bootstrap_server:
        shared["cluster_metadata_decoder"] = True  # a quorum only serves its metadata log, so the decoder need not be named
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
    """Return the given values of the options that have the same name as in `DumpOptions`."""
    from metashell.inspect.dump.options import DumpOptions

    names = set(DumpOptions._fields) - {"files", "output"}
    return {name: value for name, value in vars(values).items() if name in names and value is not None}


def _files(values: SimpleNamespace, *, is_needed: bool) -> tuple[str, ...]:
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


def dump_quorum(values: SimpleNamespace, options: DumpOptions) -> int:
    """Dump the quorum that the options name and return the exit status. Errors: UsageError, AttachError."""
    from metashell.inspect.dump.own_session import refuse_whole_files, run_pieces
    from metashell.quorum.observer.attach import attach_chunks

    refuse_whole_files(options)
    source = attach_chunks(target_of(values))
    try:
        errors = EscapedErrors()
        return run_pieces(options, output_target(), errors, _pieces(source, options.follow, errors))
    finally:
        source.close()


def _pieces(source: ChunkSource, follow: bool, errors: EscapedErrors) -> Iterator[Piece]:
    from metashell.inspect.dump.own_session import Piece
    from metashell.quorum.observer.observer import snapshot_name

    for chunk in source.chunks(follow=follow, say=lambda text: errors.write(f"dump-log: {source.label}: {text}")):
        if chunk.snapshot_id is None:
            yield Piece(f"{source.label}/__cluster_metadata-0", chunk.data)
        else:
            yield Piece(f"{source.label}/{snapshot_name(chunk.snapshot_id)}", chunk.data, is_checkpoint=True)


KAFKA_NAME = "kafka-dump-log"


def run_kafka_dump_log(words: list[str]) -> int:
    """Dump what the command line names. As in Kafka, help and version come before all checks."""
    from metashell.common.kafka_options import parse_joptsimple

    values = parse_joptsimple(KAFKA_DUMP_LOG, words)
    if not words or values.help:
        _print_help()
        return STATUS_FAILED
    if values.version:
        sys.stdout.write(f"{NEWEST_RELEASE.patch}\n")
        return STATUS_OK
    if values.files is None:
        raise UsageError('Missing required argument "[files]"', "--files")
    from metashell.inspect.dump import run_dump

    return run_dump(_kafka_options(values), output_target(), EscapedErrors())


def _print_help() -> None:
    from metashell.common.option_parser import render_help

    sys.stderr.write(render_help(KAFKA_DUMP_LOG))


def _kafka_options(values: SimpleNamespace) -> DumpOptions:
    from metashell.inspect.dump.options import DumpOptions

    return DumpOptions(
        files=split_files(values.files),
        voice="kafka",
        output=values.output or "kafka",
        program=KAFKA_NAME,
        **shared_options(values),
        show_secrets=True,
    )


def split_files(text: str) -> tuple[str, ...]:
    """Return the parts between commas, split as in Java: untrimmed, without trailing empty ones.

    Source: java.lang.String.split.
    """
    parts = text.split(",")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return tuple(parts) if text.strip(",") or not text else ()


kafka_main = kafka_tool(KAFKA_NAME, run_kafka_dump_log)
