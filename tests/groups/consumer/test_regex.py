"""Regular expressions of members are RE2/J's: which patterns are valid, what they match, and the errors of invalid ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.groups.consumer.regex import RegexSyntaxError
from metashell.groups.consumer.subscription import LARGEST, Regex

_, (_, TEXTS_JSON), *LINES = (line.split("\t") for line in (Path(__file__).parent / "re2j.tsv").read_text("utf-8").splitlines())
TEXTS = json.loads(TEXTS_JSON)
ROWS = dict(LINES)


@pytest.mark.parametrize("pattern", ROWS)
def test_a_pattern_is_what_re2j_takes_it_for(pattern: str) -> None:
    try:
        regex = Regex(pattern)
    except RegexSyntaxError as error:
        assert str(error) == ROWS[pattern]
    else:
        assert "".join("1" if regex.matches(text) else "0" for text in TEXTS) == ROWS[pattern]


@given(st.text(alphabet="ab|()[]{}*+?.^$\\-,:12<>PdwQEpL", max_size=30), st.text(alphabet="ab-1", max_size=10))
def test_whatever_a_client_sends_is_a_pattern_or_is_refused_in_words(pattern: str, text: str) -> None:
    try:
        assert Regex(pattern).matches(text) in (True, False)
    except RegexSyntaxError as error:
        assert str(error)


def test_a_pattern_that_backtracks_for_ever_elsewhere_is_done_at_once() -> None:
    regex = Regex("(a*)*(a|aa)+(.*.*)*b")
    assert not regex.matches("a" * 249)
    assert regex.matches("a" * 248 + "b")


def test_a_pattern_may_not_grow_without_bounds() -> None:
    with pytest.raises(RegexSyntaxError, match="expression is too large"):
        Regex("((a{100}){100}){100}")
    assert Regex(f"a{{0,{LARGEST // 4}}}").matches("a" * 200)


@pytest.mark.parametrize("pattern", ["(" * 101 + "a" + ")" * 101, "a{" + "9" * 5000 + "}", "(?:" * 5000, "[" * 30_000, "a*" * 30_000])
def test_a_pattern_that_is_too_much_is_refused(pattern: str) -> None:
    with pytest.raises(RegexSyntaxError):
        Regex(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "((((){1000}){1000}){1000})",
        "(a{50}){50}",
        "((x{2,}){40}){40}",
        "([a-z-]?){1000}([a-z-]?){1000}([a-z-]?){1000}",
        "x" * 1_000_000,
        "(" * 1_000_000,
    ],
)
def test_a_pattern_that_would_stop_the_loop_is_refused_before_it_is_read(pattern: str) -> None:
    with pytest.raises(RegexSyntaxError):
        Regex(pattern)


def test_a_long_list_of_topics_is_a_pattern() -> None:
    names = [f"topic-{number}" for number in range(150)]
    regex = Regex("|".join(names))
    assert all(regex.matches(name) for name in names) and not regex.matches("topic-150")


@pytest.mark.slow
def test_what_is_remembered_of_a_pattern_is_bounded() -> None:
    regex = Regex("([a-z-]?){900}")
    for number in range(20):
        regex.matches(f"{number * 'ab-'}{'x' * 200}"[:249])
    assert regex._remembered <= 250_000
