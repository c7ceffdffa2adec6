"""metashell report: answers questions about a cluster from its logs. The command line of `spark-reports` is declared here too."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

from metashell.cli.tool import STATUS_FAILED, STATUS_OK, complain, declared_tool, with_way_out
from metashell.common import options
from metashell.common.options import REPORT_SUMMARIES, Argument, CommandSpec, Option, choice, file_option, flag

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.tables.reports.local import LocalAnswers
    from metashell.tables.stores import Store


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
_REPORTS = ("REPORTS", options.listed({**REPORT_SUMMARIES, ALL: "each report that the logs can answer"}))

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
    options=(_OUT, _PRINTED, options.DEMO, options.ON_ERROR, options.SHOW_SECRETS, options.VERSION),
    arguments=(
        Argument(name="report", choices=(*REPORT_SUMMARIES, ALL), type="choice", help="one of the reports below"),
        options.LOG_PATHS,
    ),
    examples=(
        ("metashell report timeline /var/lib/kafka", "what happened to the cluster: who is not active, then the newest"),
        ("metashell report under_replicated /var/lib/kafka --out answers", "which partitions lacked replicas, and for how long"),
        ("metashell report broker_sessions /var/lib/kafka --out - --format csv", "the same rows for a program"),
        ("metashell report all node-1 node-2 node-3 --out answers --format html", "every page and their index, from three nodes"),
    ),
    epilog=(_REPORTS, options.EXIT_STATUS),
    files=(
        *options.LOG_FILES,
        ("DIR/REPORT.parquet, .csv, .json, .html", "the answer of a report, in each form"),
        ("DIR/index.html", "the page over all reports"),
    ),
    environment=(*options.TEMPORARY_ENVIRONMENT, *options.STORE_ENVIRONMENT),
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
        Argument(name="job", choices=(*REPORT_SUMMARIES, ALL, *JOBS), type="choice", help="a report, or one of the jobs below"),
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
    epilog=(_REPORTS, ("JOBS", options.listed(JOBS)), options.EXIT_STATUS),
    files=options.LOG_FILES,
    environment=(
        ("PYSPARK_PYTHON", "the Python that Spark's workers run"),
        ("JAVA_HOME", "the Java that Spark runs on, 17 or later"),
        *options.STORE_ENVIRONMENT,
    ),
)


NAME = "metashell report"


def _report(values: SimpleNamespace) -> int:
    """Answer the report that the command line names; SIGTERM leaves nothing of it in the folder for temporary files."""
    from metashell.cli.tool import left_in_order
    from metashell.tables import only_what_we_use, require_packages

    require_packages("report", "pyarrow", "numpy", "duckdb")
    with left_in_order(), only_what_we_use():
        return _answered(values)


def _answered(values: SimpleNamespace) -> int:
    """Print the answer, or write files and print their names."""
    from metashell.common.errors import LogCorruptError
    from metashell.common.terminal import show_progress
    from metashell.tables.reports import REPORTS
    from metashell.tables.reports.local import run_local
    from metashell.tables.reports.output import left_out, left_out_lines, notes_on

    is_all = values.report == ALL
    is_printed = values.out in (None, STANDARD_OUTPUT)
    form = _printed_form(values.format, is_all) if is_printed else ""
    forms = [] if is_printed else _file_forms(values.format)
    store = None if is_printed else _output(values)
    wanted = [REPORTS[name] for name in (REPORTS if is_all else (values.report,))]
    try:
        with show_progress("reading the logs"):
            answers = run_local(wanted, values.paths, on_error=values.on_error, show_secrets=values.show_secrets)
    except LogCorruptError as error:
        raise with_way_out(error) from error
    notes = notes_on(answers.fault_count, show_secrets=values.show_secrets)
    if store is None:
        _print(answers, form, values, notes)
    else:
        _write(answers, forms, values, notes, store)
    for line in left_out_lines(answers.left_out):
        complain(NAME, line)
    if answers.fault_count:
        complain(NAME, left_out(answers.fault_count))
        return STATUS_FAILED
    return STATUS_OK


def _output(values: SimpleNamespace) -> Store:
    """Where answers go, which was asked whether it takes them. Errors: UsageError, before anything is read."""
    from metashell.tables.stores import open_store

    store = open_store(values.out, sources=values.paths)
    store.require_writable()
    return store


def _printed_form(forms: list[str], is_all: bool) -> str:
    from metashell.common.errors import UsageError
    from metashell.tables.reports.output import chosen_form

    form = chosen_form(forms, of_several=is_all)
    if form == "parquet" and sys.stdout.isatty():
        raise UsageError("parquet is not for a terminal: redirect it, or name a directory with --out", "--format")
    return form


def _file_forms(forms: list[str]) -> list[str]:
    """The forms of files. Errors: UsageError for one that only standard output has."""
    from metashell.common.errors import UsageError

    for form in forms:
        if form not in FORMS:
            raise UsageError(f"{form} is for standard output; --out writes {', '.join(FORMS)}", "--format")
    return list(dict.fromkeys(forms)) or list(FORMS)


def _print(answers: LocalAnswers, form: str, values: SimpleNamespace, notes: tuple[str, ...]) -> None:
    from metashell.common.forms import standard_output
    from metashell.tables.reports import REPORTS
    from metashell.tables.reports.output import TEXT_FORMS, answer_parts, print_answers

    found = [(REPORTS[name], answer) for name, answer in answers.tables.items()]
    if form in TEXT_FORMS:
        print_answers(standard_output(), found, form)
        return
    report, answer = found[0]
    sys.stdout.flush()
    sys.stdout.buffer.writelines(answer_parts(report, answer, form, sources=_sources(values), notes=notes))


def _write(answers: LocalAnswers, forms: list[str], values: SimpleNamespace, notes: tuple[str, ...], store: Store) -> None:
    from metashell.common.terminal import show_progress
    from metashell.tables.reports import REPORTS
    from metashell.tables.reports.output import write_answer, write_index
    from metashell.tables.reports.page import judge_clusters

    sources = _sources(values)
    has_index = values.report == ALL and "html" in forms
    for name, answer in answers.tables.items():
        with show_progress(f"writing {name}"):
            written = write_answer(REPORTS[name], answer, store, forms, sources=sources, notes=notes, has_index=has_index)
        sys.stdout.write("".join(f"{path}\n" for path in written))
    if has_index:
        with show_progress("judging the state"):
            judged = judge_clusters(values.paths, on_error=values.on_error)
        found, faults = answers.tables, answers.fault_count
        index = write_index(store, found, answers.left_out, judged, sources=sources, notes=notes, fault_count=faults)
        sys.stdout.write(f"{index}\n")


def _sources(values: SimpleNamespace) -> str:
    from metashell.disk.uris import shown_uri

    return " ".join(map(shown_uri, values.paths))


main = declared_tool(NAME, REPORT, _report, tells_interrupts=True)
