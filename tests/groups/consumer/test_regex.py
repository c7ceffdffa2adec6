"""Regular expressions of members are RE2/J's: what is one, what it matches, and what is said of one that is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.groups.consumer.regex import RegexSyntaxError
from metashell.groups.consumer.subscription import LARGEST, Regex

TEXTS = (*("", "a", "aa", "ab", "b", "abc", "A", "a-b", "a.b", "1", "12", "_x", "orders", "orders-1", "x{2", "aaa", "-", "]", "z9"),)
# What com.google.re2j 1.8, which 4.3.1 uses, says of a pattern: for each of the texts whether it matches, or why it is none.
ROWS = {
    "a(": "missing closing )",
    "a)": "regexp/syntax: internal error",
    ")": "regexp/syntax: internal error",
    "(": "missing closing )",
    "[": "missing closing ]",
    "[a": "missing closing ]",
    "a]": "0000000000000000000",
    "[]a]": "0100000000000000010",
    "[^]a]": "0000101001000000100",
    "[a-": "missing closing ]",
    "[a-]": "0100000000000000100",
    "[-a]": "0100000000000000100",
    "[z-a]": "invalid character class range",
    "[a-b-c]": "0100100000000000100",
    "[a--]": "invalid character class range",
    "*": "missing argument to repetition operator",
    "+a": "missing argument to repetition operator",
    "a**": "invalid nested repetition operator",
    "a*+": "invalid nested repetition operator",
    "a*?": "1110000000000001000",
    "a+?b": "0001000000000000000",
    "a??": "1100000000000000000",
    "a?*": "invalid nested repetition operator",
    "a{2}": "0010000000000000000",
    "a{2,3}": "0010000000000001000",
    "a{,3}": "0000000000000000000",
    "a{2,1}": "invalid repeat count",
    "a{1001}": "invalid repeat count",
    "a{2}{3}": "invalid nested repetition operator",
    "x{2": "0000000000000010000",
    "a{2}*": "invalid nested repetition operator",
    "(?i)A": "0100001000000000000",
    "(?i:a)b": "0001000000000000000",
    "(?P<n>a)": "0100000000000000000",
    "(?P<n>a)(?P<n>b)": "duplicate capture group name",
    "(?<n>a)": "0100000000000000000",
    "(?P<n-1>a)": "invalid named capture",
    "(?P<>a)": "invalid named capture",
    "(?P=n)": "invalid or unsupported Perl syntax",
    "(?=a)": "invalid or unsupported Perl syntax",
    "(?!a)": "invalid or unsupported Perl syntax",
    "(?<=a)b": "invalid named capture",
    "(?>a)": "invalid or unsupported Perl syntax",
    "(?#x)": "invalid or unsupported Perl syntax",
    "(?": "invalid or unsupported Perl syntax",
    "(?i": "invalid or unsupported Perl syntax",
    "(?i-": "invalid or unsupported Perl syntax",
    "(?-)": "invalid or unsupported Perl syntax",
    "(?z)": "invalid or unsupported Perl syntax",
    "(?i-s)a": "0100001000000000000",
    "(?im-s:a)": "0100001000000000000",
    "\\": "trailing backslash at end of expression",
    "a\\": "trailing backslash at end of expression",
    "\\d": "0000000001000000000",
    "\\D": "0100101000000000110",
    "\\w+": "0111111001111001001",
    "\\W": "0000000000000000110",
    "\\s": "0000000000000000000",
    "\\Q": "1000000000000000000",
    "\\Qa.b\\E": "0000000010000000000",
    "\\Qa": "0100000000000000000",
    "\\pL": "0100101000000000000",
    "\\p{L}+": "0111111000001001000",
    "\\pN": "0000000001000000000",
    "\\PL": "0000000001000000110",
    "\\p{Latin}": "0100101000000000000",
    "\\p{Foo}": "invalid character class range",
    "\\pX": "invalid character class range",
    "\\p": "invalid character class range",
    "\\p{": "invalid character class range",
    "\\p{^L}": "0000000001000000110",
    "[\\pL]": "0100101000000000000",
    "[[:alpha:]]": "0100101000000000000",
    "[[:^alpha:]]": "0000000001000000110",
    "[[:foo:]]": "invalid character class range",
    "[[:alpha:]-z]": "0100101000000000100",
    "[[:alpha]": "0100000000000000000",
    "[\\d]": "0000000001000000000",
    "[\\d-z]": "0000000001000000100",
    "[\\w.-]+": "0111111111111101101",
    "\\x41": "0000001000000000000",
    "\\x{41}": "0000001000000000000",
    "\\x{": "invalid escape sequence",
    "\\x4": "invalid escape sequence",
    "\\x{110000}": "invalid escape sequence",
    "\\101": "0000001000000000000",
    "\\1": "invalid escape sequence",
    "\\8": "invalid escape sequence",
    "\\0": "0000000000000000000",
    "\\07": "0000000000000000000",
    "\\a": "0000000000000000000",
    "\\e": "invalid escape sequence",
    "\\C": "invalid escape sequence",
    "\\Z": "invalid escape sequence",
    "\\A": "1000000000000000000",
    "\\z": "1000000000000000000",
    "\\Aa\\z": "0100000000000000000",
    "\\ba\\b": "0100000000000000000",
    "a\\Bb": "0001000000000000000",
    "^a$": "0100000000000000000",
    "^^a$$": "0100000000000000000",
    "a|b": "0100100000000000000",
    "|a": "1100000000000000000",
    "a|": "1100000000000000000",
    "|": "1000000000000000000",
    "(|a)b": "0001100000000000000",
    "()": "1000000000000000000",
    "(a|b)*": "1111100000000001000",
    "(a*)*": "1110000000000001000",
    "(a*)+": "1110000000000001000",
    "(a{999}){2}": "0000000000000000000",
    "((a{10}){10}){10}": "0000000000000000000",
    "((a{10}){10}){11}": "0000000000000000000",
    ".*": "1111111111111111111",
    ".+": "0111111111111111111",
    "orders.*": "0000000000001100000",
    "orders-\\d+": "0000000000000100000",
    "^orders.*": "0000000000001100000",
    "(?s).": "0100101001000000110",
    "(?m)^a$": "0100000000000000000",
    "[^a]": "0000101001000000110",
    "[a-c]+": "0111110000000001000",
    "[\\-a]+": "0110000000000001100",
    "\\_": "0000000000000000000",
    "\\-": "0000000000000000100",
    "\\.": "0000000000000000000",
    "\\é": "0000000000000000000",
    "é": "0000000000000000000",
    "[é-ü]": "0000000000000000000",
    "a|*": "missing argument to repetition operator",
    "(*)": "missing argument to repetition operator",
    "(?U)a+": "0110000000000001000",
    "(?i)[a-b]+": "0111101000000001000",
    "(?i)[^a]": "0000100001000000110",
    "a{0}": "1000000000000000000",
    "a{0,0}b": "0000100000000000000",
    "a{1,}": "0110000000000001000",
    "a{01}": "0000000000000000000",
    "a{1": "0000000000000000000",
    "a{ 1}": "0000000000000000000",
    "{2}": "missing argument to repetition operator",
    "{": "0000000000000000000",
    "}": "0000000000000000000",
    "a{}": "0000000000000000000",
    "a{a}": "0000000000000000000",
    "(?i)(?-i)a": "0100000000000000000",
    "(a(?i)b)c": "0000010000000000000",
    "[a\\]": "missing closing ]",
    "[\\]]": "0000000000000000010",
    "[]]": "0000000000000000010",
    "[]": "missing closing ]",
    "[^]": "missing closing ]",
    "[[a]": "0100000000000000000",
    "[a&&b]": "0100100000000000000",
    "\\G": "invalid escape sequence",
    "\\R": "invalid escape sequence",
    "\\X": "invalid escape sequence",
    "\\h": "invalid escape sequence",
    "a++": "invalid nested repetition operator",
    "a?+": "invalid nested repetition operator",
    "(?:a)": "0100000000000000000",
    "(?:a": "missing closing )",
    "(?P<n>a": "missing closing )",
    "(?P<n": "invalid named capture",
    "(?P": "invalid or unsupported Perl syntax",
}


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
