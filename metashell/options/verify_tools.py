"""The command line of `metashell verify`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import Argument, CommandSpec, Option

VERIFY = CommandSpec(
    name="metashell-verify",
    summary="check what Kafka left on disk: checksums, offsets, epochs, indexes, checkpoints",
    description="""
        One line for each thing that does not hold: file, byte, offset, severity, and what it is; at the end what was looked at.
        A directory is that of a partition (of metadata, groups, transactions or a user's topic), a log directory of a server, or
        a folder of log directories. The server may run: nothing is written or locked, and a torn or zero tail of a log's last
        segment is told with -v and is no finding. In a file that is named it is one.

        --digest prints a hash of the metadata image: of the records that write it, sorted by key, in their newest versions. It
        depends neither on the source nor on the history, so replicas, and a checkpoint and the log it was made from, have the
        same at the same offset; for an OFFSET the log of a directory is replayed, also where a checkpoint ends just there. Paths
        whose digests differ at the same offset are a finding. kraft.version and the voters count;
        the leader, and who has the last block of producer ids, do not: no checkpoint keeps them.

        Directories of one cluster in one call are compared with each other: batches of one epoch and offset, and all that lies
        before the end of a checkpoint of both, are the same in each replica; so are the images of checkpoints of one name. A
        digest at another offset that differs is a finding: it was not compared.

        --start-safe answers for the metadata log what Apache Kafka 4.3.1 would do when it starts: it cuts a log at the first bad batch and
        deletes all segments behind it, and takes gaps, torn checkpoints, and offsets and epochs that were changed without a
        word. Told are each file that would be changed, with byte, offset, bytes and records; what of that is nowhere else in the
        directory; and what else is lost already. Nothing is changed. Logs of topics, and other log directories of the same server,
        are named as not judged. A server that replays less than all of it, since it is one of
        several voters and the rest is not committed, may start where this says that replay ends it.
        """,
    options=(
        Option(names=("--deep",), type="flag", help="decode every record of metadata, groups, transactions and share groups"),
        Option(
            names=("--digest",),
            metavar="OFFSET",
            type="optional-int",
            choices=("end",),
            help="hash the image of each path, of all that lies before OFFSET, as checkpoints are named; by default at the end",
        ),
        Option(
            names=("--start-safe",),
            type="flag",
            help="tell instead whether Kafka would start on each log directory, what it would cut or delete, and what would be lost",
        ),
        Option(
            names=("--config", "-c"),
            metavar="FILE",
            type="path",
            kind="file",
            help="the server's configuration, for --start-safe: a directory of another node.id is refused",
        ),
        Option(
            names=("--output", "-o"),
            metavar="FORM",
            type="choice",
            choices=("text", "json", "jsonl"),
            default="text",
            help="form of what is printed",
        ),
        shared.MAX_DECOMPRESSED,
        Option(names=("--verbose", "-v"), type="flag", help="tell what is no finding too: torn tails, files that vanished meanwhile"),
        shared.VERSION,
    ),
    arguments=(
        Argument(
            name="paths",
            nargs="+",
            metavar="PATH",
            type="path",
            kind="file",
            help="a directory, a .log, a .checkpoint, an index, a producer snapshot, one of the small files of a log directory, or -",
        ),
    ),
    examples=(
        ("metashell verify /var/lib/kafka", "everything in a log directory"),
        ("metashell verify --deep -o json __cluster_metadata-0 | jq .summary", "the metadata log, every record decoded"),
        ("metashell verify --start-safe -c server.properties /var/lib/kafka", "what a restart would do"),
        (
            "metashell verify --digest 329 node-1 node-2 00000000000000000329-0000000001.checkpoint",
            "whether these agree on the image at offset 329",
        ),
    ),
    epilog=(
        (
            "EXIT STATUS",
            "0  nothing was found; with --start-safe: Kafka would start and lose nothing\n"
            "1  there are findings, errors or warnings; Kafka would not start, or lose something, or it cannot be told\n"
            "2  the command line is wrong",
        ),
    ),
)
