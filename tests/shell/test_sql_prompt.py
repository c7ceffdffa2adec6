"""The prompt of SQL: what ends a question, what Tab offers, and keys through a pipe."""

from __future__ import annotations

import io
import os
import stat
import sys
from pathlib import Path

import pexpect
import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from metashell.common.forms import Display
from metashell.demo import demo_directory
from metashell.shell.terminal.sql_prompt import GREETING, OPEN_QUESTION, Vocabulary, candidates, is_whole, run_sql_prompt
from tests.cli.conftest import command_line
from tests.shell.terminal import CTRL_C, CTRL_R, Screen

PROJECT = Path(__file__).parents[2]
COLUMNS = {"partitions": ["topic", "leader", "isr"], "brokers": ["broker_id", "rack"], "partition_change": ["leader", "isr"]}
NAMES = Vocabulary(COLUMNS, ("partitions", "brokers"), ["count", "list_sort"])


class Tables:
    def columns(self) -> dict[str, list[str]]:
        return COLUMNS

    def functions(self) -> list[str]:
        return ["count"]


def typed(keys: str, folder: Path, forms: list[str] | None = None) -> tuple[list[str], str]:
    """The questions that keys ask, and what is printed; the form of each answer is put into `forms`."""
    asked: list[str] = []

    def answer(text: str, form: str) -> None:
        asked.append(text)
        if forms is not None:
            forms.append(form)

    out = io.StringIO()
    with create_pipe_input() as pipe:
        pipe.send_text(keys)
        environ = {"XDG_STATE_HOME": str(folder)}
        run_sql_prompt(Tables(), answer, NAMES.state_tables, display=Display(out), input=pipe, output=DummyOutput(), environ=environ)
    return asked, out.getvalue().removeprefix(f"{GREETING}\n")


@pytest.mark.parametrize(
    "text",
    [
        "select 1;",
        "select ';';",
        "select 1; -- why",
        ".tables",
        "quit",
        "describe brokers",
        "show tables",
        "",
        "\\q",
        "help",
        "?",
        "\\d",
        "\\dt",
        "\\d brokers",
        "Exit;",
    ],
)
def test_a_whole_question_is_answered_at_enter(text: str) -> None:
    assert is_whole(text)


@pytest.mark.parametrize("text", ["select 1", "select ';", "select 1 -- ;", "select /* ; */", 'select 1 as ";'])
def test_any_other_goes_on_in_the_next_line(text: str) -> None:
    assert not is_whole(text)


@pytest.mark.parametrize(
    ("before", "after", "offered"),
    [
        ("select * from par", "", ["partitions", "partition_change"]),
        ("select * from ", "", ["partitions", "brokers", "partition_change"]),
        ("select ra", " from brokers", ["rack"]),
        ("select p.l", " from partitions p", ["leader"]),
        ("select p.", " from brokers as p", ["broker_id", "rack"]),
        ("select cou", "", ["count("]),
        ("SELECT LIST_S", "", ["list_sort("]),
        ("select 'par", "", []),
        ("sel", "", ["select"]),
        (".ta", "", [".tables"]),
        ("describe b", "", ["brokers"]),
    ],
)
def test_tab_offers_tables_columns_and_functions(before: str, after: str, offered: list[str]) -> None:
    assert [found.text for found in candidates(before, after, NAMES)] == offered


def test_columns_of_the_tables_that_are_named_come_first() -> None:
    found = [(item.text, item.meta) for item in candidates("select l", " from partitions", NAMES)]
    assert found[0] == ("leader", "column of partitions") and ("list_sort(", "function") in found[1:]


def test_a_candidate_comes_with_what_it_means() -> None:
    names = NAMES._replace(meanings={"partitions": "each partition", "partitions.leader": "broker that leads it; -1: none"})
    found = {item.text: item.meta for text in ("select l", "select p.i") for item in candidates(text, " from partitions p", names)}
    assert found["leader"] == "broker that leads it"
    assert found["isr"] == "column of partitions"
    assert [item.text for item in candidates(".about par", "", names)] == [".about partitions", ".about partition_change"]


def test_a_question_may_go_over_several_lines_and_a_paste_hold_several(tmp_path: Path) -> None:
    assert typed("select 1\rfrom brokers;\r\x1b[200~select 1;\nselect 2;\x1b[201~\r\x04", tmp_path)[0] == [
        "select 1\nfrom brokers;",
        "select 1;\nselect 2;",
    ]


def test_about_shows_what_a_name_means(tmp_path: Path) -> None:
    asked: list[str] = []
    with create_pipe_input() as pipe:
        pipe.send_text(".about partitions.leader\r.tables\r\x04")
        out = io.StringIO()
        run_sql_prompt(
            Tables(),
            lambda text, form: None,
            NAMES.state_tables,
            display=Display(out),
            meanings={"partitions": "each partition"},
            about=asked.append,
            input=pipe,
            output=DummyOutput(),
            environ={"XDG_STATE_HOME": str(tmp_path)},
        )
    assert asked == ["partitions.leader"]
    assert "partitions        state   each partition\n" in out.getvalue()


def test_commands_of_the_prompt(tmp_path: Path) -> None:
    asked, printed = typed(".tables\r.nope\rquit\rselect 1;\r", tmp_path)
    assert asked == []
    assert printed.splitlines() == [
        "partitions        state   3 columns",
        "brokers           state   2 columns",
        "partition_change  events  2 columns",
        ".nope: unknown; .help lists what can be typed here",
    ]
    assert "Type a question" in typed(".help\r\x04", tmp_path)[1]


