"""metashell report: questions to the logs of a cluster, answered on this machine."""

from __future__ import annotations

import sys

from metashell.cli.common import STATUS_FAILED, STATUS_OK, complain, declared_tool, with_way_out
from metashell.options.report_tools import REPORT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.reports.local import LocalAnswers
    from metashell.stores import Store

NAME = "metashell report"


def _report(values: SimpleNamespace) -> int:
    """Answer the report that the command line names; SIGTERM leaves nothing of it in the folder for temporary files."""
    from metashell.cli.stop_signals import left_in_order
    from metashell.columns.packages import only_what_we_use, require_packages

    require_packages("report", "pyarrow", "numpy", "duckdb")
    with left_in_order(), only_what_we_use():
        return _answered(values)


def _answered(values: SimpleNamespace) -> int:
    """Print the answer, or write files and print their names."""
    from metashell.errors import LogCorruptError
    from metashell.options.report_tools import ALL, STANDARD_OUTPUT
    from metashell.progress import shown_while
    from metashell.reports import REPORTS
    from metashell.reports.forms import left_out, left_out_lines, notes_on
    from metashell.reports.local import run_local

    is_all = values.report == ALL
    is_printed = values.out in (None, STANDARD_OUTPUT)
    form = _printed_form(values.format, is_all) if is_printed else ""
    forms = [] if is_printed else _file_forms(values.format)
    store = None if is_printed else _output(values)
    wanted = [REPORTS[name] for name in (REPORTS if is_all else (values.report,))]
    try:
        with shown_while("reading the logs"):
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
    from metashell.stores import open_store

    store = open_store(values.out, sources=values.paths)
    store.require_writable()
    return store


def _printed_form(forms: list[str], is_all: bool) -> str:
    from metashell.errors import UsageError
    from metashell.reports.printed import chosen_form

    form = chosen_form(forms, of_several=is_all)
    if form == "parquet" and sys.stdout.isatty():
        raise UsageError("parquet is not for a terminal: redirect it, or name a directory with --out", "--format")
    return form


def _file_forms(forms: list[str]) -> list[str]:
    """The forms of files. Errors: UsageError for one that only standard output has."""
    from metashell.errors import UsageError
    from metashell.options.report_tools import FORMS

    for form in forms:
        if form not in FORMS:
            raise UsageError(f"{form} is for standard output; --out writes {', '.join(FORMS)}", "--format")
    return list(dict.fromkeys(forms)) or list(FORMS)


def _print(answers: LocalAnswers, form: str, values: SimpleNamespace, notes: tuple[str, ...]) -> None:
    from metashell.forms import standard_output
    from metashell.reports import REPORTS
    from metashell.reports.forms import answer_parts
    from metashell.reports.printed import TEXT_FORMS, print_answers

    found = [(REPORTS[name], answer) for name, answer in answers.tables.items()]
    if form in TEXT_FORMS:
        print_answers(standard_output(), found, form)
        return
    report, answer = found[0]
    sys.stdout.flush()
    sys.stdout.buffer.writelines(answer_parts(report, answer, form, sources=_sources(values), notes=notes))


def _write(answers: LocalAnswers, forms: list[str], values: SimpleNamespace, notes: tuple[str, ...], store: Store) -> None:
    from metashell.options.report_tools import ALL
    from metashell.progress import shown_while
    from metashell.reports import REPORTS
    from metashell.reports.forms import write_answer, write_index
    from metashell.reports.today import judge_clusters

    sources = _sources(values)
    has_index = values.report == ALL and "html" in forms
    for name, answer in answers.tables.items():
        with shown_while(f"writing {name}"):
            written = write_answer(REPORTS[name], answer, store, forms, sources=sources, notes=notes, has_index=has_index)
        sys.stdout.write("".join(f"{path}\n" for path in written))
    if has_index:
        with shown_while("judging the state"):
            judged = judge_clusters(values.paths, on_error=values.on_error)
        found, faults = answers.tables, answers.fault_count
        index = write_index(store, found, answers.left_out, judged, sources=sources, notes=notes, fault_count=faults)
        sys.stdout.write(f"{index}\n")


def _sources(values: SimpleNamespace) -> str:
    from metashell.codec.uris import shown_uri

    return " ".join(map(shown_uri, values.paths))


main = declared_tool(NAME, REPORT, _report, tells_interrupts=True)
