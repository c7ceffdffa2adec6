"""The metadata log on disk: what is appended is read, cut, flushed, and found again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.errors import LogCorruptError
from metashell.common.values import OffsetAndEpoch
from metashell.disk.file_system import DirectoryLock, Disk, LogStoppedError
from metashell.disk.log_segment import LogSegment, SegmentIndex
from metashell.disk.metadata_log import MetadataLog
from metashell.disk.names import METADATA_DIRECTORY
from metashell.quorum.raft.replicated_log import PartialSnapshot, ReplicatedLog
from tests.disk.conftest import Batch

Checkpoint = Callable[..., bytes]
SMALL = {"segment_size": 1000, "index_interval": 200, "index_size": 1200}


@pytest.fixture
def opened(tmp_path: Path):
    """`opened(**settings)`: the log in the test's directory; whatever was open before is closed."""
    logs: list[MetadataLog] = []

    def make(**settings) -> MetadataLog:
        for log in logs:
            log.close()
        logs[:] = [MetadataLog.open(str(tmp_path), **{**SMALL, **settings})]
        return logs[0]

    yield make
    for log in logs:
        log.close()


def fill(log: MetadataLog, batch: Batch, count: int, *, epoch: int = 1, size: int = 0) -> list[bytes]:
    """Append batches of one record; their bytes."""
    made = []
    for offset in range(log.end_offset, log.end_offset + count):
        made.append(batch(offset, epoch=epoch, size=size))
        log.append(made[-1], offset + 1)
    return made


def files(tmp_path: Path, suffix: str = "") -> list[str]:
    return sorted(path.name for path in (tmp_path / METADATA_DIRECTORY).iterdir() if path.name.endswith(suffix))


def snapshot(log: MetadataLog, id: OffsetAndEpoch, data: bytes) -> None:
    part = log.create_snapshot(id)
    part.append(data)
    part.freeze()


def everything(log: MetadataLog) -> bytes:
    """All batches from the log's start on, read in pieces."""
    pieces, offset = [], log.start_offset
    while data := log.read(offset, log.end_offset, 300):
        pieces.append(data)
        at = 0
        while at < len(data):
            offset = int.from_bytes(data[at : at + 8], "big") + int.from_bytes(data[at + 23 : at + 27], "big") + 1
            at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    return b"".join(pieces)


def test_it_is_what_raft_asks_for(opened, batch: Batch) -> None:
    log: ReplicatedLog = opened()
    part: PartialSnapshot = log.create_snapshot(OffsetAndEpoch(1, 1))
    assert (part.id, part.size, log.end_offset) == (OffsetAndEpoch(1, 1), 0, 0)


def test_what_was_appended_is_read_and_found_again(opened, batch: Batch) -> None:
    log = opened()
    made = fill(log, batch, 40)
    assert everything(log) == b"".join(made)
    assert log.flushed_offset == 0
    again = opened()
    assert (again.start_offset, again.end_offset, again.flushed_offset) == (0, 40, 40)
    assert everything(again) == b"".join(made)
    assert again.leader_epochs() == [(1, 0)] and not again.repairs


def test_reading_keeps_to_batches_offsets_and_sizes(opened, batch: Batch) -> None:
    log = opened(segment_size=1 << 20)
    three = batch(0, 3)
    log.append(three, 3)
    made = [three, *fill(log, batch, 30)]
    size = len(made[1])
    assert log.read(1, 33, 1) == three, "the batch that holds the offset, whatever its size"
    assert log.read(3, 33, 2 * size + 1) == made[1] + made[2]
    assert log.read(3, 33, 2 * size) == made[1] + made[2]
    assert log.read(10, 12, 1 << 20) == made[8] + made[9]
    assert log.read(33, 99, 1 << 20) == b""
    assert log.read(5, 5, 1 << 20) == b""
    assert log.read(0, 2, 1 << 20) == three
    assert log.read(0, 99, 1 << 20) == b"".join(made)
    assert [offset for offset in range(-1, 35) if log.is_batch_boundary(offset)] == [0, *range(3, 34)]


