"""The command line of `metashell verify`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import CommandSpec, Option, choice, flag, source_argument

JUDGED = ("3.9", "4.0", "4.1", "4.2", "4.3", "4.4")
"""The releases that --start-safe knows: a test compares them with the table of releases."""

VERIFY = CommandSpec(
    name="metashell-verify",
    summary="check what Kafka left on disk: checksums, offsets, epochs, indexes, checkpoints",
    description="""
        Prints one line for each finding: file, byte, offset, severity, and what is wrong; and at the end what was checked.
        A directory is that of a partition (of metadata, groups, transactions or a user's topic), a log directory of a server, or
        a folder of log directories. The server may be running: nothing is written or locked. A torn or zero-filled tail of a log's last
        segment is normal and shown only with -v; in a file that is named it is a finding.

        --digest prints a hash of the metadata image: of the records that describe it, sorted by key, in their newest versions. It
        does not depend on the source or the history, so replicas, and a checkpoint and the log it was made from, have the
        same digest at the same offset. For an OFFSET the log of a directory is replayed, even if a checkpoint ends at that offset. Paths
        whose digests differ at the same offset are a finding. Without an OFFSET several paths are compared at the highest certain
        offset that all have, which is printed. kraft.version and the voters are part of the digest;
        the leader and the owner of the last block of producer ids are not: no checkpoint holds them.

        Directories of one cluster in one call are compared with each other: batches of the same epoch and offset, and everything
        before the end of a checkpoint of both, must be the same in each replica, and so must the images of checkpoints of one name. Where
        paths have no offset in common, digests that differ are a finding, because they could not be compared.

        The files of a node are also compared with each other, as `health` and `storage info` do: meta.properties of all its log directories
        and the voter set, directories of partitions and the topic ids of the log, quorum-state, checkpoints, and with -c the server's
        configuration. Such a finding has the id of its check and the next step; what is only unusual is printed and is no finding.
        A broker's other log directories beside the one that is named are read too.

        --start-safe predicts what Apache Kafka would do to the metadata log when it starts: a server of --release, which has to support
        every feature level and every type of record in the log. All other releases that would start are named too. Kafka cuts a log at
        the first bad batch and deletes all segments behind it, and accepts gaps, torn checkpoints, and changed offsets and epochs silently.
        The answer names each file that would be changed, with byte, offset, bytes and records; what of that exists nowhere else in the
        directory; and what is lost already. There is one answer for each node: where Kafka refuses one of its directories it starts on
        none. Directories of partitions that would become stray are lost; their logs are not read. Nothing is changed. A server that is
        one of several voters replays only what is committed, so it may start although replay of the whole log would end it.
        """,
    options=(
        flag("--deep", help="decode every record of metadata, groups, transactions and share groups"),
        Option(
            names=("--digest",),
            metavar="OFFSET",
            type="optional-int",
            choices=("end",),
            help="print a hash of each path's image of everything before OFFSET, as checkpoints are named; by default see above",
        ),
        flag("--start-safe", help="instead, predict whether Kafka would start, what it would cut or delete, and what would be lost"),
        choice("--release", metavar="RELEASE", choices=JUDGED, help="the release to predict for, from 3.9; by default the newest known"),
        shared.CONFIG._replace(help="the server's configuration: its log directories are read too, and compared with it and the log"),
        shared.DEMO,
        shared.output("text", "json", "jsonl"),
        shared.MAX_DECOMPRESSED,
        flag("--verbose", "-v", help="also report what is not a finding: torn tails, files that vanished meanwhile"),
        shared.VERSION,
    ),
    arguments=(
        source_argument(
            "paths",
            "PATH",
            "+",
            "a directory, a .log, a .checkpoint, an index, a producer snapshot, one of the small files of a log directory, @NAME, or -",
        ),
    ),
    examples=(
        ("metashell verify /var/lib/kafka", "everything in a log directory"),
        ("metashell verify --deep -o json __cluster_metadata-0 | jq .summary", "the metadata log, every record decoded"),
        ("metashell verify --start-safe -c server.properties /var/lib/kafka", "what a restart would do"),
        ("metashell verify --start-safe --release 4.3 /var/lib/kafka", "whether one may go back to 4.3"),
        (
            "metashell verify --digest 329 node-1 node-2 00000000000000000329-0000000001.checkpoint",
            "whether these agree on the image at offset 329",
        ),
    ),
    epilog=(
        (
            "EXIT STATUS",
            "0  nothing was found; with --start-safe: Kafka would start and lose nothing\n"
            "1  there are findings, errors or warnings; with --digest: errors, or digests\n"
            "   that differ; Kafka would not start, or would lose something, or this cannot\n"
            "   be determined\n"
            "2  the command line is wrong",
        ),
    ),
    files=shared.LOG_FILES,
)
