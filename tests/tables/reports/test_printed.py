"""A table for people: on a terminal nothing of data is obeyed, and what is open is coloured."""

from __future__ import annotations

from io import StringIO

from metashell.common.forms import Display
from metashell.common.terminal import ROLES, UNUSUAL
from metashell.tables.reports import REPORTS
from metashell.tables.reports.catalog import cell_text
from metashell.tables.reports.local import declared_schema
from metashell.tables.reports.output import print_answers
from tests.tables.reports.test_page import hostile_answer


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
