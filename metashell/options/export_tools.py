"""The command line of `metashell export`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import CommandSpec, Option, choice, flag

EXPORT = CommandSpec(
    name="metashell-export",
    summary="write the records of logs as tables: Parquet, Arrow, CSV or JSON lines",
    description="""
        Writes one table for each record type, with all its versions merged, to DIR/TABLE.FORMAT: a file, or a folder of parts. Large files
        are read by all cores. No table gets its final name before the whole export is complete. An interrupted export continues
        where it stopped; a repeated one reads only what is new. Files that no export has written are never replaced.

        Each row has cluster_id (from meta.properties, else the directory), file, offset, epoch and timestamp. Fields have the names of
        Kafka's messages, in snake case. Times are timestamps in UTC, ids are UUIDs beside their text as Kafka prints it (topic_id and
        topic_id_text), and codes are numbers beside their words (operation and operation_name).

        With --append, DIR is a lake: days, nodes and clusters go into one folder, each record once, by table, cluster and date. What it has
        already is known by offsets, so the same logs again, or a copy of them, add nothing.
        """,
    options=(
        shared.OUT,
        flag("--append", help="add what is new to the lake DIR, which is made if there is none"),
        flag("--dry-run", help="with --append: say what the lake has of the logs, and what would be added"),
        flag(
            "--replace",
            help="remove what an earlier export wrote and this one does not; with --append, what differs from the logs since one was cut "
            "and written anew",
        ),
        Option(
            names=("--target-file-size",),
            metavar="SIZE",
            type="size",
            default=0,
            help="with --append: put the small files of a table, cluster and day together, up to this size each. By default that is done "
            "once there are 8 of them, up to 128M",
        ),
        choice("--format", "-f", metavar="FORMAT", choices=("parquet", "arrow", "csv", "jsonl"), default="parquet", help="file format"),
        Option(
            names=("--tables", "-t"),
            metavar="A,B",
            multiple=True,
            kind="table",
            help="only these tables, separated by commas, or all. The default is all but records, whose JSON text costs several "
            "times as much as everything else",
        ),
        shared.DEMO,
        shared.ON_ERROR,
        shared.JOBS,
        shared.LOG_KIND,
        shared.SHOW_SECRETS._replace(help="export passwords, keys and salts instead of redacting them; the files say so"),
        shared.OLD_COLUMNS,
        flag("--quiet", "-q", help="print no progress bar and no summary"),
        shared.VERSION,
    ),
    arguments=(shared.LOG_PATHS,),
    examples=(
        ("metashell export /var/lib/kafka/__cluster_metadata-0 --out tables", "a node's metadata log as Parquet"),
        ("metashell export dumps/ --out tables --tables partition,partition_change", "two tables of all clusters below dumps"),
        ("metashell export FILE.log --out tables --on-error skip --tables all", "everything around a corrupt batch, with all JSON text"),
        ("metashell export s3://dumps/today --out s3://tables/today", "from a store into a store, where every table is a folder of parts"),
        ("metashell export /dumps/2026-11-20 --append --out s3://bucket/lake", "what is new since yesterday, into a lake"),
    ),
    epilog=(("TABLES OF EVENTS", shared.EVENT_TABLES), shared.EXIT_STATUS),
    files=(
        *shared.LOG_FILES,
        ("DIR/_manifest.json", "what an export has written, so that the next one reads only what is new"),
        ("DIR/_metashell", "the ledger of a lake: what it holds of which logs"),
    ),
    environment=(*shared.TEMPORARY_ENVIRONMENT, *shared.STORE_ENVIRONMENT),
)
