"""Pages stand alone, follow light and dark, and nothing in data becomes markup."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from metashell.tables.reports import REPORTS
from metashell.tables.reports.local import declared_schema
from metashell.tables.reports.output import WRITERS, notes_on, write_answer
from metashell.tables.reports.page import ROWS_MAX, render_page
from metashell.tables.stores import open_store

HOSTILE = '"><script>alert(1)</script>&\x1b]0;x\x07\u202e</svg></style>'
AT = datetime(2026, 11, 21, 0, 21, 31, 549_000, UTC)
SAMPLES: dict[str, Any] = {"string": HOSTILE, "integer": 7, "number": 0.5, "boolean": True, "time": AT, "integers": [4, 5]}
LOADING = {"src", "href", "data", "action", "srcset", "poster", "background", "xlink:href"}


def hostile_answer(name: str, rows: int = 3) -> pa.Table:
    report = REPORTS[name]
    row = {column: SAMPLES[kind] for column, kind in report.columns.items()}
    row |= {column: value for column, value in (("source", "log"), ("scope", "broker")) if column in row}
    return pa.Table.from_pylist([row] * rows, schema=declared_schema(report))


class Seen(HTMLParser):
    """The elements, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("name", REPORTS)
def test_a_page_runs_no_script_and_loads_nothing(name: str) -> None:
    seen = Seen(render_page(REPORTS[name], hostile_answer(name), sources=HOSTILE, notes=(HOSTILE,)))
    assert "figure" in seen.tags
    assert not {"script", "link", "iframe", "object", "embed", "img", "base", "form"} & set(seen.tags)
    assert not [pair for pair in seen.attributes if pair[0] in LOADING or pair[0].startswith("on")]
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in seen.attributes
    assert "alert(1)" in seen.text


@pytest.mark.parametrize("name", REPORTS)
def test_control_and_bidi_characters_of_data_are_escaped(name: str) -> None:
    text = render_page(REPORTS[name], hostile_answer(name), sources=HOSTILE)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


def test_a_page_follows_light_and_dark_and_its_charts_take_its_colours() -> None:
    text = render_page(REPORTS["under_replicated"], hostile_answer("under_replicated"), sources="here")
    assert "prefers-color-scheme: dark" in text
    assert "var(--series-0)" in text
    assert "var(--text)" in text
    assert "@import" not in text
    assert "url(" not in text


def test_two_pages_of_one_answer_are_equal() -> None:
    answer = hostile_answer("group_commits")
    assert render_page(REPORTS["group_commits"], answer, sources="x") == render_page(REPORTS["group_commits"], answer, sources="x")


def test_a_long_answer_shows_its_first_rows_and_how_many_there_are() -> None:
    text = render_page(REPORTS["broker_sessions"], hostile_answer("broker_sessions", ROWS_MAX + 5), sources="x")
    assert f"{ROWS_MAX + 5} rows, the first {ROWS_MAX} of them" in text
    assert text.count("<tr>") == ROWS_MAX + 1


@pytest.mark.parametrize("name", REPORTS)
def test_an_empty_answer_is_a_page_too(name: str) -> None:
    text = render_page(REPORTS[name], declared_schema(REPORTS[name]).empty_table(), sources="x")
    assert "0 rows" in text
    assert "<svg" not in text


def test_the_other_forms_hold_the_same_rows() -> None:
    answer = hostile_answer("under_replicated", 1)
    row = json.loads(b"".join(WRITERS["json"](answer)))[0]
    assert (row["topic"], row["started_at"], row["missing_at_start"]) == (HOSTILE, 1795220491549, [4, 5])
    cells = next(csv.DictReader(StringIO(b"".join(WRITERS["csv"](answer)).decode())))
    shown = HOSTILE.replace("\x1b", r"\x1b").replace("\x07", r"\x07").replace("\u202e", r"\u202e")
    assert (cells["topic"], cells["started_at"], cells["missing_at_start"]) == (shown, "2026-11-21T00:21:31.549Z", "[4,5]")
    from pyarrow import parquet

    assert parquet.read_table(pa.BufferReader(b"".join(WRITERS["parquet"](answer)))).equals(answer)


def test_files_appear_whole_and_tell_what_was_left_out_and_shown(tmp_path: Path) -> None:
    notes = notes_on(2, show_secrets=True)
    report = REPORTS["broker_sessions"]
    paths = write_answer(
        report, hostile_answer(report.name), open_store(str(tmp_path / "a/b")), ("html", "parquet"), sources="x", notes=notes
    )
    assert sorted(path.name for path in (tmp_path / "a/b").iterdir()) == ["broker_sessions.html", "broker_sessions.parquet"]
    assert "Secrets were asked for" in Path(paths[0]).read_text()
    from pyarrow import parquet

    assert b"2 corrupt" in parquet.read_schema(paths[1]).metadata[b"notes"]
