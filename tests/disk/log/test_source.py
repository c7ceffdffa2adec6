"""One file as a source."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from metashell.common.errors import UsageError
from metashell.common.values import OffsetAndEpoch
from metashell.disk.source import FileSource, open_source
from tests.disk.log.conftest import offsets

SEGMENT = "00000000000000000012.log"
CHECKPOINT = "00000000000000000012-0000000003.checkpoint"


@pytest.fixture
def source(tmp_path: Path):
    """`source(name, data)`: the source of a file."""

    def make(name: str, data: bytes) -> FileSource:
        path = tmp_path / name
        path.write_bytes(data)
        opened = open_source(str(path))
        assert isinstance(opened, FileSource)
        return opened

    return make


@pytest.mark.parametrize("name", [SEGMENT, SEGMENT + ".deleted", SEGMENT + ".swap", SEGMENT + ".gz", "anything"])
def test_a_segment_gives_its_log_and_nothing_of_it_is_certain(source, batch, name: str) -> None:
    data = batch(12) + batch(13, 2)
    with source(name, gzip.compress(data) if name.endswith(".gz") else data) as segment:
        assert (segment.kind, segment.certain_to, segment.snapshot_id) == ("segment", None, None)
        assert offsets(segment.snapshot_batches()) == []
        assert offsets(segment.log_batches()) == [12, 13]
        assert offsets(segment.log_batches(13)) == [13]
        assert (segment.end_offset, segment.faults) == (15, [])


@pytest.mark.parametrize(
    "name", [CHECKPOINT, CHECKPOINT + ".deleted", "00000000000000000012-0000000003-77.checkpoint.part", CHECKPOINT + ".gz"]
)
def test_a_checkpoint_is_certain_up_to_its_end_offset(source, checkpoint, name: str) -> None:
    data = checkpoint(2, epoch=3)
    with source(name, gzip.compress(data) if name.endswith(".gz") else data) as snapshot:
        assert (snapshot.kind, snapshot.snapshot_id) == ("checkpoint", OffsetAndEpoch(12, 3))
        assert (snapshot.certain_to, snapshot.end_offset) == (12, 12)
        assert offsets(snapshot.log_batches()) == []
        assert offsets(snapshot.snapshot_batches()) == [0, 1, 3]
        assert snapshot.faults == []


def test_a_checkpoint_under_another_name_is_known_by_its_first_record(source, checkpoint) -> None:
    with source("saved.bin", checkpoint(2)) as snapshot:
        assert (snapshot.kind, snapshot.snapshot_id, snapshot.certain_to, snapshot.end_offset) == ("checkpoint", None, None, None)
        assert offsets(snapshot.snapshot_batches()) == [0, 1, 3]
        assert (snapshot.certain_to, snapshot.end_offset) == (4, 4)  # the file's own numbers, there are no others


def test_nothing_of_an_incomplete_checkpoint_is_certain(source, checkpoint) -> None:
    with source(CHECKPOINT, checkpoint(2, epoch=3)[:-75]) as snapshot:
        assert offsets(snapshot.snapshot_batches()) == [0, 1]
        assert (snapshot.certain_to, snapshot.end_offset) == (None, 12)


def test_a_bootstrap_checkpoint_has_no_offset_of_its_own(source, checkpoint) -> None:
    with source("bootstrap.checkpoint", checkpoint(2)) as bootstrap:
        assert (bootstrap.kind, bootstrap.snapshot_id, bootstrap.certain_to) == ("bootstrap", None, None)
        assert offsets(bootstrap.snapshot_batches()) == [0, 1, 3]


@pytest.mark.parametrize("tail", [bytes(100), b"\0\0\0\0\0\0\0\7\0"])
def test_a_tail_is_a_fault_in_a_file_that_was_named(source, batch, tail: bytes) -> None:
    with source(SEGMENT, batch(12) + tail) as segment:
        assert offsets(segment.log_batches()) == [12]
        assert [(fault.is_tail, fault.position) for fault in segment.faults] == [(False, len(batch(12)))]


def test_batches_out_of_order_are_told_and_given(source, batch) -> None:
    with source(SEGMENT, batch(12) + batch(20) + batch(13) + batch(14, epoch=0)) as segment:
        assert offsets(segment.log_batches()) == [12, 20, 13, 14]
        assert [fault.reason for fault in segment.faults] == [
            "offsets 13 to 19 are missing",
            "offset goes back to 13 after 20",
            "leader epoch goes back to 0 after 1",
        ]


def test_a_fault_names_the_file_and_the_place(source, batch) -> None:
    bad = bytearray(batch(13))
    bad[-3] ^= 1
    with source(SEGMENT, batch(12) + bytes(bad) + batch(14)) as segment:
        assert offsets(segment.log_batches()) == [12, 14]
        (fault,) = segment.faults
        assert fault.offset == 13
        assert str(fault).startswith(f"{segment.path}: byte {len(bad)}: CRC-32C 0x")


def test_reading_twice_tells_each_fault_once(source, batch) -> None:
    with source(SEGMENT, batch(12) + bytes(5)) as segment:
        for _ in range(2):
            assert offsets(segment.log_batches()) == [12]
            assert len(segment.faults) == 1


def test_empty_and_foreign_files_are_read_as_segments_without_a_record(source) -> None:
    with source("empty", b"") as empty:
        assert (empty.kind, offsets(empty.log_batches())) == ("segment", [])
        assert [fault.reason for fault in empty.faults] == ["the file is empty"]
    with source("notes.txt", b"these are notes, long enough to look like a header" * 3) as foreign:
        assert (foreign.kind, offsets(foreign.log_batches()), len(foreign.faults)) == ("segment", [], 1)


def test_an_empty_checkpoint_is_incomplete(source) -> None:
    with source(CHECKPOINT, b"") as snapshot:
        assert offsets(snapshot.snapshot_batches()) == []
        assert [fault.reason for fault in snapshot.faults] == ["checkpoint ends without its footer: it is incomplete"]


def test_standard_input_may_be_a_checkpoint(checkpoint) -> None:
    program = "from metashell.disk.source import open_source\nwith open_source('-') as s: print(s.kind, len(list(s.snapshot_batches())), s.faults)"
    done = subprocess.run([sys.executable, "-c", program], input=checkpoint(2), capture_output=True, check=True)
    assert done.stdout == b"checkpoint 3 []\n"


def test_a_path_that_names_nothing_is_the_operators_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file or directory"):
        open_source(str(tmp_path / "nothing"))


def test_a_segment_is_given_from_its_first_offset_on(source, batch) -> None:
    with source("00000000000000000000.log", batch(0) + batch(1)) as segment:
        assert offsets(segment.log_batches()) == [0, 1]
        assert offsets(segment.log_batches(1)) == [1]


def test_an_empty_segment_is_a_fault_at_its_first_byte(source) -> None:
    with source("00000000000000000000.log", b"") as segment:
        assert offsets(segment.log_batches()) == []
        [fault] = segment.faults
        assert (fault.offset, fault.position, fault.reason) == (-1, 0, "the file is empty")
