"""Intervals of offsets are the sets that they stand for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from metashell.tables.lake.log_state import Anchor, Coverage, Epochs, FileMark, LogState, checkpoint_end

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


def test_what_is_known_of_a_log_from_an_offset_on_is_forgotten_and_nothing_else() -> None:
    def known() -> LogState:
        anchors = {last: Anchor(last - 1, last, 1, last) for last in (4, 9, 14)}
        return LogState(
            offsets=Coverage([(0, 15)]),
            stood_for=Coverage([(0, 3)]),
            checkpoints=[f"{end:020d}-0000000001.checkpoint" for end in (0, 5, 10)],
            files={f"{last}.log": FileMark(1, 0, 1, anchors[4], anchor) for last, anchor in anchors.items()},
            anchors=anchors,
            epochs=Epochs([(0, 10, 1), (10, 15, 2)]),
            directory="d",
            passed_over=["f"],
        )

    for offset, ends, lasts in ((0, [], []), (1, [0], []), (4, [0], []), (5, [0, 5], [4]), (9, [0, 5], [4]), (10, [0, 5, 10], [4, 9])):
        found = known()
        found.remove_from(offset)
        assert found.offsets == Coverage([(0, offset)]) and found.stood_for == Coverage([(0, min(offset, 3))])
        assert [checkpoint_end(name) for name in found.checkpoints] == ends, offset
        assert [*found.anchors] == lasts == [mark.last.last for mark in found.files.values()]
        assert list(found.epochs) == ([(0, offset, 1)] if offset else [])
        assert (found.directory, found.passed_over) == ("d" if offset else "", ["f"])
        assert LogState.of_json(found.to_json()) == found == found.copy()
