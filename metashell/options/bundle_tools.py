"""The command line of `metashell bundle`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import Argument, CommandSpec, file_option, flag

BUNDLE = CommandSpec(
    name="metashell-bundle",
    summary="pack a metadata log for a colleague or a ticket, without its secrets",
    description="""
        Writes an archive with the checkpoints and segments of a metadata directory, what `status`, `health` and `verify` say of them, and a
        README that says what it holds. Unpacked it opens like the directory of a node: with kafka-shell, dump-log, metashell sql,
        verify, Kafka's own tools. Offsets, epochs and times are those of the source, so that `--at` and `log` work in the copy.

        Every record is decoded and written again. Secrets are taken out as everywhere: SCRAM salts and keys, values of passwords, values
        of unknown settings of brokers. What does not decode, or is of an unknown type or version, could hold anything:
        a NoOpRecord stands in its place, the README lists it, and the status is 1.

        --anonymise also replaces names: topics, groups, users, client ids, hosts, racks, own listeners, tokens, unknown settings, the
        cluster id. One name has one alias in all records, also in access control and quotas; prefixed patterns match what they
        matched. Values of settings stay where they are numbers or words of Kafka's. Ids of nodes, topics and directories stay:
        who has the cluster can tell by them which one it is. Aliases are drawn by chance, anew for each bundle; --mapping keeps
        them for you.
        """,
    options=(
        file_option("--out", required=True, help="the archive (.tar.gz), which must not be there yet; - is standard output"),
        flag("--anonymise", help="replace names too"),
        file_option(
            "--mapping",
            help="with --anonymise: write each name and its alias here, a JSON object a line, for your eyes alone; it is not in the bundle",
        )._replace(type="page"),
        shared.DEMO,
        shared.output("text", "json"),
        shared.MAX_DECOMPRESSED,
        shared.VERSION,
    ),
    arguments=(
        Argument(
            name="path",
            metavar="PATH",
            type="path",
            kind="source",
            help="a log directory, a metadata directory, one segment or checkpoint, or @NAME of the settings",
        ),
    ),
    examples=(
        ("metashell bundle /var/lib/kafka --out case.tar.gz", "all of it, without secrets"),
        ("metashell bundle /var/lib/kafka --anonymise --mapping names.jsonl --out case.tar.gz", "and without names"),
        ("metashell bundle DIR --out - | ssh host tar xz", "to another machine"),
    ),
    epilog=(shared.EXIT_STATUS,),
    files=shared.LOG_FILES,
)
