"""A metadata log, stopped after every step that it makes on the disk: it comes back with all that was flushed and nothing else."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.values import OffsetAndEpoch
from metashell.disk import opening
from metashell.disk.file_system import DeferredSteps, FlushToken
from metashell.disk.metadata_log import MetadataLog
from metashell.disk.opening import Opening
from metashell.disk.recovery import Run
from metashell.disk.snapshot_files import SnapshotPart
from tests.disk.conftest import quick_place
from tests.disk.log_history import SETTINGS, CrashError, History, Promise, check, kill, random_history, restore
from tests.quick import quick
from tests.recording_files import ModelledDisk, RecordingDisk, Step, Tree

EXAMPLES = max(8, settings.default.max_examples // 10) if settings.default else 8
Visit = Callable[[Tree, list[Promise], str], None]


@pytest.fixture(autouse=True)
def no_descriptors_left() -> Iterator[None]:
    """Logs that crash close nothing. With more than 1024 open files no prompt can read its keys in this process (select)."""
    yield
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            path = os.readlink(f"/proc/self/fd/{name}")
            if "/__cluster_metadata-" in path and path.endswith(" (deleted)"):
                os.close(int(name))


def plain(history: History) -> None:
    for _ in range(12):
        history.append(2, 40)
    history.flush()
    history.append(1, 900)
    history.begin_flush()
    history.append(3)
    history.truncate(25)
    history.append(2)
    history.finish_flush()
    history.epochs()
    history.append(1)
    history.reopen()
    history.append(1)
    history.append(4, 300)
    history.append(2)
    history.reopen(kill)


def snapshots(history: History) -> None:
    for _ in range(14):
        history.append(1, 60)
    history.leave_part(OffsetAndEpoch(3, 1))
    history.flush()
    history.freeze(OffsetAndEpoch(5, 1))
    history.freeze(OffsetAndEpoch(11, 1))
    history.delete_before(OffsetAndEpoch(11, 1))
    history.append(1)
    history.delete_due()
    history.delete_due()
    history.delete_due()
    history.flush()
    history.reopen()


def install(history: History) -> None:
    for _ in range(14):
        history.append(1, 60)
    history.flush()
    history.append(1)
    history.install(OffsetAndEpoch(40, 3))
    history.append(2)
    history.flush()
    # A log that ends behind the snapshot, of a higher epoch, which the snapshot contradicts.
    history.append(5)
    history.epoch = 9
    history.append(5)
    history.flush()
    history.install(OffsetAndEpoch(50, 6))
    history.append(1)


def cut(history: History) -> None:
    """A later leader's batches give way to those of an earlier one, which end just where a segment of the first began: should that come
    back, the log would look whole."""
    for _ in range(3):
        history.append(1, 60)
    history.epoch = 9
    for _ in range(9):
        history.append(1, 60)
    history.flush()
    history.truncate(3)
    history.epoch = 4
    for _ in range(4):
        history.append(1, 60)
        history.flush()


SCRIPTS = {"plain": plain, "snapshots": snapshots, "install": install, "cut": cut}


def visit_crashes(start: Path, steps: list[Step], moments: list[list[Promise]], samples: int, seed: int, visit: Visit) -> int:
    """Call `visit` for a sample of what a crash after each step may leave; how often that was."""
    disk, chance, count, seen = ModelledDisk(start), random.Random(seed), 0, set()
    for index, (step, promises) in enumerate(zip(steps, moments, strict=True), 1):
        disk.follow(step)
        for tree in disk.samples(chance, samples):
            key = (frozenset(tree.items()), id(promises))
            if key not in seen:
                seen.add(key)
                count += 1
                visit(tree, promises, f"crash after step {index}, {step.name} {step.path}")
    return count


def run(work: Path, drive: Callable[[History], None], *, is_deferred: bool = False) -> tuple[Path, History]:
    """Drive a history in a folder below `work`, and an empty one to start the model from."""
    real, start = work / "real", work / "start"
    real.mkdir()
    start.mkdir()
    history = History.begin(real, is_deferred=is_deferred)
    drive(history)
    history.finish_flush()
    history.log.close()
    return start, history


def try_every_crash(
    work: Path,
    drive: Callable[[History], None],
    samples: int,
    seed: int,
    keep: Callable[[Step], bool] = lambda _: True,
    *,
    is_deferred: bool = False,
) -> int:
    """Check a history's promises after each of its steps; steps that `keep` refuses are played as if they had not been made."""
    start, history = run(work, drive, is_deferred=is_deferred)
    chosen = [pair for pair in zip(history.disk.steps, history.moments, strict=False) if keep(pair[0])]

    def visit(tree: Tree, promises: list[Promise], where: str) -> None:
        folder = restore(tree, work / "after")
        try:
            check(folder, promises, history.contents)
        except Exception as error:
            raise CrashError(f"seed {seed}, {where}: {error}") from error
        shutil.rmtree(folder)

    return visit_crashes(start, [step for step, _ in chosen], [promises for _, promises in chosen], samples, seed, visit)


