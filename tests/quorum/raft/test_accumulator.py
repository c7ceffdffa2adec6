"""The accumulator: offsets known at once, atomic calls, and batches as Kafka writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record, RecordBatch, read_batch_header
from metashell.common.values import ReplicaKey
from metashell.quorum.raft.accumulator import COMPLETED_MAX, HEADER_SIZE, AppendedBatch, BatchAccumulator, encoded_size
from metashell.quorum.raft.messages import BATCH_SIZE_MAX, BufferAllocationError, NotLeaderError, RecordBatchTooLargeError
from metashell.quorum.raft.voters import KRaftVersion, Voter, VoterSet
from tests.quorum.raft.made import data_batch

LEVEL = KRaftVersion(1)
BIG = bytes(BATCH_SIZE_MAX // 2)


def values_of(batch: AppendedBatch) -> list[bytes | None]:
    return [record.value for record in RecordBatch(read_batch_header(batch.data), 0, batch.data).records()]


def spans(batches: list[AppendedBatch]) -> list[tuple[int, int]]:
    return [(batch.base_offset, batch.last_offset) for batch in batches]


@given(st.lists(st.binary(min_size=1, max_size=300), min_size=1, max_size=200), st.integers(0, 1 << 60))
def test_a_data_batch_is_that_of_the_codec_byte_for_byte(values: list[bytes], base_offset: int):
    records = [Record(base_offset + index, 77, None, value) for index, value in enumerate(values)]
    assert data_batch(base_offset, 3, 77, values) == write_batch(base_offset, records, leader_epoch=3)
    assert len(data_batch(base_offset, 3, 77, values)) == HEADER_SIZE + sum(
        encoded_size(value, index) for index, value in enumerate(values)
    )


def test_records_whose_numbers_take_more_bytes_are_those_of_the_codec_too():
    values = [bytes(1 + index % 2) for index in range(20_000)]
    values[100] = bytes(20_000)
    records = [Record(index, 0, None, value) for index, value in enumerate(values)]
    assert data_batch(0, 1, 0, values) == write_batch(0, records, leader_epoch=1)


def test_calls_within_the_linger_share_a_batch_with_the_time_of_the_first():
    accumulator = BatchAccumulator(3, 10, 25)
    assert accumulator.append(3, [b"a", b"b"], 100, 5_000) == 11
    assert accumulator.append(3, [b"c"], 110, 5_010) == 12
    assert accumulator.next_due_ms == 125
    assert accumulator.drain(124) == []
    [batch] = accumulator.drain(125)
    assert (batch.base_offset, batch.last_offset, batch.append_ms) == (10, 12, 100)
    header = read_batch_header(batch.data)
    assert (header.base_timestamp, header.max_timestamp, header.leader_epoch, header.is_control) == (5_000, 5_000, 3, False)
    assert values_of(batch) == [b"a", b"b", b"c"]
    assert accumulator.is_empty and accumulator.next_due_ms is None and accumulator.drain(1_000) == []


def test_the_linger_counts_anew_after_a_drain():
    accumulator = BatchAccumulator(1, 0, 25)
    accumulator.append(1, [b"a"], 0, 0)
    accumulator.drain(25)
    accumulator.append(1, [b"b"], 40, 0)
    assert accumulator.next_due_ms == 65


def test_what_is_prepared_does_not_leave_before_it_is_scheduled():
    accumulator = BatchAccumulator(1, 0, 0)
    accumulator.prepare(1, [b"a"], 0, 0)
    assert accumulator.next_due_ms is None and accumulator.drain(1_000) == []
    accumulator.prepare(1, [b"b"], 0, 0)
    accumulator.schedule()
    assert spans(accumulator.drain(1_000)) == [(0, 1)]


def test_a_control_batch_closes_the_data_before_it_and_is_due_at_once():
    accumulator = BatchAccumulator(1, 0, 25)
    accumulator.append(1, [b"a"], 0, 0)
    assert accumulator.append_control([LEVEL], 3, 9) == 1
    accumulator.append(1, [b"b"], 4, 0)
    assert accumulator.next_due_ms is not None and accumulator.next_due_ms <= 3
    drained = accumulator.drain(4)
    assert spans(drained) == [(0, 0), (1, 1)] and [batch.is_control for batch in drained] == [False, True]
    assert accumulator.next_due_ms == 25
    assert spans(accumulator.drain(25)) == [(2, 2)]


def test_a_control_batch_behind_unscheduled_data_waits_with_it():
    accumulator = BatchAccumulator(1, 0, 0)
    accumulator.prepare(1, [b"a"], 0, 0)
    accumulator.append_control([LEVEL], 0, 0)
    assert accumulator.drain(10) == [] and accumulator.next_due_ms is None
    accumulator.schedule()
    assert spans(accumulator.drain(10)) == [(0, 0), (1, 1)]


def test_data_after_a_control_batch_that_was_first_is_drained_after_its_linger():
    accumulator = BatchAccumulator(1, 0, 25)
    accumulator.append_control([LEVEL], 0, 0)
    accumulator.append(1, [b"a"], 10, 0)
    assert spans(accumulator.drain(10)) == [(0, 0)]
    assert accumulator.next_due_ms == 35 and spans(accumulator.drain(35)) == [(1, 1)]


def test_the_offset_of_the_last_voter_set_is_remembered():
    accumulator = BatchAccumulator(1, 7, 25)
    assert accumulator.voters_offset == -1
    accumulator.append_control([LEVEL, VoterSet([Voter(ReplicaKey(1), {})])], 0, 0)
    assert accumulator.voters_offset == 8


def test_an_earlier_epoch_is_not_the_leaders_and_a_later_one_is_a_mistake():
    accumulator = BatchAccumulator(2, 0, 0)
    with pytest.raises(NotLeaderError):
        accumulator.prepare(1, [b"a"], 0, 0)
    with pytest.raises(ValueError, match="after the leader's"):
        accumulator.prepare(3, [b"a"], 0, 0)


@pytest.mark.parametrize("values", [[], [b""], [b"a", b""]])
def test_no_value_and_an_empty_one_are_refused(values: list[bytes]):
    with pytest.raises(ValueError, match="empty"):
        BatchAccumulator(1, 0, 0).prepare(1, values, 0, 0)


def test_a_call_that_does_not_fit_closes_the_batch_before_it():
    accumulator = BatchAccumulator(1, 0, 25)
    accumulator.append(1, [BIG], 0, 0)
    accumulator.append(1, [b"a", BIG], 1, 0)
    assert spans(accumulator.drain(1)) == [(0, 0)]
    assert spans(accumulator.drain(25)) == [(1, 2)]


def test_the_largest_batch_is_filled_to_the_byte_and_one_more_is_refused_without_a_trace():
    room = BATCH_SIZE_MAX - HEADER_SIZE
    value = bytes(room - encoded_size(bytes(room), 0) + room)
    assert encoded_size(value, 0) == room
    accumulator = BatchAccumulator(1, 0, 0)
    accumulator.append(1, [b"a"], 0, 0)
    with pytest.raises(RecordBatchTooLargeError):
        accumulator.append(1, [value + b"a"], 0, 0)
    assert accumulator.next_offset == 1
    accumulator.append(1, [value], 0, 0)
    small, large = accumulator.drain(0)
    assert values_of(small) == [b"a"] and len(large.data) == BATCH_SIZE_MAX


def test_the_eleventh_batch_that_waits_is_refused_and_nothing_of_it_is_kept():
    accumulator = BatchAccumulator(1, 0, 1_000)
    for _ in range(COMPLETED_MAX + 1):
        accumulator.append(1, [BIG], 0, 0)
    with pytest.raises(BufferAllocationError):
        accumulator.append(1, [BIG], 0, 0)
    assert accumulator.next_offset == COMPLETED_MAX + 1
    assert len(accumulator.drain(0)) == COMPLETED_MAX
    assert accumulator.append(1, [BIG], 0, 0) == COMPLETED_MAX + 1


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("prepare"), st.lists(st.binary(min_size=1, max_size=20), min_size=1, max_size=5)),
        st.tuples(st.sampled_from(["schedule", "control", "drain", "wait"]), st.none()),
    ),
    max_size=40,
)


@given(STEPS)
def test_calls_are_never_split_or_mixed_with_control_records_and_offsets_have_no_gap(steps: list[tuple[str, list[bytes] | None]]):
    accumulator = BatchAccumulator(1, 0, 10)
    now, calls, scheduled, drained = 0, [], 0, []
    for step, values in steps:
        if step == "prepare":
            assert values is not None
            last = accumulator.prepare(1, values, now, now)
            calls.append((last - len(values) + 1, last, values))
        elif step == "schedule":
            accumulator.schedule()
            scheduled = accumulator.next_offset
        elif step == "control":
            accumulator.append_control([LEVEL], now, now)
        elif step == "wait":
            now += 10
        else:
            due = accumulator.next_due_ms
            batches = accumulator.drain(now)
            assert bool(batches) == (due is not None and due <= now)
            drained += batches
        # What was not scheduled has not left, nor has anything behind it.
        first_waiting = min((base for base, last, _ in calls if last >= scheduled), default=accumulator.next_offset)
        assert all(batch.last_offset < first_waiting for batch in drained)
    accumulator.schedule()
    drained += accumulator.drain(now + 10)
    assert accumulator.is_empty
    position, by_offset = 0, {}
    for batch in drained:
        assert batch.base_offset == position
        position = batch.last_offset + 1
        by_offset.update(dict.fromkeys(range(batch.base_offset, position), batch))
    assert position == accumulator.next_offset
    for base, last, values in calls:
        batch = by_offset[base]
        assert batch is by_offset[last] and not batch.is_control
        assert values_of(batch)[base - batch.base_offset : last + 1 - batch.base_offset] == values
