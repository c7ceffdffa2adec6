"""Orders of Java's and Kafka's hash tables, as a real TimelineHashMap and HashMap of 4.3.1 gave them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.java import bucket_count, hash_order, string_hash_order, table_order
from metashell.quorum.controller.java import timeline_order

TIMELINE = {
    1: "0",
    3: "2 0 1",
    5: "2 0 4 1 3",
    6: "5 0 2 4 1 3",
    8: "5 0 2 7 4 1 6 3",
    11: "0 5 10 2 7 4 9 1 6 3 8",
    14: "13 0 5 10 2 7 12 4 9 1 6 11 3 8",
    19: "13 0 18 5 10 2 15 7 12 4 17 9 1 14 6 11 3 16 8",
}


@pytest.mark.parametrize("count", TIMELINE)
def test_partitions_come_as_from_kafkas_table(count: int) -> None:
    assert " ".join(map(str, timeline_order(range(count)))) == TIMELINE[count]


def test_a_change_of_a_full_table_makes_it_larger() -> None:
    assert timeline_order(range(5))[0] == 2
    assert timeline_order(range(5), was_changed=True)[0] == 0


def test_small_numbers_come_ascending_and_large_ones_by_bucket() -> None:
    assert hash_order((5, 3, 9, 3)) == (3, 5, 9)
    assert hash_order((3000, 1, 2)) == (1, 2, 3000)
    assert hash_order((16, 1, 0)) == (16, 0, 1)


@given(st.lists(st.integers(-3, 40) | st.integers(65_530, 65_545), max_size=40), st.sampled_from((1, 16, 64, 1 << 17)))
def test_the_short_way_gives_the_order_of_the_table(ids: list[int], capacity: int) -> None:
    distinct = dict.fromkeys(ids)
    assert hash_order(ids, capacity) == tuple(table_order(distinct, int, bucket_count(capacity, len(distinct))))


def test_names_come_by_their_hashes() -> None:
    assert string_hash_order(("nope", "group.version")) == ("group.version", "nope")
