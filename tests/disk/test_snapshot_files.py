"""Reads of a log that is written: the last appends from memory, snapshots from the disk with their checksums."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from metashell.common.errors import LogCorruptError
from metashell.disk.file_system import Disk
from metashell.disk.snapshot_files import RECENT_SIZE, RecentAppends, SnapshotReader
from tests.disk.conftest import Batch


def recent(*ends: int, size: int = 10) -> RecentAppends:
    """Appends from offset 0 on, each up to one of the ends, each of `size` bytes."""
    made, start = RecentAppends(), 0
    for end in ends:
        made.add(start, end, bytes([end]) * size)
        start = end
    return made


@pytest.mark.parametrize(
    ("start", "end", "max_size", "expected"),
    [
        (0, 9, 99, (2, 3, 6, 9)),
        (3, 9, 99, (6, 9)),
        (6, 9, 99, (9,)),
        (3, 6, 99, (6,)),
        (3, 9, 20, (6, 9)),
        (6, 9, 10, (9,)),
        # The disk knows where the batches of an append are; here only whole ones are given.
        (4, 9, 99, ()),
        (3, 8, 99, ()),
        (3, 9, 19, ()),
        (6, 9, 9, ()),
        (9, 9, 99, ()),
    ],
)
def test_whole_appends_are_given_that_fit(start: int, end: int, max_size: int, expected: tuple[int, ...]) -> None:
    assert recent(2, 3, 6, 9).read(start, end, max_size) == b"".join(bytes([number]) * 10 for number in expected)


def test_the_oldest_go_when_there_are_too_many_bytes_and_all_when_the_log_is_cut() -> None:
    made = recent(1, 2, 3, size=RECENT_SIZE // 3)
    assert len(made.read(0, 3, RECENT_SIZE)) == RECENT_SIZE // 3 * 3
    made.add(3, 4, b"x" * 100)
    assert made.read(0, 4, RECENT_SIZE * 2) == b""
    assert made.read(1, 4, RECENT_SIZE * 2).endswith(b"x" * 100) and made.read(3, 4, 100) == b"x" * 100
    made.clear()
    assert made.read(3, 4, 100) == b""
    made.add(3, 4, b"y" * (RECENT_SIZE // 2))
    made.add(4, 5, b"z" * (RECENT_SIZE // 2))
    assert len(made.read(3, 5, RECENT_SIZE)) == RECENT_SIZE // 2 * 2


def snapshot_of(path: Path, batch: Batch) -> bytes:
    data = b"".join(batch(number * 3, 1 + number % 3, size=number * 17 % 90) for number in range(12))
    path.write_bytes(data)
    return data


def test_a_snapshot_is_read_at_any_position_in_any_order(tmp_path: Path, batch: Batch) -> None:
    path = tmp_path / "x.checkpoint"
    data = snapshot_of(path, batch)
    for seed in range(20):
        random = Random(seed)
        reader = SnapshotReader(Disk(), str(path), len(data))
        for _ in range(15):
            position, size = random.randrange(len(data) + 10), random.choice([1, 7, 100, 300, 5000])
            assert reader.read(position, size) == data[position : position + size]
        reader.close()


def test_a_flipped_bit_and_a_file_that_ends_early_are_told_with_the_place(tmp_path: Path, batch: Batch) -> None:
    path = tmp_path / "x.checkpoint"
    data = snapshot_of(path, batch)
    second = len(batch(0, 1))
    path.write_bytes(data[: second + 70] + bytes([data[second + 70] ^ 1]) + data[second + 71 :])
    reader = SnapshotReader(Disk(), str(path), len(data))
    assert reader.read(0, second) == data[:second]
    with pytest.raises(LogCorruptError, match=r"x\.checkpoint: offset 3: CRC"):
        reader.read(second + 1, 1)
    reader.close()
    path.write_bytes(data[:-5])
    reader = SnapshotReader(Disk(), str(path), len(data))
    with pytest.raises(LogCorruptError, match="bytes were expected"):
        reader.read(len(data) - 10, 5)
    reader.close()
    reader = SnapshotReader(Disk(), str(path), len(data) - 5)
    with pytest.raises(LogCorruptError, match="are left"):
        reader.read(len(data) - 10, 5)
    reader.close()
