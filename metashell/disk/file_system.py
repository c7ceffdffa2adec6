"""The operations that put files on disk, as single steps that tests can interrupt; files replaced as a whole; steps deferred to a thread.

Each method of `Disk` is one step after which the machine may stop. Only synced changes survive that: `sync_file` syncs a file's bytes,
`sync_directory` the names in a directory. A new file needs both: with its bytes synced but not its name, a crash may leave no file.
`replace_file` replaces a small file: at any moment, the old or the new one exists.

Calls that change a log in memory must return at once, but a disk may take seconds. After `defer`, such a call leaves its steps in
`DeferredSteps`, in the order in which they have to happen. The log's driver takes them after the call, has a thread carry them out, and
shows nobody the call's result before that. So things become durable in the same order with and without `defer`:

- a cut (the log truncated, or begun anew at a snapshot) is on disk before anything is written behind it, so recovery never finds a new
  batch in front of an old one; an append or a flush that finds a waiting cut carries it out itself;
- steps on which nothing depends (`is_awaited` false: files derived from the batches, or out of use) may come later, but in order.

Output never goes to one of the files that commands read. A directory of metadata is evidence, and a mistyped `>` must not truncate a
controller's log. So nothing is created or opened for writing below a source, beside the files that mark a log directory, or by another name
(a hard link) of a source's file."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from collections.abc import Callable
from contextlib import contextmanager, suppress
from errno import EACCES, EAGAIN
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, Final, TypeAlias

from metashell.common.errors import PathError, UsageError, reason_of
from metashell.common.runtime import sync_file
from metashell.common.uris import is_uri, shown_uri
from metashell.disk.names import META_PROPERTIES, PARTITION_METADATA, QUORUM_STATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Identity = tuple[int, int]


_DIRECTORY_MODE: Final = 0o777
_LOCK_MODE: Final = 0o666
_FLOCK, _FLOCK_FIELDS = (
    ("hhqqi4x", ("type", "whence", "start", "length", "pid"))
    if sys.platform == "linux"
    else ("qqihhi", ("start", "length", "pid", "type", "whence", "system"))
)
"""The layout of C's `struct flock`: that of Linux, else that of the BSDs, which macOS shares but for `system`, a field that it lacks."""


