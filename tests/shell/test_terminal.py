"""What a person sees: sizes, colours, and the way in and out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quick import quick
from tests.shell.terminal import CTRL_C, Screen


@pytest.mark.parametrize(("rows", "columns"), quick([(24, 80), (50, 200), (24, 20)]))
def test_a_person_types_a_command_sees_its_answer_and_leaves(tmp_path: Path, rows: int, columns: int) -> None:
    with Screen.shell("--demo", home=tmp_path, rows=rows, columns=columns) as screen:
        shown = screen.run("ls /image/cluster")
        assert any(line.startswith("brokers") for line in shown)
        assert screen.color_of("brokers") == "bold blue"
        assert screen.leave() == 0


def test_what_a_person_sees_does_not_hang_on_where_writes_are_cut(tmp_path: Path) -> None:
    with Screen.shell("--demo", home=tmp_path, grain=1) as screen:
        assert screen.run("cd /image/cluster")[-2].endswith("> cd /image/cluster")
        assert any(line.startswith("brokers") for line in screen.run("ls"))
        screen.type("half")
        screen.until(lambda: screen.before_cursor.endswith("> half"))
        screen.type(CTRL_C)
        screen.until_prompt()
        assert screen.run("pwd")[-2] == "/image/cluster"
        assert screen.leave() == 0


def test_control_c_drops_the_line(tmp_path: Path) -> None:
    with Screen.shell("--demo", home=tmp_path) as screen:
        screen.type("cat /nope")
        screen.until("cat /nope")
        screen.type(CTRL_C)
        screen.until_prompt()
        screen.run("pwd")
        assert "No such file" not in screen.text
        assert screen.leave() == 0
