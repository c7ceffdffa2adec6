"""Lines to words; the expected words are those that Kafka's 4.3.1 shell reported on a pipe."""

from __future__ import annotations

import pytest

from metashell.shell.words import quote_word, split_line, split_partial


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ls 'a b' \"c d\" e\\ f", ["ls", "a b", "c d", "e f"]),
        ("ls 'it'\"'\"'s' a\\ b", ["ls", "it\"'\"'s'", "a b"]),
        ('ls "abc', ["ls", "abc"]),
        ('foo"', ['foo"']),
        ("ls a\\", ["ls", "a"]),
        ("cat /image\\\\", ["cat", "/image\\"]),
        ("ls \"a\\\"b\" 'a\\'b'", ["ls", 'a"b', "a'b"]),
        ('ls "" /', ["ls", "/"]),
        ('"" ls', ["ls"]),
        ("  pwd \t ", ["pwd"]),
        ("", []),
        ("ls \\*", ["ls", "*"]),
    ],
)
def test_a_line_is_split_as_kafkas_line_editor_does_it(line, words):
    assert split_line(line) == words


def test_the_word_at_the_cursor_is_known_with_its_place():
    partial = split_partial("cat /image/a\\ b")
    assert (partial.words, partial.current, partial.start) == (["cat"], "/image/a b", 4)
    assert split_partial("cat ").current == ""


@pytest.mark.parametrize("text", ["plain", "a b", "it's", 'q"q', "back\\slash", "tab\tx"])
def test_a_quoted_word_is_read_back_as_one(text):
    assert split_line(f"cat {quote_word(text)} x") == ["cat", text, "x"]
