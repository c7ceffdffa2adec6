"""Typed lines: which ones are remembered, by the rules of Kafka's line editor, and the file that keeps them."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_FILE_MODE = 0o600
_FOLDER_MODE = 0o700
_LINES_KEPT = 10_000
_HAS_NO_SECRETS = re.compile("topic|group|quota|metrics", re.IGNORECASE)


def remember(history: list[str], line: str) -> None:
    """Add a typed line, stripped; not if it begins with a blank, is empty, repeats the line before, or sets a secret."""
    text = line.strip()
    if text and not line.startswith(" ") and history[-1:] != [text] and not sets_secret(text):
        history.append(text)


def sets_secret(line: str) -> bool:
    """Whether a line may give a value to a key whose values are secret."""
    if not line.startswith("set"):
        return False
    from metashell.codec.config_types import BROKER_RESOURCE, TOPIC_RESOURCE
    from metashell.codec.redaction import is_sensitive_config
    from metashell.shell.words import split_line

    path, *words = [word for word in split_line(line)[1:] if not word.startswith("-")] or [""]
    # A path may be relative to anywhere, and on a broker every key that is not known is a secret.
    resource = TOPIC_RESOURCE if _HAS_NO_SECRETS.search(path) else BROKER_RESOURCE
    keys = [word.partition("=")[0].rstrip("+-") for word in words if "=" in word]
    if len(keys) < len(words):
        keys.append(path.rpartition("/")[2])
    return any(is_sensitive_config(resource, key) for key in keys)


def last_entries(history: Sequence[str], count: int | None) -> Iterator[tuple[int, str]]:
    """The last `count` lines, all for None, each with its number from 0."""
    start = 0 if count is None else max(0, len(history) - max(0, count))
    return ((index, history[index]) for index in range(start, len(history)))


def state_folder(environ: Mapping[str, str]) -> Path:
    """Where a user's state is kept between runs: `metashell` under $XDG_STATE_HOME, by default ~/.local/state."""
    from pathlib import Path

    state = environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
    return folder / "metashell"


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
