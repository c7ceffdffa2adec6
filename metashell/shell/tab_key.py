"""What Tab does at the prompt: it completes at once what the line holds now.

prompt_toolkit's own Tab does nothing while the menu for the keys just typed is still being made, so that `ls /image/to` and a quick Tab
would leave the line as it is; and on a menu with one entry it takes that back at the second press. Imported with the prompt only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, get_common_complete_suffix
from prompt_toolkit.key_binding import KeyBindings

if TYPE_CHECKING:
    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.key_binding import KeyPressEvent


def tab_bindings(completer: Completer, candidates_max: int) -> KeyBindings:
    """Bindings of Tab: insert the only candidate, or what all have in common, else go through the menu.

    Shape: where there are `candidates_max` or more, not all are known, and nothing is said about what they have in common.
    """
    bindings = KeyBindings()

    @bindings.add("tab")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        chosen = buffer.complete_state is not None and buffer.complete_state.complete_index is not None
        if chosen:
            buffer.complete_next()
        elif not _insert(buffer, completer, candidates_max):
            _open_menu(buffer)

    return bindings


def _insert(buffer: Buffer, completer: Completer, candidates_max: int) -> bool:
    """Whether there was something to insert."""
    document = buffer.document
    candidates = list(completer.get_completions(document, CompleteEvent(completion_requested=True)))
    if not candidates or len(candidates) >= candidates_max:
        return False
    if len(candidates) == 1:
        before = buffer.text
        buffer.apply_completion(candidates[0])
        return buffer.text != before
    common = get_common_complete_suffix(document, candidates)
    buffer.insert_text(common)
    return bool(common)


def _open_menu(buffer: Buffer) -> None:
    if buffer.complete_state is not None:
        buffer.complete_next()
    else:
        buffer.start_completion(select_first=False)
