"""Small parts of a replica: quorum-state, batches cut from bytes, the machine that keeps the image, DescribeCluster."""

from __future__ import annotations

import json
from errno import ENOSPC
from pathlib import Path

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.framing import frames_of
from metashell.codec.messages import BeginTransactionRecord, EndTransactionRecord, TopicRecord
from metashell.codec.metadata_records import write_metadata_record
from metashell.common.errors import LogCorruptError
from metashell.common.values import OffsetAndEpoch, ReplicaKey
from metashell.disk.file_system import Disk
from metashell.quorum.raft.ready import Durable, ElectionState
from metashell.quorum.server.config import ElectionStore
from metashell.quorum.server.feed import ImageMachine
from metashell.quorum.server.records import batches_in

KEY = ReplicaKey(2, bytes(15) + b"\xab")


def batch(base: int, *bodies: object, epoch: int = 1) -> bytes:
    values = [write_metadata_record(body) for body in bodies]
    return write_batch(base, [Record(base + index, 7, None, value) for index, value in enumerate(values)], leader_epoch=epoch)


def topic(number: int) -> TopicRecord:
    return TopicRecord(name=f"t{number}", topic_id=bytes(15) + bytes((number,)))


@pytest.mark.parametrize("election", [ElectionState(0), ElectionState(5, 1), ElectionState(6, -1, KEY), ElectionState(7, 3, KEY)])
@pytest.mark.parametrize("version", [0, 1])
def test_what_is_written_is_read_again_and_proved(tmp_path: Path, election: ElectionState, version: int) -> None:
    store = ElectionStore(str(tmp_path), [1, 2, 3])
    assert store.read() == ElectionState(0)
    assert store.write(election, version) == Durable(election, version)
    read = ElectionStore(str(tmp_path)).read()
    assert (read.epoch, read.leader_id) == (election.epoch, election.leader_id)
    if election.voted is not None:
        assert read.voted == (election.voted if version else ReplicaKey(election.voted.id))
    written = json.loads((tmp_path / "quorum-state").read_text())
    assert written["data_version"] == version
    assert ("currentVoters" in written, "votedDirectoryId" in written) == (version == 0, version == 1)


def test_a_state_that_could_not_be_written_is_not_proved_and_the_older_one_stays(tmp_path: Path) -> None:
    class Full(Disk):
        def sync_file(self, fd: int) -> None:
            raise OSError(ENOSPC, "No space left on device")

    ElectionStore(str(tmp_path)).write(ElectionState(5, 1), 1)
    with pytest.raises(OSError, match="No space left"):
        ElectionStore(str(tmp_path), disk=Full()).write(ElectionState(6, -1, KEY), 1)
    assert ElectionStore(str(tmp_path)).read() == ElectionState(5, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["quorum-state"]


def test_bytes_are_cut_into_whole_batches() -> None:
    data = batch(0, topic(1)) + batch(1, topic(2), topic(3))
    assert [found.header.base_offset for found in batches_in(data, "x")] == [0, 1]
    for size in range(len(data)):
        whole = frames_of(data[:size])[1].position
        assert whole == (0 if size < len(batch(0, topic(1))) else len(batch(0, topic(1))))
        if whole < size:
            with pytest.raises(LogCorruptError):
                batches_in(data[:size], "x")
    assert frames_of(data)[1].position == len(data)


async def test_the_machine_keeps_the_image_and_asks_for_snapshots_outside_of_transactions() -> None:
    machine = ImageMachine(snapshot_after_size=1)
    wanted = await machine.handle_commit(batches_in(batch(0, topic(1)), "x"))
    assert wanted is not None
    assert wanted.id == OffsetAndEpoch(1, 1)
    assert wanted.last_contained_log_timestamp == 7
    values = list(wanted.values)
    assert await machine.handle_commit(batches_in(batch(1, BeginTransactionRecord(), topic(2), epoch=2), "x")) is None
    assert {found.name for found in machine.image.topics.by_id.values()} == {"t1"}
    wanted = await machine.handle_commit(batches_in(batch(3, EndTransactionRecord(), epoch=2), "x"))
    assert wanted is not None and wanted.id == OffsetAndEpoch(4, 2)
    other = ImageMachine()
    snapshot = write_batch(0, [Record(index, 7, None, value) for index, value in enumerate(values)], leader_epoch=1)
    await other.handle_load_snapshot(OffsetAndEpoch(1, 1), batches_in(snapshot, "x"))
    assert {found.name for found in other.image.topics.by_id.values()} == {"t1"}
    await other.handle_commit(batches_in(batch(1, topic(3)), "x"))
    assert {found.name for found in other.image.topics.by_id.values()} == {"t1", "t3"}
    assert not other.image.faults and not machine.image.faults
