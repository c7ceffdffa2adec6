"""Pages, charts and tables of answers that are hard to draw are those of the folder `drawn`, to the letter.

`pytest --rewrite` writes what they are now; how a page looks, `test_looks.py` asks a browser.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from metashell.common.forms import Display
from metashell.tables.reports import REPORTS
from metashell.tables.reports.charts import draw_chart
from metashell.tables.reports.local import declared_schema
from metashell.tables.reports.output import print_answers
from metashell.tables.reports.page import CurrentState, Judged, render_index, render_page

DRAWN_PAGES = Path(__file__).parent / "drawn"
AT = datetime(2026, 2, 3, 4, 5, 6, 789_000, UTC)
CHECKPOINTS = [f"{end:020}-{end // 9:010}.checkpoint" for end in range(3, 30)]
NAMES = ["orders", "a" * 80, *(f"name-{number}" for number in range(9))]
SPANS = {"leadership_churn": timedelta(days=3), "group_commits": timedelta(days=70), "timeline": timedelta(hours=5)}
"""What the times of a report span, where that is not half a minute."""
WORDS: dict[str, list[Any]] = {
    "kind": ["election", "broker", "broker", "feature", "config", "ISR storm"],
    "event": ["active", "fenced", "shutting down", "leads epoch 4", "e"],
    "ended_by": ["open", "restored", "topic removed"],
    "source": ["log", "log", "snapshot"],
    "scope": ["broker", "broker", "rack"],
    "checkpoint": CHECKPOINTS,
    "subject": ["broker 3", "broker 10", "broker x", "node 1", "node 2"],
    "cluster_id": ["c"],
}

GIVEN = {*WORDS, "is_open", "at", "hour", "log_offset"} - {"source", "scope", "checkpoint", "ended_by"}
"""Columns without nulls."""


def answer(name: str, count: int = 30) -> pa.Table:
    """Rows by chance, but the same each time: more series than colours, more bars than are drawn, nulls, zeros, all sizes."""
    chance, report = random.Random(name), REPORTS[name]
    span = SPANS.get(name, timedelta(seconds=31)).total_seconds()

    def value(column: str, kind: str) -> Any:
        if column not in GIVEN and chance.random() < 0.1:
            return None
        if column in WORDS:
            return chance.choice(WORDS[column])
        match kind:
            case "string":
                return chance.choice(NAMES)
            case "time":
                at = AT + timedelta(seconds=round(chance.random() * span))
                return at.replace(minute=0, second=0, microsecond=0) if column == "hour" else at
            case "boolean":
                return chance.random() < 0.3
            case "integers":
                return [chance.randrange(9) for _ in range(chance.randrange(4))]
            case "number":
                return chance.choice([0.5, 1e20, 1048576.0, -3.25])
        if column.endswith("_id"):
            return chance.randrange(12)
        return chance.choice([0, chance.randrange(12), chance.randrange(1 << 30 if column.endswith(("_ms", "bytes")) else 900)])

    rows = [{column: value(column, kind) for column, kind in report.columns.items()} for _ in range(count)]
    for row in rows:
        if row.get("started_at", AT) is None:
            row["lasted_ms"] = None
    return pa.Table.from_pylist(rows, schema=declared_schema(report))


def same(request: pytest.FixtureRequest, name: str, text: str) -> None:
    path = DRAWN_PAGES / name
    if request.config.getoption("--rewrite"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


DRAWN = ("broker_sessions", "group_commits", "leadership_churn", "metadata_growth", "replica_skew", "timeline")


@pytest.mark.parametrize("name", DRAWN)
def test_a_page_is_drawn_as_it_was(request: pytest.FixtureRequest, name: str) -> None:
    page = render_page(REPORTS[name], answer(name), sources="<here>", notes=("one & two",), has_index=True)
    body = page[page.index("<body") :]
    same(request, f"{name}.html", body[: body.index("<details>")].replace("><", ">\n<") + "\n")


def test_the_index_is_drawn_as_it_was(request: pytest.FixtureRequest) -> None:
    state = CurrentState("<c>", "at the end of its log, offset 9", "3 checks of 2 partitions: nothing found", [])
    answers = {name: answer(name, 5) for name in ("timeline", "broker_sessions", "quota_history")}
    page = render_index(answers, [REPORTS["group_commits"]], Judged([state], "x: no"), sources="<here>", notes=("one",), fault_count=1)
    same(request, "index.html", page[page.index("<body") :].replace("><", ">\n<"))


def test_charts_of_one_row_are_drawn_as_they_were(request: pytest.FixtureRequest) -> None:
    charts = [(chart, name) for name in REPORTS for chart in REPORTS[name].charts]
    drawn = [draw_chart(chart, answer(name, 1)) or f"{name}: {chart.title}: nothing\n" for chart, name in charts]
    same(request, "one-row.html", "".join(drawn))


def test_tables_are_printed_as_they_were(request: pytest.FixtureRequest) -> None:
    out = StringIO()
    display = Display(out, is_terminal=True, width=200, color=True)
    few = [(REPORTS[name], answer(name, 6)) for name in ("under_replicated", "unclean_elections", "quota_history", "acl_history")]
    print_answers(display, [*few, (REPORTS["timeline"], declared_schema(REPORTS["timeline"]).empty_table())], "table")
    for form, some in (("csv", few[:1]), ("json", few[:1]), ("jsonl", few), ("json", few)):
        print_answers(Display(out), some, form)
    same(request, "printed.txt", out.getvalue())
