"""A lock on a folder of this machine: the operating system lets go of it when its process ends, however it ends.

It is one of POSIX, which children do not inherit: a worker that outlives its killed parent by a moment does not keep the next run out.
Such a lock keeps no other out of the same process, and is gone when any descriptor of its file is closed there, so `_OURS` comes first.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress

from metashell.errors import PathError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from metashell.stores.store import Store, StoreFile

_TRIES = 10
_OURS: dict[str, object] = {}
"""The folders that this process has locked, by their real paths, and whose each is."""


class FolderLock:
    """A lock that is never lost while its process lives."""

    def require(self) -> None:
        """Nothing can take it away."""

    def listed(self, store: Store, folder: str) -> list[StoreFile]:
        return store.files(folder)


@contextmanager
def folder_lock(folder: str, name: str, purpose: str) -> Iterator[FolderLock]:
    """Hold `folder/name` for as long as the block runs; a folder that was made for it, and is empty at the end, is removed.

    Errors: UsageError where another process has it; PathError where the folder cannot be written to.
    """
    from metashell.stores.holder import holder_text

    real = os.path.realpath(folder)
    # One step, so that of two threads one gets it.
    if _OURS.setdefault(real, own := object()) is not own:
        raise in_use(folder, holder_text("this process"))
    had_folder = True
    try:
        had_folder = os.path.isdir(folder)
        path = os.path.join(real, name)
        descriptor = _held(folder, real, path)
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, holder_text(purpose), 0)
            yield FolderLock()
        finally:
            # While it is still held: whoever opens the file after this makes another.
            with suppress(OSError):
                os.unlink(path)
            os.close(descriptor)
    finally:
        del _OURS[real]
        if not had_folder:
            with suppress(OSError):
                os.rmdir(real)


def is_ours(folder: str) -> bool:
    """Whether this process has locked a folder. Whoever opens the file of that lock here, and closes it, loses it."""
    return os.path.realpath(folder) in _OURS


def _held(folder: str, real: str, path: str) -> int:
    """The descriptor of the locked file."""
    try:
        os.makedirs(real, exist_ok=True)
        for _ in range(_TRIES):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            if not _is_free(descriptor):
                said = os.pread(descriptor, 4096, 0)
                os.close(descriptor)
                raise in_use(folder, said)
            if _is_still(path, descriptor):
                return descriptor
            os.close(descriptor)
    except OSError as error:
        raise PathError.of(folder, error) from error
    raise UsageError(f"{folder}: is in use", folder)


def _is_free(descriptor: int) -> bool:
    """Lock the file, unless another process has it."""
    import fcntl

    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        os.close(descriptor)
        raise
    return True


def _is_still(path: str, descriptor: int) -> bool:
    """Whether the file that was locked has its name yet: the one before may just have removed it."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return False
    own = os.fstat(descriptor)
    return (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino)


def in_use(shown: str, said: bytes) -> UsageError:
    """The error for a folder that another has, by what it wrote about itself."""
    from metashell.stores.holder import said_by, told

    found = told(said)
    who = said_by(found) if found else "another process"
    return UsageError(f"{shown}: is in use by {who}; wait for it, or name another --out", shown)
