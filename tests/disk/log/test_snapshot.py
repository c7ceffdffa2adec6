"""Whether a checkpoint is whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.disk.files import open_file
from metashell.disk.segment import checked_snapshot, first_snapshot_fault, read_batches


def faults_of(path: Path, data: bytes) -> list[str]:
    path.write_bytes(data)
    faults: list = []
    with open_file(str(path)) as file:
        for _ in checked_snapshot(read_batches(file), file.name, faults):
            pass
        first = first_snapshot_fault(file)
    assert first == (faults[0] if faults else None)
    return [fault.reason for fault in faults]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "00000000000000000012-0000000001.checkpoint"


def test_a_whole_checkpoint_has_no_fault(path: Path, checkpoint) -> None:
    assert faults_of(path, checkpoint(3)) == []
    assert faults_of(path, checkpoint(0)) == []


def test_every_truncation_of_a_checkpoint_is_incomplete(path: Path, checkpoint) -> None:
    data = checkpoint(2)
    for size in range(len(data)):
        assert "checkpoint ends without its footer: it is incomplete" in faults_of(path, data[:size])


def test_a_checkpoint_without_a_header_is_told(path: Path, batch, checkpoint) -> None:
    assert faults_of(path, batch(0) + checkpoint(2)[len(batch(0)) :])[0] == "checkpoint does not start with a snapshot header"


def test_batches_after_the_footer_are_told(path: Path, batch, checkpoint) -> None:
    assert "checkpoint goes on after its footer" in faults_of(path, checkpoint(2) + batch(4))


def test_a_bad_batch_is_told_once_and_the_next_one_is_not_blamed(path: Path, checkpoint) -> None:
    data = bytearray(checkpoint(2))
    data[100] ^= 1
    (reason,) = faults_of(path, bytes(data))
    assert reason.startswith("CRC-32C")


def test_offsets_and_epochs_that_the_checksum_does_not_cover_are_checked(path: Path, batch, checkpoint) -> None:
    head, foot = checkpoint(0)[:-75], checkpoint(0)[-75:]
    assert faults_of(path, head + batch(5) + foot)[0] == "offsets 1 to 4 are missing"
    assert faults_of(path, head + batch(1, epoch=0) + checkpoint(1)[-75:])[0] == "leader epoch goes back to 0 after 1"
