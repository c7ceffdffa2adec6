"""Files and commands of this machine, for what a line writes to, reads from or pipes into."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Final

from metashell.shell.completing.fuzzy import matching

_SEEN_MAX: Final = 20_000
"""No more entries of a directory are looked at."""
_NEEDS_QUOTING = re.compile(r"[^\w@%+=:,./~-]")
_commands: tuple[str, list[str]] | None = None


def files_at(typed: str, limit: int) -> list[tuple[str, str]]:
    """The paths that a path may become, each with what it is; directories end with a slash."""
    head, slash, word = typed.rpartition("/")
    folder = os.path.expanduser(head + slash) or "."
    found: dict[str, bool] = {}
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if len(found) == _SEEN_MAX:
                break
            if "\n" not in entry.name and (word.startswith(".") or not entry.name.startswith(".")):
                found[entry.name] = _is_directory(entry)
    names = matching(word, sorted(found), limit)
    return [(f"{head}{slash}{name}{'/' if found[name] else ''}", "directory" if found[name] else "file") for name in names]


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def commands_like(word: str, limit: int) -> list[str]:
    """The commands of this machine that begin with a word."""
    global _commands
    path = os.environ.get("PATH", "")
    if _commands is None or _commands[0] != path:
        found: set[str] = set()
        for folder in path.split(":"):
            with suppress(OSError):
                found.update(os.listdir(folder or "."))
        _commands = (path, sorted(found))
    return [name for name in _commands[1] if name.startswith(word)][:limit]


def quoted_for_sh(text: str) -> str:
    """The text as one word of /bin/sh."""
    return _NEEDS_QUOTING.sub(lambda match: "\\" + match[0], text)
