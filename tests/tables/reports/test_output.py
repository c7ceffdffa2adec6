"""An answer made a column at a time is the text that `metashell.common.forms` writes a row at a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.forms import Display, write_rows
from metashell.common.terminal import ROLES, UNUSUAL
from metashell.tables.columns.typed_arrays import list_codes
from metashell.tables.reports import REPORTS, output
from metashell.tables.reports.catalog import EARLIEST_MS, LATEST_MS, cell_text, datetime_text, plain_rows, unix_ms
from metashell.tables.reports.local import declared_schema
from metashell.tables.reports.output import csv_parts, json_parts, print_answers
from tests.tables.reports.test_page import hostile_answer

SCHEMA = pa.schema(
    [
        ("text", pa.string()),
        ("number", pa.int64()),
        ("amount", pa.float64()),
        ("flag", pa.bool_()),
        ("at", pa.timestamp("us", "UTC")),
        ("ids", pa.list_(pa.int64())),
    ]
)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
TEXTS = st.one_of(st.sampled_from(['a "quoted", text', "two\nlines", "cr\r", "", "é\u202e\x1b[1m", " "]), st.text(max_size=5))
TIMES = st.integers(EARLIEST_MS, LATEST_MS).map(lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms))
ROWS = st.lists(
    st.tuples(
        *(
            st.none() | values
            for values in (TEXTS, INT64, st.floats(), st.booleans(), TIMES, st.lists(st.integers(-2, 3) | INT64, max_size=3))
        )
    ),
    max_size=12,
)


def table_of(rows: list[Any]) -> pa.Table:
    return pa.table([pa.array([row[at] for row in rows], field.type) for at, field in enumerate(SCHEMA)], schema=SCHEMA)


def row_by_row(form: str, table: pa.Table) -> str:
    out = StringIO()
    write_rows(Display(out), form, table.column_names, plain_rows(table, unix_ms if form == "json" else datetime_text))
    return out.getvalue()


@pytest.mark.parametrize(("form", "parts"), [("json", json_parts), ("csv", csv_parts)])
@given(rows=ROWS, first=st.integers(0, 3))
def test_columns_make_the_text_that_rows_make(form: str, parts: Any, rows: list[Any], first: int) -> None:
    table = table_of(rows).slice(first)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output, "SLICE_ROWS", 5)
        assert b"".join(parts(table)).decode() == row_by_row(form, table)


def test_numbers_that_json_lacks_are_texts_and_lines_end_in_a_line_feed() -> None:
    table = table_of([("x", 1, float("nan"), None, None, None), ("y", 2, float("-inf"), None, None, None)])
    text = b"".join(json_parts(table)).decode()
    assert '"amount":"NaN"' in text
    assert '"amount":"-Infinity"' in text
    assert b"\r" not in b"".join(csv_parts(table))


@given(st.lists(st.none() | st.lists(INT64, max_size=3), max_size=20), st.integers(0, 3))
def test_lists_are_numbered_by_what_they_hold(lists: list[list[int] | None], first: int) -> None:
    column = pa.array(lists, pa.list_(pa.int64())).slice(first)
    codes, distinct = list_codes(column)
    known = distinct.to_pylist()
    assert [None if code < 0 else known[code] for code in codes.tolist()] == column.to_pylist()
    assert len(set(map(tuple, known))) == len(known)


# ---- A table for people: on a terminal nothing of data is obeyed, and what is open is coloured


def printed(name: str, form: str, *, color: bool = False, is_empty: bool = False) -> str:
    report = REPORTS[name]
    out = StringIO()
    answer = declared_schema(report).empty_table() if is_empty else hostile_answer(name)
    print_answers(Display(out, is_terminal=True, width=200, color=color), [(report, answer)], form)
    return out.getvalue()


def test_hostile_names_are_escaped_on_a_terminal_in_every_form() -> None:
    for name in REPORTS:
        for form in ("table", "csv", "json", "jsonl"):
            text = printed(name, form)
            assert not {"\x1b", "\x07", "\u202e"} & set(text), (name, form)
            assert r"\u202e" in text or "\\\\u202e" in text, (name, form)


def test_what_is_open_is_coloured() -> None:
    report = REPORTS["timeline"]
    assert report.open == ("is_open", True)
    assert f"\x1b[{ROLES[UNUSUAL]}mopen\x1b[0m" in printed("timeline", "table", color=True)
    assert "\x1b" not in printed("timeline", "table")


def test_an_answer_without_rows_says_so() -> None:
    assert printed("under_replicated", "table", is_empty=True) == "Under-replicated partitions\nno rows\n"
    assert printed("under_replicated", "json", is_empty=True) == "[]\n"


def test_numbers_are_exact_and_short() -> None:
    values = (1048576.0, 1234567.5, 0.1, 1e308, float("nan"), float("inf"))
    assert [cell_text("value", value) for value in values] == ["1048576", "1234567.5", "0.1", "1e+308", "nan", "inf"]
