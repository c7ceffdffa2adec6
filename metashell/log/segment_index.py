"""The sparse indexes of a segment that is written: in memory for our own look-ups, and as the files that Kafka lays beside it.

Before a batch that begins more than `interval` bytes after the last one with an entry, an entry is made for it: its last offset and its
position, and the largest timestamp so far if that is new. The files are never read here and never synced: recovery makes them again
from the batches, as Kafka does for this log. While a segment is active its files have their full size, zero behind the entries;
they are cut to their entries when it is rolled or closed.

Memory: 20 bytes an entry, so at most 5 MB for a full segment of 1 GiB.
Source: org.apache.kafka.storage.internals.log.{LogSegment,OffsetIndex,TimeIndex}.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left, bisect_right
from struct import Struct
from typing import Final

from metashell.log.atomic_file import FILE_MODE
from metashell.log.disk import Disk
from metashell.log.indexes import OFFSET_ENTRY, TIME_ENTRY
from metashell.log.names import index_name, time_index_name

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
        """Whether a file has no room for another entry; then the segment is rolled."""
        return len(self._offsets) >= self._count_max or len(self._times) >= self._count_max

    @property
    def is_open(self) -> bool:
        """Whether the files are open, as those of an active segment are."""
        return self._offset_fd >= 0

    def add(self, last_offset: int, position: int, size: int, timestamp: int) -> None:
        """Take note of the next batch, which is in the segment's file already."""
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
        """An entry for the largest timestamp so far, unless the last entry has it."""
        count = len(self._times)
        if self._max_timestamp <= (self._times[-1] if count else NO_TIMESTAMP):
            return
        relative = self._offset_of_max - self._base
        self._times.append(self._max_timestamp)
        self._time_offsets.append(relative)
        if self._time_fd >= 0:
            self._disk.write_at(self._time_fd, TIME_ENTRY.pack(self._max_timestamp, relative), count * TIME_ENTRY.size)

    def floor(self, offset: int) -> int:
        """A byte position at which a batch begins that holds `offset` or lies before it; the nearest that an entry names."""
        slot = bisect_right(self._offsets, min(offset - self._base, 0x7FFFFFFF)) - 1
        return self._positions[slot] if slot >= 0 else 0

    def floor_of_position(self, position: int) -> int:
        """The same for a byte position."""
        slot = bisect_right(self._positions, min(position, 0x7FFFFFFF)) - 1
        return self._positions[slot] if slot >= 0 else 0

    def cut(self, offset: int) -> None:
        """Drop the entries at and after `offset`; `remake_files` brings that to the files.

        As in Kafka the next entry is an interval away then, and the largest timestamp is that of the last entry.
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
        """Make the files of an active segment anew, after a cut."""
        self._forget_files()
        self.open_files()

    def end_recovery(self) -> None:
        """All batches that were found are added. As in Kafka the largest timestamp gets its entry, and the next is an interval away."""
        self._add_time()
        self._since = 0

    def open_files(self) -> None:
        """Make both files of an active segment, with the entries so far and in their full size."""
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
        """Make both files of a segment that is not active, unless they are there with these entries."""
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
        """The segment is not written any more: a last entry for the largest timestamp, and the files end with their entries."""
        if self._offset_fd < 0:
            return
        self._add_time()
        self._disk.truncate(self._offset_fd, len(self._offsets) * OFFSET_ENTRY.size)
        self._disk.truncate(self._time_fd, len(self._times) * TIME_ENTRY.size)
        self._forget_files()

    def _forget_files(self) -> None:
        """Close the files as they are."""
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
