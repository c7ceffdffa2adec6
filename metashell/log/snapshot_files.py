"""The snapshots of a log directory: those that are complete, those that are written, and files that wait to be removed.

A snapshot is `.checkpoint.part` until it is frozen: synced, made read-only, renamed, its new name synced.
What is removed is renamed to `.deleted` first, so that nobody takes it for one in use, and removed after a delay, because others
may be reading it.
Source: org.apache.kafka.snapshot.{FileRawSnapshotWriter,Snapshots}.
"""

from __future__ import annotations

import os
from bisect import insort
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from metashell.log.atomic_file import FILE_MODE
from metashell.log.checked_reads import SnapshotReader
from metashell.log.disk import Disk
from metashell.log.names import checkpoint_name
from metashell.values import OffsetAndEpoch

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
