"""What differs between operating systems, as the others would have it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from errno import EINVAL, EIO
from pathlib import Path

import pytest

from metashell.common import runtime
from tests.test_layers import ROOT, modules

SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
# A Python of Windows: no module of POSIX, no function of it in `os`.
WINDOWS = """
import os, sys
sys.platform = "win32"
for name in ("fcntl", "termios", "tty", "pty", "resource", "pwd", "grp"):
    sys.modules[name] = None
for name in ("sched_getaffinity", "O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "pread", "pwrite", "fchmod", "getuid"):
    if hasattr(os, name):
        delattr(os, name)
from importlib import import_module
import_module(sys.argv[1])
"""


def test_processors_are_those_of_the_affinity_and_all_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 <= runtime.processors() <= (os.cpu_count() or 1)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert runtime.processors() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert runtime.processors() == 1


class Calls:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: int = 0) -> None:
        self.made: list[str] = []
        self.error = error
        monkeypatch.setattr(sys, "platform", "darwin")
        monkeypatch.setattr("fcntl.F_FULLFSYNC", 51, raising=False)
        monkeypatch.setattr("fcntl.fcntl", self.full)
        monkeypatch.setattr("os.fsync", lambda fd: self.made.append("fsync"))

    def full(self, fd: int, command: int) -> None:
        assert command == 51
        if self.error:
            raise OSError(self.error, os.strerror(self.error))
        self.made.append("full")


def test_macos_waits_for_the_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(monkeypatch)
    runtime.sync_file(3)
    assert calls.made == ["full"]


def test_a_file_system_without_a_full_sync_gets_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(monkeypatch, EINVAL)
    runtime.sync_file(3)
    assert calls.made == ["fsync"]


def test_a_drive_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(monkeypatch, EIO)
    with pytest.raises(OSError, match="Input/output"):
        runtime.sync_file(3)
    assert calls.made == []


def test_only_one_place_asks_for_processors_or_syncs_a_file() -> None:
    for path in modules():
        text = path.read_text(encoding="utf-8")
        assert path.name == "runtime.py" or ("sched_getaffinity(" not in text and "os.cpu_count(" not in text), path
        # Directories have no cache of their own in a drive.
        assert path.name in ("runtime.py", "file_system.py") or "os.fsync(" not in text, path


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_windows_gets_one_line(script: str, tmp_path: Path) -> None:
    module = SCRIPTS[script].partition(":")[0]
    done = subprocess.run([sys.executable, "-c", WINDOWS, module], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{runtime.WINDOWS_LINE}\n")
