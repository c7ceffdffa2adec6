"""Directories that real Kafka controllers left are opened for writing (as copies), and ours are laid out as theirs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metashell.disk.files import open_file
from metashell.disk.metadata_log import MetadataLog
from metashell.disk.names import METADATA_DIRECTORY, segment_name
from metashell.disk.segment import read_batches
from metashell.disk.state_files import format_quorum_state, read_quorum_state
from tests.disk.log_history import batches_of, end_of

SEGMENT_SIZE = 24576
"""What the controllers of the golden set ran with."""


def kafka_directories(golden: Path) -> list[Path]:
    """Every metadata directory of the set that holds a log."""
    found = sorted(golden.glob(f"*/*/data/*/*/*/{METADATA_DIRECTORY}"))
    return [path for path in found if list(path.glob("*.log"))]


def copied(directory: Path, folder: Path) -> Path:
    """A log directory with a writable copy of a metadata directory."""
    shutil.rmtree(folder, ignore_errors=True)
    for path in (directory, *directory.iterdir()):
        target = folder / METADATA_DIRECTORY / path.relative_to(directory)
        if path.is_dir():
            target.mkdir(parents=True)
        else:
            target.write_bytes(path.read_bytes())
    return folder


def segment_bytes(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))


def test_the_directories_of_kafka_open_as_they_are(golden: Path, tmp_path: Path) -> None:
    directories = kafka_directories(golden)
    assert directories
    for directory in directories:
        folder = copied(directory, tmp_path / "copy")
        log = MetadataLog.open(str(folder), segment_size=SEGMENT_SIZE)
        assert not log.repairs, directory
        assert b"".join(data for _, _, data in batches_of(log)) == segment_bytes(directory)
        checkpoints = sorted(directory.glob("*.checkpoint"))
        assert sorted(log.snapshot_path(id).rsplit("/", 1)[1] for id in log.snapshots()) == [path.name for path in checkpoints]
        epochs = [tuple(map(int, line.split())) for line in (directory / "leader-epoch-checkpoint").read_text().splitlines()[2:]]
        assert list(log.leader_epochs()) == [entry for entry in epochs if entry[1] < log.end_offset]
        log.close()
        assert segment_bytes(folder / METADATA_DIRECTORY) == segment_bytes(directory)


def test_the_same_batches_make_the_same_files(golden: Path, tmp_path: Path) -> None:
    """For directories whose node ran once without being started again, so that its indexes were only appended to."""
    same = 0
    for number, directory in enumerate(kafka_directories(golden)):
        folder = tmp_path / str(number)
        folder.mkdir()
        log = MetadataLog.open(str(folder), segment_size=SEGMENT_SIZE)
        for path in sorted(directory.glob("*.log")):
            with open_file(str(path)) as file:
                for batch in read_batches(file):
                    log.append(batch.data, end_of(batch.data))
        active = sorted(directory.glob("*.log"))[-1].stem
        log.close()
        ours = folder / METADATA_DIRECTORY
        for path in directory.glob("*.log"):
            assert (ours / path.name).read_bytes() == path.read_bytes(), path
        for path in directory.glob("*index"):
            # Those of rolled segments, and all of them after a clean stop, are cut to their entries.
            if path.stem != active or "stopped" in path.parts:
                same += (ours / path.name).read_bytes() == path.read_bytes()
        assert (ours / "partition.metadata").read_bytes() == (directory / "partition.metadata").read_bytes()
    assert same >= 2


def test_quorum_state_is_written_as_kafka_writes_it(golden: Path) -> None:
    paths = [path / "quorum-state" for path in kafka_directories(golden)]
    assert {read_quorum_state(str(path)).data_version for path in paths} == {0, 1}
    for path in paths:
        assert format_quorum_state(read_quorum_state(str(path))) == path.read_bytes()


@pytest.mark.parametrize("cut", [1, 60, 200])
def test_a_tail_that_is_torn_goes_and_the_rest_stays(golden: Path, tmp_path: Path, cut: int) -> None:
    directory = kafka_directories(golden)[0]
    folder = copied(directory, tmp_path / "copy")
    path = sorted((folder / METADATA_DIRECTORY).glob("*.log"))[-1]
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut] + b"Z" * cut + bytes(5000))
    log = MetadataLog.open(str(folder))
    (repair,) = log.repairs
    assert (repair.file, repair.position) == (path.name, path.stat().st_size)
    assert whole.startswith(path.read_bytes()) and path.stat().st_size < len(whole)
    assert log.end_offset == end_of(batches_of(log)[-1][2])
    log.close()
    assert path.name >= segment_name(0)
