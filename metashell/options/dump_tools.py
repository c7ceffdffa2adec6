"""The command lines of dump-log: our own, and `kafka-dump-log` as Kafka 4.3.1 declares it."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.quorum import QUORUM_OPTIONS
from metashell.options.spec import Argument, CommandSpec, Option

_CLUSTER_METADATA = Option(
    names=("--cluster-metadata-decoder",),
    type="flag",
    help="decode records of the metadata log and its checkpoints",
)
_PRINT_DATA = Option(names=("--print-data-log",), type="flag", help="print keys and values too; any decoder turns it on")
_DEEP = Option(names=("--deep-iteration",), type="flag", help="go into the batches, record by record; --print-data-log turns it on")
_SKIP_METADATA = Option(
    names=("--skip-record-metadata",),
    type="flag",
    help="of a record, print only key and value; control records are left out",
)
_MAX_MESSAGE_SIZE = Option(
    names=("--max-message-size",),
    metavar="SIZE",
    type="size",
    default=5242880,
    help="size of the largest message that an index entry may point at",
)
_MAX_BYTES = Option(
    names=("--max-bytes",),
    metavar="SIZE",
    type="size",
    default=2147483647,
    help="read only so many bytes of each log or checkpoint",
)


def _decoder(name: str, topic: str) -> Option:
    return Option(names=(name,), type="flag", help=f"decode records of {topic}")


def _decoder_class(name: str, part: str) -> Option:
    return Option(
        names=(name,),
        metavar="CLASS",
        type="optional-str",
        help=f"decoder of {part}: String, Default, Integer or Long of org.apache.kafka.tools.api",
    )


def _named_class(name: str, part: str) -> Option:
    return Option(
        names=(name,), metavar="CLASS", type="str", help=f"what {part} are: String, Integer, Long or Default (bytes), or Kafka's class"
    )


_DECODERS = (
    _decoder("--offsets-decoder", "__consumer_offsets"),
    _decoder("--transaction-log-decoder", "__transaction_state"),
    _decoder("--share-group-state-decoder", "__share_group_state"),
    _decoder("--remote-log-metadata-decoder", "__remote_log_metadata"),
)
_VERIFY_INDEX = Option(names=("--verify-index-only",), type="flag", help="of an index, run the checks and print no entries")
_INDEX_SANITY = Option(
    names=("--index-sanity-check",),
    type="flag",
    help="of an index, run only the check that a broker runs when it starts",
)

DUMP_LOG = CommandSpec(
    name="dump-log",
    summary="print the batches and records of Kafka's logs and checkpoints as JSON lines",
    description="""
        One JSON object a line for each batch, record, control record and fault, in the order of the file. Without a decoder there are batch
        lines, or with --deep-iteration or --print-data-log also records with their raw keys and values; with
        --cluster-metadata-decoder, or the decoder of another internal topic, there are the decoded records and control records, with what
        follows from them (embedded subscriptions and assignments, names of states) in `decoded`. --type, --key and --value, and --summary,
        take the decoder of the log that a file belongs to, as its content and place say; the decoder of another log is refused.

        Offset and time indexes are listed and held against the log beside them; transaction indexes, producer snapshots,
        leader-epoch-checkpoint and the other text checkpoints, partition.metadata, quorum-state and meta.properties are listed. What does
        not hold is a line of kind `mismatch` or `corrupt`.

        A batch with a bad CRC becomes a line of kind `corrupt`, and the walk goes on where the framing still holds. A directory stands
        for its segments, after its newest complete checkpoint where they do not begin at offset 0; the log directory of a node for its
        metadata log, or the logs that the decoder or --type means. Files of gzip, bzip2, xz, zstd and lz4 are expanded. `-`, or no file
        where standard input is not a terminal, reads standard input.

        With --bootstrap-controller or --bootstrap-server there are no files: the newest snapshot of a live quorum and its log are
        fetched, by an observer that nobody counts, and committed records are decoded as with --cluster-metadata-decoder.

        Secrets are redacted in every form and under every decoder, -o kafka included, which prints whole files and therefore takes no
        filters. So are bytes that do not decode and could hold a secret, such as records of a type that is newer than this program.
        """,
    options=(
        Option(
            names=("--files",),
            metavar="A,B",
            type="str",
            multiple=True,
            kind="file",
            help="files as Kafka's tool takes them, separated by commas",
        ),
        _CLUSTER_METADATA,
        *_DECODERS,
        _named_class("--key-decoder-class", "keys"),
        _named_class("--value-decoder-class", "values"),
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
            type="str",
            multiple=True,
            kind="record-type",
            help="only records of this type, such as TOPIC_RECORD or GROUP_METADATA",
        ),
        Option(
            names=("--offset",),
            metavar="FROM..TO",
            type="range",
            help="only these offsets; both ends are included and either may be missing",
        ),
        Option(
            names=("--since",),
            metavar="TIME",
            type="time",
            help="only records of this time or later: ISO 8601 (UTC unless it says more) or Unix ms",
        ),
        Option(names=("--until",), metavar="TIME", type="time", help="only records of this time or earlier"),
        Option(names=("--key",), metavar="REGEX", type="regex", help="only records in whose key this is found"),
        Option(names=("--value",), metavar="REGEX", type="regex", help="only records in whose printed value this is found"),
        Option(
            names=("--batches",),
            metavar="only",
            type="optional-choice",
            choices=("also", "only"),
            help="print batch lines too, or nothing else",
        ),
        Option(
            names=("--follow", "-f"),
            type="flag",
            help="wait for more at the end, as the node writes it, or the quorum commits it; Ctrl-C ends it",
        ),
        *QUORUM_OPTIONS,
        Option(
            names=("--summary",),
            type="flag",
            help="print counts by type and version, offsets, time span, epochs, gaps and compression instead; a table without -o",
        ),
        Option(
            names=("--output", "-o"),
            metavar="FORM",
            type="choice",
            choices=("jsonl", "json", "kafka"),
            help="form of what is printed: jsonl, one object a line, unless told otherwise",
        ),
        shared.SHOW_SECRETS,
        shared.MAX_DECOMPRESSED,
        Option(
            names=("--jobs", "-j"),
            metavar="N",
            type="int",
            help="processes that decode; by default two for large files where there are two cores",
        ),
        shared.VERBOSE,
        shared.VERSION,
    ),
    arguments=(
        Argument(
            name="file",
            nargs="*",
            metavar="FILE",
            type="path",
            kind="file",
            help="a .log, a .checkpoint, a directory of them, -, an index, a .snapshot or a text checkpoint",
        ),
    ),
    examples=(
        ("dump-log --cluster-metadata-decoder 00000000000000000000.log | jq .type", "the type of every record"),
        (
            "dump-log --type TOPIC_RECORD --offset 100.. DIR",
            "topics made at offset 100 or later",
        ),
        ("dump-log --batches=only FILE.checkpoint", "the batches of a checkpoint, with their CRC and sizes"),
        (
            "dump-log --cluster-metadata-decoder --follow /var/lib/kafka/__cluster_metadata-0",
            "the metadata log of a running node, as it grows",
        ),
        ("dump-log --follow --bootstrap-controller controller-1:9093", "the records of a live quorum, as they are committed"),
        (
            "dump-log --type GROUP_METADATA DIR | jq .decoded.members",
            "what the members of classic groups subscribed to and were given",
        ),
        ("dump-log --verify-index-only *.index *.timeindex", "whether indexes fit their logs"),
        ("dump-log --summary /var/lib/kafka/__consumer_offsets-12", "what a partition holds, in numbers"),
    ),
    epilog=(shared.EXIT_STATUS,),
)


KAFKA_DUMP_LOG = CommandSpec(
    name="kafka-dump-log",
    summary="This tool helps to parse a log file and dump its contents to the console, "
    "useful for debugging a seemingly corrupt log segment.",
    description="""
        Kafka's own tool, by its name: options, output and exit statuses are those of Apache Kafka 4.3.1, but for stack traces, which are
        one line, and that it never changes a file.
        """,
    options=(
        Option(
            names=("--files",),
            metavar="A,B",
            type="str",
            required=True,
            kind="file",
            help="the files to dump, separated by commas",
        ),
        _CLUSTER_METADATA,
        _PRINT_DATA,
        _DEEP,
        _SKIP_METADATA,
        Option(
            names=("--max-bytes",),
            metavar="N",
            type="int32",
            default=2147483647,
            help="read only so many bytes of each log or checkpoint",
        ),
        Option(names=("--max-message-size",), metavar="N", type="int32", default=5242880, help=_MAX_MESSAGE_SIZE.help),
        _VERIFY_INDEX,
        _INDEX_SANITY,
        *_DECODERS,
        _decoder_class("--key-decoder-class", "keys"),
        _decoder_class("--value-decoder-class", "values"),
        Option(
            names=("--output", "-o"),
            metavar="FORM",
            type="choice",
            choices=("jsonl", "json", "kafka"),
            hidden=True,
            help="our own forms",
        ),
        shared.VERSION,
    ),
    examples=(
        (
            "kafka-dump-log --cluster-metadata-decoder --files 00000000000000000000.log",
            "the metadata log as Kafka prints it",
        ),
    ),
    voice="kafka",
)
