"""Parts that the prompts of the shell and of SQL share: keys, history, suggestions, Tab, and the status line at the bottom.

Imported only for a prompt, since prompt_toolkit takes 80 ms.

- Ctrl-R opens a menu of earlier lines. Typing narrows it, Enter takes a line without running it, Escape or Ctrl-G restores the line.
- While a line is typed, the newest earlier line that begins with it is shown dimmed; the right arrow or Ctrl-E takes it.
- Keys are those of emacs, or of vi if the settings say so. Ctrl-Z suspends.
- Tab completes at once. prompt_toolkit's own Tab does nothing while the menu for the last keys is still being made, so a quick Tab after
  `ls /image/to` would leave the line unchanged. In a menu with one entry the second press would undo the first.
- The status line shows the source, how far it is committed, its faults and its lag. It is drawn at every key, so it uses only what is
  already known: it reads no file, judges no partition and waits for nothing.
- Typed lines are kept between runs in a file that only its owner can read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggest, Suggestion
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, get_common_complete_suffix
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, merge_key_bindings
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.styles import Style

from metashell.codec.releases import NEWEST_RELEASE
from metashell.common.forms import counted, text_width
from metashell.common.settings import VI, state_folder
from metashell.common.terminal import BAD, DIM, HEADING, UNUSUAL, terminal_line
from metashell.metadata.image.image import is_newer
from metashell.shell.grammar import remember_line
from metashell.shell.words import matching

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.document import Document
    from prompt_toolkit.key_binding import KeyBindingsBase, KeyPressEvent

    from metashell.common.forms import Display
    from metashell.common.settings import Settings


_LINES_SHOWN = 200
SEARCHING = "(history) "
"""The text before the prompt during a search of earlier lines."""


class HistorySearch(Completer):
    """A completer that offers earlier lines during a search, and otherwise the candidates of another completer.

    Shape: `lines` returns the earlier lines, oldest first; they are kept newest first during a search.
    """

    def __init__(self, usual: Completer, lines: Callable[[], Sequence[str]]) -> None:
        self._usual = usual
        self._lines = lines
        self._newest: list[str] = []
        self._typed_before = ""
        self.is_on = False

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        if not self.is_on:
            yield from self._usual.get_completions(document, complete_event)
            return
        for line in matching(document.text, self._newest, _LINES_SHOWN):
            yield Completion(line, start_position=-len(document.text_before_cursor), display=terminal_line(line))

    def begin(self, buffer: Buffer) -> None:
        """Start a search: offer all earlier lines that match the typed text, newest first."""
        self._newest = list(dict.fromkeys(reversed(self._lines())))
        self._typed_before = buffer.text
        self.is_on = True
        buffer.cursor_position = len(buffer.text)
        buffer.start_completion(select_first=False)

    def take(self, buffer: Buffer) -> None:
        """End the search with the chosen line, else with the first match; without a match the text stays as typed."""
        self.is_on = False
        state = buffer.complete_state
        if state is None or state.complete_index is None:
            # The menu for the last key may not be complete yet.
            found = matching(buffer.text, self._newest, 1)
            buffer.text = found[0] if found else buffer.text
        buffer.complete_state = None
        buffer.cursor_position = len(buffer.text)

    def leave(self, buffer: Buffer) -> None:
        """End the search and restore the line from before it."""
        self.is_on = False
        buffer.complete_state = None
        buffer.text = self._typed_before
        buffer.cursor_position = len(buffer.text)


def search_bindings(search: HistorySearch) -> KeyBindings:
    """Return the bindings of Ctrl-R and of the keys that differ during a search."""
    bindings = KeyBindings()
    is_on = Condition(lambda: search.is_on)

    @bindings.add("c-r")
    def _(event: KeyPressEvent) -> None:
        if search.is_on:
            event.current_buffer.complete_next()
        else:
            search.begin(event.current_buffer)

    @bindings.add("enter", filter=is_on, eager=True)
    def _(event: KeyPressEvent) -> None:
        search.take(event.current_buffer)

    @bindings.add("escape", filter=is_on, eager=True)
    @bindings.add("c-g", filter=is_on)
    @bindings.add("c-c", filter=is_on)
    def _(event: KeyPressEvent) -> None:
        search.leave(event.current_buffer)

    return bindings


class Suggestions(AutoSuggest):
    """The rest of the newest earlier line that begins with the typed text; `is_safe` returns whether a line may be offered."""

    def __init__(self, lines: Callable[[], Sequence[str]], is_safe: Callable[[str], bool] = lambda line: True) -> None:
        self._lines = lines
        self._is_safe = is_safe

    def get_suggestion(self, buffer: Buffer, document: Document) -> Suggestion | None:
        text = document.text
        if not text.strip() or "\n" in text:
            return None
        for line in reversed(self._lines()):
            if line.startswith(text) and line != text and self._is_safe(line):
                return Suggestion(line[len(text) :])
        return None


def session_keys(
    settings: Settings,
    usual: Completer,
    candidates_max: int,
    lines: Callable[[], Sequence[str]],
    *,
    expand: Callable[[str], Completion | None] | None = None,
    more: KeyBindingsBase | None = None,
    is_safe: Callable[[str], bool] = lambda line: True,
) -> tuple[HistorySearch, dict[str, Any]]:
    """Return the search, and the arguments of `PromptSession` for keys, completion and suggestions."""
    search = HistorySearch(usual, lines)
    own = [tab_bindings(search, candidates_max, expand), *([] if more is None else [more]), search_bindings(search)]
    return search, {
        "completer": search,
        "complete_while_typing": True,
        "auto_suggest": Suggestions(lines, is_safe),
        "key_bindings": merge_key_bindings(own),
        "editing_mode": EditingMode.VI if settings.editing_mode == VI else EditingMode.EMACS,
        "enable_suspend": True,
    }


def key_mode() -> str:
    """Return the mode of vi's keys, such as `vi insert`; empty for those of emacs, which have no modes."""
    app = get_app()
    if app.editing_mode != EditingMode.VI:
        return ""
    return f"vi {'insert' if app.vi_state.input_mode == InputMode.INSERT else 'normal'}"


