"""Answers on standard output: a table for people, or one of the forms for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from metashell.colors import HEADING, UNUSUAL
from metashell.errors import UsageError
from metashell.forms import Display, write_objects, write_rows
from metashell.reports.catalog import Report
from metashell.reports.openness import is_open, open_words, openness
from metashell.reports.words import CLUSTER, cell_text, plain_rows, python_rows, short_name, shown_columns, time_text, unix_ms

if TYPE_CHECKING:
    import pyarrow as pa

TABLE: Final = "table"
_OBJECTS: Final = ("json", "jsonl")
TEXT_FORMS: Final = (TABLE, "csv", *_OBJECTS)
"""What is printed here; the other forms are files."""
Answers = Sequence[tuple[Report, "pa.Table"]]


def chosen_form(forms: Sequence[str], *, of_several: bool) -> str:
    """The one form in which answers go to standard output. Errors: UsageError where it takes a directory."""
    if len(set(forms)) > 1:
        raise UsageError(f"standard output takes one form, not {' and '.join(dict.fromkeys(forms))}; --out DIR writes several", "--format")
    form = forms[0] if forms else TABLE
    if of_several and form not in (TABLE, *_OBJECTS):
        raise UsageError(f"{form} holds one report: name one, or write all with --out DIR", "--format")
    return form


def print_answers(display: Display, answers: Answers, form: str) -> None:
    """Write answers in one of `TEXT_FORMS`. In JSON each row of several reports says which it is from."""
    if form == "csv":
        ((_, answer),) = answers
        write_rows(display, form, answer.column_names, plain_rows(answer, time_text))
        return
    if form in _OBJECTS:
        write_objects(display, form, _objects(answers))
        return
    for number, (report, answer) in enumerate(answers):
        if number:
            display.line("")
        _print_table(display, report, answer)


def _objects(answers: Answers) -> Iterator[dict[str, Any]]:
    """A row of each answer as JSON has it: times are Unix milliseconds."""
    for report, answer in answers:
        name = {"report": report.name} if len(answers) > 1 else {}
        yield from ({**name, **dict(zip(answer.column_names, row, strict=True))} for row in plain_rows(answer, unix_ms))


def _print_table(display: Display, report: Report, answer: pa.Table) -> None:
    names = shown_columns(answer)
    clusters = [] if CLUSTER in names else answer.column(CLUSTER).slice(0, 1).to_pylist()
    title = ", ".join((report.title, *(f"cluster {cluster}" for cluster in clusters if cluster)))
    display.line(display.paint(HEADING, title))
    if not answer.num_rows:
        display.line("no rows")
        return
    write_rows(display, TABLE, list(map(short_name, names)), _rows(display, report, names, python_rows(answer)))
    if words := open_words(report, answer):
        display.line(words)


def _rows(display: Display, report: Report, names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Any]]:
    for row in rows:
        cells = [_cell(name, row[name]) for name in names]
        if report.open is not None:
            how = openness(report, row) or None
            cells[names.index(report.open[0])] = display.paint(UNUSUAL, how) if how and is_open(report, row) else how
        yield cells


def _cell(name: str, value: Any) -> Any:
    """A cell: numbers without a unit stay numbers, which stand to the right."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and short_name(name) == name):
        return value
    return cell_text(name, value)
