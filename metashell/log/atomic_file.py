"""A small file that is replaced as a whole: at any moment the old one or the new one is there."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from metashell.log.disk import Disk

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
