"""Opened files of every kind."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from metashell.codec.framing import Stop
from metashell.common.errors import UsageError
from metashell.disk.compressed_files import CompressedFile
from metashell.disk.files import OpenFile, StreamFile, WindowReader, open_file
from metashell.disk.segment import BatchFault, read_batches
from tests.inspect.dump.making import log, write


def pipe_of(data: bytes, piece: int = 7) -> int:
    """The reading end of a pipe into which `data` comes in small pieces."""
    reader, writer = os.pipe()

    def feed() -> None:
        for at in range(0, len(data), piece):
            os.write(writer, data[at : at + piece])
        os.close(writer)

    threading.Thread(target=feed, daemon=True).start()
    return reader


def test_a_missing_file_is_one_line_that_names_it() -> None:
    with pytest.raises(UsageError, match=r"^/nowhere/at-all: No such file or directory$"):
        open_file("/nowhere/at-all")


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Is a directory"):
        open_file(str(tmp_path))


def test_a_file_that_shrinks_while_it_is_read_ends_earlier(tmp_path: Path, batch) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(batch(0, size=200_000) + batch(1, size=200_000))
    with open_file(str(path)) as file:
        items = read_batches(file)
        assert next(items).header.base_offset == 0
        os.truncate(path, 300_000)
        (fault,) = items
    assert isinstance(fault, BatchFault)
    assert fault.kind == "truncated"


def test_a_file_that_cannot_be_read_any_further_is_told_and_what_precedes_it_given(tmp_path: Path, batch) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(batch(0, size=200_000) + batch(1, size=200_000))
    file = open_file(str(path))
    items = read_batches(file)
    assert next(items).header.base_offset == 0
    os.close(file._fd)
    file._fd = os.open(path, os.O_WRONLY)  # it has a size, and reading from it fails
    (fault,) = items
    file.close()
    assert (fault.kind, "Bad file descriptor" in fault.reason) == ("unreadable", True)


def test_a_pipe_is_read_as_a_stream(batch) -> None:
    data = b"".join(batch(at) for at in range(20))
    file = StreamFile(pipe_of(data), "<pipe>")
    assert file.peek(2) == data[:2]
    assert b"".join(item.data for item in read_batches(file)) == data
    file.close()


def test_standard_input_is_read_by_any_of_its_names(batch) -> None:
    program = (
        "import sys; from metashell.disk.files import open_file; from metashell.disk.segment import read_batches\n"
        "with open_file(sys.argv[1]) as file: print(len(list(read_batches(file))))"
    )
    data = b"".join(batch(at) for at in range(5))
    for name in ("-", "/dev/stdin"):
        for sent in (data, gzip.compress(data)):
            done = subprocess.run([sys.executable, "-c", program, name], input=sent, capture_output=True, check=True)
            assert done.stdout == b"5\n"


def test_a_gzip_file_is_expanded_whatever_its_name(tmp_path: Path, batch) -> None:
    data = b"".join(batch(at) for at in range(50))
    path = tmp_path / "saved"
    path.write_bytes(gzip.compress(data[:3000]) + gzip.compress(data[3000:]) + bytes(512))
    with open_file(str(path)) as file:
        assert isinstance(file, CompressedFile)
        assert b"".join(item.data for item in read_batches(file)) == data


def test_every_truncation_of_a_gzip_file_gives_what_came_before_and_one_fault(tmp_path: Path, batch) -> None:
    data = b"".join(batch(at) for at in range(3))
    packed = gzip.compress(data)
    path = tmp_path / "x.log.gz"
    for size in range(2, len(packed)):
        path.write_bytes(packed[:size])
        with open_file(str(path)) as file:
            items = list(read_batches(file))
        assert isinstance(items[-1], BatchFault)
        assert items[-1].kind == "unreadable"
        assert data.startswith(b"".join(item.data for item in items[:-1]))


def test_a_broken_gzip_file_is_a_fault(tmp_path: Path, batch) -> None:
    packed = bytearray(gzip.compress(batch(0, size=5000)))
    packed[20] ^= 0xFF
    path = tmp_path / "x.log.gz"
    path.write_bytes(packed)
    with open_file(str(path)) as file:
        items = list(read_batches(file))
    assert "gzip stream is broken" in items[-1].reason


def test_a_gzip_bomb_is_never_expanded_at_once(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "x.log.gz"
    head = (1).to_bytes(8, "big") + (2**31 - 100).to_bytes(4, "big") + bytes(20)
    path.write_bytes(gzip.compress(head + bytes(20_000_000)))
    with open_file(str(path)) as file:
        monkeypatch.setattr(file, "batch_size_max", 1_000_000)
        (fault,) = read_batches(file)
    assert fault.kind == "bad-size"
    assert "is above 1000000" in fault.reason


def test_opening_and_reading_leave_the_file_as_it_was(tmp_path: Path, batch) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(batch(0))
    path.chmod(0o400)
    before = path.stat()
    with open_file(str(path)) as file:
        list(read_batches(file))
    after = path.stat()
    assert (before.st_mtime_ns, before.st_size, before.st_mode) == (after.st_mtime_ns, after.st_size, after.st_mode)
    assert os.listdir(tmp_path) == ["x.log"]


def test_a_gzip_file_is_read_again_from_an_earlier_place(tmp_path: Path) -> None:
    data = bytes(range(256)) * 20
    (tmp_path / "x.gz").write_bytes(gzip.compress(data))
    with open_file(str(tmp_path / "x.gz")) as file:
        assert [file.read_at(at, 100) for at in (3000, 10, 3000, 0)] == [data[at : at + 100] for at in (3000, 10, 3000, 0)]


def test_a_gzip_file_that_is_whole_is_in_no_trouble_however_it_is_read(tmp_path: Path) -> None:
    data = bytes(range(256)) * 20
    longest_name = b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * (3 << 20) + b"\0" + gzip.compress(data)[10:]
    for packed in (gzip.compress(data), gzip.compress(data) + gzip.compress(b""), longest_name):
        (tmp_path / "x.gz").write_bytes(packed)
        for size in (1, 100, len(data) - 1, len(data), len(data) + 1):
            with open_file(str(tmp_path / "x.gz")) as file:
                start = len(data) - size if size <= len(data) else 0
                assert file.read_at(start, size) == data[start:]
                assert (file.read_at(len(data), 1), file.trouble) == (b"", None)


def test_standard_input_is_named_as_it_is_known_and_by_its_path_where_one_was_given() -> None:
    for path, name in (("-", "<stdin>"), ("/dev/stdin", "/dev/stdin")):
        with open_file(path) as file:
            assert file.name == name


# ---- batches are found where their lengths say, whatever the size of the windows, in files and in streams


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
