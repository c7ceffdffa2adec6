"""One segment of a log that is written: its file, its end, and where in it an offset lies.

Look-ups go through the index in memory and then along the headers of at most one index interval, so they cost the logarithm of the
segment's length and hold a few pieces of 64 KiB, whatever lies in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from metashell.codec.batches import HEADER_SIZE, LEAD_SIZE
from metashell.codec.framing import whole_frames
from metashell.errors import LogCorruptError
from metashell.log.atomic_file import FILE_MODE
from metashell.log.disk import Disk
from metashell.log.names import segment_name
from metashell.log.segment_index import NO_TIMESTAMP, SegmentIndex

BATCH_LEAD = Struct(">qii7xi8xq")
"""Of a batch's header: base offset, length, leader epoch, last offset delta, largest timestamp."""
_PIECE: Final = 64 * 1024
_INT32_MAX: Final = (1 << 31) - 1


class BatchPlace(NamedTuple):
    """A batch of a segment: its offsets, both inclusive, and its bytes."""

    base_offset: int
    last_offset: int
    epoch: int
    timestamp: int
    position: int
    size: int


def batch_heads(data: bytes, start_offset: int, end_offset: int) -> list[tuple[int, int, int]]:
    """Last offset, size and largest timestamp of each batch in `data`, which are appended at `start_offset` and end at `end_offset`."""
    heads: list[tuple[int, int, int]] = []
    following = start_offset
    for at, size in whole_frames(data):
        base, _, _, delta, timestamp = BATCH_LEAD.unpack_from(data, at)
        assert base == following, f"batch at {base} does not follow {following}"
        heads.append((base + delta, size, timestamp))
        following = base + delta + 1
    assert following == end_offset, f"the batches end at {following}, not at {end_offset}"
    return heads


class LogSegment:
    """An open segment. `end_offset` is exclusive; `is_dirty` while the file has bytes that were not synced."""

    __slots__ = ("_disk", "base_offset", "end_offset", "fd", "first_timestamp", "index", "is_dirty", "name", "path", "size")

    def __init__(self, disk: Disk, directory: str, base_offset: int, fd: int, index: SegmentIndex) -> None:
        self._disk = disk
        self.base_offset = base_offset
        self.end_offset = base_offset
        self.name = segment_name(base_offset)
        self.path = os.path.join(directory, self.name)
        self.fd = fd
        self.size = 0
        self.index = index
        self.first_timestamp = NO_TIMESTAMP
        """The largest timestamp of the first batch: a segment's age counts from it."""
        self.is_dirty = False

    @classmethod
    def create(cls, disk: Disk, directory: str, base_offset: int, index: SegmentIndex) -> LogSegment:
        """An empty, active segment; its name is not synced."""
        made = cls(disk, directory, base_offset, -1, index)
        made.make_files()
        return made

    def make_files(self) -> None:
        """Make the files of a segment that has none so far."""
        self.fd = self._disk.create_file(self.path, FILE_MODE)
        self.index.open_files()

    def has_room(self, size: int, last_offset: int, timestamp: int, size_max: int, age_max_ms: int) -> bool:
        """Whether a group of batches of `size` bytes may be added; an empty segment takes any.

        Source: LogSegment.shouldRoll; time is that of the batches.
        """
        if not self.size:
            return True
        if self.size + size > size_max or self.index.is_full or last_offset - self.base_offset > _INT32_MAX:
            return False
        return self.first_timestamp < 0 or timestamp - self.first_timestamp <= age_max_ms

    def append(self, data: bytes, heads: list[tuple[int, int, int]]) -> None:
        """Write batches behind what is there; `heads` are last offset, size and largest timestamp of each."""
        position = self.size
        self._disk.write_at(self.fd, data, position)
        self.is_dirty = True
        if not position:
            self.first_timestamp = heads[0][2]
        add = self.index.add
        for last_offset, size, timestamp in heads:
            add(last_offset, position, size, timestamp)
            position += size
        self.size = position
        self.end_offset = last_offset + 1

    def found(self, place: BatchPlace) -> None:
        """A batch that recovery has found next in the file."""
        if not self.size:
            self.first_timestamp = place.timestamp
        self.index.add(place.last_offset, place.position, place.size, place.timestamp)
        self.size += place.size
        self.end_offset = place.last_offset + 1

    def read(self, start_offset: int, end_offset: int, max_size: int) -> bytes:
        """As `ReplicatedLog.read`, up to the end of this segment."""
        first = self._holding(start_offset)
        if first is None or first.base_offset >= end_offset:
            return b""
        stop = self._stop(first, end_offset, max_size)
        return self._disk.read_at(self.fd, stop - first.position, first.position)

    def _holding(self, offset: int) -> BatchPlace | None:
        """The batch that holds `offset`."""
        for place in self.places(self.index.floor(offset)):
            if place.last_offset >= offset:
                return place
        return None

    def _stop(self, first: BatchPlace, end_offset: int, max_size: int) -> int:
        """Where to stop reading: before a batch at or after `end_offset`, and before one that ends behind `max_size` bytes from `first`."""
        limit = first.position + max(max_size, first.size)
        if limit >= self.size and end_offset >= self.end_offset:
            return self.size
        stop = first.position + first.size
        # Both floors are starts of batches that may be read; a batch of the index before `first` says nothing.
        known = min(self.index.floor_of_position(limit), self.index.floor(end_offset - 1))
        for place in self.places(max(stop, known)):
            if place.base_offset >= end_offset or place.position + place.size > limit:
                return place.position
        return self.size

    def begins_at(self, offset: int) -> bool:
        """Whether a batch has `offset` for its base offset."""
        place = self._holding(offset)
        return place is not None and place.base_offset == offset

    def places(self, position: int) -> Iterator[BatchPlace]:
        """The batches from the one at byte `position` on, by their headers alone.

        Errors: LogCorruptError where what was written is not what is read.
        """
        piece, start = b"", position
        while position < self.size:
            at = position - start
            if at + HEADER_SIZE > len(piece):
                piece, start, at = self._disk.read_at(self.fd, min(_PIECE, self.size - position), position), position, 0
                if len(piece) < HEADER_SIZE:
                    raise LogCorruptError(self.path, position, "file is shorter than what was written")
            base, length, epoch, delta, timestamp = BATCH_LEAD.unpack_from(piece, at)
            size = length + LEAD_SIZE
            if size < HEADER_SIZE or position + size > self.size or delta < 0:
                raise LogCorruptError(self.path, position, f"batch of {size} bytes at offset {base} is not what was written")
            yield BatchPlace(base, base + delta, epoch, timestamp, position, size)
            position += size

    def cut(self, offset: int) -> None:
        """Drop the batches from `offset` on, where one begins, in memory; `cut_files` brings that to the disk."""
        place = self._holding(offset)
        assert place is None or place.base_offset == offset, f"{self.path}: no batch begins at {offset}"
        if place is not None:
            self.size = place.position
            self.end_offset = offset
        if not self.size:
            self.first_timestamp = NO_TIMESTAMP
        self.index.cut(offset)
        self.is_dirty = False

    def cut_files(self) -> None:
        """End the files where the segment ends; durable on return."""
        self._disk.truncate(self.fd, self.size)
        self.index.remake_files()
        self._disk.sync_file(self.fd)
