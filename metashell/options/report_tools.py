"""The command lines of `metashell report` and `spark-reports`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import Argument, CommandSpec, Option

REPORT_SUMMARIES = {
    "leadership_churn": "leaders won and lost, ISR shrinks, expands",
    "unclean_elections": "unclean elections, ELR use, leaderless",
    "under_replicated": "which partitions lacked replicas, how long",
    "topic_history": "topics and configurations: every change",
    "broker_sessions": "registrations, fencing, orderly shutdowns",
    "controller_elections": "leaders of the metadata quorum",
    "metadata_growth": "records and bytes by type, checkpoints",
    "group_rebalances": "generations, members, moved partitions",
    "group_offsets": "commits, rewinds and deletions by hour",
}
ALL = "all"
FORMS = ("parquet", "csv", "json", "html")
JOBS = {
    "export": "tables as Parquet, by cluster and date",
    "stream": "one table of growing logs, until stopped",
}

_WIDTH = max(map(len, REPORT_SUMMARIES)) + 2


def _listed(entries: dict[str, str]) -> str:
    return "\n".join(f"{name:<{_WIDTH}}{summary}" for name, summary in entries.items())


_PATHS = Argument(
    name="paths", nargs="+", metavar="PATH", kind="file", help="logs, checkpoints, log directories, or folders with those of many nodes"
)
_OUT = Option(names=("--out",), metavar="DIR", type="path", required=True, help="where files are written; made if absent")
_FORMAT = Option(
    names=("--format",),
    metavar="FORM",
    type="choice",
    choices=FORMS,
    multiple=True,
    help="a form of the answer; may be given again (default: all four)",
)
_ON_ERROR = Option(
    names=("--on-error",),
    metavar="WHAT",
    type="choice",
    choices=("fail", "skip"),
    default="fail",
    help="what a corrupt batch does: end the run, or be left out and counted",
)
_REPORTS = ("REPORTS", _listed({**REPORT_SUMMARIES, ALL: "each that the logs can answer"}))

REPORT = CommandSpec(
    name="metashell-report",
    summary="answer an operator's question from the logs of a cluster, as a table and as a page",
    description="""
        Each report reads the logs once, asks one question in SQL, and writes its answer as Parquet, CSV, JSON and a page that loads
        nothing from anywhere. Copies of a log that several nodes keep count once. The reports on groups read __consumer_offsets, all
        others the metadata log.
        """,
    options=(_OUT, _FORMAT, _ON_ERROR, shared.SHOW_SECRETS, shared.VERSION),
    arguments=(Argument(name="report", choices=(*REPORT_SUMMARIES, ALL), type="choice", help="one of those below"), _PATHS),
    examples=(
        ("metashell report under_replicated /var/lib/kafka --out answers", "which partitions lacked replicas, and for how long"),
        ("metashell report all node-1 node-2 node-3 --out answers --format html", "every page, from the directories of three nodes"),
    ),
    epilog=(_REPORTS, shared.EXIT_STATUS),
)

SPARK_REPORTS = CommandSpec(
    name="spark-reports",
    summary="the reports, exports and streams of Kafka's logs on Spark",
    description="""
        The same reports as `metashell report`, for inputs that outgrow one machine; export and stream write tables as Parquet. Without
        --master it runs on all cores of this machine, or as spark-submit says. Workers run the Python that PYSPARK_PYTHON names, by default
        this one.
        """,
    options=(
        _OUT,
        Option(names=("--master",), metavar="URL", help="where Spark runs: local[2], spark://HOST:PORT, yarn, k8s://..."),
        _FORMAT,
        Option(
            names=("--table",),
            metavar="NAME",
            multiple=True,
            help="for export and stream: a table; may be given again (default: all that occur)",
        ),
        _ON_ERROR,
        shared.SHOW_SECRETS,
        Option(
            names=("--split-size",),
            metavar="SIZE",
            type="size",
            default=0,
            help="about how much of a file one task reads (default: 8 to 32 MiB)",
        ),
        Option(names=("--once",), type="flag", help="stream what is there, then end"),
        shared.VERSION,
    ),
    arguments=(
        Argument(name="job", choices=(*REPORT_SUMMARIES, ALL, *JOBS), type="choice", help="a report, or one of the jobs below"),
        _PATHS,
    ),
    examples=(
        ("spark-reports metadata_growth dumps/ --out answers", "a report, on all cores"),
        ("spark-reports export hdfs:///dumps --out hdfs:///tables --master yarn", "all tables of a fleet, on a cluster"),
    ),
    epilog=(_REPORTS, ("JOBS", _listed(JOBS)), shared.EXIT_STATUS),
)