CASES = [("cut", True), *((name, False) for name in SCRIPTS), *((name, True) for name in SCRIPTS if name != "cut")]


@pytest.mark.parametrize(
    ("name", "is_deferred"),
    quick(CASES, 5),
    ids=[f"{name}-{'left to a thread' if is_deferred else 'at once'}" for name, is_deferred in CASES],
)
def test_whatever_a_crash_leaves_is_what_was_promised(name: str, is_deferred: bool, quick_folder: Path) -> None:
    assert try_every_crash(quick_folder, SCRIPTS[name], 3, 1, is_deferred=is_deferred) > 100


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_whatever_a_crash_leaves_is_what_was_promised_in_many_samples(name: str, quick_folder: Path) -> None:
    assert try_every_crash(quick_folder, SCRIPTS[name], 12, 2) > 300


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 1 << 32))
def test_random_histories_keep_their_promises(seed: int) -> None:
    with quick_place() as folder:
        drive = partial(random_history, chance=random.Random(seed), count=50)
        assert try_every_crash(folder, drive, 4, seed, is_deferred=seed % 2 == 1) > 20


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_recovery_that_is_interrupted_leads_to_the_same_log(name: str, quick_folder: Path) -> None:
    start, history = run(quick_folder, SCRIPTS[name])
    chance, count = random.Random(3), 0

    def visit(tree: Tree, promises: list[Promise], where: str) -> None:
        nonlocal count
        if chance.random() > 0.04:
            return
        before, real = restore(tree, quick_folder / "before"), restore(tree, quick_folder / "recovered")
        disk = RecordingDisk(real)
        MetadataLog.open(str(real), disk, lock=False, **SETTINGS)
        expected = check(restore(tree, quick_folder / "whole"), promises, history.contents)

        def again(tree: Tree, promises: list[Promise], inner: str) -> None:
            nonlocal count
            count += 1
            folder = restore(tree, quick_folder / "after")
            try:
                if check(folder, promises, history.contents) != expected:
                    raise CrashError("another log than without the second crash")
            except Exception as error:
                raise CrashError(f"{where}; then, in recovery, {inner}: {error}") from error
            shutil.rmtree(folder)

        visit_crashes(before, disk.steps, [promises] * len(disk.steps), 2, 4, again)
        for folder in (before, real, quick_folder / "whole"):
            shutil.rmtree(folder)

    visit_crashes(start, history.disk.steps[: len(history.moments)], history.moments, 6, 3, visit)
    assert count > 100


def test_a_cut_that_waits_is_carried_out_before_anything_is_written_behind_it(quick_folder: Path) -> None:
    def drive(history: History) -> None:
        history.append(8, 40)
        for _ in range(4):
            history.append(1, 40)
        history.flush()
        history.epoch = 5

        def cut_and_append() -> None:
            # Nobody takes the work in between, as a driver does.
            history.log.truncate_to(9)
            record = Record(9, 1000, None, b"behind the cut")
            history.log.append(write_batch(9, [record], leader_epoch=5), 10)

        kept = tuple(entry for entry in history.now.batches if entry[0] < 9)
        shortened = replace(history.now, batches=kept, flushed_offset=9)
        log = history.log
        history.do(
            cut_and_append,
            replace(shortened, batches=(*kept, (9, 5, write_batch(9, [Record(9, 1000, None, b"behind the cut")], leader_epoch=5)))),
            replace(history.now, flushed_offset=9),
            shortened,
        )
        assert log.end_offset == 10
        history.flush()

    assert try_every_crash(quick_folder, drive, 6, 1, is_deferred=True) > 30


