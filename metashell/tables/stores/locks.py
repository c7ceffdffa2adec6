"""Locks on a folder of output, and who owns one.

On this machine the operating system releases the lock when its process ends, however it ends. It is a POSIX lock, which children do not
inherit: a worker that outlives its killed parent by a moment does not keep the next run out. Such a lock does not exclude other threads
of the same process, and is lost when any descriptor of its file is closed there, so `_OURS` comes first.

Stores have no locks, so there the lock is made of objects alone. Each writer puts a file of its own into `_metashell/locks`, and then
lists them: if another live one is there, it removes its own and gives up. Two writers that come at once may both give up, which is safe;
they cannot both go on, since a list shows what was written before it. A file is alive as long as it is rewritten every few seconds, by the
clock of the store, never by ours. A lock that may have been lost is lost for good: a process that slept for minutes does not rewrite its
file, since another may have removed it and written in its place."""

from __future__ import annotations

import fcntl
import json
import os
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event, Thread
from typing import Any, Final, Protocol
from uuid import uuid4

from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.common.terminal import terminal_line
from metashell.tables.stores.store import LOCK, Store, StoreFile


@dataclass(frozen=True, slots=True)
class LockOwner:
    """A lock that is held: its owner, in words, and how long ago it was renewed, by the clock of this machine.

    `silent_ms` is None where a lock needs no renewal: on this machine.
    """

    by: str
    silent_ms: int | None = None


def find_lock_owner(store: Store) -> LockOwner | None:
    """Return the owner of the lock on a folder, None if nobody writes to it now.

    In a store the clock of this machine stands for that of the store, which only a writer can read. Errors: MetashellError.
    """
    return _local_lock_owner(store.place) if store.is_local else _remote_lock_owner(store)


def _local_lock_owner(folder: str) -> LockOwner | None:
    if is_ours(folder):
        return LockOwner("this process")
    path = os.path.join(folder, LOCK)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PathError.of(path, error) from error
    try:
        said = parse_owner(os.pread(descriptor, 4096, 0))
        return LockOwner(owner_text(said)) if _is_locked(descriptor, said) else None
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int, said: dict[str, Any]) -> bool:
    """Return whether another process has a lock on a file: Linux tells; elsewhere we trust the content of the file."""
    if sys.platform != "linux":
        return not is_dead(said)

    shape = "hhqqi"  # struct flock: type, whence, start, length, process
    found = fcntl.fcntl(descriptor, fcntl.F_GETLK, struct.pack(shape, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    return bool(struct.unpack(shape, found)[0] != fcntl.F_UNLCK)


def _remote_lock_owner(store: Store) -> LockOwner | None:
    now_ms = time.time_ns() // 1_000_000
    for file in sorted(store.files(LOCK_FOLDER), key=lambda file: -file.mtime_ms):
        silent_ms = max(now_ms - file.mtime_ms, 0)
        if silent_ms > LIVES_MS or (text := store.read(file.name)) is None or is_dead(said := parse_owner(text)):
            continue
        return LockOwner(owner_text(said), silent_ms)
    return None


def describe_owner(purpose: str) -> dict[str, Any]:
    """Return a description of this process: what it does, where it runs, since when."""
    from socket import gethostname

    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    return {"purpose": purpose, "host": gethostname(), "pid": os.getpid(), "machine": _machine(), "since": since}


def owner_json(purpose: str) -> bytes:
    return json.dumps(describe_owner(purpose)).encode()


def parse_owner(text: bytes) -> dict[str, Any]:
    """Return what an owner wrote about itself; nothing if that is damaged, or somebody else's."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def owner_text(said: dict[str, Any]) -> str:
    """Return the owner in a sentence: `metashell export (process 4711 on example) since 2025-01-31 12:00:00Z`."""
    words = {key: terminal_line(str(said.get(key, "?"))) for key in ("purpose", "pid", "host", "since")}
    return f"{words['purpose']} (process {words['pid']} on {words['host']}) since {words['since']}"


# ---- whether the owner of a lock is alive


def is_dead(said: dict[str, Any]) -> bool:
    """Return whether a process of this very machine is known to have ended; of another machine nothing is known."""
    if not said.get("machine") or said.get("machine") != _machine() or not isinstance(said.get("pid"), int):
        return False
    try:
        os.kill(said["pid"], 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _machine() -> str:
    """Return the scope of process numbers: a start of a machine and a name space on it. Empty where that is not known."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


# ---- a folder of this machine

_TRIES = 10
_OURS: dict[str, object] = {}
"""The folders that this process has locked, by their real paths, and whose each is."""


class FolderLock:
    """A lock that is never lost while its process lives."""

    def require(self) -> None:
        """Do nothing: no other process can take this lock."""

    def listed(self, store: Store, folder: str) -> list[StoreFile]:
        return store.files(folder)


@contextmanager
def folder_lock(folder: str, name: str, purpose: str) -> Iterator[FolderLock]:
    """Hold `folder/name` for as long as the block runs; a folder that was made for it, and is empty at the end, is removed.

    Errors: UsageError where another process has it; PathError where the folder cannot be written to.
    """
    real = os.path.realpath(folder)
    # One step, so that of two threads one gets it.
    if _OURS.setdefault(real, own := object()) is not own:
        raise in_use_error(folder, owner_json("this process"))
    had_folder = True
    try:
        had_folder = os.path.isdir(folder)
        path = os.path.join(real, name)
        descriptor = _locked_file(folder, real, path)
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, owner_json(purpose), 0)
            yield FolderLock()
        finally:
            # Removed while it is still locked: the next process that opens the name creates another file.
            with suppress(OSError):
                os.unlink(path)
            os.close(descriptor)
    finally:
        del _OURS[real]
        if not had_folder:
            with suppress(OSError):
                os.rmdir(real)


def is_ours(folder: str) -> bool:
    """Return whether this process has locked a folder. Opening the file of that lock here and closing it loses the lock."""
    return os.path.realpath(folder) in _OURS


def _locked_file(folder: str, real: str, path: str) -> int:
    """Return the descriptor of the locked file."""
    try:
        os.makedirs(real, exist_ok=True)
        for _ in range(_TRIES):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            if not _is_free(descriptor):
                said = os.pread(descriptor, 4096, 0)
                os.close(descriptor)
                raise in_use_error(folder, said)
            if _is_still(path, descriptor):
                return descriptor
            os.close(descriptor)
    except OSError as error:
        raise PathError.of(folder, error) from error
    raise UsageError(f"{folder}: is in use", folder)


def _is_free(descriptor: int) -> bool:
    """Lock the file, unless another process has it."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        os.close(descriptor)
        raise
    return True


def _is_still(path: str, descriptor: int) -> bool:
    """Return whether the locked file still has its name: its last owner may just have removed it."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return False
    own = os.fstat(descriptor)
    return (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino)


def in_use_error(shown: str, said: bytes) -> UsageError:
    """Return the error for a folder that another process has locked, with what it wrote about itself."""
    found = parse_owner(said)
    who = owner_text(found) if found else "another process"
    return UsageError(f"{shown}: is in use by {who}; wait for it, or name another --out", shown)


LOCK_FOLDER: Final = "_metashell/locks"
# ---- a folder of a store

RENEWED_EVERY_S: Final = 15.0
LIVES_MS: Final = 120_000
_LOST_AFTER_S: Final = LIVES_MS / 2 / 1000
"""Before others may take it: what is begun after this may meet them."""
_LIST_WAITS_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0)


