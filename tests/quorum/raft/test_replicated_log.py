"""The log in memory against a plain list of batches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.values import OffsetAndEpoch
from metashell.quorum.raft.replicated_log import MemoryLog, PartialSnapshot, ReplicatedLog
from tests.quorum.raft.made import data_batch


def filled(*counts: int) -> MemoryLog:
    log = MemoryLog()
    for count in counts:
        log.append(batch(log.end_offset, count), log.end_offset + count)
    return log


def batch(base: int, count: int, epoch: int = 1) -> bytes:
    return data_batch(base, epoch, 0, [b"v"] * count)


def test_it_is_a_replicated_log():
    log: ReplicatedLog = MemoryLog()
    part: PartialSnapshot = log.create_snapshot(OffsetAndEpoch(1, 1))
    assert (log.start_offset, log.end_offset, log.flushed_offset, log.size, part.size) == (0, 0, 0, 0, 0)


def test_several_batches_may_be_appended_at_once():
    log = MemoryLog()
    log.append(batch(0, 2) + batch(2, 3, 2), 5)
    assert [entry[:3] for entry in log.batches()] == [(0, 2, 1), (2, 5, 2)] and log.last_epoch() == 2


def test_a_batch_that_does_not_follow_is_our_own_mistake():
    with pytest.raises(AssertionError):
        filled(2).append(batch(3, 1), 4)
    with pytest.raises(AssertionError):
        filled(2).append(batch(2, 1), 4)


def test_what_was_not_flushed_can_be_lost():
    log = filled(2, 3, 1)
    log.flush_to(5)
    log.lose_unflushed()
    assert log.end_offset == 5
    log.truncate_to(2)
    assert log.flushed_offset == 2


def test_a_snapshot_is_there_when_it_is_frozen_and_not_before():
    log = filled(2)
    id = OffsetAndEpoch(2, 1)
    part = log.create_snapshot(id)
    part.append(b"abc")
    part.append(b"def")
    assert part.size == 6 and list(log.snapshots()) == []
    part.freeze()
    assert list(log.snapshots()) == [id] and log.snapshot_size(id) == 6 and log.read_snapshot(id, 2, 3) == b"cde"
    other = log.create_snapshot(OffsetAndEpoch(1, 1))
    other.close()
    assert list(log.snapshots()) == [id]
    with pytest.raises(KeyError):
        log.snapshot_size(OffsetAndEpoch(1, 1))


def test_a_log_that_starts_at_a_snapshot_is_empty_and_older_snapshots_are_gone():
    log = filled(2, 2)
    log.write_leader_epochs([(1, 0)])
    for offset in (2, 9):
        log.add_snapshot(OffsetAndEpoch(offset, 1), b"s")
    log.start_at_snapshot(OffsetAndEpoch(9, 1))
    assert (log.start_offset, log.end_offset, log.flushed_offset, log.size) == (9, 9, 9, 0)
    assert list(log.snapshots()) == [OffsetAndEpoch(9, 1)] and list(log.leader_epochs()) == []
    log.append(batch(9, 1), 10)
    assert log.read(9, 10, 0) == batch(9, 1)


def test_the_log_before_a_snapshot_goes_with_older_snapshots():
    log = filled(2, 2, 2)
    for offset in (2, 4):
        log.add_snapshot(OffsetAndEpoch(offset, 1), b"s")
    log.delete_before(OffsetAndEpoch(4, 1))
    assert log.start_offset == 4 and [entry[0] for entry in log.batches()] == [4] and log.size == len(batch(4, 2))
    assert list(log.snapshots()) == [OffsetAndEpoch(4, 1)]
    log.add_snapshot(OffsetAndEpoch(6, 1), b"s")
    log.delete_before(OffsetAndEpoch(6, 1))
    assert (log.start_offset, log.end_offset, log.size) == (6, 6, 0) and log.batches() == []


def test_what_an_observer_forgets_ends_at_a_batch_and_never_takes_the_last_one():
    log = filled(2, 2, 2)
    log.forget_before(3)
    assert log.start_offset == 2 and log.is_batch_boundary(2) and not log.is_batch_boundary(0)
    log.forget_before(100)
    assert (log.start_offset, log.end_offset) == (4, 6) and log.read(4, 6, 0) == batch(4, 2)


@given(
    st.lists(st.tuples(st.sampled_from(["append", "append", "truncate", "forget"]), st.integers(1, 9)), max_size=30),
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(0, 400),
)
def test_it_reads_what_a_naive_list_would(operations: list[tuple[str, int]], start: int, end: int, max_size: int):
    log = MemoryLog()
    naive: list[tuple[int, int, bytes]] = []
    for operation, number in operations:
        if operation == "append":
            data = batch(log.end_offset, number)
            naive.append((log.end_offset, log.end_offset + number, data))
            log.append(data, log.end_offset + number)
        elif operation == "truncate" and len(naive) > number:
            cut = naive[-number][0]
            naive = naive[:-number]
            log.truncate_to(cut)
        elif operation == "forget" and naive:
            log.forget_before(naive[0][0] + number)
            naive = [entry for entry in naive if entry[1] > naive[0][0] + number] or naive[-1:]
    assert [entry[3] for entry in log.batches()] == [data for _, _, data in naive]
    assert log.size == sum(len(data) for _, _, data in naive)
    assert log.end_offset == (naive[-1][1] if naive else 0)
    boundaries = {base for base, _, _ in naive} | {log.end_offset}
    assert all(log.is_batch_boundary(offset) == (offset in boundaries) for offset in range(62))
    inside = [(base, data) for base, last, data in naive if last > start and base < end and start < log.end_offset]
    expected, size = b"", 0
    for index, (_, data) in enumerate(inside):
        size += len(data)
        if index and size > max_size:
            break
        expected += data
    if start >= log.start_offset:
        assert log.read(start, end, max_size) == expected
