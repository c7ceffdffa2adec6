"""The language of --where: what it means, and that it is nothing else of Python."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.shell.expressions import parse_where
from metashell.shell.words import CaretError

FIELDS = {"five": 5, "text": "us-east-1", "yes": True, "no": False, "items": ["a", 2, None], "none": None, "deep": {"k": 1}, "é": 1}


def holds(text: str) -> bool:
    return parse_where(text).holds(FIELDS.get)


@pytest.mark.parametrize(
    "text",
    [
        "five == 5", "five != 6", "five == 5.0", "4 < five <= 5 < 6", " five > -1", "text > 'us'", "'east' in text",
        "'a' in items", "null in items", "five in (1, 5)", "five not in [1, -5]", "'k' in deep", "not (none > 5)",
        "none == null", "gone == None", "len(items) == 3", "len(text) > 8", "yes", "not no", "yes == true",
        "items == ['a', 2, null]", "no or yes and five", "not (yes and no)", "é == 1", "five != 'five'",
        "len(five) == null", "'5' not in none",
    ],
)  # fmt: skip
def test_what_holds(text):
    assert holds(text)
    assert not holds(f"not ({text})")


@pytest.mark.parametrize(
    "text",
    [
        "yes == 1",
        "no == 0",
        "none > 5",
        "none < 5",
        "text > 5",
        "five < '6'",
        "5 in text",
        "five in 5",
        "yes > no",
        "gone",
        "items > ['a']",
    ],
)
def test_what_does_not_hold(text):
    assert not holds(text)


@pytest.mark.parametrize(
    ("text", "message", "under"),
    [
        ("", "the expression is empty", ""),
        ("five >", "invalid syntax", ""),
        ("  five ==  5 x", "invalid syntax", "x"),
        ("é > x y", "invalid syntax", "y"),
        ("'é' == five + 1", "not understood: arithmetic", "five + 1"),
        ("five = 5", "use == to compare", "= 5"),
        ("text == 'us", "unterminated string literal", "'us"),
        ("(five", "'(' was never closed", "(five"),
        ("text.upper == 1", "not understood: a dot; find -config KEY=VALUE asks for settings", "text.upper"),
        ("five is 5", "`is` compares nothing here: use == or !=", "5"),
        ("open('x')", "the only function is len(NAME)", "open("),
        ("len('x') == 1", "len takes one name", "len('x')"),
        ("five == 1e999", "not understood: this", "1e999"),
        ("five in [text]", "not understood: a name in a list", "text]"),
        ("f'{five}'", "not understood: an f-string", "f'"),
        ("items[0] == 'a'", "not understood: square brackets after a name; find -config KEY=VALUE asks for settings", "items[0]"),
        ("a\x00b", "a character that no expression may contain", ""),
        ("five < " * 9 + "five", "more than 8 comparisons in a row", "five"),
        ("five in (" + "1," * 101 + ")", "more than 100 items", "1,"),
        ("not " * 60 + "yes", "the expression is nested too deeply", "not"),
        ("(" * 101, "more than 100 brackets", "("),
        ("a" * 1001, "the expression has more than 1000 characters", "a"),
    ],
)
def test_what_is_refused_is_shown_with_a_caret(text, message, under):
    with pytest.raises(CaretError) as error, warnings.catch_warnings():
        warnings.simplefilter("error")
        parse_where(text)
    assert str(error.value) == message
    line, caret = error.value.excerpt
    assert line[len(caret) - 1 :].startswith(under)
    assert len(line) <= 90


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("five > '4'", "five is a number, not text: write 4 without quotes"),
        ("five == 'x'", "five is a number, not text"),
        ("not (-1 < text)", 'text is text, not a number: write "-1"'),
        ("yes == 1", "yes is true or false, not a number"),
        ("yes > false", "yes is true or false, which has no order"),
        ("items == 'a'", "items is a list, not text"),
        ("five in ['5', '6']", "five is a number, not text: write 5 without quotes"),
        ("'5' in five", "five is a number and holds nothing"),
        ("five in 5", "5 is a number and holds nothing"),
        ("5 in deep", "deep is an object, not a number"),
        ("'1' in numbers", "numbers holds a number, not text: write 1 without quotes"),
    ],
)
def test_a_comparison_that_met_nothing_of_its_kind_says_so(text, complaint):
    where = parse_where(text)
    where.holds({**FIELDS, "numbers": [1, 2]}.get)
    [comparison] = [each for part in where.parts for each in part.comparisons]
    assert comparison.complaint == complaint
    assert text[comparison.index :].startswith(comparison.name)
    # A value that fits is enough, whatever came before.
    where.holds({"five": "5", "text": 1, "yes": 1, "items": "b", "deep": [1], "numbers": []}.get)
    if complaint.startswith(("five is", "text is", "items is", "deep is", "yes is true or false, not")) and "holds" not in complaint:
        assert comparison.complaint == ""


@pytest.mark.parametrize("text", ["none > 5", "gone == '5'", "five == null", "'a' in items", "5 in items", "five > text", "1 in empty"])
def test_null_and_values_that_fit_or_cannot_be_told_are_no_cause_for_a_word(text):
    where = parse_where(text)
    where.holds({**FIELDS, "empty": []}.get)
    assert [each.complaint for each in where.comparisons if each.complaint] == []


def test_no_warning_is_printed_for_what_python_warns_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse_where(r"text == '\d' or five == 5").names == {"text", "five"}


def test_a_name_is_the_one_that_was_typed_though_python_folds_letters():
    assert parse_where("ﬁve == 1").names == {"ﬁve"}


def test_the_parts_of_an_and_hold_as_the_whole_does():
    where = parse_where("five == 5 and (yes and text == 'x') and (no or yes)")
    assert [part.names for part in where.parts] == [{"five"}, {"yes"}, {"text"}, {"no", "yes"}]
    assert where.holds(FIELDS.get) == all(part.holds(FIELDS.get) for part in where.parts)


@given(st.text(st.sampled_from("ab 1'\"()[]{}<>=!.,-+*/:;@%&|^~\\\n\0é#_") | st.characters(), max_size=40))
def test_any_text_is_an_expression_or_refused_with_its_place(text):
    try:
        where = parse_where(text)
    except CaretError as error:
        assert 0 <= error.index <= len(text)
    else:
        assert where.holds(lambda name: None) in (True, False)


@given(st.recursive(
    st.sampled_from(["five > 4", "no", "'a' in items", "none < 1", "yes != no"]),
    lambda parts: (
        st.builds("({} and {})".format, parts, parts) | st.builds("({} or {})".format, parts, parts) | st.builds("not {}".format, parts)
    ),
    max_leaves=8,
))  # fmt: skip
def test_and_or_and_not_are_pythons(text):
    plain = re.sub("none < 1", "False", text)
    assert holds(text) == bool(eval(plain, {}, dict(FIELDS)))
