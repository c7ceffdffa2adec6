"""Batches in order, and what is said of one that is not: offsets first, then epochs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batches import RecordBatch, read_batch_header
from metashell.disk.segment import OrderCheck, order_fault
from tests.disk.log.conftest import Batch


@pytest.mark.parametrize(
    ("before", "here", "reason"),
    [
        ((5, 2), (5, 2), None),
        ((5, 2), (5, 3), None),
        ((None, None), (9, 0), None),
        ((5, 2), (6, 2), "offset 5 is missing"),
        ((5, 2), (9, 1), "offsets 5 to 8 are missing"),
        ((5, 2), (4, 2), "offset goes back to 4 after 4"),
        ((5, 2), (5, 1), "leader epoch goes back to 1 after 2"),
        ((None, 2), (7, 1), "leader epoch goes back to 1 after 2"),
    ],
)
def test_a_batch_follows_or_says_why_not(before: tuple[int | None, int | None], here: tuple[int, int], reason: str | None) -> None:
    assert order_fault(*before, here) == reason


@given(st.integers(0, 50), st.integers(0, 5), st.tuples(st.integers(0, 50), st.integers(0, 5)))
def test_compaction_excuses_gaps_and_nothing_else(expected: int, epoch: int, here: tuple[int, int]) -> None:
    follows = here[0] >= expected and here[1] >= epoch
    assert (order_fault(expected, epoch, here, may_skip=True) is None) == follows
    assert (order_fault(expected, epoch, here) is None) == (follows and here[0] == expected)


def test_each_batch_is_compared_with_the_one_before_it_good_or_not(batch: Batch) -> None:
    def check(offset: int, count: int = 1, epoch: int = 1) -> str | None:
        data = batch(offset, count, epoch=epoch)
        fault = order.check(RecordBatch(read_batch_header(data), 100, data, "a.log"))
        assert fault is None or (fault.file, fault.offset, fault.position, fault.is_tail) == ("a.log", offset, 100, False)
        return fault and fault.reason

    order = OrderCheck(3)
    assert check(3, 4) is None
    assert check(8) == "offset 7 is missing"
    assert check(9, epoch=0) == "leader epoch goes back to 0 after 1"
    assert check(10, epoch=0) is None
    order.forget()
    assert check(2) is None
    assert (order.expected_offset, order.epoch) == (3, 1)
