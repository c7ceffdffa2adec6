"""Offset indexes answer as Kafka's search does; producer snapshots tell their checksum."""

from __future__ import annotations

import struct
from pathlib import Path
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batches import RecordBatch
from metashell.codec.primitives import crc32c
from metashell.common.errors import DecodeError
from metashell.disk.files import open_file
from metashell.disk.indexes import (
    AbortedTransaction,
    OffsetIndex,
    aborted_transactions,
    offset_entry_ascends,
    producer_entries,
    read_offset_index,
    read_producer_header,
    seek_offset,
    time_entry_ascends,
)
from metashell.disk.segment import read_batches

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


# ---- the offset index as a hint


BASE = 100


def write(folder: Path, batch, count: int, every: int, damage=lambda data: data) -> tuple[Path, Path, list[RecordBatch]]:
    """A segment of batches of 1 to 4 records, its index with an entry for each `every`-th batch, and the batches."""
    data = b""
    entries = b""
    offset = BASE
    for number in range(count):
        if number % every == every - 1:
            entries += pack(">ii", offset + number % 4 - BASE, len(data))
        data += batch(offset, number % 4 + 1)
        offset += number % 4 + 1
    segment, index = folder / f"{BASE:020d}.log", folder / f"{BASE:020d}.index"
    segment.write_bytes(data)
    index.write_bytes(damage(entries))
    with open_file(str(segment)) as file:
        return segment, index, list(read_batches(file))


def position(segment: Path, index: Path, offset: int) -> int:
    with open_file(str(segment)) as file, open_file(str(index)) as entries:
        return seek_offset(entries, file, BASE, offset)


@pytest.mark.parametrize("tail", [0, 8, 4096], ids=["exact", "one zero entry", "preallocated"])
def test_reading_starts_at_the_last_entry_that_misses_nothing(tmp_path: Path, batch, tail: int) -> None:
    segment, index, batches = write(tmp_path, batch, 60, 5, lambda entries: entries + bytes(tail))
    for offset in range(BASE, BASE + 160):
        at = position(segment, index, offset)
        skipped = [item for item in batches if item.position < at]
        assert all(item.header.last_offset < offset for item in skipped)
        assert at in [item.position for item in batches]
        following = [item for item in batches if item.position >= at and item.header.last_offset < offset]
        assert len(following) < 6


@pytest.mark.parametrize(
    "damage",
    [
        lambda entries: b"",
        lambda entries: entries[:5],
        lambda entries: b"\x7f" * len(entries),
        lambda entries: pack(">ii", 3, 10**9),
        lambda entries: pack(">ii", 3, -5),
        lambda entries: pack(">ii", 3, 7),
        lambda entries: bytes(800),
    ],
    ids=["empty", "cut", "garbage", "past the end", "negative", "inside a batch", "zeros"],
)
def test_a_damaged_index_means_the_beginning(tmp_path: Path, batch, damage) -> None:
    segment, index, _ = write(tmp_path, batch, 20, 3, damage)
    assert position(segment, index, BASE + 40) == 0


@given(data=st.binary(max_size=80), offset=st.integers(BASE, BASE + 60))
def test_no_index_makes_us_miss_a_batch(tmp_path_factory, batch, data: bytes, offset: int) -> None:
    folder = tmp_path_factory.mktemp("index")
    segment, index, batches = write(folder, batch, 20, 3, lambda _: data)
    at = position(segment, index, offset)
    assert all(item.header.last_offset <= offset for item in batches if item.position < at)
