"""The Python process and its operating system: blocks in which the garbage collector rests, how many processors there are, and when bytes are on disk.

Linux and macOS are supported. Windows has neither POSIX locks nor descriptors that a directory can be synced by, so nothing starts there."""

from __future__ import annotations

import gc
import os
import sys
from types import TracebackType


class PausedCollector:
    """A block that makes very many objects and hardly a cycle of them: looking for cycles would take a quarter of its time, or more.

    With `freezes` what was made is out of the collector's sight afterwards, too: for what lives long.
    """

    def __init__(self, *, freezes: bool = False) -> None:
        self._freezes = freezes
        self._was_enabled = False

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._freezes:
            gc.freeze()
        if self._was_enabled:
            gc.enable()


WINDOWS_LINE = "metashell runs on Linux and macOS: on Windows, install and start it inside WSL (https://learn.microsoft.com/windows/wsl)"


def processors() -> int:
    """How many processors this process may use: those of its affinity where the system has that (Linux), else all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def sync_file(fd: int) -> None:
    """Return when a file's bytes are on disk. Errors: OSError as the system gives it.

    On macOS `fsync` only hands the bytes to the drive, which may keep them in its cache and reorder them; F_FULLFSYNC waits for the drive.
    File systems that do not know it (network shares) get `fsync`.
    """
    if sys.platform == "darwin":
        import fcntl

        try:
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        except OSError as error:
            from errno import EINVAL, ENOTSUP, ENOTTY

            if error.errno not in (EINVAL, ENOTSUP, ENOTTY):
                raise
        else:
            return
    os.fsync(fd)


def refuse_windows() -> None:
    """End the process with one line on Windows, before an import that fails there. For the start of commands."""
    if sys.platform == "win32":
        raise SystemExit(WINDOWS_LINE)
