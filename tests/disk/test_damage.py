"""What was durable and is damaged is not a torn tail: it is told, nothing of it is deleted, and the log says that it lost something."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metashell.common.errors import LogCorruptError
from metashell.common.values import OffsetAndEpoch
from metashell.disk.metadata_log import MetadataLog
from metashell.disk.names import METADATA_DIRECTORY, checkpoint_name, segment_name
from metashell.disk.recovery import read_damage_note
from metashell.disk.state_files import DurableTo, QuorumState, format_recovery_point, read_recovery_point, write_quorum_state
from metashell.quorum.raft.replicated_log import ReplicatedLog
from tests.disk.conftest import Batch
from tests.disk.log_history import batches_of, end_of, snapshot_of
from tests.recording_files import UnsyncedDisk

SETTINGS = {"segment_size": 900, "index_interval": 200, "index_size": 1200, "lock": False}
Written = Callable[..., tuple[Path, list[bytes]]]


def opened(folder: Path, **settings) -> MetadataLog:
    return MetadataLog.open(str(folder), UnsyncedDisk(), **{**SETTINGS, **settings})


@pytest.fixture
def written(quick_folder: Path, batch: Batch) -> Iterator[Written]:
    """`written(count)`: a log of that many batches in segments of eight or so, flushed and closed; its directory and its batches."""

    def make(count: int = 30, *, epoch_at: Callable[[int], int] = lambda at: 1 + at // 12) -> tuple[Path, list[bytes]]:
        log = opened(quick_folder)
        batches = [batch(at, epoch=epoch_at(at), size=40) for at in range(count)]
        for at, data in enumerate(batches):
            log.append(data, at + 1)
        log.write_leader_epochs(sorted({epoch_at(at): at for at in reversed(range(count))}.items()))
        log.close()
        return quick_folder / METADATA_DIRECTORY, batches

    yield make


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def flip(path: Path, position: int, bit: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1 << bit
    path.chmod(0o600)  # a snapshot may only be read
    path.write_bytes(data)


def segments_of(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.log"))


def aside(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if ".damaged-" in path.name}


def data_of(log: ReplicatedLog) -> list[bytes]:
    return [data for _, _, data in batches_of(log)]


def test_a_flipped_bit_in_an_old_segment_takes_the_vote_and_deletes_nothing(written: Written) -> None:
    directory, batches = written()
    flip(segments_of(directory)[1], 130)
    before = {path.name: path.read_bytes() for path in segments_of(directory)}
    log = opened(directory.parent)
    assert data_of(log) == batches[: log.end_offset] and 0 < log.end_offset < 12
    found = log.recovering
    assert found is not None and (found.until_offset, found.epoch) == (30, 3)
    assert found.reason.startswith(f"{segments_of(directory)[-1].name}: byte ") and "CRC-32C" in found.reason
    assert {name.rpartition(".damaged-")[0]: data for name, data in aside(directory).items()} == dict(list(before.items())[1:])
    assert {repair.kept_as for repair in log.repairs} == set(aside(directory))
    log.close()
    kept = aside(directory)
    log = opened(directory.parent)
    assert log.recovering == found and not log.repairs and aside(directory) == kept
    # A leader sends what is missing.
    for data in batches[log.end_offset :]:
        log.append(data, end_of(data))
    log.flush()
    log.end_recovery()
    assert log.recovering is None
    log.close()
    log = opened(directory.parent)
    assert log.recovering is None and data_of(log) == batches and aside(directory) == kept
    log.close()


@pytest.mark.slow
def test_no_bit_of_a_log_that_was_closed_flips_unnoticed(written: Written, quick_folder: Path) -> None:
    directory, batches = written(20)
    files = contents(directory)
    tried = unbounded = 0
    for name in [path.name for path in segments_of(directory)]:
        for position in range(len(files[name])):
            tried += 1
            flip(directory / name, position, position * 5 % 8)
            log = opened(quick_folder)
            found = log.recovering
            assert found is not None, (name, position)
            assert data_of(log) == batches[: log.end_offset], (name, position)
            assert log.end_offset < 20 and found.until_offset in (20, None), (name, position, found)
            unbounded += found.until_offset is None
            log.close()
            shutil.rmtree(directory)
            directory.mkdir()
            for other, data in files.items():
                (directory / other).write_bytes(data)
    assert tried > 1500 and unbounded < 20


@pytest.mark.parametrize("index", [1, -1])
def test_a_segment_that_is_gone_is_missed(written: Written, index: int) -> None:
    directory, _ = written()
    lost = segments_of(directory)[index]
    base = int(lost.stem)
    lost.unlink()
    log = opened(directory.parent)
    assert log.recovering is not None and log.recovering.until_offset in (30, None)
    assert log.end_offset == base
    log.close()


def test_a_log_without_its_first_segment_is_refused(written: Written) -> None:
    directory, _ = written()
    segments_of(directory)[0].unlink()
    before = contents(directory)
    with pytest.raises(LogCorruptError, match="there is no snapshot at or after that offset"):
        opened(directory.parent)
    assert contents(directory) == before


@pytest.mark.parametrize("size", [0, 1, 70, 300])
def test_a_log_that_is_shorter_than_its_recovery_point_lost_something(written: Written, size: int) -> None:
    directory, _ = written()
    last = segments_of(directory)[-1]
    last.write_bytes(last.read_bytes()[:size])
    log = opened(directory.parent)
    assert log.recovering is not None and "recovery-point says that all before offset 30 was on disk" in log.recovering.reason
    log.close()


@pytest.mark.parametrize("kind", ["cut off", "zeros", "nothing"])
def test_what_was_not_flushed_may_be_torn_in_any_way(written: Written, batch: Batch, kind: str) -> None:
    """Also with a hole: its sectors are zero, and whole batches of the same write lie behind it."""
    directory, batches = written(8)
    last = segments_of(directory)[-1]
    size = last.stat().st_size
    new = [batch(at, epoch=1, size=600) for at in range(8, 11)]
    whole = last.read_bytes() + b"".join(new)
    if kind == "cut off":
        whole = whole[: size + 300]
    elif kind == "zeros":
        start = -(-size // 512) * 512
        whole = whole[:start] + bytes(512) + whole[start + 512 :]
    else:
        (directory / segment_name(11)).write_bytes(batch(11, epoch=1))
        whole = last.read_bytes()
    last.write_bytes(whole)
    log = opened(directory.parent)
    assert log.recovering is None and data_of(log) == batches and log.repairs
    log.close()


def test_a_hole_without_zeros_is_damage_although_nothing_says_that_it_was_durable(written: Written, batch: Batch) -> None:
    directory, _ = written(8)
    last = segments_of(directory)[-1]
    size = last.stat().st_size
    last.write_bytes(last.read_bytes() + b"".join(batch(at, epoch=1) for at in range(8, 11)))
    flip(last, size + 70)
    log = opened(directory.parent)
    assert log.recovering is not None and log.recovering.until_offset == 11 and log.end_offset == 8
    log.close()


def test_without_a_recovery_point_whatever_is_whole_behind_counts(written: Written) -> None:
    """As in a directory that comes from Kafka."""
    directory, _ = written()
    (directory / "recovery-point").unlink()
    first = segments_of(directory)[0]
    first.write_bytes(first.read_bytes()[:-1])
    log = opened(directory.parent)
    assert log.recovering is not None and log.recovering.until_offset == 30
    log.close()


def test_without_a_recovery_point_an_epoch_that_begins_behind_the_end_counts(written: Written) -> None:
    directory, _ = written(30, epoch_at=lambda at: 1 + at // 29)
    (directory / "recovery-point").unlink()
    segments_of(directory)[-1].unlink()
    log = opened(directory.parent)
    assert log.recovering is not None and "go on to offset 29" in log.recovering.reason
    log.close()


def test_without_a_recovery_point_a_torn_tail_is_one(written: Written) -> None:
    directory, batches = written(8)
    (directory / "recovery-point").unlink()
    last = segments_of(directory)[-1]
    last.write_bytes(last.read_bytes()[:-1])
    log = opened(directory.parent)
    assert log.recovering is None and data_of(log) == batches[:7]
    log.close()


def test_a_log_that_kafka_has_cut_since_is_whole(written: Written) -> None:
    """At the word of a leader of a later epoch, which quorum-state names; our recovery point says nothing any more."""
    directory, batches = written(8)
    write_quorum_state(str(directory / "quorum-state"), QuorumState(leader_epoch=2, leader_id=2))
    segment = segments_of(directory)[0]
    segment.write_bytes(b"".join(batches[:5]))
    log = opened(directory.parent)
    assert log.recovering is None and log.end_offset == 5 and read_recovery_point(str(directory)) == DurableTo(5, 1)
    log.close()


@pytest.mark.parametrize("at", [3, 29])
def test_an_epoch_that_rotted_upwards_is_not_believed(written: Written, at: int) -> None:
    """No CRC covers it. A replica that believed it would have the latest log of all."""
    directory, batches = written()
    position, path = 0, segments_of(directory)[0]
    for path in segments_of(directory):
        if int(path.stem) <= at:
            segment = path
    position = sum(len(data) for data in batches[int(segment.stem) : at])
    flip(segment, position + 14, 2)
    log = opened(directory.parent)
    assert log.recovering is not None and log.recovering.until_offset in (30, None) and log.end_offset == at
    log.close()


def test_a_small_step_up_of_an_epoch_is_not_believed_either(written: Written) -> None:
    directory, batches = written(30, epoch_at=lambda at: 1 + 4 * (at // 12))
    flip(segments_of(directory)[0], len(batches[0]) * 3 + 15, 2)  # 1 becomes 5, which is there, later.
    log = opened(directory.parent)
    assert log.end_offset == 3 and log.recovering is not None
    log.close()


def test_an_epoch_that_rotted_downwards_in_the_last_batch_is_not_believed(written: Written) -> None:
    """Batch 24 alone is of epoch 3; with its lowest bit gone it would be of epoch 2, as the one before."""
    directory, batches = written(25)
    last = segments_of(directory)[-1]
    flip(last, last.stat().st_size - len(batches[24]) + 15)
    log = opened(directory.parent)
    assert log.recovering is not None and log.recovering.epoch == 3
    assert data_of(log) == batches[: log.end_offset] and log.end_offset <= 24
    log.close()


def test_a_segment_that_is_put_aside_is_told_with_the_place_of_its_own_damage(written: Written) -> None:
    directory, batches = written()
    _, second, third, *_ = segments_of(directory)
    size = len(batches[0])
    flip(second, 130)
    flip(third, size + 70)
    log = opened(directory.parent)
    places = {repair.file: repair.position for repair in log.repairs}
    assert places[third.name] == size
    log.close()


def test_damage_below_a_snapshot_costs_nothing(written: Written) -> None:
    directory, batches = written()
    second = int(segments_of(directory)[1].stem)
    id = OffsetAndEpoch(second, 1)
    (directory / checkpoint_name(id)).write_bytes(snapshot_of(id))
    flip(segments_of(directory)[0], 100)
    log = opened(directory.parent)
    assert log.recovering is None and data_of(log) == batches[second:] and len(aside(directory)) == 1
    log.close()


def test_a_rotten_snapshot_is_put_aside_where_an_older_one_and_the_log_stand_for_it(written: Written) -> None:
    directory, batches = written()
    for offset in (5, 9):
        id = OffsetAndEpoch(offset, 1)
        (directory / checkpoint_name(id)).write_bytes(snapshot_of(id))
    path = directory / checkpoint_name(OffsetAndEpoch(9, 1))
    flip(path, 150)
    rotten = path.read_bytes()
    log = opened(directory.parent)
    assert log.recovering is None and data_of(log) == batches and log.snapshots() == [OffsetAndEpoch(5, 1)]
    assert aside(directory) == {f"{path.name}.damaged-1": rotten}
    (repair,) = log.repairs
    assert repair.file == path.name and "CRC-32C" in str(repair)
    log.close()


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_log_whose_only_snapshot_is_rotten_begins_anew_without_a_vote(
    quick_folder: Path, batch: Batch, interrupted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, id = opened(quick_folder), OffsetAndEpoch(40, 3)
    part = log.create_snapshot(id)
    part.append(snapshot_of(id))
    part.freeze()
    log.start_at_snapshot(id)
    for at in range(40, 50):
        log.append(batch(at, epoch=3), at + 1)
    log.close()
    directory = quick_folder / METADATA_DIRECTORY
    flip(directory / checkpoint_name(id), 100)
    if interrupted:
        with monkeypatch.context() as patch:
            patch.setattr("metashell.disk.opening.Opening._drop_runs_but", lambda self, plan: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                opened(quick_folder)
    log = opened(quick_folder)
    assert (log.start_offset, log.end_offset, log.snapshots()) == (0, 0, [])
    assert log.recovering is not None and (log.recovering.until_offset, log.recovering.epoch) == (50, 3)
    assert sorted(name.rpartition(".damaged-")[0] for name in aside(directory)) == [checkpoint_name(id), segment_name(40)]
    log.close()


def test_a_rotten_bootstrap_snapshot_is_refused(written: Written) -> None:
    directory, _ = written()
    path = directory / checkpoint_name(OffsetAndEpoch(0, 0))
    path.write_bytes(snapshot_of(OffsetAndEpoch(0, 0)))
    flip(path, 150)
    before = contents(directory)
    with pytest.raises(LogCorruptError, match=r"it is what formatting left: metashell storage repair --from"):
        opened(directory.parent)
    assert contents(directory) == before


def test_a_note_that_cannot_be_read_is_refused(written: Written) -> None:
    directory, _ = written()
    newer, odd = b'{"version":2,"untilOffset":1,"epoch":1,"reason":""}', b'{"version":1,"untilOffset":"x","epoch":1,"reason":""}'
    for text in (b"{}", b"", newer, odd):
        (directory / "damaged").write_bytes(text)
        with pytest.raises(LogCorruptError, match="is not a note of damage"):
            opened(directory.parent)
    opened(directory.parent, accept_loss=True).close()
    assert not (directory / "damaged").exists()


def test_further_damage_is_added_to_the_note(written: Written) -> None:
    directory, batches = written()
    flip(segments_of(directory)[2], 130)
    log = opened(directory.parent)
    first = log.recovering
    assert first is not None
    log.close()
    flip(segments_of(directory)[0], 130)
    write_quorum_state(str(directory / "quorum-state"), QuorumState(leader_epoch=3))
    log = opened(directory.parent)
    assert log.recovering is not None and (log.recovering.until_offset, log.recovering.epoch) == (30, 3)
    assert log.end_offset < 8 and data_of(log) == batches[: log.end_offset]
    log.close()


def test_an_accepted_loss_gives_the_vote_back(written: Written) -> None:
    directory, batches = written()
    flip(segments_of(directory)[1], 130)
    log = opened(directory.parent, accept_loss=True)
    assert log.recovering is None and data_of(log) == batches[: log.end_offset] and aside(directory)
    log.close()
    assert read_damage_note(str(directory)) is None
    (directory / "damaged").write_bytes(b'{"version":1,"untilOffset":null,"epoch":1,"reason":"x"}')
    assert read_damage_note(str(directory)) is not None
    opened(directory.parent, accept_loss=True).close()
    assert read_damage_note(str(directory)) is None and not (directory / "damaged").exists()


def test_the_recovery_point_follows_the_log(quick_folder: Path, batch: Batch) -> None:
    log, directory = opened(quick_folder), str(quick_folder / METADATA_DIRECTORY)
    for at in range(9):
        log.append(batch(at, epoch=1 + at // 4), at + 1)
    assert read_recovery_point(directory) == DurableTo(0, 0)
    log.flush()
    assert read_recovery_point(directory) == DurableTo(9, 3)
    token = log.begin_flush()
    log.truncate_to(6)
    assert read_recovery_point(directory) == DurableTo(6, 2)
    log.sync(token)
    log.finish_flush(token)
    assert read_recovery_point(directory) == DurableTo(6, 2)
    log.truncate_to(4)
    assert read_recovery_point(directory) == DurableTo(4, 1)
    id = OffsetAndEpoch(2, 5)
    part = log.create_snapshot(id)
    part.append(snapshot_of(id))
    part.freeze()
    log.start_at_snapshot(id)
    assert read_recovery_point(directory) == DurableTo(2, 5)
    log.append(batch(2, epoch=6), 3)
    log.flush()
    assert read_recovery_point(directory) == DurableTo(3, 6)
    log.close()


@pytest.mark.parametrize("data", [b"", b"x", format_recovery_point(DurableTo(7, 1))[:-1], format_recovery_point(DurableTo(7, 1)) + b"\n"])
def test_a_recovery_point_that_is_no_such_line_says_nothing(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "recovery-point"
    path.write_bytes(data)
    assert read_recovery_point(str(tmp_path)) is None
    path.write_bytes(format_recovery_point(DurableTo(7, 1)))
    assert read_recovery_point(str(tmp_path)) == DurableTo(7, 1)
    for position in range(path.stat().st_size):
        flip(path, position)
        assert read_recovery_point(str(tmp_path)) is None
        flip(path, position)


@pytest.mark.parametrize("steps", range(7))
def test_a_crash_between_the_old_log_and_the_snapshot_in_its_place_is_no_damage(quick_folder: Path, batch: Batch, steps: int) -> None:
    """The snapshot ends where a batch of the old log does, which was never committed and is of another epoch."""
    log, id = opened(quick_folder), OffsetAndEpoch(15, 3)
    for at in range(20):
        log.append(batch(at, epoch=2), at + 1)
    log.flush()
    write_quorum_state(str(quick_folder / METADATA_DIRECTORY / "quorum-state"), QuorumState(leader_epoch=3, leader_id=1))
    part = log.create_snapshot(id)
    part.append(snapshot_of(id))
    part.freeze()
    log.defer()
    log.start_at_snapshot(id)
    work = log.take_work()
    assert work is not None
    for step in work.steps[:steps]:
        step()
    log._release()
    log = opened(quick_folder)
    assert log.recovering is None and (log.start_offset, log.end_offset, log.snapshots()) == (15, 15, [id])
    log.close()


def test_the_begin_of_a_batch_in_a_sector_that_was_not_written_is_torn(quick_folder: Path, batch: Batch) -> None:
    """Only its base offset lies in that sector, and the zeros that its length begins with: its CRC still fits."""
    log = opened(quick_folder, segment_size=5_000)
    # Its value is longer by what makes the next batch begin 8 bytes before a sector does.
    log.append(batch(0, size=512 - 8 - len(batch(0, size=300)) + 300), 1)
    log.flush()
    log.append(batch(1), 2)
    log.append(batch(2), 3)
    log._release()
    (path,) = segments_of(quick_folder / METADATA_DIRECTORY)
    data = bytearray(path.read_bytes())
    assert len(data) > 512 and data[:9].count(0) >= 8
    start = 12 + int.from_bytes(data[8:12], "big")
    assert start == 504
    data[start:512] = bytes(512 - start)
    path.write_bytes(data)
    log = opened(quick_folder, segment_size=5_000)
    assert log.recovering is None and log.end_offset == 1
    log.close()
