"""The command lines of `metashell report` and `spark-reports`."""

from __future__ import annotations

from typing import Literal

from metashell.options import shared
from metashell.options.shared import REPORT_SUMMARIES
from metashell.options.spec import Argument, CommandSpec, Option, choice, file_option, flag

ALL = "all"
FORMS = ("parquet", "csv", "json", "html")
PRINTED_FORMS = ("table", "csv", "json", "jsonl", "parquet", "html")
STANDARD_OUTPUT = "-"
EXPORT_MODES: tuple[Literal["error", "append", "overwrite"], ...] = ("error", "append", "overwrite")
TABLE_FORMATS = ("delta", "iceberg")
JOBS = {
    "export": "tables as Parquet, by cluster and date, in a lake",
    "stream": "what is appended to growing logs, as Parquet, until stopped",
}

_FORMAT = choice(
    "--format",
    choices=(*FORMS, *TABLE_FORMATS),
    multiple=True,
    help="form of a report's answer, one of the first four, which it has all by default; for export what the tables are: parquet (the "
    "default), delta or iceberg",
)
_REPORTS = ("REPORTS", shared.listed({**REPORT_SUMMARIES, ALL: "each report that the logs can answer"}))

_OUT = file_option(
    "--out",
    metavar="DIR",
    help="directory or s3://bucket/folder to write to, made if it is not there; without it, or with -, the answer goes to standard output",
)
_PRINTED = choice(
    "--format",
    "--output",
    "-o",
    choices=PRINTED_FORMS,
    multiple=True,
    help="form of the answer; on standard output a table, and with --out all of parquet, csv, json and html, by default",
)

REPORT = CommandSpec(
    name="metashell-report",
    summary="answer an operator's question from the logs of a cluster, as a table and as a page",
    description="""
        Each report reads the logs once and asks one question in SQL. Its answer is printed as a table or, with --out DIR, written as
        Parquet, CSV, JSON and an HTML page that loads nothing from the network; the pages of all have an index with a timeline of the
        cluster. Copies of a log on several nodes count once. The reports on groups read __consumer_offsets, all others the metadata log.
        """,
    options=(_OUT, _PRINTED, shared.DEMO, shared.ON_ERROR, shared.SHOW_SECRETS, shared.VERSION),
    arguments=(Argument(name="report", choices=(*REPORT_SUMMARIES, ALL), type="choice", help="one of the reports below"), shared.LOG_PATHS),
    examples=(
        ("metashell report timeline /var/lib/kafka", "what happened to the cluster: who is not active, then the newest"),
        ("metashell report under_replicated /var/lib/kafka --out answers", "which partitions lacked replicas, and for how long"),
        ("metashell report broker_sessions /var/lib/kafka --out - --format csv", "the same rows for a program"),
        ("metashell report all node-1 node-2 node-3 --out answers --format html", "every page and their index, from three nodes"),
    ),
    epilog=(_REPORTS, shared.EXIT_STATUS),
    files=(
        *shared.LOG_FILES,
        ("DIR/REPORT.parquet, .csv, .json, .html", "the answer of a report, in each form"),
        ("DIR/index.html", "the page over all reports"),
    ),
    environment=(*shared.TEMPORARY_ENVIRONMENT, *shared.STORE_ENVIRONMENT),
)

SPARK_REPORTS = CommandSpec(
    name="spark-reports",
    summary="the reports, exports and streams of Kafka's logs on Spark",
    description="""
        The same reports as `metashell report`, for inputs that outgrow one machine; export and stream write tables as Parquet. What export
        writes is a lake, to which `metashell export --append` adds as well. Without
        --master it uses all cores of this machine, or what spark-submit sets. Workers run the Python that PYSPARK_PYTHON names, by
        default this one.
        """,
    options=(
        shared.OUT,
        Option(names=("--master",), metavar="URL", help="where Spark runs: local[2], spark://HOST:PORT, yarn, k8s://..."),
        _FORMAT,
        Option(
            names=("--table",),
            metavar="NAME",
            multiple=True,
            kind="table",
            help="for export and stream: only this table; all that occur by default",
        ),
        choice(
            "--mode",
            metavar="MODE",
            choices=EXPORT_MODES,
            help="for export: what becomes of a lake that is there. It is refused (the default), gets what it does not have yet, or its "
            "rows go once the new ones are there",
        ),
        flag("--dry-run", help="for export: say what the lake has of the logs, and what would be added"),
        flag("--replace", help="for export --mode append: remove what differs from the logs since one was cut and written anew"),
        Option(
            names=("--target-file-size",),
            metavar="SIZE",
            type="size",
            default=0,
            help="for export: put the small files of a table, cluster and day together, up to this size each. By default that is done "
            "once there are 8 of them, up to 128M",
        ),
        Option(
            names=("--catalog",),
            metavar="NAME",
            help="for export --format iceberg: the catalog of Spark's, and the namespace in it, that gets the tables, as in prod.kafka; "
            "by default they lie below DIR",
        ),
        Option(
            names=("--jars",),
            metavar="FILES",
            help="for export --format delta or iceberg: its jars, with commas between; by default they come from Maven, once",
        ),
        shared.ON_ERROR,
        shared.SHOW_SECRETS,
        shared.OLD_COLUMNS._replace(help=f"for export and stream: {shared.OLD_COLUMNS.help}"),
        Option(
            names=("--split-size",),
            metavar="SIZE",
            type="size",
            default=0,
            help="how much of a file one task reads, roughly; 8 to 32 MiB by default",
        ),
        flag("--once", help="stream what is there, then end"),
        shared.VERSION,
    ),
    arguments=(
        Argument(name="job", choices=(*REPORT_SUMMARIES, ALL, *JOBS), type="choice", help="a report, or one of the jobs below"),
        shared.LOG_PATHS,
    ),
    examples=(
        (
            "spark-reports export hdfs:///dumps/today --mode append --out hdfs:///lake --master yarn",
            "what is new since yesterday, into a lake",
        ),
        ("spark-reports metadata_growth dumps/ --out answers", "a report, on all cores"),
        ("spark-reports export hdfs:///dumps --out hdfs:///tables --master yarn", "all tables of a fleet, on a cluster"),
    ),
    epilog=(_REPORTS, ("JOBS", shared.listed(JOBS)), shared.EXIT_STATUS),
    files=shared.LOG_FILES,
    environment=(
        ("PYSPARK_PYTHON", "the Python that Spark's workers run"),
        ("JAVA_HOME", "the Java that Spark runs on, 17 or later"),
        *shared.STORE_ENVIRONMENT,
    ),
)
