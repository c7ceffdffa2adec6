"""Voters and kraft.version at every offset, against a replay of what is left of the log.
The epoch cache against a list that is searched from end to end, and the vectors of the specification.
Snapshots that are written are read again, piece by piece, and nothing else is taken for one."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batches import RecordBatch, read_batch_header
from metashell.codec.framing import frames_of
from metashell.common.errors import LogCorruptError
from metashell.common.values import OffsetAndEpoch, ReplicaKey
from metashell.quorum.raft.accumulator import HEADER_SIZE, encoded_size
from metashell.quorum.raft.messages import BATCH_SIZE_MAX, RecordBatchTooLargeError
from metashell.quorum.raft.partition_state import EpochCache, PartitionState, SnapshotCheck, read_snapshot_head
from metashell.quorum.raft.replicated_log import MemoryLog
from metashell.quorum.raft.snapshots import RECORDS_MAX, SnapshotWriter, snapshot_head
from metashell.quorum.raft.voters import (
    ControlValue,
    KRaftVersion,
    LeaderChange,
    SnapshotFooter,
    SnapshotHeader,
    Voter,
    VoterSet,
    write_control_batch,
)
from tests.quorum.raft.made import NO_VOTERS, data_batch, read_snapshot_controls


def voters(*ids: int) -> VoterSet:
    return VoterSet(Voter(ReplicaKey(id, bytes([id]) * 16), {"CONTROLLER": ("h", id)}, 0, 1) for id in ids)


STATIC = VoterSet([Voter(ReplicaKey(7), {"CONTROLLER": ("s", 7)})])


def test_the_static_set_holds_until_the_log_names_voters_and_again_when_that_is_truncated():
    state = PartitionState(STATIC)
    assert state.voters is STATIC and state.voters_offset is None and not state.static_is_ignored
    assert state.apply(4, voters(1, 2))
    assert state.voters == voters(1, 2) and state.voters_offset == 4 and state.static_is_ignored
    assert state.truncate_new(4)
    assert state.voters is STATIC and state.voters_offset is None


def test_what_the_bootstrap_snapshot_names_lies_before_the_log():
    state = PartitionState(STATIC)
    state.load_snapshot(0, 1, voters(1))
    assert state.voters_offset == -1 and state.kraft_version == 1 and state.voters_at(-1) == voters(1)
    assert not state.voters_are_committed(None) and state.voters_are_committed(0)


def test_a_leader_change_is_not_of_the_quorums_state():
    state = PartitionState(STATIC)
    assert not state.apply(0, LeaderChange(leader_id=1, voters=(1,), granting=(1,)))
    assert state.voters is STATIC


def test_a_set_is_committed_when_the_high_watermark_has_passed_its_record():
    state = PartitionState(STATIC)
    state.apply(3, voters(1))
    state.apply(5, voters(1, 2))
    assert not state.voters_are_committed(5) and state.voters_are_committed(6)
    assert state.committed_voters(5) == voters(1) and state.committed_voters(6) == voters(1, 2)
    assert state.committed_voters(3) is STATIC


def test_a_set_two_steps_away_is_taken_and_counted():
    state = PartitionState(STATIC)
    state.apply(1, voters(1, 2, 3))
    state.apply(2, voters(1, 2, 3, 4))
    assert state.doubtful_changes == 0
    state.apply(3, voters(1, 2))
    assert state.doubtful_changes == 1 and state.voters == voters(1, 2)


def test_a_snapshot_forgets_all_and_a_level_0_snapshot_names_neither():
    state = PartitionState(STATIC)
    state.apply(1, KRaftVersion(1))
    state.apply(2, voters(1))
    state.load_snapshot(10, None, None)
    assert state.voters is STATIC and state.kraft_version == 0


CONTROLS = st.lists(
    st.one_of(
        st.sampled_from([KRaftVersion(0), KRaftVersion(1)]),
        st.sets(st.integers(1, 4), min_size=1).map(lambda ids: voters(*ids)),
    ),
    max_size=12,
)


@given(CONTROLS, st.lists(st.integers(0, 12), max_size=3), st.integers(0, 12), CONTROLS)
def test_any_truncations_leave_what_a_replay_of_the_rest_would(
    first: list[ControlValue], cuts: list[int], old: int, more: list[ControlValue]
):
    state = PartitionState(STATIC)
    log: list[ControlValue] = []

    def append(values: list[ControlValue]) -> None:
        for value in values:
            state.apply(len(log), value)
            log.append(value)

    append(first)
    for cut in cuts:
        state.truncate_new(cut)
        del log[cut:]
    append(more)
    state.truncate_old(old)
    replayed = PartitionState(STATIC)
    for offset, value in enumerate(log):
        replayed.apply(offset, value)
    assert (state.voters, state.voters_offset, state.kraft_version) == (replayed.voters, replayed.voters_offset, replayed.kraft_version)
    for offset in range(max(old - 1, 0), len(log) + 1):
        assert state.voters_at(offset) == replayed.voters_at(offset)
        assert state.kraft_version_at(offset) == replayed.kraft_version_at(offset)


VECTOR = [(1, 0), (2, 10), (4, 20)]


@pytest.mark.parametrize(("epoch", "expected"), [(0, (0, 0)), (1, (1, 10)), (2, (2, 20)), (3, (2, 20)), (4, (4, 30)), (5, (4, 30))])
def test_the_end_of_each_epoch_is_that_of_the_vector(epoch: int, expected: tuple[int, int]):
    assert EpochCache(VECTOR).end_offset_for(epoch, 30, 4) == expected


def test_an_empty_cache_answers_with_the_end_of_the_log():
    assert EpochCache().end_offset_for(3, 7, 2) == (2, 7)


def test_an_end_at_the_earliest_snapshot_is_told_with_its_epoch():
    snapshot = OffsetAndEpoch(10, 0)
    assert EpochCache(VECTOR).end_offset_for(1, 30, 4, snapshot) == (0, 10)
    # Another epoch that happens to end there is not the one that was asked for.
    assert EpochCache(VECTOR).end_offset_for(3, 30, 4, OffsetAndEpoch(20, 1)) == (2, 20)


def test_an_epoch_that_is_known_is_not_assigned_again():
    cache = EpochCache(VECTOR)
    assert not cache.assign(4, 25) and cache.entries == VECTOR


def test_an_epoch_at_the_start_of_an_unused_one_takes_its_place():
    cache = EpochCache(VECTOR)
    assert cache.assign(5, 20) and cache.entries == [(1, 0), (2, 10), (5, 20)]


def test_truncation_drops_an_epoch_that_was_begun_and_never_written_in():
    cache = EpochCache([*VECTOR, (6, 30)])
    assert cache.truncate_from_end(30) and cache.entries == VECTOR
    assert not cache.truncate_from_end(30)


def test_truncation_from_the_start_moves_the_epoch_that_holds_the_offset():
    cache = EpochCache(VECTOR)
    assert cache.truncate_from_start(15) and cache.entries == [(2, 15), (4, 20)]
    assert not cache.truncate_from_start(15)
    assert not cache.truncate_from_start(3)


class Naive:
    """The same with one list, rebuilt at each change."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, int]] = []

    def assign(self, epoch: int, start: int) -> None:
        if self.entries and self.entries[-1][0] == epoch and self.entries[-1][1] <= start:
            return
        self.entries = [(e, s) for e, s in self.entries if e < epoch and s < start] + [(epoch, start)]

    def truncate_from_end(self, offset: int) -> None:
        self.entries = [(e, s) for e, s in self.entries if s < offset]

    def truncate_from_start(self, offset: int) -> None:
        before = [(e, s) for e, s in self.entries if s <= offset]
        if before:
            self.entries = [(before[-1][0], offset)] + [(e, s) for e, s in self.entries if s > offset]

    def end_offset_for(self, epoch: int, log_end: int, last_epoch: int) -> tuple[int, int]:
        later = [(e, s) for e, s in self.entries if e > epoch]
        if not later:
            return (epoch, log_end) if self.entries and self.entries[-1][0] == epoch else (last_epoch, log_end)
        floor = [e for e, _ in self.entries if e <= epoch]
        return (floor[-1] if floor else epoch, later[0][1])

    def epoch_at(self, offset: int) -> int | None:
        return next((e for e, s in reversed(self.entries) if s <= offset), None)


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["assign", "end", "start"]), st.integers(0, 12), st.integers(0, 40)), min_size=1, max_size=30
)


@given(OPERATIONS, st.integers(0, 13), st.integers(0, 45))
def test_the_cache_is_the_naive_list_after_any_operations(operations: list[tuple[str, int, int]], epoch: int, offset: int):
    cache, naive = EpochCache(), Naive()
    for operation, number, at in operations:
        before = naive.entries
        if operation == "assign":
            changed = cache.assign(number, at)
            naive.assign(number, at)
        elif operation == "end":
            changed = cache.truncate_from_end(at)
            naive.truncate_from_end(at)
        else:
            changed = cache.truncate_from_start(at)
            naive.truncate_from_start(at)
        entries = cache.entries
        assert entries == naive.entries
        assert all(left[0] < right[0] and left[1] < right[1] for left, right in pairwise(entries))
        assert changed == (naive.entries != before)
        assert cache.end_offset_for(epoch, 50, 9) == naive.end_offset_for(epoch, 50, 9)
        assert cache.epoch_at(offset) == naive.epoch_at(offset)
        assert cache.latest_epoch == (naive.entries[-1][0] if naive.entries else None)


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
