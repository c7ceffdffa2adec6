"""Pagers, pipes, Ctrl-C and Ctrl-Z as a person at a terminal has them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import command_line
from tests.quick import quick
from tests.shell.terminal import CTRL_C, CTRL_Z, PASTE_END, PASTE_START, Screen

LONG, SHORT = "find /image/topics/byName", "ls /image"
needs_less = pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed")


def modes(screen: Screen) -> list[object]:
    """The modes of the terminal."""
    import termios

    return list(termios.tcgetattr(screen.child.child_fd))


def children(screen: Screen, name: str) -> list[int]:
    """The processes of this name that the program has started."""
    listed = subprocess.run(["ps", "-o", "pid=,comm=", "-s", str(os.getsid(screen.child.pid))], capture_output=True, text=True, check=False)
    rows = [line.split(None, 1) for line in listed.stdout.splitlines()]
    return [int(pid) for pid, command in rows if command.strip() == name]


def until_started(screen: Screen, name: str) -> None:
    """Wait until the line that was typed has started a process; the prompt that is still to be seen is then an old one."""
    screen.until(lambda: not screen.is_at_prompt and bool(children(screen, name)))


def test_a_long_answer_goes_to_the_pager_and_a_short_one_to_the_screen(tmp_path: Path) -> None:
    pager = f"{sys.executable} -c 'import sys; n = len(sys.stdin.readlines()); print(n, \"lines paged\")'"
    with Screen.shell("--demo", home=tmp_path, env={"PAGER": pager}) as screen:
        assert "lines paged" not in "".join(screen.run(SHORT))
        before = modes(screen)
        shown = screen.run("find /nope /image/topics/byName")
        # What is reported waits for the pager to leave.
        assert re.fullmatch(r"\d\d+ lines paged", shown[-3])
        assert shown[-2] == "find: /nope: No such file or directory."
        assert modes(screen) == before
        assert "paged" not in "".join(screen.run(f"clear; {LONG} | tail -2"))[-200:]
        screen.run(f"{LONG} > out")
        assert len((tmp_path / "out").read_text().splitlines()) > 24
        assert screen.leave() == 0


@pytest.mark.slow
@pytest.mark.parametrize("pager", quick(["", "cat"]))
def test_without_a_pager_all_goes_to_the_screen(tmp_path: Path, pager: str) -> None:
    with Screen.shell("--demo", home=tmp_path, env={"PAGER": pager}) as screen:
        assert screen.run(LONG)[-2].startswith("/image/topics/byName/")
        assert screen.leave() == 0


@pytest.mark.slow
def test_a_pager_that_cannot_be_run_leaves_the_answer_to_the_screen_with_one_note(tmp_path: Path) -> None:
    with Screen.shell("--demo", home=tmp_path, env={"PAGER": "no-such-pager -x"}) as screen:
        shown = screen.run(LONG)
        assert shown[-2] == "no-such-pager -x: cannot be run; answers go to the screen"
        assert shown[-4].startswith("/image/topics/byName/")
        assert screen.run(LONG)[-2].startswith("/image/topics/byName/")
        assert b"cannot be run" in screen.raw and screen.raw.count(b"cannot be run") == 1
        assert screen.leave() == 0


QUIET = [("true", None), ("head -1", None), ("kill -INT $$", None)]
FAILING = [("false", 1), ("kill -9 $$", 137), ("cat >&2; exit 3", 3)]


@pytest.mark.parametrize(("pager", "status"), quick([*FAILING, *QUIET]))
def test_a_pager_that_ends_early_is_silent_and_one_that_fails_has_one_line(tmp_path: Path, pager: str, status: int | None) -> None:
    with Screen.shell("--demo", home=tmp_path, env={"PAGER": pager}) as screen:
        before = modes(screen)
        screen.run("clear-is-no-command")
        shown = screen.run("tree /image")
        note = f"{pager}: the pager ended with status {status}"
        assert [line for line in shown if "the pager" in line] == ([] if status is None else [note])
        assert len(shown) < 12 or status == 3
        assert modes(screen) == before
        assert screen.run("pwd")[-2] == "/"
        assert screen.leave() == 0


@needs_less
def test_less_shows_colours_is_quit_and_killed_and_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    with Screen.shell("--demo", home=tmp_path) as screen:
        before = modes(screen)
        screen.type("ls -l /image/topics/byName /image/topics/byName/*\r")
        screen.until(lambda: screen.lines[-1:] == [":"])
        assert screen.color_of("orders") == "bold blue"
        screen.type("q")
        screen.until_prompt()
        assert modes(screen) == before
        screen.type(f"{LONG}\r")
        screen.until(lambda: screen.lines[-1:] == [":"])
        [pid] = children(screen, "less")
        os.kill(pid, signal.SIGKILL)
        screen.until_prompt()
        assert modes(screen) == before
        assert screen.run("pwd")[-2] == "/"
        assert screen.leave() == 0


def test_control_c_ends_a_pipe_and_the_rest_of_the_line_and_keeps_the_prompt(tmp_path: Path) -> None:
    with Screen.shell("--demo", home=tmp_path) as screen:
        before = modes(screen)
        screen.start("pwd | sleep 60; echo-is-no-command")
        until_started(screen, "sleep")
        screen.type(CTRL_C)
        screen.until_prompt()
        assert "echo-is-no-command:" not in screen.text
        assert screen.text.count("^C") == 1
        assert children(screen, "sleep") == []
        assert modes(screen) == before
        # A program that lives on after Ctrl-C is waited for, as in sh.
        screen.start("pwd | { trap 'echo trapped' INT; sleep 60; echo went on; }")
        until_started(screen, "sleep")
        screen.type(CTRL_C)
        screen.until_prompt()
        assert screen.lines_to_cursor[-3:-1] == ["^Ctrapped", "went on"]
        assert screen.run("find / | head -1")[-2] == "/"
        assert modes(screen) == before
        assert screen.leave() == 0


@pytest.mark.slow
def test_control_c_stops_a_command_that_writes_for_ever_into_a_full_pipe(tmp_path: Path) -> None:
    with Screen.shell("--demo", home=tmp_path) as screen:
        screen.start("log -p -o jsonl | sleep 60")
        until_started(screen, "sleep")
        screen.type(CTRL_C)
        screen.until_prompt()
        assert screen.run("pwd")[-2] == "/"
        assert screen.leave() == 0


@pytest.mark.slow
def test_control_c_stops_what_waits_for_a_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with Screen.shell("--demo", home=tmp_path) as screen:
        screen.start("pwd > fifo")
        screen.until_interruptible()
        screen.type(CTRL_C)
        screen.until_prompt()
        before = modes(screen)
        assert screen.run("pwd")[-2] == "/"
        # The signal at a prompt, as `kill -INT` sends it, gives a new prompt as the key does.
        screen.type("half")
        screen.until(lambda: screen.before_cursor.endswith("> half"))
        os.kill(screen.child.pid, signal.SIGINT)
        screen.until_prompt()
        assert modes(screen) == before
        assert screen.run("pwd")[-2] == "/"
        assert screen.leave() == 0


@pytest.mark.parametrize("columns", quick([20, 80, 200]))
def test_a_table_fits_its_terminal(tmp_path: Path, columns: int) -> None:
    with Screen.shell("--demo", home=tmp_path, rows=60, columns=columns, env={"PAGER": ""}) as screen:
        screen.run("clear")
        shown = screen.run("ls -l -o table /image/cluster/brokers")
        start = next(index for index, line in enumerate(shown) if line.startswith("PATH"))
        rows = shown[start : start + 4]
        # A heading and a row for each of the three brokers: nothing is wrapped.
        assert [row.split()[0][-2:] for row in rows[1:]] == ["/4", "/5", "/6"]
        assert max(map(len, rows)) <= columns
        assert ("no room for" in screen.flowing) == (columns == 20)
        screen.run("clear")
        names = screen.run("ls /image/topics/byName")
        assert max(map(len, names)) <= columns
        assert any(line.split()[-1:] == ["orders"] or "orders  " in line for line in names)
        assert screen.leave() == 0


@pytest.mark.slow
def test_control_z_stops_the_shell_and_its_pipe_and_both_go_on(tmp_path: Path) -> None:
    words = " ".join(f"'{word}'" for word in command_line("kafka-shell", "--demo"))
    with Screen(["/bin/bash", "--norc", "-i"], home=tmp_path, env={"PS1": "outer> "}) as screen:
        screen.until_prompt()
        screen.type(f"{words}\r")
        screen.until("demo />")
        screen.until_prompt()
        screen.type(CTRL_Z)
        screen.until(lambda: screen.before_cursor == "outer> ")
        screen.type("fg\r")
        screen.until(lambda: screen.before_cursor.endswith("demo /> "))
        screen.run("pwd")
        screen.start("pwd | (sleep 1; cat; echo piped)")
        until_started(screen, "sleep")
        screen.type(CTRL_Z)
        screen.until(lambda: screen.before_cursor == "outer> ")
        screen.type("fg\r")
        screen.until(lambda: screen.before_cursor.endswith("demo /> ") and "piped" in screen.lines)
        screen.run("exit")
        screen.until(lambda: screen.before_cursor == "outer> ")


def test_a_paste_of_several_lines_runs_nothing_before_enter_and_then_each(tmp_path: Path) -> None:
    with Screen.shell("--demo", home=tmp_path) as screen:
        screen.type(f"{PASTE_START}pwd > one\npwd | touch two\nls /nope\n{PASTE_END}")
        screen.until("ls /nope")
        assert not list(tmp_path.glob("one")) + list(tmp_path.glob("two"))
        screen.enter()
        screen.until("No such file")
        screen.until_prompt()
        assert (tmp_path / "one").read_text() == "/\n"
        assert (tmp_path / "two").exists()
        shown = screen.run("history 4")
        assert [line.split(None, 1)[1] for line in shown[-5:-1]] == ["pwd > one", "pwd | touch two", "ls /nope", "history 4"]
        assert screen.leave() == 0
    [kept] = (tmp_path / "state").rglob("history")
    assert kept.read_text().splitlines() == ["pwd > one", "pwd | touch two", "ls /nope", "history 4"]


def test_earlier_lines_come_again_and_are_shown_and_kept_as_they_ran(tmp_path: Path) -> None:
    with Screen.shell("--demo", home=tmp_path) as screen:
        screen.run("cd /image")
        screen.run("pwd")
        assert screen.run("!!")[-3:-1] == ["pwd", "/image"]
        assert screen.run("!cd && pwd")[-3:-1] == ["cd /image && pwd", "/image"]
        assert screen.run("!0; pwd")[-3:-1] == ["cd /image; pwd", "/image"]
        assert screen.run("!nope")[-2] == "!nope: no such line in the history"
        assert screen.run("find / ! -name '*'")[-2] != "!"
        assert screen.leave() == 0
    [kept] = (tmp_path / "state").rglob("history")
    assert kept.read_text().splitlines()[:4] == ["cd /image", "pwd", "cd /image && pwd", "cd /image; pwd"]


@pytest.mark.parametrize("word", quick(["exit", "quit", "\\q", ":q"]))
def test_there_is_a_way_out_for_every_habit(tmp_path: Path, word: str) -> None:
    with Screen.shell("--demo", home=tmp_path) as screen:
        screen.type(f"{word}\r")
        assert screen.until_over() == 0