def test_reading_ends_with_a_segment_as_kafkas_does(opened, batch: Batch, tmp_path: Path) -> None:
    """A follower of Kafka's appends an answer as one piece, and ends where that is larger than its own segments may be."""
    log = opened(segment_size=1_000)
    made = fill(log, batch, 30)
    starts = [int(name.removesuffix(".log")) for name in files(tmp_path, ".log")]
    assert len(starts) > 1
    for start, end in zip(starts, [*starts[1:], 30], strict=True):
        assert log.read(start, 30, 1 << 20) == b"".join(made[start:end])
        assert log.read(end - 1, 30, 1 << 20) == made[end - 1]


def test_a_segment_ends_by_size_and_by_the_time_of_its_batches(opened, batch: Batch, tmp_path: Path) -> None:
    log = opened(segment_size=10_000, segment_ms=20)
    fill(log, batch, 45)
    # A batch at offset n is of time 1000 + n, and 21 ms after the first one of a segment is too late.
    assert files(tmp_path, ".log") == [f"{base:020d}.log" for base in (0, 21, 42)]
    log = opened(segment_size=1000, segment_ms=1 << 40)
    fill(log, batch, 1, size=900)
    fill(log, batch, 1, size=2000)
    fill(log, batch, 1)
    assert files(tmp_path, ".log") == [f"{base:020d}.log" for base in (0, 21, 42, 45, 46, 47)]


def test_a_segment_whose_first_batch_is_of_the_time_0_grows_old_too(opened, tmp_path: Path) -> None:
    log = opened(segment_size=1 << 20, segment_ms=20)
    for offset, timestamp in enumerate((0, 20, 21)):
        log.append(write_batch(offset, [Record(offset, timestamp, None, b"x")], leader_epoch=1), offset + 1)
    assert files(tmp_path, ".log") == [f"{base:020d}.log" for base in (0, 2)]


def test_truncation_takes_segments_batches_and_index_entries(opened, batch: Batch, tmp_path: Path) -> None:
    log = opened()
    made = fill(log, batch, 60)
    assert log.flush() == 60
    log.truncate_to(33)
    assert (log.end_offset, log.flushed_offset) == (33, 33)
    made = made[:33] + fill(log, batch, 20, epoch=2)
    assert everything(log) == b"".join(made)
    assert everything(opened()) == b"".join(made)
    assert opened().leader_epochs() == [(1, 0), (2, 33)]
    log = opened()
    log.truncate_to(0)
    assert (log.end_offset, files(tmp_path, ".log")) == (0, [f"{0:020d}.log"])
    with pytest.raises(AssertionError, match="truncation to 1"):
        log.truncate_to(1)


def test_a_flush_tells_only_of_what_was_appended_before_it_and_not_truncated_since(opened, batch: Batch) -> None:
    log = opened()
    fill(log, batch, 10)
    token = log.begin_flush()
    fill(log, batch, 10)
    log.sync(token)
    assert (log.flushed_offset, log.finish_flush(token), log.flushed_offset) == (0, 10, 10)
    token = log.begin_flush()
    log.truncate_to(12)
    fill(log, batch, 8, epoch=2)
    log.sync(token)
    assert log.finish_flush(token) == 12
    assert log.flush() == 20


def test_a_segment_that_is_dropped_during_a_flush_stays_open_for_it(opened, batch: Batch, checkpoint: Checkpoint) -> None:
    log = opened()
    fill(log, batch, 60)
    token = log.begin_flush()
    snapshot(log, OffsetAndEpoch(100, 3), checkpoint(epoch=3))
    log.start_at_snapshot(OffsetAndEpoch(100, 3))
    log.sync(token)
    assert log.finish_flush(token) == 100
    assert (log.start_offset, log.end_offset, log.leader_epochs()) == (100, 100, [])


def test_a_log_that_starts_at_a_snapshot_goes_on_there(opened, batch: Batch, checkpoint: Checkpoint, tmp_path: Path) -> None:
    log = opened()
    fill(log, batch, 40)
    id = OffsetAndEpoch(100, 3)
    snapshot(log, id, checkpoint(epoch=3))
    log.start_at_snapshot(id)
    made = fill(log, batch, 5, epoch=4)
    again = opened()
    assert (again.start_offset, again.end_offset, again.leader_epochs()) == (100, 105, [(4, 100)])
    assert everything(again) == b"".join(made)
    assert again.snapshots() == [id] and again.read_snapshot(id, 0, 1 << 20) == checkpoint(epoch=3)
    assert files(tmp_path, ".log") == [f"{100:020d}.log"]


