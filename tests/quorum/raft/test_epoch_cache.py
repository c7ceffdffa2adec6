"""The epoch cache against a list that is searched from end to end, and the vectors of the specification."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.values import OffsetAndEpoch
from metashell.quorum.raft.partition_state import EpochCache

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
