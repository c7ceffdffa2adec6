"""The page over all reports: what is wrong at the end of the logs, a timeline of each cluster, and where to read on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from metashell.colors import BAD
from metashell.forms import counted
from metashell.log.identity import name_of
from metashell.page import page, shown
from metashell.reports.catalog import REPORTS, Report
from metashell.reports.lanes import lanes
from metashell.reports.openness import open_rows, open_words
from metashell.reports.page import answer_table, note_lines, styles
from metashell.reports.today import Judged, Today

if TYPE_CHECKING:
    import pyarrow as pa

TIMELINE: Final = "timeline"
EVENTS_MAX: Final = 200
Answers = Mapping[str, "pa.Table"]


def render_index(
    answers: Answers, left_out: Sequence[Report], judged: Judged, *, sources: str, notes: Sequence[str] = (), fault_count: int = 0
) -> str:
    """The HTML of the index. `left_out` are the reports whose log was not there."""
    return page("Reports", sources, styles(), _body(answers, left_out, judged, notes, fault_count))


def _body(answers: Answers, left_out: Sequence[Report], judged: Judged, notes: Sequence[str], fault_count: int) -> Iterator[str]:
    yield from note_lines(notes)
    yield "<main>\n"
    if TIMELINE in answers:
        yield from _state(judged)
        yield "<h2>Timeline</h2>\n<figure>\n"
        yield from lanes(answers[TIMELINE].to_pylist())
        yield "</figure>\n"
    yield "<h2>Reports</h2>\n"
    yield from _entries(answers, left_out, fault_count)
    if TIMELINE in answers:
        yield from _events(answers[TIMELINE])
    yield "</main>\n"


def _state(judged: Judged) -> Iterator[str]:
    yield "<h2>What is wrong</h2>\n"
    if judged.trouble:
        yield f'<p class="note">The state could not be judged: {shown(judged.trouble)}</p>\n'
    for cluster in judged.clusters:
        yield from _verdict(cluster)


def _verdict(cluster: Today) -> Iterator[str]:
    is_bad = any(finding.check.severity == BAD for finding, _ in cluster.findings)
    yield f"<p>Cluster {shown(cluster.cluster_id)}, {shown(cluster.as_of)}.</p>\n"
    yield f'<p class="verdict {"unsafe" if is_bad else "safe"}">{shown(cluster.summary)}</p>\n<ul class="findings">\n'
    for finding, names in cluster.findings:
        more = finding.count - len(names)
        said = ", ".join(names) + (f" and {more} more" if more > 0 else "")
        yield f'<li><b class="{finding.check.severity}">{finding.count}</b><span>{shown(finding.check.words)}: '
        yield f'<span class="faint">{shown(said)}</span></span></li>\n'
    yield "</ul>\n"


def _entries(answers: Answers, left_out: Sequence[Report], fault_count: int) -> Iterator[str]:
    """Every report with what became of it: how much it answers, or why it does not."""
    missing = {report.name for report in left_out}
    yield '<ul class="reports">\n'
    for name, report in REPORTS.items():
        if name in answers:
            yield f'<li><a href="{name}.html">{shown(report.title)}</a> {_answered(report, answers[name], fault_count)}'
        elif name in missing:
            yield f'<li class="faint">{shown(report.title)} <b>not answered: no {shown(name_of(report.log).removeprefix("the "))} here</b>'
        else:
            continue
        yield f'<br><span class="faint">{shown(report.summary)}</span></li>\n'
    yield "</ul>\n"


def _answered(report: Report, answer: pa.Table, fault_count: int) -> str:
    opened = open_rows(report, answer).num_rows
    words = counted(answer.num_rows, "row")
    words += f", <b>{opened} open</b>" if opened else ""
    return words + (f', <b class="unusual">{counted(fault_count, "place")} left out</b>' if fault_count else "")


def _events(answer: pa.Table) -> Iterator[str]:
    report = REPORTS[TIMELINE]
    yield "<h2>What happened</h2>\n"
    yield from (f"<p>{shown(words)}</p>\n" for words in [open_words(report, answer)] if words)
    yield from answer_table(report, answer, EVENTS_MAX)
    more = answer.num_rows - EVENTS_MAX
    if more > 0:
        yield f'<p class="faint">and {more} more: <a href="{TIMELINE}.html">{shown(report.title)}</a></p>\n'
