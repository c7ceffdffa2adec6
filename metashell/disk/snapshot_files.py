"""The snapshots of a log directory (complete, being written, or waiting for removal), and checked reads of them and of recent appends.

A snapshot is `.checkpoint.part` until it is frozen: synced, made read-only, renamed, its new name synced. In another order, a crash could
leave a complete name without all bytes. A file to be removed is first renamed to `.deleted`, so that no reader opens it any more, and
removed after a delay, because others may still be reading it.

A disk may return other bytes than were written, at any time. So each batch is checked on its way from the disk to its reader: the state
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
        """Up to `max_size` bytes from `position` on. Errors: LogCorruptError for a batch with a wrong checksum; KeyError."""
        reader = self._readers.get(id)
        if reader is None:
            reader = self._readers[id] = SnapshotReader(self._disk, self.path(id), self._sizes[id])
        return reader.read(position, max_size)

    def add(self, id: OffsetAndEpoch, size: int) -> None:
        """Add a snapshot that has become complete; it replaces one of the same id."""
        self._close(id)
        if id not in self._sizes:
            insort(self.ids, id)
        self._sizes[id] = size

    def forget(self, id: OffsetAndEpoch) -> None:
        """Forget a snapshot that is being removed."""
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

    Errors: OSError, also passed to `failed`; then it can only be closed. `frozen` is called for a complete one.
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
        # Kafka uses Files.createTempFile, which adds a random number to the name. Ours need only be unique in this process.
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
        # Another thread may be syncing it: that one closes it then.
        if self._fd < 0 or self._is_freezing:
            return
        self._disk.close_file(self._fd)
        self._fd = -1
        with suppress(OSError):
            self._disk.remove_file(self._path)

    def release(self) -> None:
        """Drop the part because the log is closed; if it was being frozen, leave it in its current state."""
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
        """Take a file out of use, if it exists."""
        with suppress(FileNotFoundError):
            self._disk.rename(path, path + DELETED_SUFFIX)
            self._waiting.append((None, path + DELETED_SUFFIX))

    def remove_due(self, now_ms: int, delay_ms: int) -> int | None:
        """Remove the files that have waited `delay_ms` since the first call after they were marked; return when the next is due."""
        waiting = [(now_ms + delay_ms if due is None else due, path) for due, path in self._waiting]
        for due, path in waiting:
            if due <= now_ms:
                with suppress(FileNotFoundError):
                    self._disk.remove_file(path)
        self._waiting = [entry for entry in waiting if entry[0] > now_ms]
        return min((due for due, _ in waiting if due > now_ms), default=None)


RECENT_SIZE: Final = 256 * 1024
"""The bytes of recent appends to keep."""


class RecentAppends:
    """The last appends; the oldest are dropped first."""

    __slots__ = ("_appends", "_size")

    def __init__(self) -> None:
        self._appends: deque[tuple[int, int, bytes]] = deque()
        self._size = 0

    def add(self, start_offset: int, end_offset: int, data: bytes) -> None:
        """Note whole batches that were appended behind the previous ones."""
        self._appends.append((start_offset, end_offset, data))
        self._size += len(data)
        while self._size > RECENT_SIZE:
            self._size -= len(self._appends.popleft()[2])

    def clear(self) -> None:
        """Forget all, because the log was cut or begins anew."""
        self._appends.clear()
        self._size = 0

    def read(self, start_offset: int, end_offset: int, max_size: int) -> bytes:
        """The whole appends that fit, from the one that begins at `start_offset`; empty if that is not kept, or the disk may have more."""
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
        # If the first append alone is too large, some of its batches may still fit: a read from the disk finds these.
        return b"" if size > max_size else b"".join(reversed(found))


class SnapshotReader:
    """A complete snapshot, readable at any position. It keeps at most one batch in memory."""

    __slots__ = ("_batch", "_batch_start", "_disk", "_fd", "_name", "_size", "_starts")

    def __init__(self, disk: Disk, path: str, size: int) -> None:
        """Open it. Errors: OSError."""
        self._disk = disk
        self._name = os.path.basename(path)
        self._size = size
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        self._starts = [0]
        """The known starts of batches."""
        self._batch_start = 0
        self._batch = b""

    def read(self, position: int, max_size: int) -> bytes:
        """Up to `max_size` bytes from `position` on, only from batches whose checksums match. Errors: LogCorruptError, OSError."""
        stop = min(position + max_size, self._size)
        found: list[bytes] = []
        while position < stop:
            self._load(position)
            start, batch = self._batch_start, self._batch
            found.append(batch if position == start and start + len(batch) <= stop else batch[position - start : stop - start])
            position = start + len(batch)
        return found[0] if len(found) == 1 else b"".join(found)

    def _load(self, position: int) -> None:
        """Load the batch that contains a position."""
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
