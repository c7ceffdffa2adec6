"""Offset indexes answer as Kafka's search does; producer snapshots tell their checksum."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.primitives import crc32c
from metashell.common.errors import DecodeError
from metashell.disk.indexes import (
    AbortedTransaction,
    OffsetIndex,
    aborted_transactions,
    offset_entry_ascends,
    producer_entries,
    read_offset_index,
    read_producer_header,
    time_entry_ascends,
)

ASCENDING = st.lists(st.integers(0, 200), min_size=0, max_size=40, unique=True).map(sorted)


def index_of(offsets: list[int]) -> OffsetIndex:
    return read_offset_index(b"".join(struct.pack(">ii", offset, 10 * at) for at, offset in enumerate(offsets)), 1000)


@pytest.mark.slow
@given(offsets=ASCENDING, wanted=st.integers(-5, 210))
def test_the_largest_entry_that_is_not_above_is_found(offsets: list[int], wanted: int) -> None:
    found = [(1000 + offset, 10 * at) for at, offset in enumerate(offsets) if offset <= wanted]
    assert index_of(offsets).lookup(1000 + wanted) == (found[-1] if found else (1000, 0))


@given(offsets=ASCENDING, wanted=st.integers(-5, 210))
def test_kafkas_search_finds_the_same_in_an_index_that_ascends(offsets: list[int], wanted: int) -> None:
    index = index_of(offsets)
    slow = OffsetIndex(index.base_offset, index.relative_offsets, index.positions, is_ascending=False)
    assert slow.lookup(1000 + wanted) == index.lookup(1000 + wanted)


def test_kafkas_search_finds_the_same_in_the_cold_part_of_a_large_index() -> None:
    index = index_of(list(range(5, 6_005, 2)))
    slow = OffsetIndex(index.base_offset, index.relative_offsets, index.positions, is_ascending=False)
    for wanted in (0, 4, 5, 6, 7, 1_000, 3_950, 3_951, 3_952, 3_953, 3_954, 3_955, 3_956, 3_957, 3_958, 6_003, 6_004, 9_999):
        assert slow.lookup(1000 + wanted) == index.lookup(1000 + wanted)


def test_zeros_at_the_end_lead_kafkas_search_astray_as_they_do_in_java() -> None:
    index = index_of([5, 9, 14, *[0] * 5])
    assert not index.is_ascending
    assert index.lookup(1014) == (1000, 70)


def test_a_piece_of_an_entry_at_the_end_is_left_out() -> None:
    assert read_offset_index(struct.pack(">iii", 1, 2, 3), 0).positions == (2,)
    whole = struct.pack(">hqqqq", 0, 1, 2, 3, 4)
    assert [entry.producer_id for entry in aborted_transactions(whole + whole[:10])] == [1]


@given(before=st.tuples(st.integers(-3, 3), st.integers(-3, 3)), entry=st.tuples(st.integers(-3, 3), st.integers(-3, 3)))
def test_entries_ascend_as_kafka_appends_them(before: tuple[int, int], entry: tuple[int, int]) -> None:
    first, second = entry[0] - before[0], entry[1] - before[1]
    assert offset_entry_ascends(before, entry) == (min(first, second) >= 1)
    assert time_entry_ascends(before, entry) == (first >= 1 and second >= 0)


@given(first=st.integers(0, 5), last=st.integers(0, 5), stable=st.integers(0, 6), before=st.integers(-1, 5))
def test_a_marker_follows_its_transaction_and_the_marker_before(first: int, last: int, stable: int, before: int) -> None:
    entry = AbortedTransaction(0, 7, first, last, stable)
    assert entry.can_follow(before) == (last >= first and last >= before + 1)


def test_a_producer_snapshot_tells_the_checksum_that_its_bytes_have() -> None:
    body = struct.pack(">iqhiqiqiq", 1, 7, 1, 2, 3, 4, 5, 6, -1)
    header = read_producer_header(struct.pack(">hI", 1, 99) + body)
    assert (header.version, header.crc, header.computed_crc, header.entry_count) == (1, 99, crc32c(body), 1)
    (entry,) = producer_entries(struct.pack(">hI", 1, 99) + body, 5)
    assert (entry.producer_id, entry.last_offset, entry.current_txn_first_offset) == (7, 3, -1)
    assert header.size_bytes == len(body) + 6
    empty = struct.pack(">hIi", 1, 99, 0)
    assert read_producer_header(empty).entry_count == 0 and not list(producer_entries(empty, 5))
    with pytest.raises(DecodeError):
        read_producer_header(b"\0\1\0")
