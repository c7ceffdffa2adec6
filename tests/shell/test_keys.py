"""Keys of the prompt: what is typed through a pipe, and what a person at a terminal sees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from metashell.shell.context import Context
from metashell.shell.terminal.prompt import run_prompt
from tests.shell.fake_nodes import fake_context, printed
from tests.shell.terminal import CTRL_C, CTRL_R, Screen

CTRL_E, CTRL_G, ESCAPE = "\x05", "\x07", "\x1b"
Typist = Callable[..., Context]


@pytest.fixture
def typed(tmp_path: Path) -> Typist:
    """Types keys at a prompt over the fake tree, after the lines of a history file."""

    def type_keys(keys: str, *earlier: str, **fields) -> Context:
        folder = tmp_path / "metashell"
        folder.mkdir(exist_ok=True)
        (folder / "history").write_text("".join(f"{line}\n" for line in earlier))
        ctx = fake_context(**fields)
        with create_pipe_input() as pipe:
            pipe.send_text(keys)
            assert run_prompt(ctx, input=pipe, output=DummyOutput(), environ={"XDG_STATE_HOME": str(tmp_path)}) == 0
        return ctx

    return type_keys


def test_control_r_takes_the_newest_line_that_fits_and_enter_then_runs_it(typed: Typist) -> None:
    ctx = typed(f"{CTRL_R}version\r\r\x04", "cat /local/version", "pwd")
    assert printed(ctx) == "4.3.1\n"
    # Its characters are enough, and what was typed already is searched for too.
    assert printed(typed(f"ctvers{CTRL_R}\r\r\x04", "cat /local/version", "pwd")) == "4.3.1\n"
    # Enter alone runs nothing: the line is only taken.
    assert printed(typed(f"{CTRL_R}version\r{CTRL_C}\x04", "cat /local/version")) == "^C\n"


def test_a_search_that_is_left_gives_back_what_was_typed(typed: Typist) -> None:
    assert printed(typed(f"pwd{CTRL_R}\x08\x08\x08version{CTRL_G}\r\x04", "cat /local/version")) == "/\n"


def test_what_fits_no_line_stays_as_typed(typed: Typist) -> None:
    assert printed(typed(f"{CTRL_R}pwd\r\r\x04", "ls /image")) == "/\n"


def test_tab_expands_a_pattern(typed: Typist) -> None:
    assert printed(typed("cat /image/topics/byName/o*/name\t\r\x04")) == "orders\nother\n"


def test_tab_goes_on_with_what_begins_with_the_text_whatever_else_holds_it(typed: Typist) -> None:
    # `history` holds `st`, `stat` and `status` begin with it.
    tree = {"alpha-1": "one", "alpha-2": "two", "the-alp": "three"}
    assert printed(typed("cat /alp\t2\r\x04", tree=tree)) == "two\n"


def test_tab_alone_never_takes_one_of_several_that_only_hold_the_text(typed: Typist) -> None:
    tree = {"x-alp": "one", "y-alp": "two"}
    assert printed(typed(f"cat /alp\t{CTRL_C}\x04", tree=tree)) == "^C\n"
    assert printed(typed("cat /x-a\t\r\x04", tree=tree)) == "one\n"


def test_a_pasted_history_keeps_one_entry_a_line(typed: Typist, tmp_path: Path) -> None:
    typed("\x1b[200~pwd\nls /local\n\x1b[201~\r\x04")
    assert (tmp_path / "metashell" / "history").read_text() == "pwd\nls /local\n"


def test_a_person_sees_the_line_at_the_bottom_the_menu_and_the_search(tmp_path: Path) -> None:
    with Screen.shell("--demo", home=tmp_path, rows=24, columns=80) as screen:
        screen.run("cd /image/topics")
        assert screen.before_cursor == "demo /image/topics> "
        screen.until(lambda: screen.lines[-1] == "demo  offset 520  committed to 329")
        assert screen.color_of("committed to 329") == "brown"
        screen.type("ls byName/assigned")
        screen.until("reassigned-1/")
        assert any(line.split() == ["reassigned-1/", "topic,", "2", "partitions"] for line in screen.lines)
        screen.type(CTRL_C)
        screen.until_prompt()
        screen.type(CTRL_R)
        screen.until("(history) demo /image/topics> ")
        screen.type("topics")
        screen.until(lambda: any(line.strip() == "cd /image/topics" for line in screen.lines))
        screen.type("\r")
        screen.until(lambda: screen.before_cursor == "demo /image/topics> cd /image/topics")
        screen.type(CTRL_C)
        screen.until_prompt()
        assert screen.leave() == 0


def settings(home: Path, text: str) -> Path:
    """The usual file of settings of somebody who lives in `home`."""
    place = home / "config" / "metashell" / "config.toml"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    return place


def test_the_rest_of_an_earlier_line_is_shown_dim_and_taken_by_control_e(tmp_path: Path) -> None:
    with Screen.shell("--demo", home=tmp_path) as screen:
        screen.run("cat /local/version")
        screen.type("cat /l")
        screen.until(lambda: screen.before_cursor == "demo /> cat /l" and "demo /> cat /local/version" in screen.lines)
        assert screen.color_of("ocal/version") == "brightblack"
        screen.type(CTRL_E)
        screen.until(lambda: screen.before_cursor == "demo /> cat /local/version")
        # What is not taken is not run.
        screen.type(f"{CTRL_C}cat /lo\r")
        screen.until("cat: /lo: ")
        assert screen.leave() == 0


@pytest.mark.slow
def test_the_keys_of_vi_are_there_if_they_were_chosen(tmp_path: Path) -> None:
    settings(tmp_path, '[defaults]\nediting-mode = "vi"\n')
    with Screen.shell("--demo", home=tmp_path) as screen:
        screen.type("xxx /local/version")
        screen.until(lambda: screen.lines[-1].endswith("vi insert"))
        screen.type(ESCAPE)
        screen.until(lambda: screen.lines[-1].endswith("vi normal"))
        screen.type("0cecat")
        screen.until("demo /> cat /local/version")
        screen.type("\r")
        screen.until(lambda: screen.is_at_prompt and any(line[:1].isdigit() for line in screen.lines))
        assert screen.leave() == 0


@pytest.mark.slow
def test_twenty_columns_have_no_room_for_the_line_and_the_prompt_says_all(tmp_path: Path) -> None:
    with Screen.shell("--demo", home=tmp_path, rows=12, columns=20) as screen:
        screen.run("cd /image/topics")
        assert screen.lines[-3:] == ["demo@520", "(committed to 329)", "/image/topics>"]
        screen.resize(24, 80)
        screen.run("pwd")
        screen.until(lambda: screen.lines[-1] == "demo  offset 520  committed to 329")
        assert screen.leave() == 0


@pytest.mark.slow
def test_a_wrong_file_of_settings_is_told_in_one_line_and_the_prompt_comes(tmp_path: Path) -> None:
    place = settings(tmp_path, '[defaults]\ntoolbar = "no"\n')
    with Screen.shell("--demo", home=tmp_path, rows=24, columns=200) as screen:
        told = f"kafka-shell: {place}: line 2: defaults.toolbar: must be true or false (nothing of this file is used)"
        assert screen.lines[0] == told
        place.write_text('[defaults]\ntoolbar = false\n[aliases]\nwhere = "pwd"\n')
        assert screen.leave() == 0
    with Screen.shell("--demo", home=tmp_path, rows=24, columns=200) as screen:
        screen.run("where")
        assert screen.lines[-3:] == ["demo@520 (committed to 329) /> where", "/", "demo@520 (committed to 329) />"]
        assert screen.leave() == 0
