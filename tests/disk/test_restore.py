"""The directory of a restored quorum: its files, its refusals, and what is left of it when the machine stops in between."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from metashell.codec.batches import RecordBatch
from metashell.codec.messages import FeatureLevelRecord
from metashell.codec.metadata_records import write_metadata_record
from metashell.common.errors import MetashellError, PathError
from metashell.common.values import OffsetAndEpoch
from metashell.disk.bootstrap import Voter
from metashell.disk.file_system import Disk
from metashell.disk.files import open_file
from metashell.disk.properties import read_meta_properties
from metashell.disk.restore import EPOCH_MARGIN, OFFSET_MARGIN, RestorePlan, check_target, new_place, write_restored
from metashell.disk.segment import first_snapshot_fault, read_batches
from metashell.disk.state_files import read_leader_epochs, read_quorum_state, read_topic_id
from tests.disk.storage_cases import listing
from tests.recording_files import ModelledDisk, RecordingDisk, UnsyncedDisk, write_tree

VOTER = Voter(7, "host7", 9093, bytes(15) + b"\xaa")
VALUES = [write_metadata_record(FeatureLevelRecord(name="metadata.version", feature_level=33), 0)]
METADATA = "__cluster_metadata-0"


def plan(path: Path | str, *, is_static: bool = False) -> RestorePlan:
    return RestorePlan(
        path=str(path),
        cluster_id="4L6g3nShT-eMCtK--X86sw",
        voter=VOTER,
        listener="CONTROLLER",
        is_static=is_static,
        snapshot_id=new_place(503, 9),
        last_timestamp_ms=1,
        now_ms=2,
        date="Fri Nov 27 18:00:00 UTC 2026",
    )


def check_whole(folder: Path, *, is_static: bool = False) -> None:
    """Hold a directory with a meta.properties against what a server needs."""
    meta = read_meta_properties(str(folder / "meta.properties"))
    assert (meta.cluster_id, meta.node_id, meta.directory_id) == ("4L6g3nShT-eMCtK--X86sw", 7, VOTER.directory_id)
    inner = folder / METADATA
    assert sorted(os.listdir(inner)) == [
        "00000000001000000503-0001000009.checkpoint",
        "00000000001000000503.log",
        "leader-epoch-checkpoint",
        "partition.metadata",
        "quorum-state",
    ]
    with open_file(str(inner / "00000000001000000503-0001000009.checkpoint")) as file:
        assert first_snapshot_fault(file) is None
        batches = [batch for batch in read_batches(file) if isinstance(batch, RecordBatch)]
    assert {batch.header.leader_epoch for batch in batches} == {1000009}
    names_voter = any(VOTER.directory_id in batch.data for batch in batches)
    assert names_voter != is_static
    state = read_quorum_state(str(inner / "quorum-state"))
    assert (state.leader_epoch, state.leader_id, state.voted_id, state.data_version) == (1000009, -1, -1, 0 if is_static else 1)
    assert state.current_voters == ((7,) if is_static else ())
    assert read_leader_epochs(str(inner / "leader-epoch-checkpoint")) == ()
    assert read_topic_id(str(inner / "partition.metadata")) == bytes(15) + b"\x01"


@pytest.mark.parametrize("is_static", [False, True])
def test_a_directory_has_all_that_a_server_needs(tmp_path: Path, is_static: bool) -> None:
    write_restored(plan(tmp_path / "a" / "new", is_static=is_static), VALUES)
    check_whole(tmp_path / "a" / "new", is_static=is_static)
    assert not (tmp_path / "a" / "new" / ".lock").exists()


def test_an_empty_directory_is_used_even_if_it_is_the_root_of_a_disk(tmp_path: Path) -> None:
    (tmp_path / "new" / "lost+found").mkdir(parents=True)
    write_restored(plan(tmp_path / "new"), VALUES)
    check_whole(tmp_path / "new")


def test_many_records_go_into_batches_that_a_server_takes(tmp_path: Path) -> None:
    values = [VALUES[0] + bytes(0)] * 3000
    write_restored(plan(tmp_path / "new"), values)
    with open_file(str(tmp_path / "new" / METADATA / "00000000001000000503-0001000009.checkpoint")) as file:
        counts = [batch.header.count for batch in read_batches(file) if isinstance(batch, RecordBatch)]
    assert counts == [3, 1024, 1024, 952, 1]


def test_large_records_do_not_share_a_batch_that_is_too_large(tmp_path: Path) -> None:
    values = [VALUES[0] + bytes(size) for size in (600_000, 400_000, 100_000, 1_000_000, 10, 2_000_000)]
    size = write_restored(plan(tmp_path / "new"), values)
    path = tmp_path / "new" / METADATA / "00000000001000000503-0001000009.checkpoint"
    assert path.stat().st_size == size
    with open_file(str(path)) as file:
        batches = [batch for batch in read_batches(file) if isinstance(batch, RecordBatch)]
    assert [batch.header.count for batch in batches] == [3, 2, 1, 2, 1, 1]
    header = next(iter(batches[0].records()))
    assert header.value == bytes(2) + (1).to_bytes(8, "big") + bytes(1)


def test_a_place_is_far_above_all_that_was_seen_and_keeps_its_last_digits() -> None:
    assert new_place(503, 9) == OffsetAndEpoch(OFFSET_MARGIN + 503, EPOCH_MARGIN + 9)
    assert new_place(-1, -1) == OffsetAndEpoch(OFFSET_MARGIN, EPOCH_MARGIN)
    with pytest.raises(MetashellError, match="leave no room"):
        new_place(1 << 62, 1)
    with pytest.raises(MetashellError, match="leave no room"):
        new_place(1, 1 << 30)


@pytest.mark.parametrize("name", ["meta.properties", METADATA, "orders-0", ".hidden"])
def test_a_directory_with_anything_else_is_refused_and_stays_as_it_is(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "file").write_bytes(b"x")
    before = listing(tmp_path)
    with pytest.raises(PathError, match="is not empty"):
        write_restored(plan(tmp_path), VALUES)
    assert listing(tmp_path) == before


def test_a_link_with_the_name_of_a_leftover_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_bytes(b"x")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / f"{METADATA}.restoring").symlink_to(tmp_path / "other")
    with pytest.raises(PathError, match="is not empty"):
        check_target(str(tmp_path / "new"))
    assert (tmp_path / "other" / "file").exists()


def test_a_log_directory_that_lost_its_meta_properties_is_no_leftover(tmp_path: Path) -> None:
    (tmp_path / METADATA).mkdir()
    with pytest.raises(PathError, match="is not empty"):
        check_target(str(tmp_path))


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_failure_leaves_nothing_that_a_server_starts_on(tmp_path: Path, goes_on: bool) -> None:
    class Failing(Disk):
        """Fails at the given step, and at all later ones if it goes on."""

        left = 0

        def _step(self) -> None:
            self.left -= 1
            if self.left == -1 or (goes_on and self.left < 0):
                raise OSError(28, "No space left on device")

        def append(self, fd: int, data: bytes) -> None:
            self._step()
            super().append(fd, data)

        def rename(self, source: str, target: str) -> None:
            self._step()
            super().rename(source, target)

        def sync_directory(self, path: str) -> None:
            self._step()
            super().sync_directory(path)

    failures = 0
    for step in range(100):
        disk = Failing()
        disk.left = step
        try:
            write_restored(plan(tmp_path / "deep" / "new"), VALUES, disk)
        except PathError as error:
            assert "No space left on device; nothing was written" in str(error)
            if (tmp_path / "deep" / "new" / "meta.properties").exists():
                # Neither the last step nor its undoing worked: all is there.
                assert goes_on
                check_whole(tmp_path / "deep" / "new")
            else:
                check_target(str(tmp_path / "deep" / "new"))
                assert goes_on or listing(tmp_path) == {}
            shutil.rmtree(tmp_path / "deep", ignore_errors=True)
            failures += 1
            continue
        break
    assert failures > 10
    check_whole(tmp_path / "deep" / "new")


@pytest.mark.parametrize("error", [MetashellError("no"), KeyboardInterrupt()])
def test_records_that_cannot_be_made_and_an_interrupt_leave_nothing(tmp_path: Path, error: BaseException) -> None:
    def values() -> Iterator[bytes]:
        yield from VALUES
        raise error

    with pytest.raises(type(error)):
        write_restored(plan(tmp_path / "new"), values())
    assert listing(tmp_path) == {}


def test_an_interruption_at_any_step_leaves_no_directory_that_a_server_starts_on_or_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, work = tmp_path / "start", tmp_path / "work"
    (tmp_path / "run").mkdir()
    start.mkdir()
    work.mkdir()
    disk = RecordingDisk(tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    write_restored(plan("new"), VALUES, disk)
    modelled = ModelledDisk(start)
    states = whole = 0
    for index, step in enumerate([None, *disk.steps]):
        if step is not None:
            modelled.follow(step)
        for tree in modelled.states(seed=index):
            folder = work / str(states)
            folder.mkdir()
            write_tree(tree, folder)
            new = folder / "new"
            if (new / "meta.properties").exists():
                check_whole(new)
                whole += 1
            else:
                write_restored(plan(new), VALUES, UnsyncedDisk())
                check_whole(new)
                assert {path.name for path in new.iterdir()} == {"meta.properties", METADATA}
            states += 1
            shutil.rmtree(folder)
    assert states > 100
    assert whole >= 1


def test_the_snapshot_is_on_disk_before_its_name_and_meta_properties_is_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = RecordingDisk(tmp_path)
    monkeypatch.chdir(tmp_path)
    write_restored(plan("new"), VALUES, disk)
    renames = [(step.path, step.other) for step in disk.steps if step.name == "rename"]
    assert renames == [(f"new/{METADATA}.restoring", f"new/{METADATA}"), ("new/meta.properties.restoring", "new/meta.properties")]
    first = next(index for index, step in enumerate(disk.steps) if step.name == "rename")
    assert [step.name for step in disk.steps[first : first + 4]] == ["rename", "sync_directory", "rename", "sync_directory"]
    written = {step.path for step in disk.steps[:first] if step.name == "create"}
    assert {step.path for step in disk.steps[:first] if step.name == "sync_file"} == written
