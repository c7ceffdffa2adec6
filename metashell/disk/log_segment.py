"""One segment of a log that is written: its file, its end, its sparse indexes, and the position of an offset in it.

A look-up searches the index in memory and then walks the headers of at most one index interval. So it costs the logarithm of the segment's
length, and holds a few pieces of 64 KiB.

A batch that begins more than `interval` bytes after the last one with an entry gets an entry: its last offset and its position, and the
largest timestamp so far if that is new. The index files are never read here and never synced: recovery makes them again from the batches,
as Kafka does for this log. While a segment is active, its index files have their full size, with zeros behind the entries; they are cut to
their entries when it is rolled or closed. Memory: 20 bytes an entry, at most 5 MB for a full segment of 1 GiB.
Source: org.apache.kafka.storage.internals.log.{LogSegment,OffsetIndex,TimeIndex}."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from metashell.codec.batches import HEADER_SIZE, LEAD_SIZE
from metashell.codec.framing import whole_frames
from metashell.common.errors import LogCorruptError
from metashell.disk.file_system import FILE_MODE, Disk
from metashell.disk.indexes import OFFSET_ENTRY, TIME_ENTRY
from metashell.disk.names import index_name, segment_name, time_index_name

BATCH_LEAD = Struct(">qii7xi8xq")
"""Fields of a batch's header: base offset, length, leader epoch, last offset delta, largest timestamp."""
_PIECE: Final = 64 * 1024
_INT32_MAX: Final = (1 << 31) - 1


class BatchPlace(NamedTuple):
    """A batch of a segment: its offsets, both inclusive, its epoch and timestamp, and its position and size."""

    base_offset: int
    last_offset: int
    epoch: int
    timestamp: int
    position: int
    size: int


def batch_heads(data: bytes, start_offset: int, end_offset: int) -> list[tuple[int, int, int]]:
    """The last offset, size and largest timestamp of each batch in `data`, whose offsets go from `start_offset` to `end_offset`."""
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
    """An open segment. `end_offset` is exclusive; `is_dirty` means that the file has unsynced bytes."""

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
        """The largest timestamp of the first batch, from which the segment's age counts."""
        self.is_dirty = False

    @classmethod
    def create(cls, disk: Disk, directory: str, base_offset: int, index: SegmentIndex) -> LogSegment:
        """An empty, active segment; its name is not synced."""
        made = cls(disk, directory, base_offset, -1, index)
        made.make_files()
        return made

    def make_files(self) -> None:
        """Create the files of a segment that has none so far."""
        self.fd = self._disk.create_file(self.path, FILE_MODE)
        self.index.open_files()

    def has_room(self, size: int, last_offset: int, timestamp: int, size_max: int, age_max_ms: int) -> bool:
        """Whether a group of batches of `size` bytes may be added; an empty segment accepts any.

        Source: LogSegment.shouldRoll; times are those of the batches.
        """
        if not self.size:
            return True
        if self.size + size > size_max or self.index.is_full or last_offset - self.base_offset > _INT32_MAX:
            return False
        return self.first_timestamp < 0 or timestamp - self.first_timestamp <= age_max_ms

    def append(self, data: bytes, heads: list[tuple[int, int, int]]) -> None:
        """Write batches at the segment's end; `heads` has the last offset, size and largest timestamp of each."""
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
        """Add the next batch that recovery found in the file."""
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
        """The batch that contains `offset`."""
        for place in self.places(self.index.floor(offset)):
            if place.last_offset >= offset:
                return place
        return None

    def _stop(self, first: BatchPlace, end_offset: int, max_size: int) -> int:
        """The position to read up to: the end of the last batch before `end_offset` that ends within `max_size` bytes from `first`."""
        limit = first.position + max(max_size, first.size)
        if limit >= self.size and end_offset >= self.end_offset:
            return self.size
        stop = first.position + first.size
        # Batches before either floor may be read, so the walk begins at the lower floor, or behind `first` if that is later.
        known = min(self.index.floor_of_position(limit), self.index.floor(end_offset - 1))
        for place in self.places(max(stop, known)):
            if place.base_offset >= end_offset or place.position + place.size > limit:
                return place.position
        return self.size

    def begins_at(self, offset: int) -> bool:
        """Whether `offset` is the base offset of a batch."""
        place = self._holding(offset)
        return place is not None and place.base_offset == offset

    def places(self, position: int) -> Iterator[BatchPlace]:
        """The batches from the one at byte `position` on, by their headers alone.

        Errors: LogCorruptError if the disk returns other bytes than were written.
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
        """Drop the batches from `offset` on, where one must begin, in memory; `cut_files` changes the files."""
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
        """Cut the files to the segment's end; durable on return."""
        self._disk.truncate(self.fd, self.size)
        self.index.remake_files()
        self._disk.sync_file(self.fd)


NO_TIMESTAMP: Final = -1


