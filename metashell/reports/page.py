"""A report as one HTML file: charts, the first rows, and how to read them; nothing is loaded, nothing is run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from metashell.forms import counted
from metashell.page import Cell, page, shown, table
from metashell.reports.catalog import Report
from metashell.reports.charts import draw
from metashell.reports.openness import is_open, open_words, openness
from metashell.reports.words import CLUSTER, cell_text, heading, shown_columns, time_text

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_MAX: Final = 1000
"""Rows of the table in a page; the other forms of the answer hold all."""
_WHOLE_MAX: Final = 12
_WHOLE_TIMES_MAX: Final = 2
"""Values of up to so many characters, and times in up to so many columns, have a line for themselves."""
INDEX: Final = "index.html"


@cache
def styles() -> str:
    """The rules that only pages of reports need."""
    return (files("metashell.reports") / "page.css").read_text(encoding="utf-8")


def render_page(report: Report, answer: pa.Table, *, sources: str, notes: Sequence[str] = (), has_index: bool = False) -> str:
    """The HTML of a report's answer. `sources` says what was read, `notes` what a reader must know of it."""
    return page(report.title, report.summary, styles(), _body(report, answer, sources, notes, has_index))


def _body(report: Report, answer: pa.Table, sources: str, notes: Sequence[str], has_index: bool) -> Iterator[str]:
    if has_index:
        yield f'<nav><a href="{INDEX}">All reports</a></nav>\n'
    yield from note_lines(notes)
    yield "<main>\n"
    yield from (drawn for chart in report.charts if (drawn := draw(chart, answer)))
    yield f"<h2>{_count_words(answer.num_rows)}</h2>\n<p>{shown(report.how_to_read)}</p>\n"
    yield from (f"<p>{shown(words)}</p>\n" for words in [open_words(report, answer)] if words)
    yield from answer_table(report, answer)
    yield "</main>\n"
    yield f'<footer>\n<p>{shown(sources)}</p>\n<details><summary>The question, in SQL</summary><pre class="sql">'
    yield f"{shown_lines(report.sql)}</pre></details>\n</footer>\n"


def note_lines(notes: Iterable[str]) -> Iterator[str]:
    """What a reader must know first."""
    return (f'<p class="note">{shown(note)}</p>\n' for note in notes)


def shown_lines(text: str) -> str:
    """Text of several lines, escaped."""
    return "\n".join(map(shown, text.splitlines()))


def _count_words(count: int) -> str:
    return counted(count, "row") if count <= ROWS_MAX else f"{counted(count, 'row')}, the first {ROWS_MAX} of them"


def answer_table(report: Report, answer: pa.Table, rows_max: int = ROWS_MAX) -> Iterator[str]:
    """The first rows of an answer as a table, or nothing where there are none."""
    if not answer.num_rows:
        return
    names = shown_columns(answer)
    clusters = [] if CLUSTER in names else answer.column(CLUSTER).slice(0, 1).to_pylist()
    yield from (f'<p class="faint">Cluster {shown(cluster)}.</p>\n' for cluster in clusters)
    shown_rows = answer.slice(0, rows_max).to_pylist()
    classes = {name: _css(report, name, shown_rows) for name in names}
    head = [Cell(heading(name), "" if heading(name) == name else name, classes[name]) for name in names]
    rows = ([_cell(report, name, row, classes[name]) for name in names] for row in shown_rows)
    yield from table(head, rows, len(shown_rows), rows_max=rows_max)


def _cell(report: Report, name: str, row: dict[str, Any], css: str) -> Cell:
    value = row[name]
    hint = time_text(value) if isinstance(value, datetime) else ""
    if report.open is None or name != report.open[0]:
        return Cell(cell_text(name, value), hint, css)
    return Cell(openness(report, row), hint, f"{css} open".lstrip() if is_open(report, row) else css)


def _css(report: Report, name: str, rows: Sequence[dict[str, Any]]) -> str:
    """The class of a column: short values stay whole, long ones are broken where there is no room."""
    kind = report.columns[name]
    if kind == "time":
        return "time whole" if list(report.columns.values()).count(kind) <= _WHOLE_TIMES_MAX else kind
    is_whole = all(len(cell_text(name, row[name])) <= _WHOLE_MAX for row in rows)
    return " ".join((*(["number"] if kind in ("integer", "number") else []), *(["whole"] if is_whole else [])))
