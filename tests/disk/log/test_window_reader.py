"""Batches are found where their lengths say, whatever the size of the windows, in files and in streams."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from metashell.codec.framing import Stop
from metashell.disk.files import OpenFile, StreamFile, WindowReader, open_file
from tests.inspect.dump.making import log, write

LOG = log(40, per_batch=3)


def walk(file: OpenFile, limit: int | None = None, window_size: int = 100, batch_size_max: int = 1 << 30) -> tuple[list[bytes], Stop]:
    """All batches in the order in which they come, and the stop."""
    reader = WindowReader(file, limit, batch_size_max, window_size)
    found: list[bytes] = []
    position = 0
    while True:
        window = reader.read(position)
        found += [window.buf[start : start + size] for start, size in window.frames]
        if window.stop is not None:
            return found, window.stop
        position = window.next


def stream_of(data: bytes) -> Iterator[StreamFile]:
    read_end, write_end = os.pipe()
    os.write(write_end, data)
    os.close(write_end)
    with StreamFile(read_end, "<stdin>") as file:
        yield file


@pytest.mark.parametrize("window_size", [17, 61, 100, 333, 4096, 1 << 20])
def test_every_window_size_finds_the_same_batches(tmp_path: Path, window_size: int) -> None:
    with open_file(str(write(tmp_path, LOG))) as file:
        found, stop = walk(file, window_size=window_size)
    assert b"".join(found) == LOG
    assert len(found) == 14
    assert (stop.kind, stop.position, stop.left) == ("end", len(LOG), 0)


@pytest.mark.parametrize("window_size", [17, 100, 4096])
def test_a_stream_gives_what_a_file_gives(window_size: int) -> None:
    for file in stream_of(LOG + bytes(5)):
        found, stop = walk(file, window_size=window_size)
    assert b"".join(found) == LOG
    assert (stop.kind, stop.position, stop.left, stop.tail) == ("short", len(LOG), 5, bytes(5))


@pytest.mark.parametrize("cut", range(1, 17))
def test_too_little_for_a_batch_is_short(tmp_path: Path, cut: int) -> None:
    with open_file(str(write(tmp_path, LOG + LOG[:cut]))) as file:
        found, stop = walk(file)
    assert b"".join(found) == LOG
    assert (stop.kind, stop.left) == ("short", cut)


def test_a_batch_that_is_cut_off_is_truncated(tmp_path: Path) -> None:
    with open_file(str(write(tmp_path, LOG[:-1]))) as file:
        found, stop = walk(file)
    assert len(found) == 13
    assert stop.kind == "truncated"
    assert stop.position + stop.left == len(LOG) - 1


def test_a_length_that_cannot_be_stops_the_walk_there(tmp_path: Path) -> None:
    with open_file(str(write(tmp_path, LOG + bytes(18)))) as file:
        _, stop = walk(file)
    assert (stop.kind, stop.position, stop.length) == ("bad-size", len(LOG), 0)


def test_a_batch_above_the_limit_is_not_read(tmp_path: Path) -> None:
    with open_file(str(write(tmp_path, LOG))) as file:
        found, stop = walk(file, batch_size_max=100)
    assert found == []
    assert stop.kind == "too-large"


def test_a_limit_ends_the_walk_before_the_batch_that_crosses_it(tmp_path: Path) -> None:
    with open_file(str(write(tmp_path, LOG))) as file:
        whole, _ = walk(file)
        found, _ = walk(file, limit=len(whole[0]) + len(whole[1]) + 30)
    assert found == whole[:2]


def test_a_file_that_shrank_since_it_was_opened_is_truncated(tmp_path: Path) -> None:
    path = write(tmp_path, LOG)
    with open_file(str(path)) as file:
        reader = WindowReader(file, None, 1 << 30, 200)
        first = reader.read(0)
        os.truncate(path, first.next + 20)
        second = reader.read(first.next)
    assert second.frames == []
    assert second.stop is not None
    assert second.stop.kind == "truncated"
