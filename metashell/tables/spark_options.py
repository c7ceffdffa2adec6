"""The command line of spark-reports, declared among the tables so that help, man pages and completions need no Spark."""

from __future__ import annotations

from typing import Literal

from metashell.common import options
from metashell.common.options import ALL_REPORTS, ANSWER_FORMS, REPORT_SUMMARIES, Argument, CommandSpec, Option, choice, flag

EXPORT_MODES: tuple[Literal["error", "append", "overwrite"], ...] = ("error", "append", "overwrite")
TABLE_FORMATS = ("delta", "iceberg")
JOBS = {
    "export": "tables as Parquet, by cluster and date, in a lake",
    "stream": "what is appended to growing logs, as Parquet, until stopped",
}

_FORMAT = choice(
    "--format",
    choices=(*ANSWER_FORMS, *TABLE_FORMATS),
    multiple=True,
    help="form of a report's answer, one of the first four, which it has all by default; for export what the tables are: parquet (the "
    "default), delta or iceberg",
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
        options.OUT,
        Option(names=("--master",), metavar="URL", help="where Spark runs: local[2], spark://HOST:PORT, yarn, k8s://..."),
        _FORMAT,
        Option(
            names=("--table",),
            metavar="NAME",
            multiple=True,
            kind="table",
            help="for export and stream: only this table; by default all that occur",
        ),
        choice(
            "--mode",
            metavar="MODE",
            choices=EXPORT_MODES,
            help="for export into an existing lake: refuse it (the default), add what it does not have yet, or replace its "
            "rows once the new ones are written",
        ),
        flag("--dry-run", help="for export: show what the lake has of the logs, and what would be added"),
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
            "by default they are written below DIR",
        ),
        Option(
            names=("--jars",),
            metavar="FILES",
            help="for export --format delta or iceberg: its jars, with commas between; by default they come from Maven, once",
        ),
        options.ON_ERROR,
        options.SHOW_SECRETS,
        options.OLD_COLUMNS._replace(help=f"for export and stream: {options.OLD_COLUMNS.help}"),
        Option(
            names=("--split-size",),
            metavar="SIZE",
            type="size",
            default=0,
            help="how much of a file one task reads, roughly; 8 to 32 MiB by default",
        ),
        flag("--once", help="stream what is there, then end"),
        options.VERSION,
    ),
    arguments=(
        Argument(name="job", choices=(*REPORT_SUMMARIES, ALL_REPORTS, *JOBS), type="choice", help="a report, or one of the jobs below"),
        options.LOG_PATHS,
    ),
    examples=(
        (
            "spark-reports export hdfs:///dumps/today --mode append --out hdfs:///lake --master yarn",
            "what is new since yesterday, into a lake",
        ),
        ("spark-reports metadata_growth dumps/ --out answers", "a report, on all cores"),
        ("spark-reports export hdfs:///dumps --out hdfs:///tables --master yarn", "all tables of a fleet, on a cluster"),
    ),
    epilog=(options.REPORTS_TEXT, ("JOBS", options.listed(JOBS)), options.EXIT_STATUS),
    files=options.LOG_FILES,
    environment=(
        ("PYSPARK_PYTHON", "the Python that Spark's workers run"),
        ("JAVA_HOME", "the Java that Spark runs on, 17 or later"),
        *options.STORE_ENVIRONMENT,
    ),
)
