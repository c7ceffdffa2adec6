"""One file as a source."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path
from struct import pack

import pytest

from metashell.common.errors import UsageError
from metashell.common.values import OffsetAndEpoch
from metashell.disk.source import DirectorySource, FileSource, open_source
from tests.disk.conftest import offsets

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
    program = (
        "from metashell.disk.source import open_source\n"
        "with open_source('-') as s: print(s.kind, len(list(s.snapshot_batches())), s.faults)"
    )
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


# ---- a directory as a source: still, running under us, damaged, and of a leader that was cut off


CUT_OFF = Path(__file__).parent.parent / "golden" / "cut-off-leader"
FIRST = "00000000000000000000.log"
THIRD = "00000000000000000003.log"
AT_3 = "00000000000000000003-0000000001.checkpoint"


def opened(folder: Path) -> DirectorySource:
    source = open_source(str(folder))
    assert isinstance(source, DirectorySource)
    return source


def reasons(source: DirectorySource) -> list[str]:
    return [f"{os.path.basename(fault.file)}: {fault.reason}" for fault in source.faults if not fault.is_tail]


def read(source: DirectorySource) -> tuple[list[int], list[int]]:
    return offsets(source.snapshot_batches()), offsets(source.log_batches())


def test_a_log_from_zero_needs_no_checkpoint(directory, batch) -> None:
    with opened(directory({FIRST: batch(0) + batch(1, 2), THIRD: batch(3)})) as source:
        assert read(source) == ([], [0, 1, 3])
        assert (source.snapshot_id, source.certain_to, source.end_offset, source.faults) == (None, None, 4, [])


def test_the_log_goes_on_where_the_newest_checkpoint_ends(directory, batch, checkpoint) -> None:
    files = {FIRST: batch(0) + batch(1, 2), THIRD: batch(3) + batch(4), AT_3: checkpoint(2)}
    files["00000000000000000001-0000000001.checkpoint"] = b"an older one is not even opened"
    with opened(directory(files)) as source:
        assert source.end_offset == 3
        assert read(source) == ([0, 1, 3], [3, 4])
        assert (source.snapshot_id, source.certain_to, source.end_offset) == (OffsetAndEpoch(3, 1), 3, 5)
        assert source.faults == []
        assert read(source) == ([0, 1, 3], [3, 4])  # and once more


def test_the_records_of_a_bootstrap_snapshot_stand_for_a_log_that_there_is_not_yet(directory, batch, checkpoint) -> None:
    files = {"00000000000000000000-0000000000.checkpoint": checkpoint(2)}
    with opened(directory(files)) as source:
        assert read(source) == ([0, 1, 3], [])
        assert (source.snapshot_id, source.certain_to, source.end_offset) == (OffsetAndEpoch(0, 0), None, 0)
    with opened(directory({**files, FIRST: b""})) as source:
        assert read(source)[0] == [0, 1, 3]
    with opened(directory({**files, FIRST: batch(0)})) as source:
        assert read(source) == ([0, 3], [0]), "the log has them, or another server began without them"
        assert (source.certain_to, source.end_offset) == (None, 1)


def test_reading_may_start_later_than_the_checkpoint(directory, batch) -> None:
    with opened(directory({FIRST: b"".join(batch(at) for at in range(6))})) as source:
        assert offsets(source.log_batches(4)) == [4, 5]
        assert source.faults == []


def test_a_batch_in_which_the_checkpoint_ends_is_given_whole(directory, batch, checkpoint) -> None:
    with opened(directory({FIRST: batch(0) + batch(1, 4) + batch(5), AT_3: checkpoint(2)})) as source:
        assert read(source)[1] == [1, 5]
        assert source.faults == []


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_an_unusable_checkpoint_is_told_and_an_older_one_taken(directory, batch, checkpoint, damage: str) -> None:
    whole = checkpoint(4)
    bad = {"cut": whole[:-75], "flipped": whole[:100] + b"\xff" + whole[101:], "empty": b""}[damage]
    files = {FIRST: b"".join(batch(at) for at in range(8)), AT_3: checkpoint(2)}
    files["00000000000000000005-0000000001.checkpoint"] = bad
    with opened(directory(files)) as source:
        assert read(source) == ([0, 1, 3], [3, 4, 5, 6, 7])
        assert source.certain_to == 3
        (reason,) = reasons(source)
        assert reason.startswith("00000000000000000005-0000000001.checkpoint: ")


def test_a_damaged_checkpoint_is_better_than_none(directory, batch, checkpoint) -> None:
    with opened(directory({AT_3: checkpoint(2)[:-75], THIRD: batch(3)})) as source:
        assert read(source) == ([0, 1], [3])
        assert source.certain_to is None
        assert reasons(source) == [f"{AT_3}: checkpoint ends without its footer: it is incomplete"]


def test_a_damaged_checkpoint_is_passed_over_where_the_log_has_everything(directory, batch, checkpoint) -> None:
    with opened(directory({FIRST: batch(0, 3), AT_3: checkpoint(2)[:-75]})) as source:
        assert read(source) == ([], [0])
        assert source.certain_to is None
        assert len(source.faults) == 1


def test_a_checkpoint_is_given_as_it_was_found_whole_and_read_again_after_that(directory, batch, checkpoint) -> None:
    folder = directory({"00000000000000000005.log": batch(5), "00000000000000000005-0000000001.checkpoint": checkpoint(3)})
    with opened(folder) as source:
        path = folder / "00000000000000000005-0000000001.checkpoint"
        path.write_bytes(path.read_bytes()[:-1])  # the same file, of which nothing has to be read
        first = [bytes(read.data) for read in source.snapshot_batches()]
        assert b"".join(first) == checkpoint(3)
        assert reasons(source) == []
        again = [bytes(read.data) for read in source.snapshot_batches()]
        assert again == first[:-1]
        assert reasons(source) != []


def test_a_checkpoint_too_large_to_be_kept_is_read_twice(directory, batch, checkpoint, monkeypatch) -> None:
    monkeypatch.setattr("metashell.disk.segment.KEPT_SIZE_MAX", len(checkpoint(3)) - 1)
    folder = directory({"00000000000000000005.log": batch(5), "00000000000000000005-0000000001.checkpoint": checkpoint(3)})
    with opened(folder) as source:
        path = folder / "00000000000000000005-0000000001.checkpoint"
        path.write_bytes(path.read_bytes()[:-1])
        assert b"".join(bytes(read.data) for read in source.snapshot_batches()) in checkpoint(3)
        assert reasons(source) != []


def test_gaps_are_told(directory, batch, checkpoint) -> None:
    with opened(directory({"00000000000000000005.log": batch(5), "00000000000000000009.log": batch(9), AT_3: checkpoint(2)})) as source:
        assert read(source)[1] == [5, 9]
        assert reasons(source) == [
            "00000000000000000005.log: offsets 3 to 4 are missing",
            "00000000000000000009.log: offsets 6 to 8 are missing",
        ]
    with opened(directory({AT_3: b""})) as source:
        read(source)


def test_a_log_that_does_not_start_at_zero_without_a_checkpoint_is_told(directory, batch) -> None:
    with opened(directory({THIRD: batch(3)})) as source:
        assert read(source)[1] == [3]
        assert reasons(source) == [f"{THIRD}: offsets 0 to 2 are missing"]


@pytest.mark.parametrize("tail", [bytes(5000), b"\0\0\0\0\0\0\0\4", bytes(11) + b"\x40"])
def test_a_torn_or_zero_tail_is_the_end_of_the_last_segment_and_a_fault_in_an_earlier_one(directory, batch, tail: bytes) -> None:
    with opened(directory({FIRST: batch(0, 3) + tail})) as source:
        assert read(source)[1] == [0]
        (fault,) = source.faults
        assert fault.is_tail
        assert (fault.position, source.end_offset) == (len(batch(0, 3)), 3)
    with opened(directory({THIRD: batch(3)})) as source:
        assert read(source)[1] == [0, 3]
        assert [fault.is_tail for fault in source.faults] == [False]


def test_a_bad_batch_is_told_also_at_the_very_end(directory, batch) -> None:
    bad = bytearray(batch(1))
    bad[-3] ^= 1
    with opened(directory({FIRST: batch(0) + bytes(bad)})) as source:
        assert read(source)[1] == [0]
        assert [fault.is_tail for fault in source.faults] == [False]
        assert source.end_offset == 1


def test_after_a_bad_batch_the_next_one_is_not_blamed(directory, batch) -> None:
    bad = bytearray(batch(1))
    bad[-3] ^= 1
    with opened(directory({FIRST: batch(0) + bytes(bad) + batch(2)})) as source:
        assert read(source)[1] == [0, 2]
        assert len(source.faults) == 1


def test_compressed_segments_and_checkpoints_serve_as_well(directory, batch, checkpoint) -> None:
    files = {FIRST: batch(0, 3), THIRD: batch(3), AT_3: checkpoint(2)}
    with opened(directory({name + ".gz": gzip.compress(data) for name, data in files.items()})) as source:
        assert read(source) == ([0, 1, 3], [3])
        assert source.faults == []


def test_what_lies_before_the_checkpoints_end_is_not_read_where_an_index_leads_past_it(directory, batch, checkpoint) -> None:
    batches = [batch(at) for at in range(5)]
    files = {FIRST: b"not a batch".ljust(len(batches[0])) + b"".join(batches[1:]), AT_3: checkpoint(2)}
    files["00000000000000000000.index"] = pack(">ii", 2, len(batches[0] + batches[1])) + bytes(4096)
    with opened(directory(files)) as source:
        assert read(source)[1] == [3, 4]
        assert source.faults == []


# Under a running node.


def test_what_is_appended_while_we_read_is_read(directory, batch) -> None:
    folder = directory({FIRST: b"".join(batch(at, size=70_000) for at in range(3))})
    with opened(folder) as source:
        batches = source.log_batches()
        assert next(batches).header.base_offset == 0
        with (folder / FIRST).open("ab") as log:
            log.write(batch(3) + batch(4)[:30])
        assert offsets(batches) == [1, 2, 3]
        assert [fault.is_tail for fault in source.faults] == [True]


def test_a_log_rolled_while_we_read_is_followed_over_the_torn_batch(directory, batch) -> None:
    folder = directory({FIRST: batch(0) + batch(1)[:40]})
    with opened(folder) as source:
        batches = source.log_batches()
        assert next(batches).header.base_offset == 0
        (folder / FIRST).write_bytes(batch(0) + batch(1) + batch(2))
        (folder / THIRD).write_bytes(batch(3))
        assert offsets(batches) == [1, 2, 3]
        assert (source.faults, source.end_offset) == ([], 4)


def test_files_deleted_or_renamed_while_we_read_are_read_to_their_end(directory, batch, checkpoint) -> None:
    folder = directory({FIRST: batch(0, 3), THIRD: batch(3) + batch(4), AT_3: checkpoint(2)})
    with opened(folder) as source:
        (folder / FIRST).unlink()
        (folder / AT_3).rename(folder / (AT_3 + ".deleted"))
        (folder / THIRD).unlink()
        assert read(source) == ([0, 1, 3], [3, 4])
        assert source.faults == []


def test_a_file_that_vanishes_between_listing_and_opening_makes_us_list_again(directory, batch, checkpoint, monkeypatch) -> None:
    folder = directory({FIRST: batch(0, 3), THIRD: batch(3, 3), AT_3: checkpoint(2)})
    (folder / "00000000000000000006.log").write_bytes(batch(6))
    from metashell.disk.directory import MetadataDirectory

    genuine = MetadataDirectory.open

    def open_late(self: MetadataDirectory, name: str):
        if name == THIRD and (folder / AT_3).exists():  # the node has made a newer checkpoint, and room
            (folder / "00000000000000000006-0000000001.checkpoint").write_bytes(checkpoint(5))
            for gone in (FIRST, THIRD, AT_3):
                (folder / gone).unlink()
        return genuine(self, name)

    monkeypatch.setattr(MetadataDirectory, "open", open_late)
    with opened(folder) as source:
        assert source.certain_to == 6
        assert read(source) == ([0, 1, 6], [6])
        assert source.faults == []


def test_a_segment_that_vanished_and_is_still_needed_is_a_fault(directory, batch, monkeypatch) -> None:
    from metashell.disk import source as directory_source

    monkeypatch.setattr(directory_source, "_OPENED_EARLY_MAX", 1)
    folder = directory({FIRST: batch(0, 3), THIRD: batch(3)})
    (folder / "00000000000000000004.log").write_bytes(batch(4))
    with opened(folder) as source:
        (folder / THIRD).unlink()
        assert read(source)[1] == [0, 4]
        assert reasons(source) == [
            f"{THIRD}: vanished before it was read",
            "00000000000000000004.log: offset 3 is missing",
        ]


def test_a_log_that_is_cut_while_we_read_is_told(directory, batch) -> None:
    folder = directory({FIRST: batch(0) + batch(1)})
    with opened(folder) as source:
        batches = source.log_batches()
        assert [next(batches).header.base_offset, next(batches).header.base_offset] == [0, 1]
        os.truncate(folder / FIRST, len(batch(0)))
        assert list(batches) == []
        assert [fault.reason.split(";")[0] for fault in source.faults] == [f"was cut to {len(batch(0))} bytes while it was read"]


def test_a_directory_that_cannot_be_opened_is_one_line(directory, monkeypatch) -> None:
    from metashell.disk.directory import MetadataDirectory

    def refuse(self: MetadataDirectory, name: str):
        raise PermissionError(13, "Permission denied")

    folder = directory({FIRST: b""})
    monkeypatch.setattr(MetadataDirectory, "open", refuse)
    with pytest.raises(UsageError, match="Permission denied"):
        open_source(str(folder))


def test_a_file_that_cannot_be_opened_is_a_fault_and_the_rest_is_read(directory, batch, checkpoint) -> None:
    folder = directory({FIRST: batch(0, 3), AT_3: checkpoint(2), "00000000000000000004.log": batch(4)})
    (folder / THIRD).mkdir()
    (folder / "00000000000000000004-0000000001.checkpoint").mkdir()
    with opened(folder) as source:
        assert read(source) == ([0, 1, 3], [4])
        assert reasons(source) == [
            "00000000000000000004-0000000001.checkpoint: not a regular file",
            f"{THIRD}: not a regular file",
            "00000000000000000004.log: offset 3 is missing",
        ]


def test_a_listed_name_that_leads_nowhere_is_one_line(directory) -> None:
    folder = directory({})
    (folder / FIRST).symlink_to("nowhere")
    with pytest.raises(UsageError, match="vanish"):
        open_source(str(folder))


def test_many_segments_are_not_all_held_open(directory, batch) -> None:
    def open_files() -> int:
        return len(os.listdir("/dev/fd"))

    before = open_files()
    with opened(directory({f"{at:020d}.log": batch(at) for at in range(200)})) as source:
        batches = source.log_batches()
        for at in range(200):
            assert next(batches).header.base_offset == at
            assert open_files() < before + 70
        assert (list(batches), source.faults) == ([], [])
    assert open_files() == before


def test_nothing_in_the_directory_is_changed(directory, batch, checkpoint) -> None:
    folder = directory({FIRST: batch(0, 3) + bytes(3), AT_3: checkpoint(2), "leader-epoch-checkpoint": b"0\n0\n"})
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    with opened(folder) as source:
        read(source)
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()} == before


# The directory of a leader that was cut off from its quorum and written to (golden/cut-off-leader/README.md).


def values(source: DirectorySource) -> dict[int, bytes | None]:
    return {record.offset: record.value for batch in source.log_batches() for record in batch.records()}


def test_what_a_cut_off_leader_may_lose_lies_after_certain_to() -> None:
    with opened(CUT_OFF / "leader") as leader, opened(CUT_OFF / "majority") as majority:
        assert (leader.certain_to, majority.certain_to) == (27, 63)
        ours = values(leader)
        assert (leader.end_offset, leader.faults) == (42, [])
        theirs = {record.offset: record.value for batch in whole_log(CUT_OFF / "majority") for record in batch.records()}
    assert any(b"lost-topic" in value for value in ours.values() if value)
    assert not any(b"lost-topic" in value for value in theirs.values() if value)
    lost = [offset for offset in ours if ours[offset] != theirs[offset]]
    assert lost == list(range(35, 42))
    assert all(offset >= leader.certain_to for offset in lost)


def test_up_to_certain_to_the_logs_of_both_sides_are_the_same(tmp_path: Path) -> None:
    sides = []
    for side in ("leader", "majority"):
        batches = [batch for batch in whole_log(CUT_OFF / side) if batch.header.base_offset < 27]
        sides.append([batch.data for batch in batches])
    assert sides[0] == sides[1]


def whole_log(side: Path):
    """All batches of a side's only segment, its checkpoints apart."""
    with open_source(str(side / "__cluster_metadata-0" / FIRST)) as source:
        yield from source.log_batches()


