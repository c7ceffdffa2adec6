"""What a terminal might obey is shown instead."""

from __future__ import annotations

import io
import json
from threading import Lock
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common import terminal as progress
from metashell.common.terminal import (
    CLEAR_LINE,
    clear_progress,
    clear_progress_before,
    end_progress,
    show_progress,
    terminal_json,
    terminal_line,
    terminal_text,
    unescape,
    update_progress,
    writable,
    writable_json,
)

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


# ---- the line of progress: where it is drawn, and that nothing else ever stands beside it


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard output and standard error, as one terminal."""
    shown = Terminal()
    # The streams of the process are those of pytest, which changes them between a fixture and its test.
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stdout=shown, stderr=shown))
    monkeypatch.setenv("TERM", "xterm")
    return shown


@pytest.fixture
def line(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> progress._Line:
    """A line that is drawn when the test says so."""
    drawn = progress._Line(Lock(), terminal)
    drawn.texts.append(("opening a", 0.0))
    monkeypatch.setattr(progress, "_line", drawn)
    return drawn


def test_a_text_is_followed_by_its_seconds(line: progress._Line, terminal: Terminal) -> None:
    line.draw(12.4)
    assert terminal.getvalue() == f"{CLEAR_LINE}opening a: 12 s"


def test_the_innermost_block_is_shown_with_its_own_seconds_and_then_the_outer_one(
    line: progress._Line, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 10.0)
    with show_progress("inside"):
        line.draw(13)
        update_progress(lambda seconds: f"{seconds:g} of 9")
        line.draw(14)
    line.draw(15)
    assert terminal.getvalue() == f"{CLEAR_LINE}inside: 3 s{CLEAR_LINE}4 of 9{CLEAR_LINE}opening a: 15 s"


def test_it_is_gone_before_anything_else_is_written(line: progress._Line, terminal: Terminal) -> None:
    out = clear_progress_before(terminal)
    line.draw(1)
    out.write("a line\n")
    assert terminal.getvalue() == f"{CLEAR_LINE}opening a: 1 s{CLEAR_LINE}a line\n"
    line.draw(2)  # lines come by themselves: that is progress enough
    line.draw(3)
    assert terminal.getvalue().endswith(f"a line\n{CLEAR_LINE}opening a: 3 s")


def test_it_does_not_come_back_beside_half_a_line(line: progress._Line, terminal: Terminal) -> None:
    out = clear_progress_before(terminal)
    out.write("half")
    line.draw(1)
    line.draw(2)
    assert terminal.getvalue() == "half"
    out.write(" and the rest\n")
    line.draw(3)
    line.draw(4)
    assert terminal.getvalue() == f"half and the rest\n{CLEAR_LINE}opening a: 4 s"


def test_a_note_takes_it_off_and_it_comes_back(line: progress._Line, terminal: Terminal) -> None:
    line.draw(1)
    clear_progress()
    assert terminal.getvalue().endswith(CLEAR_LINE)
    line.draw(2)
    line.draw(3)
    assert terminal.getvalue().endswith("opening a: 3 s")


def test_what_waits_for_others_has_none(line: progress._Line, terminal: Terminal) -> None:
    line.draw(1)
    end_progress()
    line.draw(2)
    assert terminal.getvalue().endswith(f"1 s{CLEAR_LINE}")


def test_a_question_is_never_drawn_over(line: progress._Line, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    from metashell.cli import connection, tool

    for ask in (lambda: tool.confirm("Delete 1 topic?", "h:1"), lambda: connection._asked("Password")):
        line.has_ended = False
        line.draw(1)

        def typed(*_: object) -> str:
            line.draw(2)  # while a person thinks
            return "yes\n"

        monkeypatch.setattr(tool, "sys", SimpleNamespace(stdin=SimpleNamespace(readline=typed), stderr=terminal))
        monkeypatch.setattr(connection, "getpass", typed)
        terminal.truncate(0)
        ask()
        assert "opening a" not in terminal.getvalue()


def test_a_name_cannot_make_the_terminal_obey(line: progress._Line, terminal: Terminal) -> None:
    update_progress("opening \x1b[2Jx")
    line.draw(1)
    assert terminal.getvalue().removeprefix(CLEAR_LINE) == "opening \\x1b[2Jx: 1 s"


@pytest.mark.parametrize("width", [20, 80])
def test_it_is_never_wider_than_the_terminal(line: progress._Line, terminal: Terminal, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr(progress, "_width", lambda _: width)
    update_progress("x" * 300)
    line.draw(1)
    shown = terminal.getvalue().removeprefix(CLEAR_LINE)
    assert len(shown) == width - 1 and shown.endswith(": 1 s")


def test_of_a_long_path_the_end_is_seen_and_the_seconds(line: progress._Line, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_width", lambda _: 40)
    update_progress("opening /a/very/long/path/that/leads/to/00000000000000000000.log")
    line.draw(12)
    assert terminal.getvalue().removeprefix(CLEAR_LINE) == "opening /a/…00000000000000000.log: 12 s"


def test_a_pipe_may_feed_a_pager_so_what_goes_there_ends_the_line(line: progress._Line, terminal: Terminal) -> None:
    out = progress._Beside(io.StringIO(), is_terminal=False)
    line.draw(1)
    out.write("a\n")
    line.draw(2)
    line.draw(3)
    assert terminal.getvalue() == f"{CLEAR_LINE}opening a: 1 s{CLEAR_LINE}"


def test_a_terminal_that_cannot_take_a_line_back_gets_none(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert not progress.may_show_progress()
    assert clear_progress_before(terminal) is terminal


def test_a_file_gets_no_line_and_is_no_reason_to_step_aside(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    assert clear_progress_before(file) is file
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=file))
    with show_progress("opening a", 0.001):
        assert progress._line is None
    assert file.getvalue() == ""


def test_an_error_inside_leaves_no_line_behind(terminal: Terminal) -> None:
    with pytest.raises(KeyError), show_progress("opening a"):
        assert progress._line is not None
        raise KeyError
    assert progress._line is None
    assert terminal.getvalue() == ""