def test_what_lies_before_a_snapshot_goes_after_a_delay(opened, batch: Batch, checkpoint: Checkpoint, tmp_path: Path) -> None:
    log = opened()
    made = fill(log, batch, 60)
    early, late = OffsetAndEpoch(10, 1), OffsetAndEpoch(40, 1)
    snapshot(log, early, checkpoint())
    snapshot(log, late, checkpoint(3))
    assert log.read_snapshot(early, 5, 10) == checkpoint()[5:15]
    bases = [int(name[:20]) for name in files(tmp_path, ".log")]
    log.delete_before(late)
    assert (log.start_offset, log.snapshots()) == (40, [late])
    kept = [base for base, following in zip(bases, [*bases[1:], 1 << 60], strict=True) if following > 40]
    assert files(tmp_path, ".log") == [f"{base:020d}.log" for base in kept]
    assert len(files(tmp_path, ".deleted")) == 3 * (len(bases) - len(kept)) + 1
    assert log.delete_due(1000, 60) == 1060
    assert log.delete_due(1059, 60) == 1060 and files(tmp_path, ".deleted")
    assert log.delete_due(1060, 60) is None and not files(tmp_path, ".deleted")
    assert everything(log) == b"".join(made[40:])
    again = opened()
    assert (again.start_offset, again.leader_epochs()) == (40, [(1, 40)])
    assert everything(again) == b"".join(made[40:])


def test_a_snapshot_is_there_when_it_is_frozen_and_not_before(opened, batch: Batch, checkpoint: Checkpoint, tmp_path: Path) -> None:
    log = opened()
    fill(log, batch, 5)
    id, data = OffsetAndEpoch(3, 1), checkpoint()
    first = log.create_snapshot(id)
    first.append(b"first")
    second = log.create_snapshot(id)
    assert len(files(tmp_path, ".part")) == 1
    second.append(data[:70])
    second.append(data[70:])
    assert (second.size, log.snapshots()) == (len(data), [])
    second.freeze()
    second.close()
    assert (log.snapshot_size(id), log.read_snapshot(id, 2, 3)) == (len(data), data[2:5])
    assert not files(tmp_path, ".part")
    assert (tmp_path / METADATA_DIRECTORY / "00000000000000000003-0000000001.checkpoint").stat().st_mode & 0o777 == 0o444
    left = log.create_snapshot(OffsetAndEpoch(4, 1))
    left.append(b"x")
    assert opened().snapshots() == [id] and not files(tmp_path, ".part")
    with pytest.raises(KeyError):
        opened().snapshot_size(OffsetAndEpoch(4, 1))


def test_epochs_are_those_of_the_batches_when_it_is_opened_again(opened, batch: Batch, tmp_path: Path) -> None:
    log = opened()
    fill(log, batch, 5, epoch=2)
    fill(log, batch, 5, epoch=4)
    log.write_leader_epochs([(2, 0), (4, 5), (7, 10)])
    assert (tmp_path / METADATA_DIRECTORY / "leader-epoch-checkpoint").read_bytes() == b"0\n3\n2 0\n4 5\n7 10\n"
    assert opened().leader_epochs() == [(2, 0), (4, 5)]
    assert (tmp_path / METADATA_DIRECTORY / "leader-epoch-checkpoint").read_bytes() == b"0\n2\n2 0\n4 5\n"
    assert (tmp_path / METADATA_DIRECTORY / "partition.metadata").read_bytes() == b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"


def test_the_directory_is_locked_while_the_log_is_open(opened, tmp_path: Path) -> None:
    log = opened()
    assert (tmp_path / DirectoryLock.NAME).exists()
    log.close()
    assert not (tmp_path / DirectoryLock.NAME).exists()
    with pytest.raises(LogStoppedError, match="is closed"):
        log.append(b"", 1)


