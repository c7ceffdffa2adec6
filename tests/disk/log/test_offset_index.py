"""The offset index as a hint."""

from __future__ import annotations

from pathlib import Path
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batches import RecordBatch
from metashell.disk.files import open_file
from metashell.disk.indexes import seek_offset
from metashell.disk.segment import read_batches

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
