"""Intervals of offsets are the sets that they stand for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from metashell.tables.lake.ledger import Coverage

OFFSETS = st.integers(0, 40)
INTERVALS = st.lists(st.tuples(OFFSETS, OFFSETS), max_size=12)


def offsets(found: Coverage | list[tuple[int, int]]) -> set[int]:
    return {offset for start, end in found for offset in range(start, end)}


@given(INTERVALS)
def test_intervals_are_in_order_apart_and_hold_what_was_added(intervals: list[tuple[int, int]]) -> None:
    found = Coverage(intervals)
    assert offsets(found) == offsets(intervals)
    flat = [bound for pair in found for bound in pair]
    assert flat == sorted(set(flat))
    assert found.end == max(offsets(found), default=-1) + 1
    assert bool(found) == bool(offsets(found))
    assert found.copy() == found


@given(INTERVALS, OFFSETS, OFFSETS)
def test_missing_is_the_rest(intervals: list[tuple[int, int]], start: int, end: int) -> None:
    found = Coverage(intervals)
    missing = found.missing(start, end)
    assert offsets(missing) == set(range(start, end)) - offsets(found)
    assert found.has(start, end) == (not missing)
    for first, last in missing:
        found.add(first, last)
    assert found.has(start, end)


@given(INTERVALS, OFFSETS)
def test_what_is_removed_from_an_offset_on_is_gone(intervals: list[tuple[int, int]], start: int) -> None:
    found = Coverage(intervals)
    found.remove_from(start)
    assert offsets(found) == {offset for offset in offsets(intervals) if offset < start}