def tab_bindings(completer: Completer, candidates_max: int, expand: Callable[[str], Completion | None] | None = None) -> KeyBindings:
    """Return the bindings of Tab: insert the only candidate or the common prefix of all, else step through the menu.

    Shape: candidates that begin with the typed text precede the others. If there are `candidates_max` or more, some may be unknown, so
    no common prefix is inserted. `expand` returns the text that replaces a pattern before the cursor.
    """
    bindings = KeyBindings()

    @bindings.add("tab")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        chosen = buffer.complete_state is not None and buffer.complete_state.complete_index is not None
        if chosen:
            buffer.complete_next()
            return
        expanded = None if expand is None else expand(buffer.document.text_before_cursor)
        if expanded is not None:
            buffer.apply_completion(expanded)
        elif not _insert(buffer, completer, candidates_max):
            _open_menu(buffer)

    return bindings


def _insert(buffer: Buffer, completer: Completer, candidates_max: int) -> bool:
    """Insert the text that all candidates share, and return whether there was any."""
    document = buffer.document
    found = list(completer.get_completions(document, CompleteEvent(completion_requested=True)))
    candidates = [each for each in found if _goes_on(each, document)] or found
    if not candidates or len(candidates) >= candidates_max:
        return False
    if len(candidates) == 1:
        before = buffer.text
        buffer.apply_completion(candidates[0])
        return buffer.text != before
    common = get_common_complete_suffix(document, candidates)
    buffer.insert_text(common)
    return bool(common)


def _goes_on(candidate: Completion, document: Document) -> bool:
    """Return whether a candidate begins with the typed text."""
    return document.text_before_cursor.endswith(candidate.text[: -candidate.start_position])


def _open_menu(buffer: Buffer) -> None:
    if buffer.complete_state is not None:
        buffer.complete_next()
    else:
        buffer.start_completion(select_first=False)


if TYPE_CHECKING:
    from metashell.metadata.image import MetadataImage
    from metashell.shell.context import View

    Part = tuple[str, str]
    """The role of a piece of text, and the text, safe for a terminal."""

GAP: Final = "  "
_LABEL_MIN = 8
_CUT = "…"


def toolbar_parts(label: str, image: MetadataImage, view: View | None, at: int | None, width: int, mode: str = "") -> list[Part]:
    """Return the pieces of the status line, which fit in `width` columns; `view` is that of a live source, `mode` that of the keys.

    If there is not enough room, these go first: the mode, the beginning of the label, then the whole label.
    """
    parts = [*certainty_parts(image, at), *lag_parts(view)]
    parts = [(DIM, f"offset {image.provenance.offset}"), *parts]
    if mode and _width(parts) + len(GAP + mode) + _LABEL_MIN + len(GAP) <= width:
        parts.append((DIM, mode))
    return labelled(label, parts, width)


