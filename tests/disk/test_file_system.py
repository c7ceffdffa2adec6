"""A small file that is replaced: the old one or the new one, whenever the machine stops, and the new one afterwards."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from metashell.disk.file_system import DeferredSteps, DirectoryLock, Disk, is_locked, lock_holder, replace_file
from tests.recording_files import ModelledDisk, RecordingDisk

NAME = "small"
OLD, NEW = b"old", b"new and longer"


def test_whenever_the_machine_stops_one_of_the_two_is_there_and_the_new_one_in_the_end(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(OLD)
    model, disk = ModelledDisk(tmp_path), RecordingDisk(tmp_path)
    replace_file(disk, str(tmp_path / NAME), NEW)
    found: set[bytes | None] = set()
    for step in disk.steps:
        model.follow(step)
        left = {tree.get(NAME) for tree in model.states(1)}
        found |= left
    assert found == {OLD, NEW}
    assert left == {NEW}
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


class Failing(Disk):
    """A disk whose files cannot be synced."""

    def sync_file(self, fd: int) -> None:
        raise OSError(5, "Input/output error")


def test_what_cannot_be_made_durable_is_an_error_and_leaves_the_old_one_alone(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(OLD)
    with pytest.raises(OSError, match="Input/output"):
        replace_file(Failing(), str(tmp_path / NAME), NEW)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {NAME: OLD}


def test_others_may_read_what_the_mask_of_the_process_allows(tmp_path: Path) -> None:
    replace_file(Disk(), str(tmp_path / NAME), NEW)
    other = tmp_path / "other"
    other.touch()
    assert (tmp_path / NAME).stat().st_mode == other.stat().st_mode


# ---- the lock of a log directory


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


# ---- steps that wait for the disk: in order, and awaited only where something rests on them


def deferred() -> DeferredSteps:
    work = DeferredSteps(lambda error: None)
    work.defer()
    return work


def test_steps_are_carried_out_at_once_until_they_are_deferred() -> None:
    done: list[str] = []
    work = DeferredSteps(lambda error: None)
    work.do(lambda: done.append("a"))
    assert done == ["a"] and work.take() is None
    work.defer()
    work.do(lambda: done.append("b"))
    assert done == ["a"]
    work.finish()
    assert done == ["a", "b"]


def test_what_is_awaited_is_done_before_the_log_is_written_and_in_order() -> None:
    done: list[str] = []
    work = deferred()
    work.do(lambda: done.append("a"), is_awaited=False)
    work.settle()
    assert done == []
    work.do(lambda: done.append("b"))
    work.settle()
    assert done == ["a", "b"]


def test_the_log_is_not_written_while_a_thread_has_what_is_awaited() -> None:
    for is_awaited in (True, False):
        work = deferred()
        work.do(lambda: None, is_awaited=is_awaited)
        taken = work.take()
        assert taken is not None and taken.is_awaited is is_awaited
        if is_awaited:
            with pytest.raises(AssertionError, match="while it is cut"):
                work.settle()
            taken.carry_out()
        work.settle()
