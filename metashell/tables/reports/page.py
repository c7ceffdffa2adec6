"""Reports as HTML: one page for each report with charts and first rows, and the index with the current state and a timeline.

Pages load nothing and run nothing. The current state of clusters comes from `metadata.checks`, as everywhere, never from events. Open
intervals are what had not ended when the log did."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
from pyarrow import compute

from metashell.common.errors import MetashellError
from metashell.common.forms import counted
from metashell.common.html_page import Cell, html_page, html_table, html_text
from metashell.common.terminal import BAD
from metashell.common.uris import shown_uri
from metashell.common.values import duration_text
from metashell.disk.directory import log_name_of
from metashell.metadata.checks import Facts, Health, judge
from metashell.tables.input_files import is_read_once
from metashell.tables.reports.catalog import (
    CLUSTER,
    REPORTS,
    Report,
    cell_text,
    datetime_of,
    datetime_text,
    heading,
    second_text,
    shown_columns,
)
from metashell.tables.reports.charts import draw_chart, timeline_charts
from metashell.tables.state.clusters import Cluster, read_state

if TYPE_CHECKING:
    from metashell.metadata.checks import Finding
    from metashell.tables.read_options import OnError


ROWS_MAX: Final = 1000
"""Rows of the table in a page; the other forms of the answer hold all."""
_WHOLE_MAX: Final = 12
_WHOLE_TIMES_MAX: Final = 2
"""Values of up to so many characters, and times in up to so many columns, have a line for themselves."""
INDEX: Final = "index.html"


@cache
def styles() -> str:
    """Return the rules that only pages of reports need."""
    return (files("metashell.tables.reports") / "page.css").read_text(encoding="utf-8")


def render_page(report: Report, answer: pa.Table, *, sources: str, notes: Sequence[str] = (), has_index: bool = False) -> str:
    """Return the HTML of a report's answer. `sources` says what was read, `notes` what a reader must know of it."""
    return html_page(report.title, report.summary, styles(), _body(report, answer, sources, notes, has_index))


def _body(report: Report, answer: pa.Table, sources: str, notes: Sequence[str], has_index: bool) -> Iterator[str]:
    if has_index:
        yield f'<nav><a href="{INDEX}">All reports</a></nav>\n'
    yield from note_lines(notes)
    yield "<main>\n"
    yield from (drawn for chart in report.charts if (drawn := draw_chart(chart, answer)))
    yield f"<h2>{_count_words(answer.num_rows)}</h2>\n<p>{html_text(report.how_to_read)}</p>\n"
    yield from (f"<p>{html_text(words)}</p>\n" for words in [open_words(report, answer)] if words)
    yield from answer_table(report, answer)
    yield "</main>\n"
    yield f'<footer>\n<p>{html_text(sources)}</p>\n<details><summary>The question, in SQL</summary><pre class="sql">'
    yield f"{shown_lines(report.sql)}</pre></details>\n</footer>\n"


def note_lines(notes: Iterable[str]) -> Iterator[str]:
    """Yield the notes that a reader must know first."""
    return (f'<p class="note">{html_text(note)}</p>\n' for note in notes)


def shown_lines(text: str) -> str:
    """Text of several lines, escaped."""
    return "\n".join(map(html_text, text.splitlines()))


def _count_words(count: int) -> str:
    return counted(count, "row") if count <= ROWS_MAX else f"{counted(count, 'row')}, the first {ROWS_MAX} of them"


def answer_table(report: Report, answer: pa.Table, rows_max: int = ROWS_MAX) -> Iterator[str]:
    """Yield the first rows of an answer as a table; nothing if there are none."""
    if not answer.num_rows:
        return
    names = shown_columns(answer)
    clusters = [] if CLUSTER in names else answer.column(CLUSTER).slice(0, 1).to_pylist()
    yield from (f'<p class="faint">Cluster {html_text(cluster)}.</p>\n' for cluster in clusters)
    shown_rows = answer.slice(0, rows_max).to_pylist()
    classes = {name: _css(report, name, shown_rows) for name in names}
    head = [Cell(heading(name), "" if heading(name) == name else name, classes[name]) for name in names]
    rows = ([_cell(report, name, row, classes[name]) for name in names] for row in shown_rows)
    yield from html_table(head, rows, len(shown_rows), rows_max=rows_max)


