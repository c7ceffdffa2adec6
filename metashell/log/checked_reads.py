"""What is read of a log that is written: from the disk never without the checksums of its batches, else from memory.

A disk may give back other bytes than it was given, at any time. So each batch is checked on its way from the disk to its reader, be that
the own application, a follower that fetches, or one that downloads a snapshot; the last appends are kept in memory, where followers that
keep up find them.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import deque
from typing import Final

from metashell.codec.batches import HEADER_SIZE, read_batch_header
from metashell.codec.checked_batches import checked_batches
from metashell.errors import DecodeError, LogCorruptError
from metashell.log.disk import Disk

RECENT_SIZE: Final = 256 * 1024
"""Bytes of the last appends that are kept."""


class RecentAppends:
    """The last appends, as they were given; the oldest go first."""

    __slots__ = ("_appends", "_size")

    def __init__(self) -> None:
        self._appends: deque[tuple[int, int, bytes]] = deque()
        self._size = 0

    def add(self, start_offset: int, end_offset: int, data: bytes) -> None:
        """Whole batches were appended behind the ones before."""
        self._appends.append((start_offset, end_offset, data))
        self._size += len(data)
        while self._size > RECENT_SIZE:
            self._size -= len(self._appends.popleft()[2])

    def clear(self) -> None:
        """The log was cut, or begins anew."""
        self._appends.clear()
        self._size = 0

    def read(self, start_offset: int, end_offset: int, max_size: int) -> bytes:
        """As many whole appends as fit, from the one that begins at `start_offset` on; empty where that is not kept, or more is wanted."""
        appends = self._appends
        if not appends or start_offset < appends[0][0]:
            return b""
        found: list[bytes] = []
        size = 0
        for start, end, data in reversed(appends):
            if start < start_offset:
                return b""
            if end <= end_offset:
                found.append(data)
                size += len(data)
                if size > max_size and len(found) > 1:
                    return b""
            elif start < end_offset:
                return b""
            if start == start_offset:
                break
        # One append alone may be several batches, of which fewer would have fitted.
        return b"" if size > max_size else b"".join(reversed(found))


class SnapshotReader:
    """A complete snapshot, readable at any position. At most one of its batches is kept."""

    __slots__ = ("_batch", "_batch_start", "_disk", "_fd", "_name", "_size", "_starts")

    def __init__(self, disk: Disk, path: str, size: int) -> None:
        """Open it. Errors: OSError."""
        self._disk = disk
        self._name = os.path.basename(path)
        self._size = size
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        self._starts = [0]
        """Where batches are known to begin."""
        self._batch_start = 0
        self._batch = b""

    def read(self, position: int, max_size: int) -> bytes:
        """Up to `max_size` bytes from `position` on, all of batches that have their checksums. Errors: LogCorruptError, OSError."""
        stop = min(position + max_size, self._size)
        found: list[bytes] = []
        while position < stop:
            self._load(position)
            start, batch = self._batch_start, self._batch
            found.append(batch if position == start and start + len(batch) <= stop else batch[position - start : stop - start])
            position = start + len(batch)
        return found[0] if len(found) == 1 else b"".join(found)

    def _load(self, position: int) -> None:
        """Have the batch in memory that holds a position."""
        if self._batch_start <= position < self._batch_start + len(self._batch):
            return
        index = bisect_right(self._starts, position) - 1
        start, size = self._starts[index], self._batch_size(self._starts[index])
        while start + size <= position:
            start += size
            index += 1
            if index == len(self._starts):
                self._starts.append(start)
            size = self._batch_size(start)
        data = self._disk.read_at(self._fd, size, start)
        if len(data) < size:
            raise LogCorruptError(self._name, start, f"the file ends at byte {start + len(data)}, {self._size} bytes were expected")
        for _ in checked_batches(data, self._name, start):
            pass
        self._batch_start, self._batch = start, data

    def _batch_size(self, start: int) -> int:
        try:
            size = read_batch_header(self._disk.read_at(self._fd, HEADER_SIZE, start)).size_bytes
        except DecodeError as error:
            raise LogCorruptError(self._name, start, f"byte {start}: {error}") from None
        if size < HEADER_SIZE or start + size > self._size:
            raise LogCorruptError(self._name, start, f"batch of {size} bytes at byte {start}, {self._size - start} are left")
        return size

    def close(self) -> None:
        os.close(self._fd)