def test_the_cut_off_leader_with_a_torn_tail_is_still_read_to_its_last_whole_batch(tmp_path: Path) -> None:
    shutil.copytree(CUT_OFF / "leader", tmp_path / "copy")
    log = tmp_path / "copy" / "__cluster_metadata-0" / FIRST
    os.truncate(log, log.stat().st_size - 1)
    with opened(tmp_path / "copy") as source:
        assert max(values(source)) == 40
        assert (source.certain_to, source.end_offset, [fault.is_tail for fault in source.faults]) == (27, 41, [True])


def test_a_wrong_length_in_the_last_segment_is_no_torn_tail(directory, batch) -> None:
    first, second, third = batch(0), batch(1), batch(2)
    wrong = second[:8] + pack(">i", len(second) + 5000) + second[12:]
    with opened(directory({FIRST: first + wrong + third})) as source:
        assert read(source) == ([], [0])
        assert reasons(source)[0].endswith(f"left, among them a whole batch at byte {len(first) + len(wrong)}")


def test_the_remains_of_a_last_write_are_a_torn_tail_at_every_length(directory, batch) -> None:
    whole, last = batch(0), batch(1)
    for size in range(1, len(last)):
        with opened(directory({FIRST: whole + last[:size]})) as source:
            assert read(source) == ([], [0])
            assert [fault.is_tail for fault in source.faults] == [True]
