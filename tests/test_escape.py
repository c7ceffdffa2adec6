"""What a terminal might obey is shown instead."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.terminal import terminal_json, terminal_line, terminal_text, unescape, writable, writable_json

HOSTILE = [
    "\x00",
    "\x07",
    "\x1b",
    "\r",
    "\x7f",
    "\x80",
    "\x9b",
    "\x9f",
    "\u061c",
    "\u200e",
    "\u202e",
    "\u2028",
    "\u200b",
    "\u2060",
    "\ufeff",
    "\u00ad",
    "\U000e0041",
    "\u2066",
    "\u2069",
    "\ud800",
]


@pytest.mark.parametrize("char", HOSTILE)
def test_a_hostile_character_never_reaches_the_terminal(char):
    for escape in (terminal_text, terminal_line, terminal_json):
        assert char not in escape(f"a{char}b")


def test_tabs_line_ends_and_other_scripts_stay():
    assert terminal_text("a\tb\nß 日本 😀") == "a\tb\nß 日本 😀"
    assert terminal_line("a\tb\nc") == "a\\tb\\nc"


@given(st.text())
def test_escaped_json_is_still_the_same_json(text):
    assert json.loads(terminal_json(json.dumps(text, ensure_ascii=False))) == text


@given(st.text(st.characters()))
def test_what_is_escaped_can_be_written_and_stays_on_its_line(text):
    for shown in (terminal_line(text), terminal_json(json.dumps(text, ensure_ascii=False))):
        shown.encode()
        assert not any(char in shown for char in (*HOSTILE, "\n", "\t"))


def test_a_byte_that_is_not_utf_8_is_shown_as_what_it_is():
    name = b"caf\xe9".decode("utf-8", "surrogateescape")
    assert writable(name) == terminal_line(name) == "caf\\xe9"
    for escape in (writable_json, terminal_json):
        assert json.loads(escape(json.dumps(name, ensure_ascii=False))) == "caf\\xe9"


def test_a_lone_surrogate_becomes_writable():
    assert writable("a\ud800b") == "a\\ud800b"
    assert json.loads(writable_json('"a\ud800b"')) == "a\\ud800b"


def test_a_hidden_character_outside_the_first_plane_keeps_its_number():
    assert terminal_text("a\U000e0041") == "a\\U000e0041"


@given(st.text())
def test_what_was_shown_on_a_line_is_understood_again(text: str) -> None:
    plain = text.replace("\\", "/")
    assert unescape(terminal_line(plain)) == plain


def test_numbers_of_no_character_stay_as_they_are() -> None:
    assert unescape(r"a\Uffffffff\q\x1b") == r"a\Uffffffff\q" + "\x1b"