class SegmentIndex:
    """The entries of one segment; `open_files` makes the files, `close_files` finishes them."""

    __slots__ = (
        "_base",
        "_count_max",
        "_disk",
        "_interval",
        "_max_timestamp",
        "_offset_fd",
        "_offset_of_max",
        "_offsets",
        "_positions",
        "_since",
        "_size_max",
        "_time_fd",
        "_time_offsets",
        "_times",
        "paths",
    )

    def __init__(self, disk: Disk, directory: str, base_offset: int, interval: int, size_max: int) -> None:
        self.paths = os.path.join(directory, index_name(base_offset)), os.path.join(directory, time_index_name(base_offset))
        self._disk = disk
        self._base = base_offset
        self._interval = interval
        self._size_max = size_max
        self._count_max = min(size_max // OFFSET_ENTRY.size, size_max // TIME_ENTRY.size - 1)
        self._offsets = array("i")
        self._positions = array("i")
        self._times = array("q")
        self._time_offsets = array("i")
        self._max_timestamp = NO_TIMESTAMP
        self._offset_of_max = base_offset
        self._since = 0
        self._offset_fd = -1
        self._time_fd = -1

    @property
    def is_full(self) -> bool:
        """Whether an index file has no room for another entry: then the segment is rolled."""
        return len(self._offsets) >= self._count_max or len(self._times) >= self._count_max

    @property
    def is_open(self) -> bool:
        """Whether the files are open, as those of an active segment are."""
        return self._offset_fd >= 0

    def add(self, last_offset: int, position: int, size: int, timestamp: int) -> None:
        """Note the next batch, which is already in the segment's file."""
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp
            self._offset_of_max = last_offset
        if self._since > self._interval and len(self._offsets) < self._count_max:
            self._add_entry(last_offset, position)
            self._since = 0
        self._since += size

    def _add_entry(self, last_offset: int, position: int) -> None:
        count = len(self._offsets)
        relative = last_offset - self._base
        self._offsets.append(relative)
        self._positions.append(position)
        if self._offset_fd >= 0:
            self._disk.write_at(self._offset_fd, OFFSET_ENTRY.pack(relative, position), count * OFFSET_ENTRY.size)
        self._add_time()

    def _add_time(self) -> None:
        """Add an entry for the largest timestamp so far, unless the last entry has it."""
        count = len(self._times)
        if self._max_timestamp <= (self._times[-1] if count else NO_TIMESTAMP):
            return
        relative = self._offset_of_max - self._base
        self._times.append(self._max_timestamp)
        self._time_offsets.append(relative)
        if self._time_fd >= 0:
            self._disk.write_at(self._time_fd, TIME_ENTRY.pack(self._max_timestamp, relative), count * TIME_ENTRY.size)

    def floor(self, offset: int) -> int:
        """The nearest position with an entry at which a batch begins that contains `offset` or lies before it."""
        slot = bisect_right(self._offsets, min(offset - self._base, 0x7FFFFFFF)) - 1
        return self._positions[slot] if slot >= 0 else 0

    def floor_of_position(self, position: int) -> int:
        """The same for a byte position."""
        slot = bisect_right(self._positions, min(position, 0x7FFFFFFF)) - 1
        return self._positions[slot] if slot >= 0 else 0

    def cut(self, offset: int) -> None:
        """Drop the entries at and after `offset`; `remake_files` changes the files.

        As in Kafka, the next entry is an interval away then, and the largest timestamp is that of the last entry.
        """
        relative = offset - self._base
        count = bisect_left(self._offsets, relative)
        del self._offsets[count:], self._positions[count:]
        count = bisect_left(self._time_offsets, relative)
        del self._times[count:], self._time_offsets[count:]
        self._since = 0
        self._max_timestamp = self._times[-1] if self._times else NO_TIMESTAMP
        self._offset_of_max = self._base + (self._time_offsets[-1] if self._time_offsets else 0)

    def remake_files(self) -> None:
        """Write the files of an active segment again, after a cut."""
        self._forget_files()
        self.open_files()

    def end_recovery(self) -> None:
        """End the recovery: all batches are added. As in Kafka, the largest timestamp gets an entry, and the next is an interval away."""
        self._add_time()
        self._since = 0

    def open_files(self) -> None:
        """Create both files of an active segment, with the entries so far and in their full size."""
        offsets, times = self._contents()
        self._offset_fd = self._make(self.paths[0], offsets, OFFSET_ENTRY)
        self._time_fd = self._make(self.paths[1], times, TIME_ENTRY)

    def _make(self, path: str, data: bytes, form: Struct) -> int:
        fd = self._disk.create_file(path, FILE_MODE)
        if data:
            self._disk.write_at(fd, data, 0)
        self._disk.truncate(fd, self._size_max - self._size_max % form.size)
        return fd

    def write_closed(self) -> None:
        """Write both files of a segment that is not active, unless they already have these entries."""
        for path, data in zip(self.paths, self._contents(), strict=True):
            if _has_content(path, data):
                continue
            fd = self._disk.create_file(path, FILE_MODE)
            try:
                self._disk.append(fd, data)
            finally:
                self._disk.close_file(fd)

    def _contents(self) -> tuple[bytes, bytes]:
        offsets = b"".join(map(OFFSET_ENTRY.pack, self._offsets, self._positions))
        return offsets, b"".join(map(TIME_ENTRY.pack, self._times, self._time_offsets))

    def close_files(self) -> None:
        """Finish the files of a segment that is complete: add an entry for the largest timestamp, and cut them to their entries."""
        if self._offset_fd < 0:
            return
        self._add_time()
        self._disk.truncate(self._offset_fd, len(self._offsets) * OFFSET_ENTRY.size)
        self._disk.truncate(self._time_fd, len(self._times) * TIME_ENTRY.size)
        self._forget_files()

    def _forget_files(self) -> None:
        """Close the files without changes."""
        for fd in (self._offset_fd, self._time_fd):
            if fd >= 0:
                self._disk.close_file(fd)
        self._offset_fd = self._time_fd = -1

    abandon = _forget_files


def _has_content(path: str, data: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(data) + 1) == data
    except OSError:
        return False
