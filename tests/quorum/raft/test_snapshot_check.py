"""Snapshots that are written are read again, piece by piece, and nothing else is taken for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batches import RecordBatch, read_batch_header
from metashell.codec.framing import frames_of
from metashell.common.errors import LogCorruptError
from metashell.common.values import OffsetAndEpoch, ReplicaKey
from metashell.quorum.raft.accumulator import HEADER_SIZE, encoded_size
from metashell.quorum.raft.messages import BATCH_SIZE_MAX, RecordBatchTooLargeError
from metashell.quorum.raft.partition_state import PartitionState, SnapshotCheck, read_snapshot_head
from metashell.quorum.raft.replicated_log import MemoryLog
from metashell.quorum.raft.snapshots import RECORDS_MAX, SnapshotWriter, snapshot_head
from metashell.quorum.raft.voters import KRaftVersion, LeaderChange, SnapshotFooter, SnapshotHeader, Voter, VoterSet, write_control_batch
from tests.quorum.raft.made import NO_VOTERS, data_batch, read_snapshot_controls

ID = OffsetAndEpoch(100, 4)
VOTERS = VoterSet([Voter(ReplicaKey(1, bytes(15) + b"\xab"), {"CONTROLLER": ("h", 1)}, 0, 1)])


def written(values: list[bytes], *, voters: VoterSet | None = VOTERS) -> tuple[MemoryLog, bytes]:
    """A log with one snapshot of these values, and its bytes."""
    partition = PartitionState(NO_VOTERS)
    if voters is not None:
        partition.apply(3, KRaftVersion(1))
        partition.apply(4, voters)
    log = MemoryLog()
    writer = SnapshotWriter(log.create_snapshot(ID), snapshot_head(partition, ID, 777), 9_000)
    writer.append(values)
    writer.freeze()
    return log, log.read_snapshot(ID, 0, 1 << 40)


def checked(data: bytes) -> SnapshotCheck:
    check = SnapshotCheck()
    check.feed(data)
    return check


def batches(data: bytes) -> list[RecordBatch]:
    found, position = [], 0
    while position < len(data):
        header = read_batch_header(data, position)
        found.append(RecordBatch(header, position, data[position : position + header.size_bytes]))
        position += header.size_bytes
    return found


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=30), st.integers(1, 500))
def test_what_is_written_is_complete_however_it_is_cut_into_pieces(values: list[bytes], size: int):
    _, data = written(values)
    check = SnapshotCheck()
    for position in range(0, len(data), size):
        assert not check.is_complete
        check.feed(data[position : position + size])
    assert check.is_complete and check.voters == VOTERS and check.kraft_version == 1 and check.last_contained_log_timestamp == 777
    assert check.has_data == bool(values) and check.next_offset == len(values) + 4
    found = [record.value for batch in batches(data) if not batch.header.is_control for record in batch.records()]
    assert found == values


def test_offsets_count_from_0_and_every_batch_has_the_snapshots_epoch_and_no_compression():
    _, data = written([b"a", b"b"])
    headers = [batch.header for batch in batches(data)]
    assert [(header.base_offset, header.count, header.is_control) for header in headers] == [(0, 3, True), (3, 2, False), (5, 1, True)]
    assert {(header.leader_epoch, header.codec_id, header.base_timestamp) for header in headers} == {(4, 0, 9_000)}
    assert all(batch.crc_fault() is None for batch in batches(data))


def test_at_level_0_it_names_neither_level_nor_voters():
    log, data = written([], voters=None)
    assert read_snapshot_controls(log, ID) == (None, None) and checked(data).is_complete


def test_it_names_the_voters_at_its_last_offset_not_those_after():
    partition = PartitionState(NO_VOTERS)
    partition.apply(98, KRaftVersion(1))
    partition.apply(99, VOTERS)
    partition.apply(100, VoterSet([Voter(ReplicaKey(2), {})]))
    assert snapshot_head(partition, ID, 5) == [SnapshotHeader(5), KRaftVersion(1), VOTERS]
    assert snapshot_head(partition, OffsetAndEpoch(99, 4), 5) == [SnapshotHeader(5), KRaftVersion(1)]
    assert snapshot_head(partition, OffsetAndEpoch(98, 4), 5) == [SnapshotHeader(5)]


def test_no_batch_is_larger_than_8_mib_and_none_has_more_than_ten_thousand_records():
    _, data = written([bytes(3_000_000)] * 5 + [b"x"] * (RECORDS_MAX + 1))
    headers = [batch.header for batch in batches(data) if not batch.header.is_control]
    assert max(header.size_bytes for header in headers) <= BATCH_SIZE_MAX
    assert [header.count for header in headers] == [2, 2, RECORDS_MAX, 2]


def test_a_record_that_fills_a_batch_fits_and_one_more_byte_does_not():
    room = BATCH_SIZE_MAX - HEADER_SIZE
    value = bytes(room - (encoded_size(bytes(room), 0) - room))
    _, data = written([b"a", value])
    assert [batch.header.size_bytes for batch in batches(data)][2] == BATCH_SIZE_MAX and checked(data).is_complete
    with pytest.raises(RecordBatchTooLargeError):
        written([value + b"x"])


def test_the_head_of_a_snapshot_is_read_without_its_data():
    log, data = written([bytes(70_000)] * 40)
    head = read_snapshot_head(log, ID)
    assert head.voters == VOTERS and not head.is_complete and head.next_offset < 10
    log.add_snapshot(ID, data[: len(data) // 2])
    assert read_snapshot_controls(log, ID) == (1, VOTERS)


@pytest.mark.parametrize("data", [b"", b"\0" * 60, b"\xff" * 300], ids=["empty", "short", "noise"])
def test_a_snapshot_without_a_head_is_corrupt(data: bytes):
    log = MemoryLog()
    log.add_snapshot(ID, data)
    with pytest.raises(LogCorruptError, match="snapshot 100-4"):
        read_snapshot_controls(log, ID)


HEADER = write_control_batch(0, 4, 0, [SnapshotHeader(0)])
WRONG = {
    "data before the header": data_batch(0, 4, 0, [b"a"]),
    "another control record first": write_control_batch(0, 4, 0, [KRaftVersion(1)]),
    "a footer first": write_control_batch(0, 4, 0, [SnapshotFooter()]),
    "a second header": HEADER + write_control_batch(1, 4, 0, [SnapshotHeader(0)]),
    "a leader change": HEADER + write_control_batch(1, 4, 0, [LeaderChange(leader_id=1, voters=(), granting=())]),
    "a gap": HEADER + data_batch(2, 4, 0, [b"a"]),
    "data after the footer": HEADER + write_control_batch(1, 4, 0, [SnapshotFooter()]) + data_batch(2, 4, 0, [b"a"]),
    "a wrong sum": HEADER[:-1] + bytes([HEADER[-1] ^ 1]),
    "a length above 8 MiB": HEADER[:8] + (1 << 30).to_bytes(4, "big") + HEADER[12:],
}


@pytest.mark.parametrize("name", WRONG)
def test_a_snapshot_is_refused_in_one_line_for(name: str):
    check = checked(WRONG[name])
    assert check.fault is not None and "\n" not in check.fault and not check.is_complete
    check.feed(HEADER)
    assert not check.is_complete


@given(st.integers(0, 100_000), st.integers(1, 255))
def test_a_flipped_byte_never_goes_unseen_unless_it_is_of_an_epoch(index: int, flip: int):
    _, data = written([b"abc", b"def"])
    index %= len(data)
    broken = bytearray(data)
    broken[index] ^= flip
    is_epoch = any(batch.position + 12 <= index < batch.position + 16 for batch in batches(data))
    assert checked(bytes(broken)).is_complete == is_epoch


@given(st.integers(0, 100_000))
def test_a_snapshot_that_is_cut_off_is_not_complete(index: int):
    _, data = written([b"abc", b"def"])
    assert not checked(data[: index % len(data)]).is_complete


@given(st.lists(st.binary(max_size=50), max_size=6), st.integers(0, 1000), st.integers(1, 500))
def test_the_batches_that_are_given_out_are_those_of_the_one_walk_over_frames(values: list[bytes], cut: int, size: int):
    data = written(values)[1][:cut]
    check = SnapshotCheck()
    given_out = [batch for at in range(0, len(data), size) for batch in check.feed(data[at : at + size])]
    assert check.fault is None
    assert [(batch.position, len(batch.data)) for batch in given_out] == frames_of(data)[0]
    assert b"".join(batch.data for batch in given_out) == data[: frames_of(data)[1].position]
