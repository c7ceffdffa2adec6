"""The snapshots of a log directory (complete, being written, or waiting to be removed), and checked reads of them and of recent appends.

A snapshot is `.checkpoint.part` until it is frozen: synced, made read-only, renamed, its new name synced. A file to be removed is first
renamed to `.deleted`, so that nothing takes it for one in use, and removed after a delay, because others may be reading it.

A disk may return other bytes than it was given, at any time. So each batch is checked on its way from the disk to its reader: the state
machine, a follower that fetches, or one that downloads a snapshot. The last appends are kept in memory, where followers that keep up find
them.
Source: org.apache.kafka.snapshot.{FileRawSnapshotWriter,Snapshots}."""

from __future__ import annotations

import os
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from metashell.codec.batches import HEADER_SIZE, read_batch_header
from metashell.codec.framing import checked_batches
from metashell.common.errors import DecodeError, LogCorruptError
from metashell.common.values import OffsetAndEpoch
from metashell.disk.file_system import FILE_MODE, Disk
from metashell.disk.names import checkpoint_name

PART_SUFFIX: Final = ".checkpoint.part"
DELETED_SUFFIX: Final = ".deleted"
DELETE_DELAY_MS: Final = 60_000
_READ_ONLY: Final = 0o444


class SnapshotFiles:
    """The complete snapshots in a directory, readable by position."""

    def __init__(self, disk: Disk, directory: str, ids: Sequence[OffsetAndEpoch]) -> None:
        self._disk = disk
        self._directory = directory
        self.ids = sorted(ids)
        self._sizes = {id: os.path.getsize(self.path(id)) for id in self.ids}
        self._readers: dict[OffsetAndEpoch, SnapshotReader] = {}

    def path(self, id: OffsetAndEpoch) -> str:
        return os.path.join(self._directory, checkpoint_name(id))

    def size(self, id: OffsetAndEpoch) -> int:
        return self._sizes[id]

    def read(self, id: OffsetAndEpoch, position: int, max_size: int) -> bytes:
        """Errors: LogCorruptError for a batch that does not have its checksum; KeyError."""
        reader = self._readers.get(id)
        if reader is None:
            reader = self._readers[id] = SnapshotReader(self._disk, self.path(id), self._sizes[id])
        return reader.read(position, max_size)

    def add(self, id: OffsetAndEpoch, size: int) -> None:
        """A snapshot that has become complete; one of the same id is replaced."""
        self._close(id)
        if id not in self._sizes:
            insort(self.ids, id)
        self._sizes[id] = size

    def forget(self, id: OffsetAndEpoch) -> None:
        """One that is removed."""
        self._close(id)
        self.ids.remove(id)
        del self._sizes[id]

    def _close(self, id: OffsetAndEpoch) -> None:
        reader = self._readers.pop(id, None)
        if reader is not None:
            reader.close()

    def close(self) -> None:
        for id in list(self._readers):
            self._close(id)


class SnapshotPart:
    """A `PartialSnapshot`: written front to back, then frozen or dropped.

    Errors: OSError, which `failed` gets too, after which it is only closed. `frozen` is called for a complete one.
    """

    def __init__(
        self, disk: Disk, id: OffsetAndEpoch, final_path: str, frozen: Callable[[SnapshotPart], None], failed: Callable[[OSError], None]
    ) -> None:
        self._disk = disk
        self._id = id
        self._size = 0
        self._final_path = final_path
        self._frozen = frozen
        self._failed = failed
        self._is_freezing = False
        # A random number as Files.createTempFile gives it; a name for one process is all that is needed.
        self._path = f"{final_path.removesuffix('.checkpoint')}-{disk.unique_number()}{PART_SUFFIX}"
        self._fd = disk.create_file(self._path, FILE_MODE)

    @property
    def id(self) -> OffsetAndEpoch:
        return self._id

    @property
    def size(self) -> int:
        return self._size

    @property
    def is_open(self) -> bool:
        return self._fd >= 0

    def append(self, data: bytes) -> None:
        assert self._fd >= 0, f"{self._path}: is closed"
        try:
            self._disk.write_at(self._fd, data, self._size)
        except OSError as error:
            self._failed(error)
            raise
        self._size += len(data)

    def freeze(self) -> None:
        self.begin_freeze()()
        self.end_freeze()

    def begin_freeze(self) -> Callable[[], None]:
        assert self._fd >= 0, f"{self._path}: is closed"
        self._is_freezing = True
        return self._make_durable

    def sync(self) -> None:
        """Bring the bytes to disk."""
        self._disk.sync_file(self._fd)

    def _make_durable(self) -> None:
        try:
            self.sync()
            self._disk.set_mode(self._fd, _READ_ONLY)
            self._disk.rename(self._path, self._final_path)
            self._disk.sync_directory(os.path.dirname(self._path))
        except OSError as error:
            self._failed(error)
            raise

    def end_freeze(self) -> None:
        self._disk.close_file(self._fd)
        self._fd = -1
        self._frozen(self)

    def close(self) -> None:
        # While another thread makes it durable it is left to that.
        if self._fd < 0 or self._is_freezing:
            return
        self._disk.close_file(self._fd)
        self._fd = -1
        with suppress(OSError):
            self._disk.remove_file(self._path)

    def release(self) -> None:
        """The log is closed: drop it, or leave it as the freezing that nobody waited for has left it."""
        self.close()
        if self._fd >= 0:
            self._disk.close_file(self._fd)
            self._fd = -1


class DeletedFiles:
    """Files that were renamed to `.deleted` and are removed after a delay."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._waiting: list[tuple[int | None, str]] = []

    def mark(self, path: str) -> None:
        """Take a file out of use; one that is not there is no error."""
        with suppress(FileNotFoundError):
            self._disk.rename(path, path + DELETED_SUFFIX)
            self._waiting.append((None, path + DELETED_SUFFIX))

    def remove_due(self, now_ms: int, delay_ms: int) -> int | None:
        """Remove what has waited for `delay_ms` since the first call after it was marked; when the next one is due."""
        waiting = [(now_ms + delay_ms if due is None else due, path) for due, path in self._waiting]
        for due, path in waiting:
            if due <= now_ms:
                with suppress(FileNotFoundError):
                    self._disk.remove_file(path)
        self._waiting = [entry for entry in waiting if entry[0] > now_ms]
        return min((due for due, _ in waiting if due > now_ms), default=None)


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