def _cell(report: Report, name: str, row: dict[str, Any], css: str) -> Cell:
    value = row[name]
    hint = datetime_text(value) if isinstance(value, datetime) else ""
    if report.open is None or name != report.open[0]:
        return Cell(cell_text(name, value), hint, css)
    return Cell(ending_column(report, row), hint, f"{css} open".lstrip() if is_open(report, row) else css)


def _css(report: Report, name: str, rows: Sequence[dict[str, Any]]) -> str:
    """Return the class of a column: short values stay whole, long ones are broken if there is no room."""
    kind = report.columns[name]
    if kind == "time":
        return "time whole" if list(report.columns.values()).count(kind) <= _WHOLE_TIMES_MAX else kind
    is_whole = all(len(cell_text(name, row[name])) <= _WHOLE_MAX for row in rows)
    return " ".join((*(["number"] if kind in ("integer", "number") else []), *(["whole"] if is_whole else [])))


TIMELINE: Final = "timeline"
EVENTS_MAX: Final = 200
Answers = Mapping[str, "pa.Table"]


def render_index(
    answers: Answers, left_out: Sequence[Report], judged: Judged, *, sources: str, notes: Sequence[str] = (), fault_count: int = 0
) -> str:
    """Return the HTML of the index. `left_out` are the reports whose log was not there."""
    return html_page("Reports", sources, styles(), _index_body(answers, left_out, judged, notes, fault_count))


def _index_body(answers: Answers, left_out: Sequence[Report], judged: Judged, notes: Sequence[str], fault_count: int) -> Iterator[str]:
    yield from note_lines(notes)
    yield "<main>\n"
    if TIMELINE in answers:
        yield from _state(judged)
        yield "<h2>Timeline</h2>\n<figure>\n"
        yield from timeline_charts(answers[TIMELINE].to_pylist())
        yield "</figure>\n"
    yield "<h2>Reports</h2>\n"
    yield from _entries(answers, left_out, fault_count)
    if TIMELINE in answers:
        yield from _events(answers[TIMELINE])
    yield "</main>\n"


def _state(judged: Judged) -> Iterator[str]:
    yield "<h2>What is wrong</h2>\n"
    if judged.trouble:
        yield f'<p class="note">The state could not be judged: {html_text(judged.trouble)}</p>\n'
    for cluster in judged.clusters:
        yield from _verdict(cluster)


def _verdict(cluster: CurrentState) -> Iterator[str]:
    is_bad = any(finding.check.severity == BAD for finding, _ in cluster.findings)
    yield f"<p>Cluster {html_text(cluster.cluster_id)}, {html_text(cluster.as_of)}.</p>\n"
    yield f'<p class="verdict {"unsafe" if is_bad else "safe"}">{html_text(cluster.summary)}</p>\n<ul class="findings">\n'
    for finding, names in cluster.findings:
        more = finding.count - len(names)
        said = ", ".join(names) + (f" and {more} more" if more > 0 else "")
        yield f'<li><b class="{finding.check.severity}">{finding.count}</b><span>{html_text(finding.check.words)}: '
        yield f'<span class="faint">{html_text(said)}</span></span></li>\n'
    yield "</ul>\n"


def _entries(answers: Answers, left_out: Sequence[Report], fault_count: int) -> Iterator[str]:
    """Every report with its result: how much it answers, or why it does not."""
    missing = {report.name for report in left_out}
    yield '<ul class="reports">\n'
    for name, report in REPORTS.items():
        if name in answers:
            yield f'<li><a href="{name}.html">{html_text(report.title)}</a> {_answered(report, answers[name], fault_count)}'
        elif name in missing:
            log = html_text(log_name_of(report.log).removeprefix("the "))
            yield f'<li class="faint">{html_text(report.title)} <b>not answered: no {log} here</b>'
        else:
            continue
        yield f'<br><span class="faint">{html_text(report.summary)}</span></li>\n'
    yield "</ul>\n"


def _answered(report: Report, answer: pa.Table, fault_count: int) -> str:
    opened = open_rows(report, answer).num_rows
    words = counted(answer.num_rows, "row")
    words += f", <b>{opened} open</b>" if opened else ""
    return words + (f', <b class="unusual">{counted(fault_count, "place")} left out</b>' if fault_count else "")


