"""An expression that is wrong, with the place where: every caret of the shell is made here."""

from __future__ import annotations

from typing import Final

from metashell.errors import UsageError
from metashell.escape import terminal_line
from metashell.forms import text_width

_SHOWN_MAX: Final = 70


class CaretError(UsageError):
    """A text that cannot be read; `excerpt` is the text around the fault, and below it a caret at `index`."""

    def __init__(self, message: str, text: str, index: int) -> None:
        super().__init__(message, text)
        self.index = index
        shift = max(0, index - _SHOWN_MAX // 2) if len(text) > _SHOWN_MAX else 0
        before = terminal_line(text[shift:index])
        self.excerpt = (before + terminal_line(text[index : shift + _SHOWN_MAX]), " " * text_width(before) + "^")