class Disk:
    """The operations, on the real file system. Errors: OSError as the system gives it."""

    def make_directory(self, path: str) -> None:
        """Make one directory; its parent must be there."""
        os.mkdir(path, _DIRECTORY_MODE)

    def create_file(self, path: str, mode: int) -> int:
        """A descriptor of a new, empty file. A file of that name is removed before; links are not followed.

        Shape: the process's umask applies to `mode`; this descriptor can write even if `mode` has no write permission.
        """
        with suppress(FileNotFoundError):
            self.remove_file(path)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)

    def open_file(self, path: str) -> int:
        """A descriptor of an existing regular file, for reading and writing; links are not followed."""
        return os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)

    def append(self, fd: int, data: bytes) -> None:
        """Write all of `data` at the end of the file."""
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]

    def write_at(self, fd: int, data: bytes, position: int) -> None:
        """Write all of `data` from byte `position` on; after a failure, the content there is undefined."""
        written = os.pwrite(fd, data, position)
        while written < len(data):
            written += os.pwrite(fd, memoryview(data)[written:], position + written)

    def read_at(self, fd: int, size: int, position: int) -> bytes:
        """Up to `size` bytes from byte `position` on, fewer only at the end of the file."""
        data = os.pread(fd, size, position)
        while len(data) < size and (more := os.pread(fd, size - len(data), position + len(data))):
            data += more
        return data

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file to `size` bytes, or extend it with zeros that take no space."""
        os.ftruncate(fd, size)

    def set_mode(self, fd: int, mode: int) -> None:
        os.fchmod(fd, mode)

    def set_owner(self, fd: int, user: int, group: int) -> None:
        os.fchown(fd, user, group)

    def sync_file(self, fd: int) -> None:
        """Return when the file's bytes are on disk."""
        sync_file(fd)

    def close_file(self, fd: int) -> None:
        os.close(fd)

    def rename(self, source: str, target: str) -> None:
        """Rename a file in one step, replacing a file of the new name."""
        os.replace(source, target)

    def remove_file(self, path: str) -> None:
        os.unlink(path)

    def remove_directory(self, path: str) -> None:
        """Remove an empty directory."""
        os.rmdir(path)

    def sync_directory(self, path: str) -> None:
        """Return when the names in the directory are on disk."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def unique_number(self) -> int:
        """A 64-bit number for a unique file name."""
        return int.from_bytes(os.urandom(8), "big")


class UnsyncedDisk(Disk):
    """The operations without waiting for the disk, for files that nobody needs after the machine has stopped."""

    def sync_file(self, fd: int) -> None:
        """Return at once."""

    def sync_directory(self, path: str) -> None:
        """Return at once."""


class DirectoryLock:
    """The `.lock` of a log directory, held as a running server holds it.

    Kafka uses POSIX locks (`fcntl.lockf`), not flock: the two do not see each other. A POSIX lock belongs to the process, and the first
    close of any descriptor of the file ends it, so nothing else in this process may open the file. A file that the lock had to create is
    removed at the end.
    """

    NAME = ".lock"

    def __init__(self, directory: str, disk: Disk) -> None:
        """Take the lock. Errors: BlockingIOError if another process holds it; OSError."""
        self._path = os.path.join(directory, self.NAME)
        self._disk = disk
        self._is_ours = False
        self._fd = self._take()

    def _take(self) -> int:
        while True:
            fd = self._open()
            try:
                fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_still_named(fd):
                    return fd
            except OSError as error:
                os.close(fd)
                if error.errno in (EACCES, EAGAIN):  # POSIX allows either
                    raise BlockingIOError(EAGAIN, "locked by another process", self._path) from None
                raise
            os.close(fd)

    def _open(self) -> int:
        try:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _LOCK_MODE)
        except FileExistsError:
            return os.open(self._path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._is_ours = True
        return fd

    def _is_still_named(self, fd: int) -> bool:
        """Whether the locked file still has this name: its maker may have removed it just now."""
        with suppress(FileNotFoundError):
            return os.path.samestat(os.stat(self._path), os.fstat(fd))
        return False

    def release(self) -> None:
        """Release the lock; before that, remove the file if the lock created it."""
        if self._fd < 0:
            return
        if self._is_ours:
            with suppress(OSError):
                self._disk.remove_file(self._path)
        os.close(self._fd)
        self._fd = -1


def lock_holder(directory: str) -> int | None:
    """The id of the process that holds the directory's `.lock`, 0 if it is not visible from here; None if nobody holds it.

    This only queries the lock: it creates, changes and takes nothing, so another process can take the lock meanwhile.
    """
    try:
        fd = os.open(os.path.join(directory, DirectoryLock.NAME), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    asked = {"type": fcntl.F_WRLCK}
    try:
        answer = fcntl.fcntl(fd, fcntl.F_GETLK, struct.pack(_FLOCK, *(asked.get(name, 0) for name in _FLOCK_FIELDS)))
    except OSError:
        return None
    finally:
        os.close(fd)
    found = dict(zip(_FLOCK_FIELDS, struct.unpack(_FLOCK, answer), strict=True))
    return None if found["type"] == fcntl.F_UNLCK else found["pid"]


def is_locked(directory: str) -> bool:
    """Whether another process holds the directory's `.lock`; nothing is created or changed."""
    return lock_holder(directory) is not None


ASIDE_SUFFIX: Final = ".tmp"
FILE_MODE: Final = 0o666


