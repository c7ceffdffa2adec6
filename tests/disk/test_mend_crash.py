"""A repair and an undo, stopped after every single step: each file is old or new, and both can be run again to the same end."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from metashell.disk.mend import NEW_SUFFIX, read_journal, take_back, undo, write_changes
from tests.disk.mend_cases import REPAIRED, START, changes_of, make, tree_of
from tests.recording_files import ModelledDisk, RecordingDisk, Step, Tree, UnsyncedDisk, write_tree


class CrashError(AssertionError):
    """A state after a crash that a repair must not leave."""


def try_every_crash(start: Path, steps: list[Step], work: Path, check: Callable[[Path], None]) -> int:
    """Run `check` on a folder made of every state after every step; the number of states."""
    disk, count = ModelledDisk(start), 0
    for index, step in enumerate([None, *steps]):
        if step is not None:
            disk.follow(step)
        for tree in disk.states(seed=index):
            folder = work / "state"
            folder.mkdir()
            write_tree(tree, folder)
            try:
                check(folder)
            except Exception as error:
                raise CrashError(f"after step {index} ({step}): {error}\n{shown(tree)}") from error
            count += 1
            shutil.rmtree(folder)
    return count


def shown(tree: Tree) -> str:
    return "\n".join(f"{name}: {content!r}" for name, content in sorted(tree.items()))


def record_repair(folder: Path) -> list[Step]:
    disk = RecordingDisk(folder)
    write_changes(str(folder), changes_of(folder), 1, disk)
    return disk.steps


def record_undo(folder: Path) -> list[Step]:
    disk = RecordingDisk(folder)
    undo(str(folder), disk)
    return disk.steps


def in_use(folder: Path) -> dict[str, bytes]:
    """The files that a server reads."""
    return {name: data for name, data in tree_of(folder).items() if name in REPAIRED and ".damaged-" not in name}


def require_old_or_new(folder: Path) -> None:
    found = in_use(folder)
    for name in START.keys() | REPAIRED.keys():
        if ".damaged-" in name:
            continue
        allowed = {START.get(name), REPAIRED.get(name)}
        assert found.get(name, tree_of(folder).get(name)) in allowed, f"{name} is neither old nor new: {found.get(name)!r}"


def settle(folder: Path) -> bool:
    """What the next command does first; whether the repair is done."""
    take_back(str(folder), UnsyncedDisk())
    return bool(read_journal(str(folder)))


def without_leftovers(folder: Path) -> dict[str, bytes]:
    """The files without copies that an interruption before the journal was of use may leave."""
    left = (".tmp", NEW_SUFFIX)
    return {name: data for name, data in tree_of(folder).items() if not name.endswith(left)}


@pytest.mark.slow
def test_after_a_crash_at_any_step_a_repair_is_done_or_can_be_done_again(tmp_path: Path) -> None:
    real, start, work = (make(tmp_path / name) for name in ("real", "start", "work"))
    shutil.rmtree(work)
    work.mkdir()
    steps = record_repair(real)

    def check(folder: Path) -> None:
        require_old_or_new(folder)
        if not settle(folder):
            assert without_leftovers(folder) == START
            write_changes(str(folder), changes_of(folder), 1, UnsyncedDisk())
        found = without_leftovers(folder)
        del found["repair.json"]
        assert found == REPAIRED
        undo(str(folder), UnsyncedDisk())
        assert without_leftovers(folder) == START

    assert try_every_crash(start, steps, work, check) > len(steps)


def test_after_a_crash_at_any_step_an_undo_is_done_or_can_be_done_again(tmp_path: Path) -> None:
    real, start, work = (make(tmp_path / name) for name in ("real", "start", "work"))
    shutil.rmtree(work)
    work.mkdir()
    for folder in (real, start):
        write_changes(str(folder), changes_of(folder), 1, UnsyncedDisk())
    steps = record_undo(real)

    def check(folder: Path) -> None:
        require_old_or_new(folder)
        if settle(folder):
            undo(str(folder), UnsyncedDisk())
        assert without_leftovers(folder) == START

    assert try_every_crash(start, steps, work, check) > len(steps)


@pytest.mark.slow
def test_taking_an_interrupted_repair_back_may_be_interrupted_too(tmp_path: Path) -> None:
    first, work = tmp_path / "first", tmp_path / "work"
    make(first)
    work.mkdir()
    steps = record_repair(first)
    for count in range(0, len(steps), 3):
        start, real = tmp_path / f"start-{count}", tmp_path / f"real-{count}"
        disk = ModelledDisk(make(tmp_path / f"model-{count}"))
        for step in steps[:count]:
            disk.follow(step)
        tree = list(disk.states(seed=count))[-1]
        for folder in (start, real):
            folder.mkdir()
            write_tree(tree, folder)
        recording = RecordingDisk(real)
        take_back(str(real), recording)

        def check(folder: Path) -> None:
            require_old_or_new(folder)
            settle(folder)
            assert without_leftovers(folder) == START or read_journal(str(folder))

        try_every_crash(start, recording.steps, work, check)


@pytest.mark.parametrize("left_out", ["sync_file", "sync_directory"])
def test_without_either_kind_of_sync_some_crash_would_be_noticed(left_out: str, tmp_path: Path) -> None:
    real, start, work = (make(tmp_path / name) for name in ("real", "start", "work"))
    shutil.rmtree(work)
    work.mkdir()
    steps = [step for step in record_repair(real) if step.name != left_out]

    def check(folder: Path) -> None:
        require_old_or_new(folder)
        if not settle(folder):
            assert without_leftovers(folder) == START

    with pytest.raises(CrashError):
        try_every_crash(start, steps, work, check)
