"""The lock of a log directory."""

from __future__ import annotations

from pathlib import Path

from metashell.log.disk import DirectoryLock, Disk, is_locked


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
