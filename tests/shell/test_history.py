"""The history file."""

from __future__ import annotations

import stat
from pathlib import Path

from metashell.shell.commands.basics import last_entries
from metashell.shell.terminal.parts import append_history, history_path, load_history


def test_the_file_is_where_xdg_says_and_only_its_owner_can_read_it(tmp_path: Path):
    path = history_path({"XDG_STATE_HOME": str(tmp_path)})
    assert path == tmp_path / "metashell" / "history"
    append_history(path, "ls /")
    append_history(path, "cat x\ny")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert load_history(path) == ["ls /", "cat x y"]


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path):
    path = tmp_path / "history"
    path.write_text("old\n")
    path.chmod(0o644)
    append_history(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_history(path) == ["old", "new"]


def test_without_xdg_it_is_in_the_home(monkeypatch, tmp_path: Path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert history_path({}) == tmp_path / ".local" / "state" / "metashell" / "history"
    assert history_path({"XDG_STATE_HOME": "relative"}) == tmp_path / ".local" / "state" / "metashell" / "history"


def test_a_place_that_cannot_be_written_is_left_alone(tmp_path: Path):
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "history"
    append_history(path, "ls")
    assert load_history(path) == []


def test_the_last_entries_keep_their_numbers():
    lines = ["a", "b", "c"]
    assert list(last_entries(lines, None)) == [(0, "a"), (1, "b"), (2, "c")]
    assert list(last_entries(lines, 2)) == [(1, "b"), (2, "c")]
    assert list(last_entries(lines, 9)) == list(last_entries(lines, None))
    assert list(last_entries(lines, 0)) == list(last_entries(lines, -1)) == []
