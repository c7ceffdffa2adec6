"""The lock of a log directory."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from metashell.disk.file_system import DirectoryLock, Disk, is_locked, lock_holder


def test_a_lock_file_that_was_there_before_stays_and_an_own_one_goes(tmp_path: Path) -> None:
    for existed in (True, False):
        folder = tmp_path / str(existed)
        folder.mkdir()
        if existed:
            (folder / DirectoryLock.NAME).touch()
        DirectoryLock(str(folder), Disk()).release()
        assert (folder / DirectoryLock.NAME).exists() is existed


def test_a_lock_is_given_back_once(tmp_path: Path) -> None:
    lock = DirectoryLock(str(tmp_path), Disk())
    lock.release()
    again = DirectoryLock(str(tmp_path), Disk())
    lock.release()
    assert (tmp_path / DirectoryLock.NAME).exists() and not is_locked(str(tmp_path / "nowhere"))
    again.release()


def test_who_holds_a_lock_is_asked_for_and_nothing_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / DirectoryLock.NAME).touch()
    program = """if True:
        import sys
        from metashell.disk.file_system import DirectoryLock, Disk
        lock = DirectoryLock(sys.argv[1], Disk())
        print(flush=True)
        sys.stdin.read()
    """
    argv = [sys.executable, "-c", program, str(tmp_path)]
    with monkeypatch.context() as patched:
        patched.delattr(fcntl, "lockf")
        patched.delattr(fcntl, "flock")
        assert lock_holder(str(tmp_path)) is None and not is_locked(str(tmp_path))
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdin is not None and other.stdout is not None
            other.stdout.readline()
            assert lock_holder(str(tmp_path)) == other.pid != os.getpid() and is_locked(str(tmp_path))
            other.stdin.close()
        assert lock_holder(str(tmp_path)) is None