def make_directories(disk: Disk, path: str, made: list[str]) -> None:
    """Create a directory and its parents; the names of all new ones are on disk on return. Each one made is added to `made`."""
    missing = []
    while path and not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path.rstrip("/"))
    for new in reversed(missing):
        disk.make_directory(new)
        made.append(new)
        disk.sync_directory(os.path.dirname(new.rstrip("/")) or ".")


def replace_file(disk: Disk, path: str, data: bytes) -> None:
    """Write `data` under another name, sync it, rename it to `path`, sync the directory; durable on return.

    Errors: OSError; the temporary file is removed, and the old or the new content may be on disk.
    Source: FileQuorumStateStore.writeElectionStateToFile, CheckpointFile.
    """
    aside = path + ASIDE_SUFFIX
    try:
        fd = disk.create_file(aside, FILE_MODE)
        try:
            disk.append(fd, data)
            disk.sync_file(fd)
        finally:
            disk.close_file(fd)
        disk.rename(aside, path)
        disk.sync_directory(os.path.dirname(path))
    except OSError:
        with suppress(OSError):
            disk.remove_file(aside)
        raise


Step: TypeAlias = Callable[[], object]


class DeferredWork:
    """Deferred steps. `is_awaited`: nobody may see a result of the change that left them before they are done."""

    __slots__ = ("_failed", "is_awaited", "is_done", "steps")

    def __init__(self, failed: Callable[[OSError], None]) -> None:
        self.steps: list[Step] = []
        self.is_awaited = False
        self.is_done = False
        self._failed = failed

    def carry_out(self) -> None:
        """Carry out the steps, in any thread. Errors: OSError, which ends the log."""
        try:
            for step in self.steps:
                step()
        except OSError as error:
            self._failed(error)
            raise
        self.is_done = True


class DeferredSteps:
    """The steps of one log. `failed` gets an error before it is raised in the thread that carries them out."""

    __slots__ = ("_failed", "_is_deferred", "_taken", "_waiting")

    def __init__(self, failed: Callable[[OSError], None]) -> None:
        self._failed = failed
        self._is_deferred = False
        self._waiting: DeferredWork | None = None
        self._taken: DeferredWork | None = None
        """The last work that was taken and is awaited."""

    def defer(self) -> None:
        """From now on, steps wait until they are taken."""
        self._is_deferred = True

    def do(self, *steps: Step, is_awaited: bool = True) -> None:
        """Carry out steps, or queue them if steps are deferred. Errors: OSError, if they are carried out."""
        work = self._waiting or DeferredWork(self._failed)
        work.steps += steps
        work.is_awaited = work.is_awaited or is_awaited
        if self._is_deferred:
            self._waiting = work
        else:
            work.carry_out()

    def take(self) -> DeferredWork | None:
        """The waiting steps, None without any; one thread has to carry out all taken work, in order."""
        work, self._waiting = self._waiting, None
        if work is not None and work.is_awaited:
            self._taken = work
        return work

    def settle(self) -> None:
        """Carry out everything awaited, because the log is about to be written. Errors: OSError."""
        taken = self._taken
        assert taken is None or taken.is_done, "the log is written while it is cut"
        if self._waiting is not None and self._waiting.is_awaited:
            work = self.take()
            assert work is not None
            work.carry_out()

    def finish(self) -> None:
        """Carry out all waiting steps, because the log is being closed. Errors: OSError."""
        work = self.take()
        if work is not None:
            work.carry_out()


class LogStoppedError(OSError):
    """A refused write: an earlier step on the disk failed, or the log is closed."""


class FlushToken:
    """One flush: the segments to sync, and the offset before which everything is durable then."""

    __slots__ = ("end_offset", "fds", "has_new_names")

    def __init__(self, end_offset: int, fds: list[int], has_new_names: bool) -> None:
        self.end_offset = end_offset
        self.fds = fds
        self.has_new_names = has_new_names


LOG_DIRECTORY_MARKS = (META_PROPERTIES, QUORUM_STATE, PARTITION_METADATA)
"""Files that mark a directory of logs."""
_MODE = 0o666