def _events(answer: pa.Table) -> Iterator[str]:
    report = REPORTS[TIMELINE]
    yield "<h2>What happened</h2>\n"
    yield from (f"<p>{html_text(words)}</p>\n" for words in [open_words(report, answer)] if words)
    yield from answer_table(report, answer, EVENTS_MAX)
    more = answer.num_rows - EVENTS_MAX
    if more > 0:
        yield f'<p class="faint">and {more} more: <a href="{TIMELINE}.html">{html_text(report.title)}</a></p>\n'


# ---- the state at the end of the logs

_NAMES_MAX: Final = 5


class CurrentState(NamedTuple):
    """One cluster: its id, when its log ended, how many checks ran and which did not, what they found, and the first names of each."""

    cluster_id: str
    as_of: str
    summary: str
    findings: list[tuple[Finding, list[str]]]


class Judged(NamedTuple):
    """The clusters, or why they could not be judged."""

    clusters: list[CurrentState]
    trouble: str = ""


def judge_clusters(paths: Sequence[str], *, on_error: OnError = "fail") -> Judged:
    """Return the state of every metadata log at the paths. What can be read only once is left to the tables."""
    once = next((path for path in paths if is_read_once(path) and not os.path.isdir(path)), None)
    if once is not None:
        return Judged([], f"{shown_uri(once)}: can be read only once, and the answers are made from it")
    try:
        return Judged([_current_state(cluster) for cluster in read_state(paths, on_error=on_error)])
    except MetashellError as error:
        return Judged([], str(error))
    finally:
        # Loading hides all objects from the collector, and DuckDB complains on stderr about those of its own that outlive it.
        gc.unfreeze()
        pa.default_memory_pool().release_unused()


def _current_state(cluster: Cluster) -> CurrentState:
    health = Health(cluster.image)
    verdict = judge(Facts(health=health))
    causes = [finding for root, below in verdict.causes() for finding in (root, *below)]
    findings = [(finding, [found.name for found in finding.first(_NAMES_MAX)]) for finding in causes]
    partitions = counted(health.counts()["partitions"], "partition")
    return CurrentState(cluster.cluster_id, _as_of(cluster), verdict.summary(partitions), findings)


def _as_of(cluster: Cluster) -> str:
    at = cluster.image.provenance
    words = f"at the end of its log, offset {at.offset}"
    if at.timestamp_ms >= 0:
        words += f", {second_text(datetime_of(at.timestamp_ms))}"
    if at.certain_to is None:
        return f"{words}; how much of it was committed is not known here"
    return f"{words}; what follows offset {at.certain_to - 1} may not have been committed" if at.certain_to < at.end_offset else words


# ---- rows that had not ended


def is_open(report: Report, row: Mapping[str, Any]) -> bool:
    """Return whether what the row describes lasts beyond the end of the log."""
    return report.open is not None and row[report.open[0]] == report.open[1]


def ending_column(report: Report, row: Mapping[str, Any]) -> str:
    """Return the words of the column that tells open rows from others: `open`, or how it ended where that is known."""
    assert report.open is not None
    value = row[report.open[0]]
    return "open" if is_open(report, row) else "" if value is None or isinstance(value, bool) else cell_text(report.open[0], value)


def open_rows(report: Report, answer: pa.Table) -> pa.Table:
    """Return the rows of what had not ended."""
    if report.open is None:
        return answer.slice(0, 0)

    column, value = report.open
    return answer.filter(compute.equal(answer.column(column), value))


def open_words(report: Report, answer: pa.Table) -> str:
    """Return how many had not ended, when that was, and how long the longest had lasted by then; empty if all had ended."""
    if report.open is None:
        return ""

    rows = open_rows(report, answer).select(["lasted_ms", report.open_since])
    rows = rows.filter(compute.and_(rows.column(0).is_valid(), rows.column(1).is_valid()))
    if not rows.num_rows:
        return ""
    lasted = rows.column(0)
    since_ms = rows.column(1).cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
    end_ms = compute.max(compute.add(since_ms, lasted)).as_py()
    at = second_text(datetime_of(end_ms))
    were = f"{counted(rows.num_rows, 'row')} {'was' if rows.num_rows == 1 else 'were'} open"
    return f"{were} at {at}, the end of the log; the longest for {duration_text(compute.max(lasted).as_py())} by then."
