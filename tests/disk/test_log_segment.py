"""The quick walk over a written segment's headers sees what the one walk over frames sees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record, read_batch_header
from metashell.codec.framing import whole_frames
from metashell.common.errors import LogCorruptError
from metashell.disk import log_segment
from metashell.disk.file_system import Disk
from metashell.disk.log_segment import LogSegment, SegmentIndex, batch_heads

SIZES = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 400)), min_size=1, max_size=30)


def log_of(sizes: list[tuple[int, int]]) -> tuple[bytes, int]:
    """Batches of so many records of such a size, and the log's end."""
    parts, offset = [], 0
    for count, size in sizes:
        parts.append(write_batch(offset, [Record(offset + at, 0, None, bytes(size)) for at in range(count)], leader_epoch=7))
        offset += count
    return b"".join(parts), offset


def segment_of(folder: Path, data: bytes, end_offset: int) -> LogSegment:
    disk = Disk()
    segment = LogSegment.create(disk, str(folder), 0, SegmentIndex(disk, str(folder), 0, 4096, 1 << 16))
    segment.append(data, batch_heads(data, 0, end_offset))
    return segment


@settings(max_examples=50)
@given(SIZES, st.integers(61, 2000))
def test_places_are_the_frames_from_any_batch_on(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[tuple[int, int]], piece: int
) -> None:
    data, end_offset = log_of(sizes)
    segment = segment_of(tmp_path_factory.mktemp("log"), data, end_offset)
    expected = []
    for at, size in whole_frames(data):
        header = read_batch_header(data, at)
        expected.append((header.base_offset, header.last_offset, header.leader_epoch, header.max_timestamp, at, size))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_segment, "_PIECE", piece)
        for number, place in enumerate(expected):
            assert list(segment.places(place[4])) == expected[number:]
    os.close(segment.fd)
    segment.index.abandon()


@pytest.mark.parametrize("length", [-12, 0, 40, 1 << 20])
def test_a_length_that_was_not_written_ends_the_walk(tmp_path: Path, length: int) -> None:
    data, end_offset = log_of([(1, 10), (1, 10)])
    segment = segment_of(tmp_path, data, end_offset)
    os.pwrite(segment.fd, length.to_bytes(4, "big", signed=True), len(data) // 2 + 8)
    with pytest.raises(LogCorruptError, match="is not what was written"):
        list(segment.places(0))
    os.close(segment.fd)
    segment.index.abandon()
