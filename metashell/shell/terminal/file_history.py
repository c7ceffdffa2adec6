"""What was typed in earlier sessions, for the keys that go back to it. Imported only for a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.history import History

from metashell.shell.remembering import remember
from metashell.shell.terminal.history import append_history, load_history

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path


class LineHistory(History):
    """The lines of a history file, and those typed since. Only `keep` adds one: what was typed may be several lines, or `!!`."""

    def __init__(self, path: Path, lines: Sequence[str], aliases: Mapping[str, str]) -> None:
        super().__init__()
        self._path = path
        self._lines = list(lines)
        self._aliases = aliases

    def load_history_strings(self) -> Iterable[str]:
        """The lines, newest first, as prompt_toolkit wants them."""
        return reversed(self._lines)

    def append_string(self, string: str) -> None:
        """Ignore an accepted line: `keep` decides what is kept, and in which form."""

    def store_string(self, string: str) -> None:
        append_history(self._path, string)

    def keep(self, line: str) -> None:
        """Add a line, unless it is one that is not remembered."""
        kept = self._lines[-1:]
        before = len(kept)
        remember(kept, line, self._aliases)
        if len(kept) > before:
            self._lines.append(kept[-1])
            super().append_string(kept[-1])


class TextHistory(History):
    """Texts that may have several lines, in a file with one on each line: there a line break is `\\n`, and a backslash is doubled."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self.texts = [_read(line) for line in load_history(path)]

    def load_history_strings(self) -> Iterable[str]:
        return reversed(self.texts)

    def store_string(self, string: str) -> None:
        text = string.strip()
        if text and not string.startswith(" ") and self.texts[-1:] != [text]:
            self.texts.append(text)
            append_history(self._path, text.replace("\\", "\\\\").replace("\n", "\\n"))


def _read(line: str) -> str:
    return "\\".join(part.replace("\\n", "\n") for part in line.split("\\\\"))
