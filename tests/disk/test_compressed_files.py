"""Compressed files: each packing reads alike, stays bounded, and says where it broke."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import cramjam
import pytest

from metashell.common.errors import UsageError
from metashell.disk import compressed_files
from metashell.disk.compressed_files import CompressedFile
from metashell.disk.files import StreamFile, open_at, open_file, unpacked
from metashell.disk.segment import BatchFault, read_batches

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "packed"
PLAIN = Path(__file__).resolve().parents[2] / "metashell/demo/data/__cluster_metadata-0/00000000000000000251.log"
READ = sorted(path.name for path in GOLDEN.iterdir() if path.suffix in (".gz", ".bz2", ".xz", ".zst", ".lz4") and path.stem != "legacy")

PACKERS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: bytes(cramjam.zstd.compress(data)),
    "lz4": lambda data: bytes(cramjam.lz4.compress(data)),
}


@pytest.mark.parametrize("name", READ)
def test_what_the_tools_write_is_read_from_a_file_a_directory_and_a_pipe(name: str) -> None:
    want = PLAIN.read_bytes()
    with open_file(str(GOLDEN / name)) as file:
        assert isinstance(file, CompressedFile)
        assert b"".join(item.data for item in read_batches(file)) == want  # type: ignore[union-attr]
        assert file.read_at(100, 50) == want[100:150]
    directory = os.open(GOLDEN, os.O_RDONLY)
    with open_at(directory, name, name) as file:
        assert file.read_at(0, 1 << 20) == want
    os.close(directory)
    program = "import sys; from metashell.disk.files import open_file; sys.stdout.buffer.write(open_file('-').read_at(0, 1 << 20))"
    done = subprocess.run([sys.executable, "-c", program], input=(GOLDEN / name).read_bytes(), capture_output=True, check=True)
    assert done.stdout == want


@pytest.mark.parametrize(
    ("name", "words"),
    [("one.zip", "a zip archive"), ("one.tgz", "a tar archive (gzip)"), ("legacy.lz4", "an lz4 file of the legacy format")],
)
def test_what_has_to_be_unpacked_first_is_named(name: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_file(str(GOLDEN / name))
    assert str(caught.value) == f"{GOLDEN / name}: {words}, not a log: unpack it first"
    directory = os.open(GOLDEN, os.O_RDONLY)
    with pytest.raises(OSError, match="not a log: unpack it first"):
        open_at(directory, name, name)
    os.close(directory)


def test_a_tar_archive_is_named_and_a_log_that_holds_its_mark_is_read(tmp_path: Path, batch) -> None:
    tar, log = tmp_path / "x.tar", tmp_path / "x.log"
    tar.write_bytes(b"00000000000000000000.log".ljust(257, b"\0") + b"ustar".ljust(255, b"\0"))
    with pytest.raises(UsageError, match=r"x\.tar: a tar archive, not a log"):
        open_file(str(tar))
    data = bytearray(batch(0, size=2000))
    data[257:262] = b"ustar"
    log.write_bytes(data)
    with open_file(str(log)) as file:
        assert file.read_at(257, 5) == b"ustar"


@pytest.mark.parametrize("packing", PACKERS)
def test_every_truncation_gives_what_came_before_and_one_fault_with_its_place(tmp_path: Path, batch, packing: str) -> None:
    data = b"".join(batch(at) for at in range(3))
    packed = PACKERS[packing](data)
    path = tmp_path / "x.log"
    for size in range(12, len(packed), 1 + len(packed) // 80):
        path.write_bytes(packed[:size])
        with open_file(str(path)) as file:
            items = list(read_batches(file))
        assert isinstance(items[-1], BatchFault)
        assert items[-1].kind == "unreadable"
        assert items[-1].reason.startswith(f"{packing} stream is cut off at byte {size} of the compressed file")
        assert data.startswith(b"".join(item.data for item in items[:-1]))  # type: ignore[union-attr]


@pytest.mark.parametrize("packing", ["zstd", "lz4"])
def test_a_large_frame_that_is_cut_off_gives_nearly_all_that_came_before(tmp_path: Path, packing: str) -> None:
    data = random.Random(1).randbytes(3_000_000)
    path = tmp_path / "x.log"
    path.write_bytes(PACKERS[packing](data)[:2_000_000])
    with open_file(str(path)) as file:
        found = file.read_at(0, 4_000_000)
        assert data.startswith(found) and len(found) > 1_500_000
        assert file.read_at(len(found), 1) == b""
        assert file.trouble == f"{packing} stream is cut off at byte 2000000 of the compressed file"


@pytest.mark.parametrize("packing", PACKERS)
def test_broken_bytes_are_a_fault_and_never_an_exception(tmp_path: Path, batch, packing: str) -> None:
    data = b"".join(batch(at, size=700) for at in range(5))
    packed = PACKERS[packing](data)
    chance = random.Random(packing)
    path = tmp_path / "x.log"
    for _ in range(60):
        broken = bytearray(packed)
        broken[chance.randrange(6, len(packed))] ^= 1 << chance.randrange(8)
        path.write_bytes(broken)
        with open_file(str(path)) as file:
            for item in read_batches(file):
                assert not isinstance(item, BatchFault) or item.kind != "unreadable" or packing in item.reason


@pytest.mark.parametrize("packing", PACKERS)
def test_reading_goes_back_and_skips_forward(tmp_path: Path, packing: str) -> None:
    data = random.Random(2).randbytes(1000) * 3000
    path = tmp_path / "x"
    path.write_bytes(PACKERS[packing](data))
    with open_file(str(path)) as file:
        for place in (0, 2_500_000, 10, 2_999_990, 2_000_000):
            assert file.read_at(place, 30) == data[place : place + 30]


@pytest.mark.slow
@pytest.mark.parametrize("packing", PACKERS)
def test_a_bomb_is_never_expanded_at_once(tmp_path: Path, packing: str) -> None:
    """300 MB of zeros behind a batch that claims to be large: what is looked at stays small, and nobody stays behind."""
    head = (1).to_bytes(8, "big") + (2**31 - 100).to_bytes(4, "big") + bytes(20)
    path = tmp_path / "x.log"
    path.write_bytes(PACKERS[packing](head + bytes(300_000_000)))
    program = (
        "import sys, threading; from metashell.disk.files import open_file; from metashell.disk.segment import read_batches\n"
        "with open_file(sys.argv[1]) as file:\n"
        "    file.batch_size_max = 1_000_000\n"
        "    (fault,) = read_batches(file)\n"
        "peak = next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        "print(fault.kind, threading.active_count(), int(peak) // 1024)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, check=True, text=True)
    kind, threads, mebibytes = done.stdout.split()
    assert (kind, threads) == ("bad-size", "1")
    assert int(mebibytes) < 150


@pytest.mark.parametrize("has_checksum", [True, False])
def test_lz4_frames_follow_each_other_with_and_without_a_checksum(tmp_path: Path, has_checksum: bool) -> None:
    pieces = [bytes([number]) * 1000 for number in range(3)]
    packed = b""
    for piece in pieces:
        frame = cramjam.lz4.Compressor(content_checksum=has_checksum, block_linked=False)
        frame.compress(piece)
        packed += bytes(frame.finish())
    (tmp_path / "x.lz4").write_bytes(packed)
    with open_file(str(tmp_path / "x.lz4")) as file:
        assert (file.read_at(0, 5000), file.trouble) == (b"".join(pieces), None)


def test_linked_lz4_blocks_are_read(tmp_path: Path) -> None:
    data = random.Random(3).randbytes(1000) * 1000
    compressor = cramjam.lz4.Compressor(block_linked=True)
    compressor.compress(data)
    path = tmp_path / "x"
    path.write_bytes(bytes(compressor.finish()))
    with open_file(str(path)) as file:
        assert file.read_at(0, 2_000_000) == data


def test_a_frame_that_is_too_large_to_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed_files, "FRAME_SIZE_MAX", 1000)
    path = tmp_path / "x.zst"
    path.write_bytes(bytes(cramjam.zstd.compress(random.Random(1).randbytes(5000))))
    with open_file(str(path)) as file:
        assert file.read_at(0, 10) == b""
        assert file.trouble is not None and "a frame of more than 1000 bytes; expand it first" in file.trouble


def test_a_reader_that_leaves_early_leaves_no_thread_behind(tmp_path: Path) -> None:
    path = tmp_path / "x.zst"
    path.write_bytes(bytes(cramjam.zstd.compress(random.Random(1).randbytes(1000) * 10_000)))
    before = threading.active_count()
    with open_file(str(path)) as file:
        assert len(file.read_at(0, 100)) == 100
        assert threading.active_count() == before + 1
    assert threading.active_count() == before


def test_a_pipe_that_breaks_off_within_a_stream_is_a_fault() -> None:
    reader, writer = os.pipe()
    os.write(writer, (GOLDEN / "one.xz").read_bytes()[:3000])
    os.close(writer)
    with unpacked(StreamFile(reader, "<pipe>")) as file:
        file.read_at(0, 1 << 20)
        assert file.trouble == "xz stream is cut off at byte 3000 of the compressed file"
