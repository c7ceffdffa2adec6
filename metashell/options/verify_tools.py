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
        (
            "metashell verify --digest 329 node-1 node-2 00000000000000000329-0000000001.checkpoint",
            "whether these agree on the image at offset 329",
        ),
    ),
    epilog=(("EXIT STATUS", "0  nothing was found\n1  there are findings\n2  the command line is wrong"),),
)
