"""Frames are found where lengths say, whatever stands in them, and every byte is either in a frame or behind a stop that says why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.framing import FRAME_SIZE_MIN, LENGTH_MIN, Stop, find_frames, frames_of, whole_frames

INT32 = st.integers(-(2**31), 2**31 - 1)
BODIES = st.binary(min_size=LENGTH_MIN, max_size=80)


def frame(body: bytes, length: int | None = None) -> bytes:
    return bytes(8) + (len(body) if length is None else length).to_bytes(4, "big", signed=True) + body


def naive(data: bytes) -> tuple[list[tuple[int, int]], str]:
    """The rule in its plainest form, over bytes that are all there is."""
    frames, at = [], 0
    while len(data) - at > 17:
        length = int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
        if length < 14:
            return frames, "bad-size"
        if at + 12 + length > len(data):
            return frames, "truncated"
        frames.append((at, 12 + length))
        at += 12 + length
    return frames, "end" if at == len(data) else "short"


@given(st.lists(BODIES), st.binary(max_size=60), st.none() | INT32)
def test_all_bytes_are_in_frames_or_behind_the_stop(bodies: list[bytes], rest: bytes, length: int | None) -> None:
    data = b"".join(map(frame, bodies)) + (rest if length is None else frame(rest, length))
    frames, stop = frames_of(data, 1000)
    assert (frames, stop.kind) == naive(data)
    assert sum(size for _, size in frames) == stop.position - 1000
    assert stop.left == len(data) - (stop.position - 1000)
    assert stop.tail == data[stop.position - 1000 :]
    assert bool(stop.reason) == (stop.kind != "end")


@given(st.lists(BODIES, min_size=1), st.binary(max_size=40), st.integers(17, 300), st.booleans())
def test_windows_of_any_size_give_the_same_frames(bodies: list[bytes], rest: bytes, window_size: int, size_is_known: bool) -> None:
    data = b"".join(map(frame, bodies)) + rest
    frames, stop = frames_of(data)
    found: list[tuple[int, int]] = []
    position, size = 0, window_size
    while True:
        buf = data[position : position + size]
        is_last = position + size > len(data)
        window = find_frames(buf, position, len(data) - position if size_is_known or is_last else None)
        found += [(position + at, frame_size) for at, frame_size in window.frames]
        if window.stop is not None:
            break
        size = window_size if window.frames else 2 * size
        position = window.next
    assert found == frames
    assert (window.stop.kind, window.stop.position, window.stop.length) == (stop.kind, stop.position, stop.length)


@given(st.lists(BODIES, min_size=1), st.binary(max_size=40), st.integers(17, 300))
def test_a_walk_over_headers_gives_the_same_frames(bodies: list[bytes], rest: bytes, window_size: int) -> None:
    data = b"".join(map(frame, bodies)) + rest
    frames, stop = frames_of(data)
    found: list[tuple[int, int]] = []
    position = 0
    while True:
        window = find_frames(data[position : position + window_size], position, len(data) - position, whole=False)
        found += [(position + at, size) for at, size in window.frames]
        position = window.next
        if window.stop is not None:
            break
    assert found == frames
    assert window.stop[:4] == stop[:4]


@given(st.lists(BODIES, min_size=1))
def test_bytes_of_ours_are_whole_frames(bodies: list[bytes]) -> None:
    data = b"".join(map(frame, bodies))
    assert [data[at + 12 : at + size] for at, size in whole_frames(data)] == bodies
    with pytest.raises(AssertionError):
        whole_frames(data[:-1])
    with pytest.raises(AssertionError):
        whole_frames(data + b"\0")


@pytest.mark.parametrize("length", [-(2**31), -12, -1, 0, LENGTH_MIN - 1])
def test_a_length_that_no_batch_has_stops_the_walk_also_in_a_file_of_unknown_end(length: int) -> None:
    for left in (None, 92):
        stop = find_frames(frame(bytes(80), length), 5, left).stop
        assert stop is not None
        assert (stop.kind, stop.position, stop.length) == ("bad-size", 5, length)
        assert stop.reason == f"batch length {length} is below 14"


def test_a_batch_above_the_limit_is_not_waited_for() -> None:
    data = frame(bytes(100))
    assert find_frames(data[:60], 0, None, 112).stop is None
    stop = find_frames(data[:60], 0, None, 111).stop
    assert stop is not None
    assert (stop.kind, stop.reason) == ("too-large", "batch of 112 bytes is above 111")


def test_a_stop_says_what_stands_there() -> None:
    head = (7).to_bytes(8, "big") + (1000).to_bytes(4, "big") + bytes(4)
    stop = frames_of(head + b"\2" + bytes(3))[1]
    assert (stop.offset, stop.unknown_magic, stop.reason) == (7, None, "batch of 1012 bytes is cut off")
    stop = frames_of(head + b"\x63" + bytes(3))[1]
    assert (stop.unknown_magic, stop.reason) == (0x63, "no batch: magic 99 is not known")
    assert frames_of(head)[1] == Stop("short", 0, 16, -1, head)
    assert frames_of(head)[1].offset is None
    assert frames_of(bytes(FRAME_SIZE_MIN))[1].reason == "batch length 0 is below 14"
