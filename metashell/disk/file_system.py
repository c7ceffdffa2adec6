"""The operations that put files on disk: steps that tests can stand between, files replaced as a whole, and steps deferred to a thread.

Each method of `Disk` is one step after which the machine may stop. Only what was synced survives that: a file's bytes by `sync_file`, its
name by `sync_directory` of the directory that holds it. `replace_file` replaces a small file: at any moment the old one or the new one is
there.

A log is changed in memory by calls that must return at once, and a disk may take seconds. After `defer` such a call leaves its steps in
`DeferredSteps`, in the order in which they have to happen. The driver of the log takes them after the call, has a thread carry them out,
and lets nobody see the call's result before that. The order in which things become durable is thus the same in both ways:

- a cut (the log truncated, or begun anew at a snapshot) is on disk before anything is written behind it, so recovery never meets a new
  batch in front of an old one; an append or a flush that finds a cut still waiting carries it out itself;
- steps that nothing rests on (`is_awaited` false: files that are derived from the batches, or out of use) may come later, but in order."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from errno import EACCES, EAGAIN
from typing import Final, TypeAlias

from metashell.common.runtime import sync_file

_DIRECTORY_MODE: Final = 0o777
_LOCK_MODE: Final = 0o666
_FLOCK, _FLOCK_FIELDS = (
    ("hhqqi4x", ("type", "whence", "start", "length", "pid"))
    if sys.platform == "linux"
    else ("qqihhi", ("start", "length", "pid", "type", "whence", "system"))
)
"""How C has a `struct flock`; the rest is that of the BSDs and of macOS, which has no `system` and does not touch it."""


class Disk:
    """The operations, on the real file system. Errors: OSError as the system gives it."""

    def make_directory(self, path: str) -> None:
        """Make one directory; its parent must be there."""
        os.mkdir(path, _DIRECTORY_MODE)

    def create_file(self, path: str, mode: int) -> int:
        """A descriptor of a new, empty file; whatever bore the name before is gone, links are not followed.

        Shape: the process's umask takes from `mode`; a mode without the right to write does not hinder this descriptor.
        """
        with suppress(FileNotFoundError):
            self.remove_file(path)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)

    def open_file(self, path: str) -> int:
        """A descriptor of a regular file that is there, for reading and writing; links are not followed."""
        return os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)

    def append(self, fd: int, data: bytes) -> None:
        """Write all of `data` behind what is there."""
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]

    def write_at(self, fd: int, data: bytes, position: int) -> None:
        """Write all of `data` from byte `position` on; what a failure left of it is undefined."""
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
        """Cut the file, or make it longer by zeros that take no room, to `size` bytes."""
        os.ftruncate(fd, size)

    def set_mode(self, fd: int, mode: int) -> None:
        os.fchmod(fd, mode)

    def sync_file(self, fd: int) -> None:
        """Return when the file's bytes are on disk."""
        sync_file(fd)

    def close_file(self, fd: int) -> None:
        os.close(fd)

    def rename(self, source: str, target: str) -> None:
        """Give a file another name, in one step, over whatever bore it."""
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
        """A number of 64 bits for a name that no other file shall have."""
        return int.from_bytes(os.urandom(8), "big")


class DirectoryLock:
    """The `.lock` of a log directory, held as a running server holds it.

    Kafka's lock is POSIX's (`fcntl.lockf`), not flock: the two do not see each other. Such a lock is the process's, and ends with the
    first close of any descriptor of the file, so nothing else here may open it. A file that the lock had to make is removed at the end.
    """

    NAME = ".lock"

    def __init__(self, directory: str, disk: Disk) -> None:
        """Take the lock. Errors: BlockingIOError where another process holds it; OSError."""
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
                if error.errno in (EACCES, EAGAIN):  # POSIX leaves open which of the two it is.
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
        """Give the lock back; first remove the file if it was not there before."""
        if self._fd < 0:
            return
        if self._is_ours:
            with suppress(OSError):
                self._disk.remove_file(self._path)
        os.close(self._fd)
        self._fd = -1


def lock_holder(directory: str) -> int | None:
    """The process that holds the directory's `.lock`, 0 for one that cannot be named from here; None where none does.

    Only asked for: nothing is made, changed or taken, so whoever takes the lock meanwhile gets it.
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
    """Whether another process holds the directory's `.lock`; nothing is made or changed."""
    return lock_holder(directory) is not None


ASIDE_SUFFIX: Final = ".tmp"
FILE_MODE: Final = 0o666


def replace_file(disk: Disk, path: str, data: bytes) -> None:
    """Write `data` under another name, sync it, rename it to `path`, sync the directory; durable on return.

    Errors: OSError; the file written aside is removed, and either state may be the one on disk.
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
    """Steps that wait for the disk. `is_awaited`: nothing may rest on the change that left them before they are done."""

    __slots__ = ("_failed", "is_awaited", "is_done", "steps")

    def __init__(self, failed: Callable[[OSError], None]) -> None:
        self.steps: list[Step] = []
        self.is_awaited = False
        self.is_done = False
        self._failed = failed

    def carry_out(self) -> None:
        """Do it, in any thread. Errors: OSError, which ends the log."""
        try:
            for step in self.steps:
                step()
        except OSError as error:
            self._failed(error)
            raise
        self.is_done = True


class DeferredSteps:
    """The steps of one log. `failed` gets an error, which is then raised to the thread that carries them out."""

    __slots__ = ("_failed", "_is_deferred", "_taken", "_waiting")

    def __init__(self, failed: Callable[[OSError], None]) -> None:
        self._failed = failed
        self._is_deferred = False
        self._waiting: DeferredWork | None = None
        self._taken: DeferredWork | None = None
        """The last one that was taken and is awaited."""

    def defer(self) -> None:
        """From now on steps wait until they are taken."""
        self._is_deferred = True

    def do(self, *steps: Step, is_awaited: bool = True) -> None:
        """Carry out steps, or leave them to be taken. Errors: OSError, when they are carried out."""
        work = self._waiting or DeferredWork(self._failed)
        work.steps += steps
        work.is_awaited = work.is_awaited or is_awaited
        if self._is_deferred:
            self._waiting = work
        else:
            work.carry_out()

    def take(self) -> DeferredWork | None:
        """The steps that wait now, None for nothing; one thread carries out all that is taken, in order."""
        work, self._waiting = self._waiting, None
        if work is not None and work.is_awaited:
            self._taken = work
        return work

    def settle(self) -> None:
        """Let nothing wait that is awaited: the log is about to be written. Errors: OSError."""
        taken = self._taken
        assert taken is None or taken.is_done, "the log is written while it is cut"
        if self._waiting is not None and self._waiting.is_awaited:
            work = self.take()
            assert work is not None
            work.carry_out()

    def finish(self) -> None:
        """Carry out all that waits: the log is closed. Errors: OSError."""
        work = self.take()
        if work is not None:
            work.carry_out()


class LogStoppedError(OSError):
    """Writing was refused because an earlier step on the disk failed, or the log is closed."""


class FlushToken:
    """One flush: the segments it has to sync, and the offset before which all is durable then."""

    __slots__ = ("end_offset", "fds", "has_new_names")

    def __init__(self, end_offset: int, fds: list[int], has_new_names: bool) -> None:
        self.end_offset = end_offset
        self.fds = fds
        self.has_new_names = has_new_names
