"""What a follower takes of fetched bytes: whole batches that continue its log, and nothing of a wrong answer."""

from __future__ import annotations

from struct import pack_into

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.framing import frames_of
from metashell.codec.primitives import crc32c
from metashell.quorum.raft.appending import check_fetched
from metashell.quorum.raft.voters import KRaftVersion, LeaderChange, SnapshotHeader, write_control_batch
from tests.quorum.raft.made import data_batch

CHANGE = LeaderChange(leader_id=1, voters=(1,), granting=(1,))
START = write_control_batch(10, 3, 7, [CHANGE, KRaftVersion(1)])
DATA = data_batch(12, 3, 7, [b"a", b"b"])
NEXT = data_batch(14, 5, 7, [b"c"])


def changed(batch: bytes, at: int, form: str, value: int, summed: bool = True) -> bytes:
    """A batch with one field of its header set, and its CRC made to fit."""
    out = bytearray(batch)
    pack_into(form, out, at, value)
    if summed:
        pack_into(">I", out, 17, crc32c(bytes(out), 21))
    return bytes(out)


def test_batches_that_continue_the_log_are_taken_with_their_epochs_and_control_records():
    checked = check_fetched(START + DATA + NEXT, 10, 2, 5)
    assert checked.fault is None and checked.data == START + DATA + NEXT
    assert (checked.end_offset, checked.last_epoch) == (15, 5)
    assert checked.epochs == [(3, 10), (5, 14)]
    assert checked.controls == [(10, CHANGE), (11, KRaftVersion(1))]


def test_an_epoch_that_goes_on_is_not_told_again():
    assert check_fetched(DATA, 12, 3, 5).epochs == []


def test_no_bytes_are_no_fault():
    checked = check_fetched(b"", 10, 2, 5)
    assert checked.fault is None and (checked.data, checked.end_offset, checked.last_epoch) == (b"", 10, 2)


def test_it_stops_at_a_batch_of_an_epoch_after_its_own():
    checked = check_fetched(START + DATA + NEXT, 10, 2, 4)
    assert checked.fault is None and checked.data == START + DATA and (checked.end_offset, checked.last_epoch) == (14, 3)
    first = check_fetched(NEXT, 14, 3, 4)
    assert first.fault is None and first.data == b"" and first.end_offset == 14


@pytest.mark.parametrize("cut", [1, 12, 40, len(NEXT) - 1])
def test_an_unfinished_last_batch_is_left_out(cut: int):
    checked = check_fetched(DATA + NEXT[:cut], 12, 3, 5)
    assert checked.fault is None and checked.data == DATA and checked.end_offset == 14


REFUSED = {
    "an unfinished first batch": DATA[:-1],
    "less than a header": DATA[:60],
    "another base offset": data_batch(13, 3, 7, [b"a"]),
    "a gap": DATA + data_batch(15, 3, 7, [b"a"]),
    "a batch twice": DATA + DATA,
    "a falling epoch": data_batch(12, 2, 7, [b"a"]),
    "epoch 0": data_batch(12, 0, 7, [b"a"]),
    "a wrong sum": changed(DATA, 23, ">i", 2, summed=False),
    "magic 1": changed(DATA, 16, ">b", 1),
    "a length of nothing": changed(DATA, 8, ">i", 0, summed=False),
    "a negative length": changed(DATA, 8, ">i", -1, summed=False),
    "a length above 8 MiB": changed(DATA, 8, ">i", 1 << 30, summed=False),
    "fewer records than offsets": changed(DATA, 57, ">i", 1),
    "a negative count": changed(DATA, 57, ">i", -1),
    "a negative last offset delta": changed(DATA, 23, ">i", -1),
    "an unknown codec": changed(DATA, 21, ">h", 5),
    "a transaction": changed(DATA, 21, ">h", 0x10),
    "data that says it is control": changed(DATA, 21, ">h", 0x20),
    "a snapshot's header": write_control_batch(12, 3, 7, [SnapshotHeader(0)]),
    "a control record with another delta": write_batch(
        12, [Record(12, 8, b"\0\0\0\5", b"\0\0\0\1\0")], leader_epoch=3, base_timestamp=7, is_control=True
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_is_taken_and_one_line_says_why_for(name: str):
    data = REFUSED[name]
    checked = check_fetched(data, 12, 3, 5)
    assert checked.fault is not None and "\n" not in checked.fault
    assert (checked.data, checked.end_offset, checked.last_epoch, checked.epochs, checked.controls) == (b"", 12, 3, [], [])


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4))
def test_changed_bytes_are_never_an_exception_and_what_is_taken_is_a_prefix(changes: list[tuple[int, int]]):
    good = START + DATA + NEXT
    data = bytearray(good)
    for index, byte in changes:
        data[index % len(data)] = byte
    checked = check_fetched(bytes(data), 10, 2, 5)
    assert bytes(data).startswith(checked.data)
    if bytes(data) != good:
        assert checked.data in (b"", START, START + DATA) or _only_epochs_differ(bytes(data), good)


def _only_epochs_differ(data: bytes, good: bytes) -> bool:
    """Whether only bytes changed that the CRC does not cover: the epoch of a batch, which its leader may set."""
    starts = (0, len(START), len(START) + len(DATA))
    return all(
        left == right or any(start + 12 <= at < start + 16 for start in starts)
        for at, (left, right) in enumerate(zip(data, good, strict=True))
    )


@given(st.binary(max_size=200))
def test_any_bytes_are_no_exception(data: bytes):
    checked = check_fetched(data, 0, 0, 9)
    assert checked.data == b"" and bool(checked.fault) == bool(data)


BATCHES = [data_batch(12 + at, 3, 7, [bytes(at * 9)]) for at in range(4)]


@given(st.integers(0, len(BATCHES)), st.integers(0, len(BATCHES) - 1), st.none() | st.integers(-1, 400), st.integers(0, 1000))
def test_what_is_taken_ends_where_the_one_walk_over_frames_ends(count: int, at: int, length: int | None, cut: int):
    """The check walks by itself, because it reads each header anyway: no frame that the walk does not know is ever taken."""
    batches = list(BATCHES[:count])
    if length is not None and at < count:
        batches[at] = changed(batches[at], 8, ">i", length, summed=False)
    data = b"".join(batches)[:cut]
    checked = check_fetched(data, 12, 3, 5)
    frames, stop = frames_of(data)
    if checked.fault is None:
        assert len(checked.data) == stop.position and checked.end_offset == 12 + len(frames)
    else:
        # Whole frames that are batches as they were written are never refused.
        assert data and (not frames or length is not None)
