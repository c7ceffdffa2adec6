"""Pages in a browser: at 1300 and at 390 px, light and dark, nothing is off the screen, cut, on something else or too faint."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from metashell.common.html_page import html_page
from metashell.tables.reports import REPORTS
from metashell.tables.reports.local import declared_schema, run_local
from metashell.tables.reports.page import judge_clusters, render_index, render_page, styles
from tests.chromium import Chromium, chromium
from tests.golden_cases import SUBSET_ROOT
from tests.tables.reports.test_page import HOSTILE

pytestmark = pytest.mark.slow
STOPPED = SUBSET_ROOT / "4.3.1/main/data/stopped"
WIDTHS = (1300, 390)
LONG = "a" * 249
AT = datetime(2026, 2, 3, 4, 5, 6, 789_000, UTC)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with chromium(tmp_path_factory.mktemp("chromium")) as found:
        yield found


def troubles(browser: Chromium, path: Path, html: str) -> list[str]:
    """What is wrong with a page on each screen."""
    path.write_text(html, encoding="utf-8")
    found = []
    for width in WIDTHS:
        for is_dark in (False, True):
            browser.open(path, width, is_dark=is_dark)
            seen = browser.look()
            assert seen["texts"] > 5, "there is something to see"
            assert browser.requests == [path.resolve().as_uri()], "a page loads nothing"
            found += [f"{width} {'dark' if is_dark else 'light'}: {problem}" for problem in seen["problems"]]
    return found


def rows_that_are_hard_to_show(name: str) -> pa.Table:
    """Names that are long or hostile, many series, times over years, numbers of every size."""
    report = REPORTS[name]
    samples: dict[str, Any] = {"boolean": True, "integers": list(range(40))}
    rows = []
    for number in range(30):
        texts = [LONG, HOSTILE, f"topic-{number}", "open"]
        row = {column: samples.get(kind) for column, kind in report.columns.items()}
        for place, (column, kind) in enumerate(report.columns.items()):
            if kind == "string":
                row[column] = texts[(place + number) % len(texts)]
            elif kind in ("integer", "number"):
                row[column] = 10 ** (number % 16) * (1 if number % 7 else -1)
            elif kind == "time":
                row[column] = AT + timedelta(days=number * number, seconds=place)
        row |= {column: value for column, value in (("source", "log"), ("scope", "broker")) if column in row}
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=declared_schema(report))


def test_pages_and_index_of_a_real_cluster(browser: Chromium, tmp_path: Path) -> None:
    answers = run_local(list(REPORTS.values()), [str(STOPPED)])
    for name, answer in answers.tables.items():
        html = render_page(REPORTS[name], answer, sources="/var/lib/kafka", has_index=True)
        assert troubles(browser, tmp_path / f"{name}.html", html) == []
    index = render_index(answers.tables, answers.left_out, judge_clusters([str(STOPPED)]), sources="/var/lib/kafka")
    assert troubles(browser, tmp_path / "index.html", index) == []


@pytest.mark.parametrize("name", REPORTS)
def test_pages_of_rows_that_are_hard_to_show(browser: Chromium, tmp_path: Path, name: str) -> None:
    html = render_page(REPORTS[name], rows_that_are_hard_to_show(name), sources=LONG, notes=(HOSTILE, LONG))
    assert troubles(browser, tmp_path / f"{name}.html", html) == []


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<p style="white-space: nowrap">' + "wide " * 400 + "</p>", "off the screen"),
        (f'<div class="wide"><pre style="white-space: pre">{LONG * 3}</pre></div>', "hides"),
        ('<div class="x"><span style="left:50%">00:21:16</span><span style="left:51%">00:21:17</span></div>', "overlap of"),
        ('<p style="color: var(--line)">faint</p>', "contrast"),
    ],
)
def test_the_check_finds_what_a_person_could_not_read(browser: Chromium, tmp_path: Path, body: str, problem: str) -> None:
    html = html_page("wide on purpose", "one two three four five six", styles(), ["<p>one</p><p>two</p><p>three</p><p>four</p>", body])
    found = troubles(browser, tmp_path / "page.html", html)
    assert [one for one in found if problem in one], found
