"""The walk over the batches of a file, whole and damaged."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import CheckedBatch, Record, RecordBatch, crc_fault, read_batch_header
from metashell.disk import segment
from metashell.disk.files import open_file
from metashell.disk.segment import (
    BadBatch,
    BatchFault,
    OrderCheck,
    Tail,
    checked_snapshot,
    first_snapshot_fault,
    order_fault,
    read_batches,
    whole_batch_behind,
)
from tests.disk.conftest import Batch


class BytesFile:
    """An opened file of given bytes; as a stream it does not know its size."""

    name = "some.log"
    trouble: str | None = None
    batch_size_max = 1 << 32

    def __init__(self, data: bytes, *, is_stream: bool = False) -> None:
        self.data = data
        self.is_stream = is_stream

    def read_at(self, position: int, size: int) -> bytes:
        return self.data[position : position + size]

    def size(self) -> int | None:
        return None if self.is_stream else len(self.data)


def walk(data: bytes, **options) -> list[RecordBatch | BatchFault]:
    """The items of a walk over `data`, the same however the file is opened and however it is cut into chunks."""
    items = [list(read_batches(BytesFile(data, is_stream=is_stream), **options)) for is_stream in (False, True)]
    assert describe(items[0]) == describe(items[1])
    return items[0]


def describe(items: list[RecordBatch | BatchFault]) -> list:
    return [
        (item.kind, item.position, item.size, item.reason) if isinstance(item, BatchFault) else (item.position, item.data) for item in items
    ]


def three(batch) -> list[bytes]:
    return [batch(0, 2), batch(2), batch(3, 3)]


def test_batches_come_in_order_with_their_positions(batch) -> None:
    parts = three(batch)
    items = walk(b"".join(parts))
    assert [item.data for item in items] == parts
    assert [item.position for item in items] == [0, len(parts[0]), len(parts[0]) + len(parts[1])]
    assert {item.file for item in items} == {"some.log"}


def test_nothing_changes_when_batches_cross_chunks(batch, monkeypatch) -> None:
    data = b"".join(batch(at, 1, size=at % 190) for at in range(300))
    whole = describe(walk(data))
    assert len(whole) == 300
    for size in (61, 62, 100, 257, 4096):
        monkeypatch.setattr(segment, "_FIRST_WINDOW", size)
        monkeypatch.setattr(segment, "WINDOW_SIZE", 2 * size)
        assert describe(walk(data)) == whole


def test_every_truncation_gives_the_batches_before_it_and_one_fault(batch) -> None:
    parts = three(batch)
    data = b"".join(parts)
    ends = [0, len(parts[0]), len(parts[0] + parts[1]), len(data)]
    for size in range(len(data)):
        *batches, last = walk(data[:size]) or [None]
        complete = sum(end <= size for end in ends) - 1
        if size in ends:
            assert len([item for item in (*batches, last) if item is not None]) == complete
            continue
        assert [item.data for item in batches] == parts[:complete]
        assert (last.position, last.size) == (ends[complete], size - ends[complete])
        assert isinstance(last, Tail) and last.may_be_tail


def test_every_flipped_bit_leaves_what_precedes_it_and_is_named_or_outside_the_checksum(batch) -> None:
    parts = three(batch)
    data = bytearray(b"".join(parts))
    second = range(len(parts[0]), len(parts[0] + parts[1]))
    for at in second:
        for bit in range(8):
            data[at] ^= 1 << bit
            items = walk(bytes(data))
            data[at] ^= 1 << bit
            assert items[0].data == parts[0]
            faults = [item for item in items if isinstance(item, BatchFault)]
            within = at - second.start
            if within < 8 or 12 <= within < 16:  # base offset and leader epoch: whoever knows the order checks them
                assert not faults
            else:
                assert faults[0].position == second.start
                if within >= 16:
                    assert items[2].data == parts[2]


@pytest.mark.parametrize("size", [1, 16, 17, 18, 61, 5000, 3_000_000])
def test_a_zero_tail_is_one_fault_of_its_own_kind(batch, size: int) -> None:
    good, fault = walk(batch(0) + bytes(size))
    assert isinstance(good, RecordBatch)
    assert (fault.kind, fault.position, fault.size, fault.offset) == ("zero-tail", len(good.data), size, 1)
    assert fault.may_be_tail


def test_zeros_that_something_follows_are_a_bad_size(batch) -> None:
    items = walk(batch(0) + bytes(100) + batch(1))
    assert [getattr(item, "kind", "batch") for item in items] == ["batch", "bad-size"]
    assert items[1].size == 100 + len(batch(1))
    assert not items[1].may_be_tail


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 13])
def test_a_length_below_the_smallest_message_ends_the_walk(batch, length: int) -> None:
    bad = bytearray(batch(1))
    bad[8:12] = length.to_bytes(4, "big", signed=True)
    _, fault = walk(batch(0) + bytes(bad) + batch(2))
    assert isinstance(fault, Tail)
    assert (fault.kind, fault.offset) == ("bad-size", 1)
    assert fault.size == 2 * len(bad)


def test_a_length_that_points_past_the_file_costs_no_more_than_the_file(batch) -> None:
    bad = bytearray(batch(1, size=100_000))
    bad[8:12] = b"\x7f\xff\xff\xff"
    tracemalloc.start()
    items = walk(batch(0) + bytes(bad))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert items[1].kind == "truncated"
    assert "batch of 2147483659 bytes is cut off" in items[1].reason
    assert peak < 4_000_000


def test_a_batch_shorter_than_its_header_is_passed_over(batch) -> None:
    short = bytearray(batch(1)[:40])
    short[8:12] = (28).to_bytes(4, "big")
    items = walk(batch(0) + bytes(short) + batch(2))
    assert [getattr(item, "kind", "batch") for item in items] == ["batch", "bad-size", "batch"]
    assert isinstance(items[1], BadBatch)


@pytest.mark.parametrize("magic", [3, 127, 128, 255])
def test_an_unknown_magic_is_passed_over(batch, magic: int) -> None:
    bad = bytearray(batch(1))
    bad[16] = magic
    items = walk(batch(0) + bytes(bad) + batch(2))
    assert [getattr(item, "kind", "batch") for item in items] == ["batch", "bad-magic", "batch"]
    assert items[1].batch.data == bytes(bad)


def test_a_wrong_checksum_is_told_and_passed_over(batch) -> None:
    bad = bytearray(batch(1))
    bad[-3] ^= 1
    data = batch(0) + bytes(bad) + batch(2)
    items = walk(data)
    assert [getattr(item, "kind", "batch") for item in items] == ["batch", "bad-crc", "batch"]
    assert items[1].offset == 1
    assert items[1].reason.startswith("CRC-32C 0x")


def test_a_foreign_file_is_one_fault() -> None:
    (fault,) = walk(b"#!/bin/sh\n# no log at all, and long enough to hold a header of any kind\n" * 10)
    assert isinstance(fault, Tail) and fault.position == 0
    assert (fault.kind, fault.offset, fault.may_be_tail) == ("bad-magic", None, False)
    assert fault.reason.startswith("no batch: magic ")


def test_an_empty_file_has_nothing_and_no_fault() -> None:
    assert walk(b"") == []


def test_a_limit_in_bytes_leaves_out_the_batch_that_crosses_it(batch) -> None:
    parts = three(batch)
    data = b"".join(parts)
    edge = len(parts[0] + parts[1])
    for limit in range(len(data) + 2):
        count = sum(limit >= end for end in (len(parts[0]), edge, len(data)))
        assert [item.data for item in walk(data, max_bytes=limit)] == parts[:count]


def test_the_walk_may_start_at_any_batch(batch) -> None:
    parts = three(batch)
    start = len(parts[0])
    items = walk(b"".join(parts), start=start)
    assert [(item.position, item.data) for item in items] == [(start, parts[1]), (start + len(parts[1]), parts[2])]


@given(st.binary(max_size=300))
def test_any_bytes_give_items_that_cover_them(data: bytes) -> None:
    items = walk(data)
    position = 0
    for item in items:
        assert item.position == position
        position += item.size if isinstance(item, BatchFault) else len(item.data)
    assert position == len(data)


def test_a_large_batch_is_read_once_and_no_second_copy_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    value = os.urandom(1000) * 5000
    with path.open("wb") as out:
        for offset in range(4):
            out.write(write_batch(offset, [Record(offset, 0, None, value)], leader_epoch=0))
    tracemalloc.start()
    with open_file(str(path)) as file:
        for item in read_batches(file):
            assert isinstance(item, RecordBatch)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5 * len(value)


def test_many_zeros_are_a_zero_tail_only_if_nothing_ever_follows(tmp_path: Path, batch) -> None:
    path = tmp_path / "00000000000000000000.log"
    for tail, is_zero_tail in ((bytes(3 << 20), True), (bytes(3 << 20) + b"x", False)):
        path.write_bytes(batch(0) + tail)
        with open_file(str(path)) as file:
            fault = list(read_batches(file))[-1]
        assert isinstance(fault, BatchFault) and (fault.kind == "zero-tail") is is_zero_tail


def test_a_torn_batch_and_a_foreign_end_are_known_by_the_offset_that_follows(tmp_path: Path, batch) -> None:
    path = tmp_path / "00000000000000000005.log"
    foreign = batch(6)[:16] + b"\x63" + batch(6)[17:40]
    wrong = b"\x21" + batch(6)[1:40]  # an offset that nothing else would contradict
    for tail, offset in ((batch(6)[:40], 6), (foreign, 6), (wrong, 6)):
        path.write_bytes(batch(5) + tail)
        with open_file(str(path)) as file:
            fault = list(read_batches(file))[-1]
        assert isinstance(fault, BatchFault) and fault.offset == offset


def test_a_batch_that_is_cut_off_is_named_by_its_offset_and_no_batch_by_the_one_before(batch) -> None:
    parts = three(batch)
    (*_, fault) = walk(b"".join(parts)[:-3])
    assert isinstance(fault, BatchFault) and (fault.kind, fault.offset) == ("truncated", 3)
    foreign = bytearray(parts[2][:-3])
    foreign[16] = 9
    (*_, fault) = walk(b"".join(parts[:2]) + foreign)
    assert isinstance(fault, BatchFault) and (fault.kind, fault.offset) == ("bad-magic", 3)
    (fault,) = walk(bytes(foreign))
    assert isinstance(fault, BatchFault) and (fault.kind, fault.offset) == ("bad-magic", None)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=6), st.integers(0, 10_000))
def test_only_a_batch_with_its_checksum_is_given_as_checked(sizes: list[int], bit: int) -> None:
    data = bytearray(b"".join(write_batch(at, [Record(at, 0, None, bytes(size))], leader_epoch=0) for at, size in enumerate(sizes)))
    data[bit // 8 % len(data)] ^= 1 << bit % 8
    for item in walk(bytes(data)):
        if isinstance(item, RecordBatch) and item.header.magic == 2:
            assert isinstance(item, CheckedBatch) and crc_fault(item.header, item.data) is None
        elif isinstance(item, BadBatch):
            assert not isinstance(item.batch, CheckedBatch)


# ---- batches in order, and what is said of one that is not: offsets first, then epochs


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


# ---- whether a torn tail is one: nothing whole lies behind the batch whose write was cut off


Look = Callable[[bytes, int], int | None]


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """`look(data, position)`: what lies behind the batch at `position` of a file with that content."""

    def make(data: bytes, position: int) -> int | None:
        path = tmp_path / "00000000000000000000.log"
        path.write_bytes(data)
        with open_file(str(path)) as file:
            return whole_batch_behind(file, position)

    return make


def damaged(data: bytes) -> bytes:
    """A batch that claims more bytes than it has."""
    return data[:8] + (len(data) * 1000).to_bytes(4, "big") + data[12:]


def test_the_first_whole_batch_behind_is_found_wherever_it_begins(look: Look, batch: Batch) -> None:
    first, second, third = batch(0), batch(1, epoch=7), batch(2, 3, size=100, epoch=1 << 30)
    assert look(first + damaged(second) + third, len(first)) == len(first) + len(second)
    assert look(damaged(first) + second + third, 0) == len(first)
    assert look(damaged(first) + b"some bytes between" + third + second, 0) == len(first) + 18
    assert look(damaged(first) + second[:-5] + third, 0) == len(first) + len(second) - 5


def test_the_batch_itself_is_not_behind_itself(look: Look, batch: Batch) -> None:
    assert look(batch(0), 0) is None


def test_what_is_cut_or_has_another_checksum_is_not_whole(look: Look, batch: Batch) -> None:
    first, second = batch(0), batch(1)
    assert look(damaged(first), 0) is None
    assert look(damaged(first) + second[:-1], 0) is None
    assert look(damaged(first) + second[:-1] + bytes([second[-1] ^ 1]), 0) is None
    assert look(damaged(first) + second, 0) == len(first)


def test_a_length_that_no_batch_can_have_is_none(look: Look, batch: Batch) -> None:
    """Sixty bytes with the lead of a batch are fewer than a header has."""
    short = batch(1)[:8] + (48).to_bytes(4, "big") + batch(1)[12:60]
    assert look(damaged(batch(0)) + short, 0) is None


def test_it_looks_as_far_as_the_largest_batch_of_kafka_reaches(look: Look, batch: Batch) -> None:
    first, second, gap = batch(0), batch(1), b"\xff" * (8 * 1024 * 1024)
    assert look(damaged(first) + gap + second, 0) == len(first) + len(gap)


# ---- whether a checkpoint is whole


def faults_of(path: Path, data: bytes) -> list[str]:
    path.write_bytes(data)
    faults: list = []
    with open_file(str(path)) as file:
        for _ in checked_snapshot(read_batches(file), file.name, faults):
            pass
        first = first_snapshot_fault(file)
    assert first == (faults[0] if faults else None)
    return [fault.reason for fault in faults]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "00000000000000000012-0000000001.checkpoint"


def test_a_whole_checkpoint_has_no_fault(path: Path, checkpoint) -> None:
    assert faults_of(path, checkpoint(3)) == []
    assert faults_of(path, checkpoint(0)) == []


def test_every_truncation_of_a_checkpoint_is_incomplete(path: Path, checkpoint) -> None:
    data = checkpoint(2)
    for size in range(len(data)):
        assert "checkpoint ends without its footer: it is incomplete" in faults_of(path, data[:size])


def test_a_checkpoint_without_a_header_is_told(path: Path, batch, checkpoint) -> None:
    assert faults_of(path, batch(0) + checkpoint(2)[len(batch(0)) :])[0] == "checkpoint does not start with a snapshot header"


def test_batches_after_the_footer_are_told(path: Path, batch, checkpoint) -> None:
    assert "checkpoint goes on after its footer" in faults_of(path, checkpoint(2) + batch(4))


def test_a_bad_batch_is_told_once_and_the_next_one_is_not_blamed(path: Path, checkpoint) -> None:
    data = bytearray(checkpoint(2))
    data[100] ^= 1
    (reason,) = faults_of(path, bytes(data))
    assert reason.startswith("CRC-32C")


def test_offsets_and_epochs_that_the_checksum_does_not_cover_are_checked(path: Path, batch, checkpoint) -> None:
    head, foot = checkpoint(0)[:-75], checkpoint(0)[-75:]
    assert faults_of(path, head + batch(5) + foot)[0] == "offsets 1 to 4 are missing"
    assert faults_of(path, head + batch(1, epoch=0) + checkpoint(1)[-75:])[0] == "leader epoch goes back to 0 after 1"
