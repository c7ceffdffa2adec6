"""The forms of answers."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common import forms
from metashell.common.forms import (
    Display,
    aligned,
    compact_json,
    counted,
    csv_cell,
    fitted,
    plain_text,
    pretty_json,
    text_width,
    write_objects,
    write_rows,
    write_value,
)
from metashell.common.options import RawCsv, one_of
from metashell.common.terminal import colored_json
from tools.tool_list import TOOLS

CELLS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.lists(st.integers(), max_size=3)
COLUMNS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), min_size=1, max_size=8)


@st.composite
def answers(draw):
    columns = draw(COLUMNS)
    return columns, draw(st.lists(st.lists(CELLS, min_size=len(columns), max_size=len(columns)), max_size=5))


class Shown:
    """A display and what was written to it."""

    def __init__(self, **traits):
        self.notes: list[str] = []
        self.display = Display(StringIO(), note=self.notes.append, **traits)

    @property
    def text(self) -> str:
        return self.display.out.getvalue()


def rows_text(form, columns, rows, **traits) -> str:
    shown = Shown(**traits)
    write_rows(shown.display, form, columns, rows)
    return shown.text


@given(answers(), st.integers(1, 120))
def test_no_row_of_a_table_is_broken_or_wider_than_its_terminal(answer, width):
    columns, rows = answer
    shown = Shown(is_terminal=True, width=width)
    write_rows(shown.display, "table", columns, rows)
    lines = shown.text.split("\n")
    assert len(lines) == len(rows) + 2
    assert max(map(text_width, lines)) <= width
    assert all(line.isprintable() for line in lines if line.isascii())


@given(answers())
def test_in_a_pipe_a_table_cuts_nothing(answer):
    columns, rows = answer
    lines = rows_text("table", columns, rows).split("\n")
    assert len(lines) == len(rows) + 2
    assert not any("…" in line for line in lines) or any("…" in str(cell) for row in [columns, *rows] for cell in row)


@given(answers(), st.booleans())
def test_json_is_json_everywhere(answer, is_terminal):
    columns, rows = answer
    text = rows_text("json", columns, rows, is_terminal=is_terminal)
    text.encode()
    values = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    lines = rows_text("jsonl", columns, rows, is_terminal=is_terminal).split("\n")[:-1]
    assert [list(value.values()) for value in values] == [list(json.loads(line).values()) for line in lines]
    for value, row in zip(values, rows, strict=True):
        assert len(value) == len(columns)
        for shown, cell in zip(value.values(), row, strict=True):
            # What no JSON or no UTF-8 can hold becomes text.
            assert shown == cell or isinstance(cell, float) or not str(cell).isascii()


@given(answers())
def test_csv_reads_back(answer):
    columns, rows = answer
    found = list(csv.reader(StringIO(rows_text(RawCsv("csv"), columns, rows), newline="")))
    assert found[0] == columns
    for row, read in zip(rows, found[1:], strict=True):
        for cell, text in zip(row, read, strict=True):
            if isinstance(cell, str) and cell.isascii():
                assert text == cell
            elif cell is None:
                assert text == ""
            elif isinstance(cell, bool | list):
                assert json.loads(text) == cell


@given(answers())
def test_a_terminal_gets_nothing_that_it_would_obey(answer):
    columns, rows = answer
    for form in ("json", "jsonl", "csv", "table"):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", rows_text(form, columns, rows, is_terminal=True))


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "table"])
def test_rows_are_written_as_they_come(form):
    shown = Shown()

    def rows():
        for index in range(forms.SAMPLE + 100):
            yield [index, "x"]
            if index > forms.SAMPLE:
                assert f"{index}" in shown.text

    write_rows(shown.display, form, ["n", "t"], rows())


def test_a_table_has_numbers_to_the_right_and_a_dash_for_nothing():
    text = rows_text("table", ["name", "count", "note"], [["a", 5, None], ["long one", 1234, "ok"], [None, None, ""]])
    assert text == "NAME      COUNT  NOTE\na             5  -\nlong one   1234  ok\n-             -\n"


def test_the_widest_columns_give_way_first():
    assert fitted([3, 40, 30], 40) == [3, 17, 16]
    assert fitted([3, 40, 5], 100) == [3, 40, 5]
    assert fitted([13, 40, 40], 40, [0]) == [13, 11, 12]
    text = rows_text("table", ["id", "path"], [[7, "/image/topics/byName/orders"]], width=20)
    assert text == "ID  PATH\n 7  …s/byName/orders\n"
    assert rows_text("table", ["id", "name"], [[7, "a name that is long"]], width=14) == "ID  NAME\n 7  a name th…\n"


def test_columns_without_room_are_named():
    shown = Shown(width=20)
    write_rows(shown.display, "table", ["one", "two", "three", "four"], [["x" * 30] * 4])
    assert shown.text == "ONE        TWO\nxxxxxxxx…  xxxxxxxx…\n"
    assert shown.notes == ["no room for 2 columns (three, four): -o jsonl has all, and a pipe or file takes any width"]


def test_a_row_after_the_sample_is_cut_and_not_broken():
    shown = Shown(width=30)
    rows = [["a", "b"]] * forms.SAMPLE + [["wide" * 10, "w" * 100]]
    write_rows(shown.display, "table", ["first", "second"], rows)
    assert shown.text.splitlines()[-1] == "wide…  " + "w" * 22 + "…"


def test_one_huge_value_does_not_widen_all_rows_of_a_pipe():
    rows = [["x" * 100_000, 1], *([["y", 2]] * 50)]
    assert len(rows_text("table", ["text", "n"], rows)) < 150_000


def test_wide_and_combining_characters_keep_their_columns():
    assert [text_width(text) for text in ("ab", "日本", "e\u0301")] == [2, 4, 1]
    assert rows_text("table", ["name", "n"], [["日本", 1], ["ab", 2]]) == "NAME  N\n日本  1\nab    2\n"
    assert rows_text("table", ["n"], [["日本日本"]], width=6) == "N\n日本…\n"


def test_two_columns_of_one_name_are_both_there():
    assert rows_text("csv", ["a", "a"], [[1, 2]]) == "a,a\n1,2\n"
    assert rows_text("jsonl", ["a", "a", "a_1"], [[1, 2, 3]]) == '{"a":1,"a_1":2,"a_1_1":3}\n'


def test_numbers_that_json_lacks_are_strings():
    assert rows_text("jsonl", ["a"], [[float("nan")], [[float("-inf")]]]) == '{"a":"NaN"}\n{"a":["-Infinity"]}\n'
    assert rows_text("csv", ["a"], [[float("nan")], [float("inf")], [1.0]]) == "a\nNaN\nInfinity\n1.0\n"
    assert rows_text("table", ["a"], [[float("nan")], [1.5]]) == "  A\nNaN\n1.5\n"


def test_objects_have_the_columns_that_early_ones_have():
    shown = Shown()
    write_objects(shown.display, "csv", [*({"a": 1, "end": 9} for _ in range(forms.SAMPLE)), {"a": 1, "late": 2}], constant=("end",))
    assert shown.text.startswith("a,end\n1,9\n")
    assert shown.notes == ["no column for late, which no early row has; -o jsonl has all"]
    shown = Shown()
    write_objects(shown.display, "table", [{"a": 1, "end": 9}, {"b": None, "end": 9}], constant=("end",))
    assert shown.text == "A  B\n1  -\n-  -\n"


def test_nothing_is_an_empty_array_a_heading_or_no_line():
    found = {}
    for form in ("json", "jsonl", "csv", "table"):
        shown = Shown()
        write_objects(shown.display, form, [], columns=("path",))
        found[form] = shown.text
    assert found == {"json": "[]\n", "jsonl": "", "csv": "path\n", "table": "PATH\n"}


def test_one_value_is_indented_and_coloured_on_request():
    shown = Shown()
    write_value(shown.display, {"a": [1, 2], "b": "x"})
    assert shown.text == '{\n  "a": [1, 2],\n  "b": "x"\n}\n'
    shown = Shown(is_terminal=True, color=True)
    write_value(shown.display, {"a": "x\x1b[2J: ", "b": -1.5e3})
    assert shown.text == ('{\n  \x1b[34m"a"\x1b[0m: \x1b[32m"x\\u001b[2J: "\x1b[0m,\n  \x1b[34m"b"\x1b[0m: -1500.0\n}\n')


@pytest.mark.parametrize("width", [20, 40, 80])
def test_an_indented_value_keeps_to_the_width_of_the_terminal(width):
    shown = Shown(is_terminal=True, width=width)
    value = {"features": [{"name": "group.version", "min": 0, "max": 1}], "replicas": list(range(12)), "brokerId": 4}
    write_value(shown.display, value)
    assert json.loads(shown.text) == value
    assert max(map(len, shown.text.splitlines())) <= max(width, len('      "name": "group.version",'))


@given(st.text(st.characters()), st.booleans())
def test_a_line_is_its_text_and_a_line_feed(text, is_terminal):
    one, other = Shown(is_terminal=is_terminal), Shown(is_terminal=is_terminal)
    one.display.line(text)
    other.display.text(text)
    assert one.text == other.text + "\n"


def test_text_is_written_as_utf_8_wherever_it_goes():
    name = b"caf\xe9\x1b".decode("utf-8", "surrogateescape")
    for is_terminal, text in ((False, "caf\\xe9\x1b\n"), (True, "caf\\xe9\\x1b\n")):
        shown = Shown(is_terminal=is_terminal)
        shown.display.line(name)
        assert shown.text == text


def test_lines_of_columns_are_aligned():
    assert list(aligned([("bytes", "7"), ("a\nb", "12345", "more")], right=[1])) == ["bytes      7", "a\\nb   12345  more"]
    assert list(aligned([])) == []


def test_a_noun_agrees_with_its_number():
    assert [counted(count, "note") for count in (0, 1, 2)] == ["0 notes", "1 note", "2 notes"]
    assert counted(2, "directory", "directories") == "2 directories"
    assert counted(1, "directory", "directories") == "1 directory"


# ---- jSON for people and programs


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_every_form_is_the_same_json(value):
    assert json.loads(pretty_json(value)) == json.loads(compact_json(value)) == value


def test_a_record_has_a_line_for_each_field_and_short_arrays_stay_on_theirs():
    value = {"replicas": [1, 2, 3], "listener": {"host": "a", "port": 1}, "none": []}
    assert pretty_json(value) == '{\n  "replicas": [1, 2, 3],\n  "listener": {"host": "a", "port": 1},\n  "none": []\n}'


def test_a_long_array_is_broken():
    assert len(pretty_json(["x" * 60, "y" * 60]).splitlines()) == 4


def test_scalars_are_plain():
    assert [plain_text(value) for value in ("a b", True, None, 1.0, 7)] == ["a b", "true", "null", "1.0", "7"]


def test_a_large_text_is_not_coloured():
    assert "\x1b[" in colored_json('{"a": 1}')
    large = json.dumps("x" * 300_000)
    assert colored_json(large) == large


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("+1+cmd|' /C calc'!A0", "'+1+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("\t=1+1", "\\t=1+1"),
        ("\r=1+1", "\\x0d=1+1"),
        ("\x1b]0;x\x07\u202egnp.exe", "\\x1b]0;x\\x07\\u202egnp.exe"),
        ("a\nb", "a\\nb"),
        ("-1", "-1"),
        ("+5.5e-3", "+5.5e-3"),
        (-1, -1),
        (-1.5, -1.5),
        (None, ""),
        (True, "true"),
        (["=1"], '["=1"]'),
        ("orders", "orders"),
        ("", ""),
    ],
)
def test_a_cell_of_csv_is_neither_obeyed_nor_computed(value: object, cell: object) -> None:
    assert csv_cell(value) == cell


@pytest.mark.parametrize("word", ["csv", "csv-raw"])
def test_csv_raw_leaves_cells_as_they_are(word: str) -> None:
    form = one_of(word, ("text", "csv", "csv-raw"))
    assert form == "csv"
    out = StringIO()
    write_rows(Display(out), form, ["=name"], [["=1\x1b"]])
    assert out.getvalue() == ("=name\n=1\x1b\n" if word == "csv-raw" else "'=name\n'=1\\x1b\n")


def test_every_option_that_has_csv_has_csv_raw() -> None:
    left = list(TOOLS.values())
    seen = 0
    while left:
        spec = left.pop()
        left += spec.commands
        for option in spec.options:
            if "csv" in option.choices:
                seen += 1
                assert "csv-raw" in option.choices, (spec.name, option.names)
    assert seen > 30