@pytest.mark.parametrize("left_out", ["sync_file", "sync_directory"])
def test_without_either_kind_of_sync_some_crash_is_noticed(left_out: str, quick_folder: Path) -> None:
    with pytest.raises(CrashError):
        try_every_crash(quick_folder, plain, 10, 1, lambda step: step.name != left_out)


def forget_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flush that does not sync the directory of a new segment."""
    begin = MetadataLog.begin_flush

    def begin_flush(self: MetadataLog) -> FlushToken:
        token = begin(self)
        token.has_new_names = False
        return token

    monkeypatch.setattr(MetadataLog, "begin_flush", begin_flush)


def believe_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recovery that does not sync what an earlier process has written."""
    monkeypatch.setattr(Opening, "_sync", lambda self, run: None)


def freeze_unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot that gets its name before its bytes are on disk."""
    monkeypatch.setattr(SnapshotPart, "sync", lambda self: None)


def compare_as_kafka(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recovery that keeps a log of a later epoch than that of a snapshot which is ahead of it."""

    def start_over_at(run: Run | None, snapshots: Sequence[OffsetAndEpoch]) -> OffsetAndEpoch | None:
        newest = snapshots[-1] if snapshots else None
        keeps = newest is None or (run is not None and (newest.epoch, newest.offset) <= (run.last_epoch, run.end_offset))
        return None if keeps else newest

    monkeypatch.setattr(opening, "start_over_at", start_over_at)


def write_before_the_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that is appended to while it is still to be cut."""
    do = DeferredSteps.do

    def late(self: DeferredSteps, *steps: Step, is_awaited: bool = True) -> None:
        do(self, *steps, is_awaited=False)

    monkeypatch.setattr(DeferredSteps, "do", late)


def other_tail(history: History) -> None:
    """A follower cuts off the tail of a leader that died, whole segments of it, and fetches older batches to where one of these began."""
    history.epoch = 1
    for _ in range(4):
        history.append(1, 40)
    history.epoch = 2
    while len(history.log._segments) < 3:
        history.append(1, 40)
    begin = history.log._segments[1].base_offset
    history.flush()
    history.truncate(4)
    history.epoch = 1
    while history.log.end_offset < begin:
        history.append(1, 40)
    history.flush()


def keep_the_names_of_what_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A truncation that does not sync the directory: a segment that was removed may be there again, and join the log."""
    truncate_to = MetadataLog.truncate_to

    def truncate(self: MetadataLog, offset: int) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(MetadataLog, "_sync_directory", lambda self: None)
            truncate_to(self, offset)

    monkeypatch.setattr(MetadataLog, "truncate_to", truncate)


@pytest.mark.slow
def test_what_was_cut_off_never_joins_the_log_again(quick_folder: Path) -> None:
    assert try_every_crash(quick_folder, other_tail, 6, 1) > 30


@pytest.mark.slow
def test_writing_before_a_cut_is_on_disk_is_noticed(quick_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_before_the_cut(monkeypatch)
    with pytest.raises(CrashError):
        try_every_crash(quick_folder, plain, 6, 1, is_deferred=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "script"),
    [
        (forget_names, plain),
        (believe_what_is_found, plain),
        (freeze_unsynced, snapshots),
        (compare_as_kafka, install),
        (keep_the_names_of_what_is_cut_off, other_tail),
    ],
)
def test_a_planted_mistake_is_noticed(
    plant: Callable[[pytest.MonkeyPatch], None],
    script: Callable[[History], None],
    quick_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch)
    with pytest.raises(CrashError):
        try_every_crash(quick_folder, script, 6, 2)
