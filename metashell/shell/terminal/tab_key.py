"""The Tab key at the prompt: it completes the current line at once.

prompt_toolkit's own Tab does nothing while the menu for the last keys is still being made, so a quick Tab after `ls /image/to` would
leave the line unchanged; and in a menu with one entry the second press undoes the first. Imported only with the prompt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, get_common_complete_suffix
from prompt_toolkit.key_binding import KeyBindings

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.document import Document
    from prompt_toolkit.key_binding import KeyPressEvent


def tab_bindings(completer: Completer, candidates_max: int, expand: Callable[[str], Completion | None] | None = None) -> KeyBindings:
    """Bindings of Tab: insert the only candidate, or the common prefix of all, else step through the menu.

    Shape: candidates that begin with what is typed go before those that do not. With `candidates_max` or more of them not all are known,
    so no common prefix is inserted. `expand` gives what a pattern before the cursor stands for, which takes its place.
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
    """Insert what is certain; False if there was nothing."""
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
    """Whether a candidate begins with what is typed, and goes on."""
    return document.text_before_cursor.endswith(candidate.text[: -candidate.start_position])


def _open_menu(buffer: Buffer) -> None:
    if buffer.complete_state is not None:
        buffer.complete_next()
    else:
        buffer.start_completion(select_first=False)
