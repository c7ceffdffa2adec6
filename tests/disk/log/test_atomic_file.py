"""A small file that is replaced: the old one or the new one, whenever the machine stops, and the new one afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.disk.file_system import Disk, replace_file
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
