"""What a terminal might obey is shown instead."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.shell.escape import terminal_json, terminal_line, terminal_text, writable

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


def test_a_lone_surrogate_becomes_writable():
    assert writable("a\udcffb").encode("utf-8") == b"a\\udcffb"
