"""What an opened log makes of the files that it finds: of ends that are torn, segments that do not join, snapshots and leftovers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from metashell.common.errors import LogCorruptError
from metashell.common.values import OffsetAndEpoch
from metashell.disk.metadata_log import MetadataLog
from metashell.disk.names import checkpoint_name, segment_name
from tests.disk.conftest import Batch
from tests.disk.log_history import batches_of, snapshot_of

Directory = Callable[..., Path]


@pytest.fixture
def recovered(directory: Directory):
    """`recovered({name: bytes})`: the log in a directory of such files, opened."""
    logs: list[MetadataLog] = []

    def make(files: dict[str, bytes]) -> MetadataLog:
        logs.append(MetadataLog.open(str(directory(files).parent), index_size=1200))
        return logs[-1]

    yield make
    for log in logs:
        log.close()


def checkpoints(*ids: tuple[int, int]) -> dict[str, bytes]:
    return {checkpoint_name(OffsetAndEpoch(*id)): snapshot_of(OffsetAndEpoch(*id)) for id in ids}


def segments(batch: Batch, *parts: tuple[int, int, int]) -> dict[str, bytes]:
    """A segment for each (base offset, end offset, epoch)."""
    return {segment_name(base): b"".join(batch(offset, epoch=epoch) for offset in range(base, end)) for base, end, epoch in parts}


def offsets_of(log: MetadataLog) -> list[int]:
    return [base for base, _, _ in batches_of(log)]


def names(log: MetadataLog) -> list[str]:
    """The files that are segments or checkpoints."""
    return sorted(path.name for path in Path(log.directory).iterdir() if path.suffix in (".log", ".checkpoint"))


def test_a_directory_that_is_not_there_is_made(tmp_path: Path) -> None:
    log = MetadataLog.open(str(tmp_path))
    assert (log.start_offset, log.end_offset, log.snapshots(), log.size) == (0, 0, [], 0)
    log.close()
    assert sorted(path.name for path in Path(log.directory).iterdir()) == [
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "leader-epoch-checkpoint",
        "partition.metadata",
        "recovery-point",
    ]


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (lambda batch: batch(3, epoch=2)[:-1], "cut off"),
        (lambda batch: batch(3, epoch=2)[:20], "cut off"),
        (lambda batch: batch(3, epoch=2)[:9], "cut off"),
        (lambda batch: bytes(500), "the rest is zero"),
        (lambda batch: batch(3, epoch=2)[:-1] + b"Z" + batch(4, epoch=2), "CRC-32C"),
        (lambda batch: batch(4, epoch=2), "offset 3 is missing"),
        (lambda batch: batch(2, epoch=2), "offset goes back to 2 after 2"),
        (lambda batch: batch(3, epoch=1) + batch(4, epoch=2), "leader epoch goes back to 1 after 2"),
        (lambda batch: batch(3, epoch=2)[:16] + b"\x01" + batch(3, epoch=2)[17:], "CRC-32"),
    ],
)
def test_a_log_ends_before_what_is_no_good_batch(recovered, batch: Batch, tail: Callable[[Batch], bytes], reason: str) -> None:
    good = b"".join(batch(offset, epoch=2) for offset in range(3))
    log = recovered({segment_name(0): good + tail(batch)})
    assert offsets_of(log) == [0, 1, 2] and log.end_offset == 3
    (repair,) = log.repairs
    assert repair.position == len(good) and reason in repair.reason
    assert (Path(log.directory) / segment_name(0)).read_bytes() == good


def test_nothing_counts_behind_a_segment_that_was_cut(recovered, batch: Batch) -> None:
    files = segments(batch, (0, 5, 1), (5, 9, 1), (9, 12, 1))
    files[segment_name(5)] = files[segment_name(5)][:-1]
    log = recovered(files)
    assert offsets_of(log) == list(range(8)) and names(log) == [segment_name(0), segment_name(5)]
    assert [repair.file for repair in log.repairs] == [segment_name(9), segment_name(5)]


def test_a_segment_that_does_not_hold_what_its_name_says_is_empty(recovered, batch: Batch) -> None:
    files = segments(batch, (0, 5, 1))
    files[segment_name(5)] = batch(6)
    log = recovered(files)
    assert log.end_offset == 5 and (Path(log.directory) / segment_name(5)).stat().st_size == 0


def test_segments_behind_a_gap_go_where_no_snapshot_stands_for_it(recovered, batch: Batch) -> None:
    log = recovered(segments(batch, (0, 5, 1), (7, 9, 1)) | checkpoints((4, 1)))
    assert offsets_of(log) == list(range(5)) and segment_name(7) not in names(log)


def test_segments_before_a_gap_go_where_a_snapshot_stands_for_them(recovered, batch: Batch) -> None:
    """A deletion of old segments of which only a part reached the disk."""
    log = recovered(segments(batch, (0, 5, 1), (7, 12, 1)) | checkpoints((4, 1), (9, 1)))
    assert (log.start_offset, offsets_of(log), log.snapshots()) == (9, [9, 10, 11], [OffsetAndEpoch(9, 1)])
    assert names(log) == [segment_name(7), checkpoint_name(OffsetAndEpoch(9, 1))]


def test_a_log_without_its_beginning_starts_at_the_earliest_snapshot(recovered, batch: Batch) -> None:
    log = recovered(segments(batch, (7, 12, 1), (12, 15, 3)) | checkpoints((5, 1), (9, 1), (13, 3)))
    assert (log.start_offset, log.leader_epochs()) == (9, [(1, 9), (3, 12)])
    assert log.snapshots() == [OffsetAndEpoch(9, 1), OffsetAndEpoch(13, 3)]


def test_a_log_without_its_beginning_and_without_a_snapshot_does_not_start(directory: Directory, batch: Batch) -> None:
    files = segments(batch, (7, 12, 1)) | checkpoints((5, 1)) | {"00000000000000000009-0000000001-77.checkpoint.part": b"x"}
    folder = directory(files)
    with pytest.raises(LogCorruptError, match="the log starts at 7, and there is no snapshot at or after that offset"):
        MetadataLog.open(str(folder.parent))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files
    assert not (folder.parent / ".lock").exists()


@pytest.mark.parametrize("id", [(20, 1), (10, 2), (12, 5), (20, 0)])
def test_a_finished_download_takes_the_place_of_the_log(recovered, batch: Batch, id: tuple[int, int]) -> None:
    """Be it ahead of the log, or of an epoch that the log does not have there."""
    log = recovered(segments(batch, (0, 5, 1), (5, 12, 1)) | checkpoints((0, 0), (4, 0), id))
    assert (log.start_offset, log.end_offset, log.leader_epochs()) == (id[0], id[0], [])
    assert log.snapshots() == [OffsetAndEpoch(*id)]
    assert names(log) == sorted([checkpoint_name(OffsetAndEpoch(*id)), segment_name(id[0])])


@pytest.mark.parametrize("id", [(0, 0), (3, 1), (5, 1), (9, 3), (12, 3)])
def test_a_snapshot_of_the_log_itself_changes_nothing(recovered, batch: Batch, id: tuple[int, int]) -> None:
    log = recovered(segments(batch, (0, 5, 1), (5, 12, 3)) | checkpoints(id))
    assert (log.start_offset, log.end_offset, log.snapshots()) == (0, 12, [OffsetAndEpoch(*id)])
    assert not log.repairs


def test_a_snapshot_alone_is_a_log_that_begins_at_its_end(recovered) -> None:
    log = recovered(checkpoints((100, 7)))
    assert (log.start_offset, log.end_offset) == (100, 100)


def test_leftovers_go_and_the_files_of_others_stay(recovered, batch: Batch) -> None:
    stem = "00000000000000000004-0000000001"
    kept = {"00000000000000000002.snapshot": b"of producers", "notes.txt": b"", "quorum-state": b"{}"}
    left = [f"{stem}-123.checkpoint.part", f"{stem}.checkpoint.deleted", "quorum-state.tmp", "00000000000000000009.index"]
    left += ["00000000000000000001.log.deleted", "00000000000000000001.timeindex.deleted", "leader-epoch-checkpoint.tmp"]
    log = recovered(segments(batch, (0, 5, 1)) | kept | dict.fromkeys(left, b"x"))
    found = {path.name for path in Path(log.directory).iterdir()}
    assert set(kept) <= found and not found & set(left)


def test_indexes_are_made_again_whatever_they_were(recovered, batch: Batch) -> None:
    files = {segment_name(0): b"".join(batch(offset, size=400) for offset in range(40))}
    files |= {segment_name(40): batch(40)} | {
        f"{base:020d}{suffix}": b"nonsense" for base in (0, 40) for suffix in (".index", ".timeindex")
    }
    log = recovered(files)
    index = (Path(log.directory) / "00000000000000000000.index").read_bytes()
    size = len(batch(0, size=400))
    # An entry for each first batch that begins more than 4096 bytes behind the last one's.
    every = 4096 // size + 1
    assert index == b"".join((at * every).to_bytes(4, "big") + (at * every * size).to_bytes(4, "big") for at in range(1, 39 // every + 1))
    assert (Path(log.directory) / "00000000000000000040.index").read_bytes() == bytes(1200)
