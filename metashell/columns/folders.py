"""Where answers are written."""

from __future__ import annotations

import os
from contextlib import suppress
from errno import ENOTDIR


def require_folder(path: str) -> bool:
    """Whether there is a directory of that name already. Errors: NotADirectoryError for anything else that has the name."""
    if not os.path.lexists(path):
        return False
    if not os.path.isdir(path):
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), path)
    return True


def forget_work(work: str, *, had_folder: bool) -> None:
    """Remove a folder of work, and the one that it lies in if this run made it and nothing else is there."""
    from shutil import rmtree

    rmtree(work, ignore_errors=True)
    if not had_folder:
        with suppress(OSError):
            os.rmdir(os.path.dirname(work))
