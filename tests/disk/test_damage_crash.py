"""A recovery of damage, stopped after each step: the next one makes the same log of what is left, without a vote, and keeps all bytes."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from metashell.common.values import OffsetAndEpoch, Recovering
from metashell.disk import opening
from metashell.disk.metadata_log import MetadataLog
from metashell.disk.names import METADATA_DIRECTORY, checkpoint_name
from metashell.disk.opening import Opening
from tests.disk.conftest import Batch
from tests.disk.log_history import SETTINGS, batches_of, restore, snapshot_of
from tests.quick import quick
from tests.recording_files import ModelledDisk, RecordingDisk, Tree, UnsyncedDisk

Damage = Callable[[Path], None]


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def in_an_old_segment(directory: Path) -> None:
    flip(sorted(directory.glob("*.log"))[2], 300)


def in_the_first_segment(directory: Path) -> None:
    flip(directory / f"{0:020d}.log", 130)


def above_a_snapshot(directory: Path) -> None:
    """The log begins anew at the snapshot, although more of it was whole."""
    second = sorted(directory.glob("*.log"))[1]
    id = OffsetAndEpoch(int(second.stem) + 3, 1)
    (directory / checkpoint_name(id)).write_bytes(snapshot_of(id))
    flip(second, 130)


def of_the_only_snapshot(directory: Path) -> None:
    first, *_ = sorted(directory.glob("*.log"))
    first.unlink()
    id = OffsetAndEpoch(14, 1)
    (directory / checkpoint_name(id)).write_bytes(snapshot_of(id))
    flip(directory / checkpoint_name(id), 100)


def of_the_last_segment(directory: Path) -> None:
    sorted(directory.glob("*.log"))[-1].unlink()


DAMAGES = [in_an_old_segment, in_the_first_segment, above_a_snapshot, of_the_only_snapshot, of_the_last_segment]
Outcome = tuple[int, int, list[OffsetAndEpoch], list[bytes], Recovering | None]


def outcome(folder: Path) -> Outcome:
    log = MetadataLog.open(str(folder), UnsyncedDisk(), lock=False, **SETTINGS)
    try:
        return log.start_offset, log.end_offset, list(log.snapshots()), [data for _, _, data in batches_of(log)], log.recovering
    finally:
        log.close()


def try_every_crash(work: Path, batch: Batch, damage: Damage, samples: int) -> int:
    """Damage a log of 40 batches, let a recovery of it be interrupted after each step, and look at what the next one makes of it."""
    source = work / "source"
    source.mkdir()
    log = MetadataLog.open(str(source), UnsyncedDisk(), lock=False, **SETTINGS)
    for at in range(40):
        log.append(batch(at, epoch=1 + at // 25, size=30), at + 1)
    log.close()
    damage(source / METADATA_DIRECTORY)
    start, real, plain = (Path(shutil.copytree(source, work / name)) for name in ("start", "real", "plain"))
    expected = outcome(plain)
    assert expected[4] is not None and expected[4].until_offset in (40, None)
    precious = {path.name: path.read_bytes() for path in (source / METADATA_DIRECTORY).iterdir() if path.suffix in (".log", ".checkpoint")}
    recorder = RecordingDisk(real)
    MetadataLog.open(str(real), recorder, lock=False, **SETTINGS)
    disk, chance, count = ModelledDisk(start), random.Random(5), 0
    for step in recorder.steps:
        disk.follow(step)
        for tree in disk.samples(chance, samples):
            count += 1
            check(work, tree, expected, precious)
    return count


def check(work: Path, tree: Tree, expected: Outcome, precious: dict[str, bytes]) -> None:
    folder = restore(tree, work / "after")
    found = outcome(folder)
    assert found[:4] == expected[:4]
    assert found[4] is not None and expected[4] is not None
    assert (found[4].until_offset, found[4].epoch) == (expected[4].until_offset, expected[4].epoch)
    left = [path.read_bytes() for path in (folder / METADATA_DIRECTORY).iterdir()]
    for name, data in precious.items():
        assert any(other.startswith(data) for other in left), f"{name} is not kept"
    shutil.rmtree(folder)


@pytest.mark.parametrize("damage", quick(DAMAGES, 2))
def test_a_recovery_of_damage_may_be_interrupted_anywhere(damage: Damage, quick_folder: Path, batch: Batch) -> None:
    assert try_every_crash(quick_folder, batch, damage, 3) > 40


def note_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The note is written, but a crash may take it away."""
    monkeypatch.setattr(opening, "write_damage_note", lambda disk, directory, note: None)


def cut_without_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "copy_aside", lambda disk, path, fd: path)


def remove_what_does_not_join(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Opening, "_put_aside", lambda self, path: self._remove(path) or "")


@pytest.mark.parametrize("plant", [note_later, cut_without_a_copy, remove_what_does_not_join])
def test_a_planted_mistake_is_noticed(
    plant: Callable[[pytest.MonkeyPatch], None], quick_folder: Path, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        try_every_crash(quick_folder, batch, in_an_old_segment, 3)