class _Listed(Protocol):
    shown: str

    def files(self, below: str = "") -> list[StoreFile]: ...


class _Files(_Listed, Protocol):
    def put(self, name: str, data: bytes) -> None: ...
    def read(self, name: str) -> bytes | None: ...
    def has(self, name: str) -> bool: ...
    def remove(self, name: str) -> None: ...


class StoreLock:
    """A lock whose file is written anew by a thread."""

    def __init__(self, files: _Files, purpose: str) -> None:
        self._files = files
        self.name = f"{LOCK_FOLDER}/{uuid4().hex}.json"
        self._text = owner_json(purpose)
        self._ended = Event()
        self._renewed_s = now_s()
        self._lost = ""
        self._thread = Thread(target=self._renew, name="metashell-lock", daemon=True)

    def take(self) -> None:
        """Errors: UsageError where another has it."""
        self._write()
        for other, said in self._others():
            if not is_dead(parse_owner(said)):
                raise in_use_error(self._files.shown, said)
            self._files.remove(other)
        self._thread.start()

    def _others(self) -> Iterator[tuple[str, bytes]]:
        """Yield the locks of others that may be alive: what they wrote about themselves."""
        found = self.listed(self._files, LOCK_FOLDER)
        (now_ms,) = (file.mtime_ms for file in found if file.name == self.name)
        for file in found:
            if file.name == self.name:
                continue
            if now_ms - file.mtime_ms > LIVES_MS:
                self._files.remove(file.name)
            elif (said := self._files.read(file.name)) is not None:
                yield file.name, said

    def listed(self, store: _Listed, folder: str) -> list[StoreFile]:
        """List the folder of locks, or a higher one. A list without our own file is an old one, and may lack others' files too."""
        for seconds in _LIST_WAITS_S:
            found = store.files(folder)
            if any(file.name == self.name for file in found):
                return found
            self._ended.wait(seconds)
        self.require()
        raise MetashellError(f"{self._files.shown}: its list does not show what was just written, so it cannot be locked")

    def _write(self) -> None:
        began_s = now_s()
        self._files.put(self.name, self._text)
        self._renewed_s = began_s

    def _renew(self) -> None:
        while not self._ended.wait(RENEWED_EVERY_S):
            # A request that fails now may work the next time; a lock that is lost for good is not written again.
            with suppress(MetashellError):
                if self._is_lost():
                    return
                self._write()

    def _is_lost(self) -> bool:
        """Return whether another can have it; once true, it stays true. Errors: MetashellError of the store, which says nothing yet."""
        if not self._lost and now_s() - self._renewed_s > _LOST_AFTER_S:
            self._lost = f"was not renewed for {_LOST_AFTER_S:.0f} s"
        if not self._lost and not self._files.has(self.name):
            self._lost = "was removed"
        return bool(self._lost)

    def require(self) -> None:
        if self._is_lost():
            raise MetashellError(f"{self._files.shown}: the lock {self._lost}, so another may have it now")

    def release(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self._files.remove(self.name)


def now_s() -> float:
    """Seconds that go on while the machine sleeps, where the system counts such."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@contextmanager
def store_lock(files: _Files, purpose: str) -> Iterator[StoreLock]:
    """Hold a store's folder for as long as the block runs. Errors: UsageError where another has it."""
    lock = StoreLock(files, purpose)
    try:
        lock.take()
        yield lock
    finally:
        # A lock that cannot be removed ends by itself, and the work is done or has its own error.
        with suppress(MetashellError):
            lock.release()