def labelled(label: str, parts: list[Part], width: int) -> list[Part]:
    """Return the pieces after a label. If there is not enough room, only the end of the label is shown, or none of it."""
    room = width - _width(parts) - len(GAP)
    shown = terminal_line(label)
    if text_width(shown) > room:
        shown = f"{_CUT}{shown[1 - room :]}" if room >= _LABEL_MIN else ""
    return _fitting([(HEADING, shown), *parts] if shown else parts, width)


def certainty_parts(image: MetadataImage, at: int | None) -> list[Part]:
    """Return pieces about an earlier moment, how far the image is committed, its faults, and whether a newer release wrote it."""
    provenance = image.provenance
    parts = []
    if at is not None:
        parts.append((UNUSUAL, f"at {at}"))
    elif provenance.certain_to is None:
        parts.append((UNUSUAL, "may not be committed"))
    elif provenance.certain_to < provenance.end_offset:
        parts.append((UNUSUAL, f"committed to {provenance.certain_to}"))
    else:
        parts.append((DIM, "committed"))
    if image.faults:
        parts.append((BAD, counted(len(image.faults), "fault")))
    if is_newer(image):
        parts.append((UNUSUAL, f"newer than Kafka {NEWEST_RELEASE.name}"))
    return parts


def lag_parts(view: View | None) -> list[Part]:
    """Return how far a live source is behind, or why it is not updated."""
    if view is None:
        return []
    if view.trouble:
        return [(BAD, terminal_line(view.trouble))]
    return [(UNUSUAL if view.lag or view.lag is None else DIM, "lag ?" if view.lag is None else f"lag {view.lag}")]


def _fitting(parts: list[Part], width: int) -> list[Part]:
    """Return the pieces that fit, with the last one cut."""
    found: list[Part] = []
    for role, text in parts:
        room = width - _width(found) - (len(GAP) if found else 0)
        if room < 1:
            break
        found.append((role, text if text_width(text) <= room else f"{text[: room - 1]}{_CUT}"))
    return found


def _width(parts: list[Part]) -> int:
    return sum(text_width(text) for _, text in parts) + len(GAP) * max(len(parts) - 1, 0)


COLUMNS_MIN: Final = 40
ROWS_MIN: Final = 8
"""The fewest rows of a terminal with room for the status line; in a smaller one the prompt shows all."""
STYLE: Final = Style([("bottom-toolbar", "noreverse"), ("auto-suggestion", "fg:ansibrightblack")])


def has_room(columns: int, rows: int, display: Display) -> bool:
    """Return whether the terminal has room for the status line and can draw one."""
    return display.is_terminal and columns >= COLUMNS_MIN and rows >= ROWS_MIN and os.environ.get("TERM") != "dumb"


def bar_text(display: Display, parts: Iterable[Part], gap: str = GAP) -> str:
    """Return the pieces as one line, with their colours."""
    return gap.join(display.paint(role, terminal_line(text)) for role, text in parts)


class LineHistory(History):
    """The lines of a history file and those typed since. Only `keep` adds a line, since the typed text may be several lines, or `!!`."""

    def __init__(self, path: Path, lines: Sequence[str], aliases: Mapping[str, str]) -> None:
        super().__init__()
        self._path = path
        self._lines = list(lines)
        self._aliases = aliases

    def load_history_strings(self) -> Iterable[str]:
        """Return the lines, newest first, as prompt_toolkit expects."""
        return reversed(self._lines)

    def append_string(self, string: str) -> None:
        """Ignore an accepted line: `keep` decides which lines are kept, and in which form."""

    def store_string(self, string: str) -> None:
        append_history(self._path, string)

    def keep(self, line: str) -> None:
        """Add a line, unless `remember_line` refuses it."""
        kept = self._lines[-1:]
        before = len(kept)
        remember_line(kept, line, self._aliases)
        if len(kept) > before:
            self._lines.append(kept[-1])
            super().append_string(kept[-1])


class TextHistory(History):
    """Texts of one or more lines, in a file with one text per line: a line break is written as `\\n`, and a backslash is doubled."""

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


_FILE_MODE = 0o600
_FOLDER_MODE = 0o700
_LINES_KEPT = 10_000


def history_path(environ: Mapping[str, str]) -> Path:
    """Return the path of the history file."""
    return state_folder(environ) / "history"


def load_history(path: Path) -> list[str]:
    """Return the lines of the history file, oldest first; none if it cannot be read."""
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
