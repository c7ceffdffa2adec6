"""The command lines of dump-log: our own, and `kafka-dump-log` as Kafka 4.4.0 declares it."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.quorum import QUORUM_OPTIONS
from metashell.options.spec import CommandSpec, Option, file_option, flag, source_argument

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
        shared.DEMO,
        flag("--summary", help="print counts by type and version, offsets, time span, epochs, gaps and compression; a table without -o"),
        shared.output("jsonl", "json", "kafka", "table", default=None)._replace(
            help="one object a line (jsonl, the default), or another form; only --summary has table"
        ),
        shared.SHOW_SECRETS,
        shared.MAX_DECOMPRESSED,
        shared.JOBS,
        shared.VERBOSE,
        shared.VERSION,
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
    ),
    epilog=(shared.EXIT_STATUS,),
    files=shared.LOG_FILES,
    environment=shared.TERMINAL_ENVIRONMENT,
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
        shared.own_forms("jsonl", "json", "kafka"),
        shared.VERSION,
    ),
    examples=(
        ("kafka-dump-log --cluster-metadata-decoder --files 00000000000000000000.log", "the metadata log as Kafka prints it"),
        ("kafka-dump-log --print-data-log --files a.log,b.log", "the records of two segments"),
    ),
    epilog=(shared.KAFKA_EXIT_STATUS,),
    files=shared.LOG_FILES,
    voice="kafka",
)
