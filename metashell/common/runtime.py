"""The Python process and its operating system: pausing the garbage collector, counting processors, and syncing files to disk.

Linux and macOS are supported. Windows has no POSIX locks and cannot sync a directory, so commands refuse to start there."""

from __future__ import annotations

import gc
import os
import sys
from types import TracebackType


class PausedCollector:
    """Pauses the garbage collector for a block that makes very many objects and few cycles: collecting would take a quarter of its time.

    With `freezes`, the collector ignores the block's objects afterwards too: for objects that live long.
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
    """The number of processors that this process may use: those of its affinity on Linux, all of them elsewhere."""
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