@pytest.mark.parametrize(
    ("text", "command"), [("help", ".help"), ("?", ".help"), ("\\d", ".tables"), ("\\dt;", ".tables"), ("\\timing", ".timer")]
)
def test_what_people_type_at_other_prompts_is_understood(text: str, command: str, tmp_path: Path) -> None:
    assert typed(f"{text}\r\x04", tmp_path) == typed(f"{command}\r\x04", tmp_path)
    assert typed(f"{text}\r\x04", tmp_path)[0] == []


def test_a_table_is_described_as_in_psql_and_the_session_left(tmp_path: Path) -> None:
    assert typed("\\d brokers\r\\q\r", tmp_path)[0] == ["describe brokers"]


def test_answers_have_the_form_that_mode_says(tmp_path: Path) -> None:
    forms: list[str] = []
    keys = "select 1;\r.mode line\rselect 1;\r.mode\r.mode lines\r.mode json csv\rselect 1;\r.Mode CSV;\rselect 1;\r\\x\rselect 1;\r\x04"
    printed = typed(keys, tmp_path, forms)[1]
    assert forms == ["text", "line", "line", "csv", "line"]
    choices = "text, json, jsonl, csv, table, line"
    assert printed.splitlines() == [
        "mode line",
        f"mode line; there are {choices}",
        f".mode lines: a mode is one of {choices}",
        f".mode json csv: a mode is one of {choices}",
        "mode csv",
        "mode line",
    ]


def test_modes_are_completed() -> None:
    assert [found.text for found in candidates(".mo", "", NAMES)] == [".mode"]
    assert [found.text for found in candidates(".mode l", "", NAMES)] == [".mode line"]


def test_control_c_forgets_the_question_and_asks_again(tmp_path: Path) -> None:
    assert typed("select 1\x03select 2;\r\x04", tmp_path) == (["select 2;"], "^C\n")


def test_questions_are_kept_in_a_file_of_mode_0600(tmp_path: Path) -> None:
    typed("select 1;\r\x04", tmp_path)
    path = tmp_path / "metashell" / "sql_history"
    assert path.read_text() == "select 1;\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert typed("\x10\r\x04", tmp_path)[0] == ["select 1;"]


@pytest.mark.slow
def test_a_person_at_a_terminal_gets_answers_and_errors_and_goes_on(tmp_path: Path) -> None:
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "TERM": "xterm", "NO_COLOR": "1"}
    words = ["-c", "from metashell.cli.tables.sql import main; raise SystemExit(main())", "metashell/demo/data"]
    child = pexpect.spawn(
        sys.executable, words, env=environ, cwd=str(PROJECT), dimensions=(24, 80), encoding="utf-8", timeout=60, use_poll=True
    )
    child.expect("sql>")
    child.send("select nope from topics;\r")
    child.expect('"nope" not found')
    child.expect("sql>")
    child.send("select count(*) as how_many from topics;\r")
    child.expect("HOW_MANY")
    child.expect("15")
    child.expect("sql>")
    child.send("select * from brokers where broker_id = 4;\r")
    child.expect("no room for [0-9] columns? [^;]*; here, .mode line shows all")
    child.expect("sql>")
    child.send(".mode line\r")
    child.expect("[^.]mode line\r\n")
    child.expect("sql>")
    child.send("select * from brokers where broker_id = 4;\r")
    child.expect("broker_id +4\r\n")
    child.expect("cluster_id +Z29sZGVuLW1haW4tY2x1cw\r\n")
    child.expect("sql>")
    child.sendeof()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


@pytest.mark.slow
def test_a_person_sees_coloured_sql_the_line_at_the_bottom_and_long_answers_in_a_pager(tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {tmp_path}/paged\n")
    pager.chmod(0o755)
    argv = command_line("metashell", "sql", demo_directory())
    with Screen(argv, home=tmp_path, env={"PAGER": str(pager)}) as screen:
        screen.until_prompt()
        screen.type("select 'a' from brok")
        screen.until(lambda: screen.before_cursor == "sql> select 'a' from brok" and "brokers" in screen.text)
        screen.until(lambda: screen.lines[-1].endswith("of events"))
        assert screen.color_of("select 'a'") != screen.color_of("'a'")
        screen.type("\ts;\r")
        screen.until(lambda: screen.lines.count("a") == 3 and screen.is_at_prompt)
        assert not (tmp_path / "paged").exists()
        # A second line, and a search for the question that was asked.
        screen.type("select\n")
        screen.until("...> ")
        screen.until(OPEN_QUESTION)
        screen.type(CTRL_C)
        screen.until(lambda: screen.before_cursor == "sql> ")
        screen.type(CTRL_R)
        screen.until("(history) sql> ")
        screen.type("brok\r")
        screen.until(lambda: screen.before_cursor == "sql> select 'a' from brokers;")
        screen.type(CTRL_C)
        screen.run("select i from range(500) t(i);")
        assert (tmp_path / "paged").read_text().split()[-1] == "499"
        pager.write_text("#!/bin/sh\nexit 3\n")
        screen.run("select i from range(500) t(i);")
        assert "the pager ended with status 3" in screen.flowing
        pager.unlink()
        screen.run("select i from range(500) t(i);")
        assert "cannot be run; answers go to the screen" in screen.flowing
        assert screen.run("select i from range(500) t(i);")[-2].split() == ["499"]
        assert screen.leave() == 0


def test_a_question_of_several_lines_comes_back_as_it_was(tmp_path: Path) -> None:
    text = "select 1 -- one\n, 'a\\nb';"
    asked, _ = typed(f"{text.replace(chr(10), chr(13))}\r\x04", tmp_path)
    assert asked == [text]
    # The key for the question before, in a session that comes later.
    asked, _ = typed("\x10\r\x04", tmp_path)
    assert asked == [text]
