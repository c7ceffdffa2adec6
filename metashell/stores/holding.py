"""Who holds the lock of a folder, as a reader sees it: nothing is written, and nothing is taken for a moment."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from typing import Any

from metashell.errors import PathError
from metashell.stores.holder import is_dead, said_by, told
from metashell.stores.local_lock import is_ours
from metashell.stores.store import LOCK, Store
from metashell.stores.store_lock import FOLDER, LIVES_MS


@dataclass(frozen=True, slots=True)
class Holding:
    """A lock that is held: who says to have it, in words, and for how long it was not renewed by the clock of this machine.

    `silent_ms` is None where a lock needs no renewal: on this machine.
    """

    by: str
    silent_ms: int | None = None


def holding(store: Store) -> Holding | None:
    """Who writes to a folder now, None where nobody does.

    In a store the clock of this machine stands for that of the store, which only a writer can ask. Errors: MetashellError.
    """
    return _local_holding(store.place) if store.is_local else _remote_holding(store)


def _local_holding(folder: str) -> Holding | None:
    if is_ours(folder):
        return Holding("this process")
    path = os.path.join(folder, LOCK)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PathError.of(path, error) from error
    try:
        said = told(os.pread(descriptor, 4096, 0))
        return Holding(said_by(said)) if _is_locked(descriptor, said) else None
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int, said: dict[str, Any]) -> bool:
    """Whether another process has a lock on a file: the system says so on Linux, elsewhere what the file says is believed."""
    if sys.platform != "linux":
        return not is_dead(said)
    import fcntl
    import struct

    shape = "hhqqi"  # struct flock: type, whence, start, length, process
    found = fcntl.fcntl(descriptor, fcntl.F_GETLK, struct.pack(shape, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    return bool(struct.unpack(shape, found)[0] != fcntl.F_UNLCK)


def _remote_holding(store: Store) -> Holding | None:
    now_ms = time.time_ns() // 1_000_000
    for file in sorted(store.files(FOLDER), key=lambda file: -file.mtime_ms):
        silent_ms = max(now_ms - file.mtime_ms, 0)
        if silent_ms > LIVES_MS or (text := store.read(file.name)) is None or is_dead(said := told(text)):
            continue
        return Holding(said_by(said), silent_ms)
    return None
