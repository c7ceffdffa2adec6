"""The command lines of the analysts' commands: `metashell export` and `metashell sql`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import Argument, CommandSpec, Option, choice, file_option, flag

LOGS = ("metadata", "offsets", "transactions", "share", "remote_log")

_LOG = choice(
    "--log",
    metavar="KIND",
    choices=LOGS,
    help="what the files hold, where neither their records nor their directory shows it; files of other logs are skipped",
)
_STATE = """\
topics         what there is now, each thing once, however many copies of the log are given; codes are words
partitions     the same of partitions, with the names of topics joined in
brokers        and controllers, configs, acls, quotas, features, voters: each thing once too
sources        what the state was read from, and up to which offset"""
_TABLES = """\
TYPE           one for each record type: partition, partition_change, topic, register_broker, offset_commit, ...
records        on request: every record with offset, epoch, timestamp, type, version, size, its log, and its JSON text
control        control records: leader changes, snapshot headers, transaction markers
batches        a row for each batch: offsets, position, size, codec, producer
faults         what could not be read: file, offset, position, size, reason, and those bytes that hold no secret"""

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
        _LOG,
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
    epilog=(("TABLES OF EVENTS", _TABLES), shared.EXIT_STATUS),
    files=(
        *shared.LOG_FILES,
        ("DIR/_manifest.json", "what an export has written, so that the next one reads only what is new"),
        ("DIR/_metashell", "the ledger of a lake: what it holds of which logs"),
    ),
    environment=(*shared.TEMPORARY_ENVIRONMENT, *shared.STORE_ENVIRONMENT),
)

SQL_FORMS = ("text", "json", "jsonl", "csv", "table", "line")

SQL = CommandSpec(
    name="metashell-sql",
    summary="ask questions of logs in SQL: the current state, and the events that led to it",
    description="""
        Answers questions with DuckDB. There are two kinds of tables. The state has each thing once, as it is at the end of the log. The
        tables of `metashell export` are events: a row for each record that was written. Only the tables that a question names are
        read, events into temporary files below $TMPDIR that are deleted at the end; where a condition limits offset, epoch or timestamp,
        only what can meet it. A PATH may also be a lake, as `metashell export --append` makes it, which has the tables of events. A
        question can read these tables and nothing else: no file, no network, no extension. Ids are UUIDs, each beside its text as Kafka
        prints it (topic_id and topic_id_text), times are timestamps in UTC. `uuid_text(ID)` is the text of an id, `uuid_of(TEXT)` the id of
        a text, `time_of(MS)` the time of a number of ms.

        Without QUERY, questions are asked at a prompt, where Tab completes tables, columns and functions, or read from standard input. Each
        ends with a semicolon.
        """,
    options=(
        file_option("--file", "-f", help="read the questions from this file, - for standard input"),
        Option(
            names=("--at",),
            metavar="MOMENT",
            help="the state as of an offset (before its record), a time (2026-11-20T03:00) or a time ago (-2h); events are shown as ever",
        ),
        shared.DEMO,
        shared.output(*SQL_FORMS, help=f"{shared.OUTPUT.help}; line has a line for each column of a row"),
        shared.ON_ERROR,
        _LOG,
        shared.SHOW_SECRETS,
        shared.OLD_COLUMNS,
        shared.VERSION,
    ),
    arguments=(
        Argument(name="query", metavar="QUERY", nargs="?", help="one SELECT, or DESCRIBE TABLE, or SHOW TABLES"),
        shared.LOG_PATHS._replace(nargs="*"),
    ),
    examples=(
        ("metashell sql 'select topic, partition_id, isr from partitions where leader = -1' DIR", "which partitions have no leader now"),
        ("metashell sql 'select leader, count(*) from partitions group by all' DIR", "how many partitions each broker leads"),
        (
            "metashell sql 'select timestamp, leader from partition_change where leader >= 0' DIR -o csv",
            "who became leader and when",
        ),
        (
            "metashell sql --at -2h 'select * from partitions where is_under_replicated' DIR",
            "what lacked replicas two hours ago",
        ),
        ("metashell sql 'select count(*) from topic where timestamp >= current_date' s3://BUCKET/LAKE", "what was created today"),
        ("metashell sql DIR", "a prompt"),
        ("metashell sql -f questions.sql DIR -o jsonl", "the questions of a file"),
    ),
    epilog=(("TABLES OF THE STATE", _STATE), ("TABLES OF EVENTS", _TABLES), shared.EXIT_STATUS),
    files=(*shared.LOG_FILES, ("$XDG_STATE_HOME/metashell/sql_history", "the questions that were typed at the prompt")),
    environment=(*shared.TEMPORARY_ENVIRONMENT, *shared.STORE_ENVIRONMENT, *shared.TERMINAL_ENVIRONMENT),
)