class FailingDisk(Disk):
    """A disk of which one operation fails from a moment on."""

    def __init__(self, operation: str) -> None:
        self._operation = operation
        self.fails = False

    def __getattribute__(self, name: str):
        if name == object.__getattribute__(self, "_operation") and self.fails:
            return self._fail
        return object.__getattribute__(self, name)

    def _fail(self, *_) -> None:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("operation", ["write_at", "sync_file", "sync_directory", "create_file", "truncate", "rename", "set_mode"])
def test_after_a_failure_nothing_is_written_and_nothing_counts_as_durable(
    operation: str, batch: Batch, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    disk = FailingDisk(operation)
    log = MetadataLog.open(str(tmp_path), disk, **SMALL)
    durable = fill(log, batch, 8)
    log.flush()
    disk.fails = True
    with pytest.raises(OSError, match="No space left"):
        fill(log, batch, 40)
        part = log.create_snapshot(OffsetAndEpoch(8, 1))
        part.append(checkpoint())
        part.freeze()
        log.flush()
    disk.fails = False
    assert log.failure is not None and log.failure.errno == 28
    for refused in (log.flush, log.begin_flush, lambda: log.truncate_to(8), lambda: fill(log, batch, 1), lambda: log.delete_due(1)):
        with pytest.raises(LogStoppedError, match="nothing is written any more: No space left on device"):
            refused()
    assert log.flushed_offset == 8
    assert log.read(0, 8, 1 << 20).startswith(durable[0])
    log.close()
    again = MetadataLog.open(str(tmp_path), **SMALL)
    assert everything(again).startswith(b"".join(durable))
    again.close()


def test_a_failed_flush_in_a_thread_ends_the_log(batch: Batch, tmp_path: Path) -> None:
    disk = FailingDisk("sync_file")
    log = MetadataLog.open(str(tmp_path), disk, **SMALL)
    fill(log, batch, 3)
    token = log.begin_flush()
    disk.fails = True
    with pytest.raises(OSError, match="No space"):
        log.sync(token)
    disk.fails = False
    with pytest.raises(LogStoppedError):
        log.finish_flush(token)
    assert log.flushed_offset == 0
    log.close()


def test_reading_bytes_that_were_not_written_is_an_error(opened, batch: Batch, tmp_path: Path) -> None:
    log = opened(segment_size=1 << 20)
    fill(log, batch, 30)
    log.close()
    log = opened(segment_size=1 << 20)
    path = tmp_path / METADATA_DIRECTORY / f"{0:020d}.log"
    with open(path, "r+b") as file:
        file.truncate(700)
    with pytest.raises(LogCorruptError, match="shorter than what was written"):
        log.read(29, 30, 100)
    with open(path, "r+b") as file:
        file.truncate(3000)
    with pytest.raises(LogCorruptError, match="is not what was written"):
        log.read(29, 30, 100)


def test_a_flush_that_fails_is_an_error_and_one_more_is_refused(batch: Batch, tmp_path: Path) -> None:
    disk = FailingDisk("sync_file")
    log = MetadataLog.open(str(tmp_path), disk, **SMALL)
    fill(log, batch, 2)
    disk.fails = True
    with pytest.raises(OSError, match="No space left"):
        log.flush()
    disk.fails = False
    with pytest.raises(LogStoppedError):
        log.flush()
    log.close()


def test_a_snapshot_that_cannot_be_begun_ends_the_log(batch: Batch, tmp_path: Path) -> None:
    disk = FailingDisk("create_file")
    log = MetadataLog.open(str(tmp_path), disk, **SMALL)
    fill(log, batch, 2)
    disk.fails = True
    with pytest.raises(OSError, match="No space left"):
        log.create_snapshot(OffsetAndEpoch(1, 1))
    disk.fails = False
    with pytest.raises(LogStoppedError):
        fill(log, batch, 1)
    log.close()


class CountingDisk(Disk):
    """A disk that knows what is open."""

    def __init__(self) -> None:
        self.open: set[int] = set()
        self.is_full = False

    def create_file(self, path: str, mode: int) -> int:
        if self.is_full:
            raise OSError(28, "No space left on device")
        fd = super().create_file(path, mode)
        self.open.add(fd)
        return fd

    def open_file(self, path: str) -> int:
        fd = super().open_file(path)
        self.open.add(fd)
        return fd

    def close_file(self, fd: int) -> None:
        super().close_file(fd)
        self.open.remove(fd)


def test_whatever_was_done_a_closed_log_has_no_file_open(batch: Batch, checkpoint: Checkpoint, tmp_path: Path) -> None:
    disk = CountingDisk()
    log = MetadataLog.open(str(tmp_path), disk, **SMALL)
    fill(log, batch, 40)
    log.flush()
    log.truncate_to(30)
    snapshot(log, OffsetAndEpoch(20, 1), checkpoint())
    log.delete_before(OffsetAndEpoch(20, 1))
    log.delete_due(1 << 60)
    left = log.create_snapshot(OffsetAndEpoch(25, 1))
    left.append(b"x")
    snapshot(log, OffsetAndEpoch(50, 2), checkpoint(epoch=2))
    log.start_at_snapshot(OffsetAndEpoch(50, 2))
    fill(log, batch, 3, epoch=2)
    log.close()
    assert not disk.open


@pytest.mark.parametrize(("interval", "entries"), [(-1, 1), (0, 0), (1, 0)])
def test_an_index_entry_stands_where_more_bytes_than_the_interval_came_before(
    opened, batch: Batch, tmp_path: Path, interval: int, entries: int
) -> None:
    size = len(batch(0))
    log = opened(segment_size=3 * size, index_interval=2 * size + interval)
    fill(log, batch, 6)
    log.truncate_to(3)
    fill(log, batch, 6, epoch=2)
    log.close()
    for base in (0, 3, 6):
        assert (tmp_path / METADATA_DIRECTORY / f"{base:020d}.index").stat().st_size == 8 * entries
    log = opened(segment_size=3 * size, index_interval=2 * size + interval)
    log.truncate_to(0)
    fill(log, batch, 3, epoch=3)
    log.close()
    assert (tmp_path / METADATA_DIRECTORY / f"{0:020d}.index").stat().st_size == 8 * entries


def test_a_snapshot_that_is_closed_while_it_is_made_durable_is_there_all_the_same(opened, batch: Batch, checkpoint: Checkpoint) -> None:
    log = opened()
    fill(log, batch, 5)
    part = log.create_snapshot(OffsetAndEpoch(3, 1))
    part.append(checkpoint())
    make_durable = part.begin_freeze()
    part.close()
    make_durable()
    part.end_freeze()
    assert log.read_snapshot(OffsetAndEpoch(3, 1), 0, 1 << 20) == checkpoint()


def test_a_log_that_cannot_begin_anew_closes_no_file_that_is_not_its_own(batch: Batch, checkpoint: Checkpoint, tmp_path: Path) -> None:
    disk = CountingDisk()
    log = MetadataLog.open(str(tmp_path), disk, **SMALL)
    fill(log, batch, 5)
    snapshot(log, OffsetAndEpoch(50, 2), checkpoint(epoch=2))
    disk.is_full = True
    with pytest.raises(OSError, match="No space"):
        log.start_at_snapshot(OffsetAndEpoch(50, 2))
    log.close()
    assert not disk.open


def test_a_segment_that_ends_where_the_log_now_starts_goes(opened, tmp_path: Path, batch: Batch, checkpoint: Checkpoint) -> None:
    log = opened()
    fill(log, batch, 40)
    second = sorted(int(name[:20]) for name in files(tmp_path, ".log"))[1]
    id = OffsetAndEpoch(second, 1)
    snapshot(log, id, checkpoint())
    log.delete_before(id)
    assert files(tmp_path, ".log")[0] == f"{second:020d}.log"


def test_offsets_of_one_segment_differ_by_no_more_than_an_index_can_say(tmp_path: Path, batch: Batch) -> None:
    segment = LogSegment.create(Disk(), str(tmp_path), 7, SegmentIndex(Disk(), str(tmp_path), 7, 4096, 1200))
    segment.append(batch(7), [(7, len(batch(7)), 0)])
    assert segment.end_offset == 8
    assert segment.has_room(1, 7 + 0x7FFFFFFF, 0, 1000, 1000) and not segment.has_room(1, 8 + 0x7FFFFFFF, 0, 1000, 1000)
    segment.index.close_files()
    os.close(segment.fd)