def open_output(path: str, *, append: bool = False, sources: Iterable[str] = ()) -> int:
    """The descriptor of a file to write to, truncated unless `append`; other things, such as a pipe, are just opened.

    Errors: PathError if it cannot be opened, or lies in one of the `sources` or in any other directory of logs.
    """
    sources = list(sources)
    refuse_beside_logs(path, sources)
    try:
        # Not truncated yet: first we must know that it is not a source's file.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOCTTY | os.O_CLOEXEC | (os.O_APPEND if append else 0), _MODE)
    except OSError as error:
        raise PathError.of(path, error) from None
    try:
        found = os.fstat(descriptor)
        if S_ISREG(found.st_mode):
            if _is_source(found, sources):
                raise PathError(f"{path}: is a file of what is read here, which is not written to", path)
            if not append:
                os.ftruncate(descriptor, 0)
    except OSError as error:
        os.close(descriptor)
        raise PathError.of(path, error) from None
    except PathError:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def errors_naming(path: str, hint: str = "") -> Iterator[None]:
    """A block that writes to one file, or below one folder. Errors: PathError with its name, for example if the disk is full."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        about = path if error.filename is None else os.fsdecode(error.filename)
        raise PathError(f"{about}: {reason_of(error)}{hint}", about) from error


@contextmanager
def temporary_files() -> Iterator[None]:
    """A block that writes to the folder for temporary files. Errors: PathError that says so."""
    from tempfile import gettempdir

    try:
        folder = gettempdir()
    except OSError as error:
        raise PathError(f"no folder for temporary files: {reason_of(error)}; TMPDIR names one", "TMPDIR") from error
    with errors_naming(folder, " (the folder for temporary files; TMPDIR names another)"):
        yield


def refuse_beside_logs(path: str, sources: Iterable[str]) -> None:
    """Errors: PathError for a file that lies, or would lie, in one of the sources or in any other directory of logs.

    UsageError for the URI of a store: this function opens only files of this machine.
    """
    if is_uri(path):
        raise UsageError(f"{shown_uri(path)}: this can be written to a file of this machine only, not to a store", shown_uri(path))
    real = os.path.realpath(path)
    if _is_beside_logs(os.path.dirname(real), list(sources)) and not _is_special(real):
        raise PathError(f"{path}: lies in a metadata directory, which is only read", path)


def refuse_folder_of_logs(folder: str, sources: Iterable[str]) -> None:
    """Errors: PathError for an output folder that is, or lies in, one of the sources or any other directory of logs."""
    real = os.path.realpath(folder)
    read = list(sources)
    if _is_beside_logs(real, read) or _is_beside_logs(os.path.dirname(real), read):
        raise PathError(f"{folder}: is or lies in a metadata directory, which is only read", folder)


def _is_special(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not S_ISREG(mode) and not S_ISDIR(mode)


def _identity(path: str) -> Identity | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_beside_logs(folder: str, sources: list[str]) -> bool:
    """Whether a folder has the marks of a directory of logs, or lies below a source."""
    if any(os.path.lexists(os.path.join(folder, mark)) for mark in LOG_DIRECTORY_MARKS):
        return True
    read = {_identity(source) for source in sources} - {None}
    while read:
        if _identity(folder) in read:
            return True
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return False


def _is_source(found: os.stat_result, sources: list[str]) -> bool:
    """Whether a file belongs to a source, perhaps under another name."""
    wanted = found.st_dev, found.st_ino
    if any(_identity(source) == wanted for source in sources):
        return True
    # The path lies outside of every source. Only a file with several names can lie in a source too, so others need no search.
    return found.st_nlink > 1 and any(_identity(file) == wanted for source in sources for file in _files(source))


def _files(source: str) -> Iterator[str]:
    for folder, _, names in os.walk(source):
        for name in names:
            yield os.path.join(folder, name)
