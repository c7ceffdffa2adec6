"""A lock on a folder of this machine: the operating system lets go of it when its process ends, however it ends."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress

from metashell.errors import PathError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_TRIES = 10


class FolderLock:
    """A lock that is never lost while its process lives."""

    def require(self) -> None:
        """Nothing can take it away."""


@contextmanager
def folder_lock(folder: str, name: str, purpose: str) -> Iterator[FolderLock]:
    """Hold `folder/name` for as long as the block runs; a folder that was made for it, and is empty at the end, is removed.

    Errors: UsageError where another process has it; PathError where the folder cannot be written to.
    """
    had_folder = os.path.isdir(folder)
    path = os.path.join(folder, name)
    try:
        os.makedirs(folder, exist_ok=True)
        descriptor = _locked(folder, path)
    except OSError as error:
        raise PathError.of(folder, error) from error
    try:
        from metashell.stores.holder import holder_text

        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, holder_text(purpose), 0)
        yield FolderLock()
    finally:
        # While it is still held: whoever opens the file after this makes another.
        with suppress(OSError):
            os.unlink(path)
        _let_go(descriptor)
        if not had_folder:
            with suppress(OSError):
                os.rmdir(folder)


def _locked(folder: str, path: str) -> int:
    import fcntl

    for _ in range(_TRIES):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            try:
                said = os.pread(descriptor, 4096, 0)
            finally:
                os.close(descriptor)
            raise in_use(folder, said) from None
        except OSError:
            os.close(descriptor)
            raise
        if _is_still(path, descriptor):
            return descriptor
        os.close(descriptor)
    raise UsageError(f"{folder}: is in use", folder)


def _is_still(path: str, descriptor: int) -> bool:
    """Whether the file that was locked has its name yet: the one before may just have removed it."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return False
    own = os.fstat(descriptor)
    return (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino)


def _let_go(descriptor: int) -> None:
    import fcntl

    # A child that was forked meanwhile has the same open file: closing ours alone would not let go.
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def in_use(shown: str, said: bytes) -> UsageError:
    """The error for a folder that another has, by what it wrote about itself."""
    from metashell.stores.holder import said_by

    try:
        who = said_by(json.loads(said))
    except ValueError:
        who = "another process"
    return UsageError(f"{shown}: is in use by {who}; wait for it, or name another --out", shown)
