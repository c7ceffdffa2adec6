"""The proof beside meta.properties: what it shows to be lost, how often it is written, and what a crash at each write leaves of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from metashell.common.errors import LogCorruptError
from metashell.common.values import OffsetAndEpoch
from metashell.disk.file_system import Disk
from metashell.disk.metadata_log import MetadataLog
from metashell.disk.names import ACKNOWLEDGED, META_PROPERTIES, METADATA_DIRECTORY, QUORUM_STATE, checkpoint_name
from metashell.disk.properties import (
    OFFSET_STEP,
    Acknowledged,
    AcknowledgedFile,
    MetaProperties,
    find_loss,
    format_meta_properties,
    read_acknowledged,
    write_acknowledged,
)
from metashell.quorum.raft.ready import ElectionState
from metashell.quorum.server.config import ElectionStore, newest_epoch
from tests.disk.conftest import Batch
from tests.disk.log_history import SETTINGS, snapshot_of
from tests.disk.test_mend_crash import try_every_crash
from tests.recording_files import ModelledDisk, RecordingDisk, Step, UnsyncedDisk, write_tree

ID, OTHER = bytes(15) + b"\1", bytes(15) + b"\2"
STATE = f"{METADATA_DIRECTORY}/{QUORUM_STATE}"


def formatted(folder: Path, id: bytes = ID) -> Path:
    """A directory as formatting leaves it."""
    folder.mkdir(exist_ok=True)
    (folder / META_PROPERTIES).write_bytes(format_meta_properties(MetaProperties(1, "cluster", 1, id), date="now"))
    return folder


def opened(folder: Path, disk: Disk | None = None, *, accept_loss: bool = False) -> tuple[MetadataLog, ElectionStore, ElectionState]:
    """What a replica of the directory starts with."""
    log = MetadataLog.open(str(folder), disk or UnsyncedDisk(), lock=False, accept_loss=accept_loss, **SETTINGS)
    store = ElectionStore(log.directory, disk=disk or UnsyncedDisk(), acknowledged=log.acknowledged)
    try:
        return log, store, store.read_for(newest_epoch(log), accept_loss=accept_loss, is_recovering=log.recovering is not None)
    except BaseException:
        log.close()
        raise


def run(folder: Path, batch: Batch, disk: Disk | None = None, *, epoch: int = 3, count: int = 5, committed: int = 4) -> None:
    """Take part in an epoch, and acknowledge records, of which some are known to be committed."""
    log, store, _ = opened(folder, disk)
    store.write(ElectionState(epoch, 2), 1)
    for _ in range(count):
        end = log.end_offset
        log.append(batch(end, epoch=epoch), end + 1)
        log.flush()
        log.note_committed(committed)
    log.close()


def lose(folder: Path, *, but_state: bool = False) -> None:
    directory = folder / METADATA_DIRECTORY
    kept = (directory / QUORUM_STATE).read_bytes()
    shutil.rmtree(directory)
    if but_state:
        directory.mkdir()
        (directory / QUORUM_STATE).write_bytes(kept)


def proof_of(folder: Path) -> Acknowledged | None:
    return read_acknowledged(str(folder))


def test_a_directory_gets_its_proof_as_it_takes_part(tmp_path: Path, batch: Batch) -> None:
    folder = formatted(tmp_path / "node")
    log, store, election = opened(folder)
    assert proof_of(folder) == Acknowledged(ID) and election == ElectionState(0) and log.recovering is None
    store.write(ElectionState(3, 2), 1)
    assert proof_of(folder) == Acknowledged(ID, 3)
    log.append(batch(0, epoch=3), 1)
    assert proof_of(folder) == Acknowledged(ID, 3)
    log.flush()
    assert proof_of(folder) == Acknowledged(ID, 3, 0, True)
    log.note_committed(1)
    log.close()
    assert proof_of(folder) == Acknowledged(ID, 3, 1, True)


@pytest.mark.parametrize("but_state", [False, True])
def test_who_lost_all_starts_in_its_last_epoch_without_a_vote_also_over_a_restart(tmp_path: Path, batch: Batch, but_state: bool) -> None:
    folder = formatted(tmp_path / "node")
    run(folder, batch)
    lose(folder, but_state=but_state)
    for _ in range(2):
        log, _, election = opened(folder)
        assert log.recovering is not None and (log.recovering.until_offset, log.recovering.epoch) == (None, 3)
        assert log.recovering.reason.startswith("the metadata log is empty; acknowledged says")
        assert election == ElectionState(3, 2 if but_state else -1)
        log.close()
    # The directory is lost again, in the midst of it.
    lose(folder) if but_state else shutil.rmtree(folder / METADATA_DIRECTORY)
    log, store, election = opened(folder)
    assert log.recovering is not None and election == ElectionState(3)
    store.write(ElectionState(4, 2), 1)
    log.append(batch(0, epoch=4, count=6), 6)
    log.flush()
    log.end_recovery()
    log.close()
    log, _, election = opened(folder)
    assert log.recovering is None and election == ElectionState(4, 2)
    log.close()


def test_an_older_copy_of_the_metadata_directory_is_not_taken_for_its_last_state(tmp_path: Path, batch: Batch) -> None:
    folder = formatted(tmp_path / "node")
    run(folder, batch)
    copy = shutil.copytree(folder / METADATA_DIRECTORY, tmp_path / "copy")
    run(folder, batch, epoch=5, committed=9)
    shutil.rmtree(folder / METADATA_DIRECTORY)
    shutil.copytree(copy, folder / METADATA_DIRECTORY)
    log, _, election = opened(folder)
    assert (
        log.recovering is not None
        and "the log ends at offset 5; acknowledged says that it had all before offset 9" in log.recovering.reason
    )
    assert election == ElectionState(5)
    log.close()


def test_an_older_quorum_state_alone_has_no_vote_in_the_epochs_that_it_forgot(tmp_path: Path, batch: Batch) -> None:
    folder = formatted(tmp_path / "node")
    run(folder, batch)
    old = (folder / STATE).read_bytes()
    log, store, _ = opened(folder)
    store.write(ElectionState(7), 1)
    log.close()
    (folder / STATE).write_bytes(old)
    log, _, election = opened(folder)
    assert log.recovering is not None and log.recovering.reason.startswith("quorum-state is of epoch 3; acknowledged says")
    assert election == ElectionState(7)
    log.close()


def test_a_lost_quorum_state_beside_a_whole_log_is_refused_as_before(tmp_path: Path, batch: Batch) -> None:
    folder = formatted(tmp_path / "node")
    run(folder, batch)
    (folder / STATE).unlink()
    with pytest.raises(LogCorruptError, match="is missing, but the log goes on to epoch 3"):
        opened(folder)


def test_another_directory_id_is_another_life(tmp_path: Path, batch: Batch) -> None:
    folder = formatted(tmp_path / "node")
    run(folder, batch)
    shutil.rmtree(folder / METADATA_DIRECTORY)
    formatted(folder, OTHER)
    log, _, election = opened(folder)
    assert log.recovering is None and election == ElectionState(0)
    assert proof_of(folder) == Acknowledged(OTHER)
    log.close()


def test_a_loss_that_was_accepted_is_no_loss_any_more(tmp_path: Path, batch: Batch) -> None:
    folder = formatted(tmp_path / "node")
    run(folder, batch)
    lose(folder)
    log, store, election = opened(folder, accept_loss=True)
    assert log.recovering is None and election == ElectionState(3)
    store.write(election, 1)
    log.close()
    log, _, election = opened(folder)
    assert log.recovering is None and proof_of(folder) == Acknowledged(ID, 3, 0, False)
    log.close()


def test_a_directory_from_kafka_gets_its_proof_at_the_first_start(tmp_path: Path, batch: Batch) -> None:
    folder = formatted(tmp_path / "node")
    run(folder, batch)
    (folder / ACKNOWLEDGED).unlink()
    id = OffsetAndEpoch(3, 3)
    (folder / METADATA_DIRECTORY / checkpoint_name(id)).write_bytes(snapshot_of(id))
    log, _, _ = opened(folder)
    assert log.recovering is None and proof_of(folder) == Acknowledged(ID, 3, 3, True)
    log.close()


@pytest.mark.parametrize(
    ("end", "last_epoch", "quorum_epoch", "is_lost"),
    [
        (9, 5, 5, False),
        (20, 8, 9, False),  # Kafka has run since
        (4, 2, 7, False),  # and has followed a leader that truncated what was not committed
        (3, 2, 7, True),
        (9, 2, 4, True),
        (9, 5, None, False),  # the start refuses a log without quorum-state
        (0, 0, 5, True),
        (0, 0, None, True),
    ],
)
def test_a_healthy_log_is_never_taken_for_one_that_lost_something(
    end: int, last_epoch: int, quorum_epoch: int | None, is_lost: bool
) -> None:
    proof = Acknowledged(ID, 5, 4, True)
    assert (find_loss(proof, end, last_epoch, quorum_epoch) is not None) is is_lost


def test_who_only_voted_and_lost_that_has_no_vote_and_a_new_directory_has_one() -> None:
    assert find_loss(Acknowledged(ID, 1), 0, 0, None) is not None
    assert find_loss(Acknowledged(ID, 1), 0, 0, 1) is None
    assert find_loss(Acknowledged(ID), 0, 0, None) is None


def test_a_cut_of_all_that_was_never_committed_is_no_loss(tmp_path: Path, batch: Batch) -> None:
    folder = formatted(tmp_path / "node")
    run(folder, batch, committed=0)
    log, store, _ = opened(folder)
    store.write(ElectionState(4, 3), 1)
    log.truncate_to(0)
    log.close()
    log, _, election = opened(folder)
    assert log.recovering is None and election == ElectionState(4, 3)
    log.close()


@pytest.mark.parametrize(
    "data", [b"", b"{}", b'{"version":9}', b"\0\0\0", b'{"version":1,"directoryId":"x","epoch":1,"offset":0,"hasRecords":true}']
)
def test_a_proof_that_cannot_be_read_gets_one_line_and_refuses_no_start(tmp_path: Path, batch: Batch, data: bytes) -> None:
    folder = formatted(tmp_path / "node")
    run(folder, batch)
    (folder / ACKNOWLEDGED).write_bytes(data)
    log, _, _ = opened(folder)
    (repair,) = log.repairs
    assert repair.file == ACKNOWLEDGED and repair.reason.endswith("; it is written anew") and log.recovering is None
    log.close()
    assert proof_of(folder) == Acknowledged(ID, 3, 0, True)
    (folder / ACKNOWLEDGED).write_bytes(data)
    lose(folder)
    log, _, _ = opened(folder)
    assert log.recovering is not None and "cannot be read" in log.recovering.reason
    log.close()


def writes_of(steps: list[Step]) -> int:
    return sum(step.name == "rename" and str(step.other).endswith(ACKNOWLEDGED) for step in steps)


def test_it_is_written_once_an_epoch_and_in_steps(tmp_path: Path, batch: Batch) -> None:
    folder = formatted(tmp_path / "node")
    disk = RecordingDisk(folder)
    log, store, _ = opened(folder, disk)
    store.write(ElectionState(3), 1)
    store.write(ElectionState(3, 2), 1)
    assert writes_of(disk.steps) == 2
    disk.steps.clear()
    for end in range(1, 3 * OFFSET_STEP + 1):
        log.append(batch(end - 1, epoch=3), end)
        log.flush()
        log.note_committed(end)
    # The first record; 1, 2, 4, ..., 1024; and each step from there on.
    assert writes_of(disk.steps) == 1 + 11 + 1
    disk.steps.clear()
    log.delete_due(0)
    log.delete_due(60_000)
    assert writes_of(disk.steps) == 1
    log.close()


def test_a_crash_at_each_write_leaves_the_old_proof_or_the_new_one(tmp_path: Path, batch: Batch) -> None:
    """And a log, with that proof, that has its vote: nothing was lost."""
    folder = formatted(tmp_path / "node")
    real = Path(shutil.copytree(folder, tmp_path / "real"))
    disk = RecordingDisk(real)
    run(real, batch, disk, count=2, committed=1)

    def check(state: Path) -> None:
        read_acknowledged(str(state))
        log, _, _ = opened(state)
        assert log.recovering is None and not any(repair.file == ACKNOWLEDGED for repair in log.repairs)
        log.close()

    assert try_every_crash(folder, disk.steps, tmp_path, check) > 100


def test_what_was_said_before_a_crash_is_known_after_the_loss_of_the_directory(tmp_path: Path, batch: Batch) -> None:
    """At each moment at which others may have heard of an epoch or of records, the proof alone shows it."""
    folder = formatted(tmp_path / "node")
    real = Path(shutil.copytree(folder, tmp_path / "real"))
    disk = RecordingDisk(real)
    log, store, _ = opened(real, disk)
    marks: list[tuple[int, Callable[[Acknowledged], bool]]] = []
    store.write(ElectionState(3, 2), 1)
    marks.append((len(disk.steps), lambda proof: proof.epoch == 3))
    log.append(batch(0, epoch=3), 1)
    log.flush()
    marks.append((len(disk.steps), lambda proof: proof.has_records))
    steps = list(disk.steps)
    for count, holds in marks:

        def check(state: Path, holds: Callable[[Acknowledged], bool] = holds) -> None:
            proof = read_acknowledged(str(state))
            assert proof is not None and holds(proof)

        model = ModelledDisk(folder)
        for step in steps[:count]:
            model.follow(step)
        for number, tree in enumerate(model.states(seed=count)):
            place = tmp_path / f"state-{count}-{number}"
            place.mkdir()
            write_tree(tree, place)
            check(place)
    log.close()


def test_a_proof_is_read_as_it_was_written(tmp_path: Path) -> None:
    proof = Acknowledged(ID, 7, 1 << 40, True)
    write_acknowledged(Disk(), str(tmp_path), proof)
    assert read_acknowledged(str(tmp_path)) == proof
    assert AcknowledgedFile(Disk(), str(tmp_path), OTHER).found is None


@pytest.mark.parametrize(("static_voters", "is_dynamic"), [((1, 2, 3), False), ((), True)])
def test_the_way_back_is_safe_for_the_quorum_at_hand(
    tmp_path: Path, batch: Batch, static_voters: tuple[int, ...], is_dynamic: bool
) -> None:
    folder = formatted(tmp_path / "node")
    run(folder, batch)
    (folder / STATE).unlink()
    log = MetadataLog.open(str(folder), UnsyncedDisk(), lock=False, **SETTINGS)
    store = ElectionStore(log.directory, static_voters, acknowledged=log.acknowledged)
    with pytest.raises(LogCorruptError) as refused:
        store.read_for(newest_epoch(log))
    log.close()
    text = str(refused.value)
    assert "delete __cluster_metadata-0 alone, and nothing beside it" in text
    assert ("format the directory anew (it gets a new directory id)" in text) is is_dynamic
    assert ("never format it anew: the others cannot tell it from the voter that it was" in text) is not is_dynamic
    assert "(--accept-loss) if a majority of the others has all" in text


def test_an_unreadable_note_names_both_ways_unless_quorum_state_says_which_quorum_it_is(tmp_path: Path, batch: Batch) -> None:
    folder = formatted(tmp_path / "node")
    run(folder, batch)
    (folder / METADATA_DIRECTORY / "damaged").write_bytes(b"x")
    for state, told in ((None, (True, False)), (b"", (True, True))):
        if state is not None:
            (folder / STATE).write_bytes(state)
        with pytest.raises(LogCorruptError) as refused:
            opened(folder)
        text = str(refused.value)
        assert ("with kraft.version 1, remove" in text, "with controller.quorum.voters never" in text) == told
