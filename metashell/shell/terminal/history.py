"""The file that keeps typed lines between runs."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from metashell.settings import state_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_FILE_MODE = 0o600
_FOLDER_MODE = 0o700
_LINES_KEPT = 10_000


def history_path(environ: Mapping[str, str]) -> Path:
    """The history file."""
    return state_folder(environ) / "history"


def load_history(path: Path) -> list[str]:
    """The lines of the history file, oldest first; none if it cannot be read."""
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace").splitlines()[-_LINES_KEPT:]
    return []


def append_history(path: Path, line: str) -> None:
    """Add a line to the history file, which only its owner may read; a failed write is ignored."""
    with suppress(OSError):
        path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _FILE_MODE)
        try:
            # An older version may have created the file with another mode.
            os.fchmod(descriptor, _FILE_MODE)
            os.write(descriptor, (line.replace("\n", " ") + "\n").encode("utf-8", "replace"))
        finally:
            os.close(descriptor)
