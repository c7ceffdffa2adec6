"""What all prompts share: their keys, the search through what was typed before, and suggestions from it. Imported only for a prompt.

- Tab completes (`tab_key`). Ctrl-R opens a menu of earlier lines: what is typed then narrows it, Enter takes one onto the line without
  running it, Escape or Ctrl-G gives back what stood there.
- While a line is typed, the newest earlier line that begins with it is shown dimmed; the right arrow or Ctrl-E takes it.
- Keys are those of emacs, or of vi where the settings say so. Ctrl-Z suspends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggest, Suggestion
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, merge_key_bindings
from prompt_toolkit.key_binding.vi_state import InputMode

from metashell.escape import terminal_line
from metashell.settings import VI
from metashell.shell.completing.fuzzy import matching
from metashell.shell.terminal.tab_key import tab_bindings

if TYPE_CHECKING:
    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document
    from prompt_toolkit.key_binding import KeyBindingsBase, KeyPressEvent

    from metashell.settings import Settings

_LINES_SHOWN = 200
SEARCHING = "(history) "
"""The text before the prompt while earlier lines are searched."""


class Search(Completer):
    """A completer that offers earlier lines while they are searched, and else what another one offers.

    Shape: `lines` gives the earlier lines, oldest first; `newest` keeps them the other way round for the length of a search.
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
        """Offer all earlier lines that fit what stands on the line, the newest first."""
        self._newest = list(dict.fromkeys(reversed(self._lines())))
        self._typed_before = buffer.text
        self.is_on = True
        buffer.cursor_position = len(buffer.text)
        buffer.start_completion(select_first=False)

    def take(self, buffer: Buffer) -> None:
        """End the search with the chosen line, or the first where none is chosen; what fits nothing stays as typed."""
        self.is_on = False
        state = buffer.complete_state
        if state is None or state.complete_index is None:
            # The menu may still be in the making for the last key.
            found = matching(buffer.text, self._newest, 1)
            buffer.text = found[0] if found else buffer.text
        buffer.complete_state = None
        buffer.cursor_position = len(buffer.text)

    def leave(self, buffer: Buffer) -> None:
        """End the search with what stood on the line before it."""
        self.is_on = False
        buffer.complete_state = None
        buffer.text = self._typed_before
        buffer.cursor_position = len(buffer.text)


def search_bindings(search: Search) -> KeyBindings:
    """Ctrl-R and the keys that are different during a search."""
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
    """The rest of the newest earlier line that begins with what is typed; `is_safe` says of a line whether it may be offered."""

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
) -> tuple[Search, dict[str, Any]]:
    """The search, and what a `PromptSession` takes for keys, completion and suggestions."""
    search = Search(usual, lines)
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
    """`vi insert` and the like; empty with the keys of emacs, which have no modes."""
    app = get_app()
    if app.editing_mode != EditingMode.VI:
        return ""
    return f"vi {'insert' if app.vi_state.input_mode == InputMode.INSERT else 'normal'}"
