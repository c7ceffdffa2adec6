"""metashell report: answers questions about a cluster from its logs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from metashell.cli.tool import declared_tool, left_in_order
from metashell.common import options
from metashell.common.command import STATUS_FAILED, STATUS_OK, complain, with_way_out
from metashell.common.errors import LogCorruptError, UsageError
from metashell.common.forms import standard_output
from metashell.common.options import ALL_REPORTS, ANSWER_FORMS, REPORT_SUMMARIES, Argument, CommandSpec, choice, file_option
from metashell.common.terminal import show_progress
from metashell.common.uris import shown_uri
from metashell.tables import only_what_we_use, require_packages

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.tables.reports.local import LocalAnswers
    from metashell.tables.reports.page import Judged
    from metashell.tables.stores import Store


PRINTED_FORMS = ("table", "csv", "json", "jsonl", "parquet", "html")
STANDARD_OUTPUT = "-"


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
        Argument(name="report", choices=(*REPORT_SUMMARIES, ALL_REPORTS), type="choice", help="one of the reports below"),
        options.LOG_PATHS,
    ),
    examples=(
        ("metashell report timeline /var/lib/kafka", "what happened to the cluster: who is not active, then the newest"),
        ("metashell report under_replicated /var/lib/kafka --out answers", "which partitions lacked replicas, and for how long"),
        ("metashell report broker_sessions /var/lib/kafka --out - --format csv", "the same rows for a program"),
        ("metashell report all node-1 node-2 node-3 --out answers --format html", "every page and their index, from three nodes"),
    ),
    epilog=(options.REPORTS_TEXT, options.EXIT_STATUS),
    files=(
        *options.LOG_FILES,
        ("DIR/REPORT.parquet, .csv, .json, .html", "the answer of a report, in each form"),
        ("DIR/index.html", "the page over all reports"),
    ),
    environment=(*options.TEMPORARY_ENVIRONMENT, *options.STORE_ENVIRONMENT),
)


NAME = "metashell report"


def _report(values: SimpleNamespace) -> int:
    """Answer the report that the command line names. SIGTERM removes its temporary files."""

    require_packages("report", "pyarrow", "numpy", "duckdb")
    with left_in_order(), only_what_we_use():
        return _answered(values)


def _answered(values: SimpleNamespace) -> int:
    """Print the answer, or write files and print their names."""
    from metashell.tables.reports import REPORTS
    from metashell.tables.reports.local import run_local
    from metashell.tables.reports.output import left_out, left_out_lines, notes_on

    is_all = values.report == ALL_REPORTS
    is_printed = values.out in (None, STANDARD_OUTPUT)
    form = _printed_form(values.format, is_all) if is_printed else ""
    forms = [] if is_printed else _file_forms(values.format)
    store = None if is_printed else _output(values)
    wanted = [REPORTS[name] for name in (REPORTS if is_all else (values.report,))]
    judged = None
    if is_all and "html" in forms:
        from metashell.tables.reports.page import judge_clusters

        # Before the tables: what they take is not given back wholly, and both together may be too much.
        with show_progress("judging the state"):
            judged = judge_clusters(values.paths, on_error=values.on_error)
    try:
        with show_progress("reading the logs"):
            answers = run_local(wanted, values.paths, on_error=values.on_error, show_secrets=values.show_secrets)
    except LogCorruptError as error:
        raise with_way_out(error) from error
    notes = notes_on(answers.fault_count, show_secrets=values.show_secrets)
    if store is None:
        _print(answers, form, values, notes)
    else:
        _write(answers, forms, values, notes, store, judged)
    for line in left_out_lines(answers.left_out):
        complain(NAME, line)
    if answers.fault_count:
        complain(NAME, left_out(answers.fault_count))
        return STATUS_FAILED
    return STATUS_OK


def _output(values: SimpleNamespace) -> Store:
    """Return the store for the answers, after a check that it can be written. Errors: UsageError, before anything is read."""
    from metashell.tables.stores import open_store

    store = open_store(values.out, sources=values.paths)
    store.require_writable()
    return store


def _printed_form(forms: list[str], is_all: bool) -> str:
    from metashell.tables.reports.output import chosen_form

    form = chosen_form(forms, of_several=is_all)
    if form == "parquet" and sys.stdout.isatty():
        raise UsageError("parquet is not for a terminal: redirect it, or name a directory with --out", "--format")
    return form


def _file_forms(forms: list[str]) -> list[str]:
    """Return the forms of files. Errors: UsageError for a form that only standard output has."""

    for form in forms:
        if form not in ANSWER_FORMS:
            raise UsageError(f"{form} is for standard output; --out writes {', '.join(ANSWER_FORMS)}", "--format")
    return list(dict.fromkeys(forms)) or list(ANSWER_FORMS)


def _print(answers: LocalAnswers, form: str, values: SimpleNamespace, notes: tuple[str, ...]) -> None:
    from metashell.tables.reports import REPORTS
    from metashell.tables.reports.output import TEXT_FORMS, answer_parts, print_answers

    found = [(REPORTS[name], answer) for name, answer in answers.tables.items()]
    if form in TEXT_FORMS:
        print_answers(standard_output(), found, form)
        return
    report, answer = found[0]
    sys.stdout.flush()
    sys.stdout.buffer.writelines(answer_parts(report, answer, form, sources=_sources(values), notes=notes))


def _write(
    answers: LocalAnswers, forms: list[str], values: SimpleNamespace, notes: tuple[str, ...], store: Store, judged: Judged | None
) -> None:
    from metashell.tables.reports import REPORTS
    from metashell.tables.reports.output import write_answer, write_index

    sources = _sources(values)
    for name, answer in answers.tables.items():
        with show_progress(f"writing {name}"):
            written = write_answer(REPORTS[name], answer, store, forms, sources=sources, notes=notes, has_index=judged is not None)
        sys.stdout.write("".join(f"{path}\n" for path in written))
    if judged is not None:
        found, faults = answers.tables, answers.fault_count
        index = write_index(store, found, answers.left_out, judged, sources=sources, notes=notes, fault_count=faults)
        sys.stdout.write(f"{index}\n")


def _sources(values: SimpleNamespace) -> str:

    return " ".join(map(shown_uri, values.paths))


main = declared_tool(NAME, REPORT, _report, tells_interrupts=True)
