"""The command line of `metashell sql`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import Argument, CommandSpec, Option, file_option

_STATE = """\
topics         what there is now, each thing once, however many copies of the log are given; codes are words
partitions     the same of partitions, with the names of topics joined in
brokers        and controllers, configs, acls, quotas, features, voters: each thing once too
sources        what the state was read from, and up to which offset"""

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
        shared.output(*shared.SQL_FORMS, help=f"{shared.OUTPUT.help}; line has a line for each column of a row"),
        shared.ON_ERROR,
        shared.LOG_KIND,
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
    epilog=(("TABLES OF THE STATE", _STATE), ("TABLES OF EVENTS", shared.EVENT_TABLES), shared.EXIT_STATUS),
    files=(*shared.LOG_FILES, ("$XDG_STATE_HOME/metashell/sql_history", "the questions that were typed at the prompt")),
    environment=(*shared.TEMPORARY_ENVIRONMENT, *shared.STORE_ENVIRONMENT, *shared.TERMINAL_ENVIRONMENT),
)
