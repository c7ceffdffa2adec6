"""Whether a terminal has room for a line at the bottom, and how it is drawn. Imported only for a prompt."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from prompt_toolkit.styles import Style

from metashell.escape import terminal_line
from metashell.shell.terminal.toolbar import GAP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metashell.forms import Display
    from metashell.shell.terminal.toolbar import Part

COLUMNS_MIN: Final = 40
ROWS_MIN: Final = 8
"""A smaller terminal has no room for the line: there the prompt says all."""
STYLE: Final = Style([("bottom-toolbar", "noreverse"), ("auto-suggestion", "fg:ansibrightblack")])


def has_room(columns: int, rows: int, display: Display) -> bool:
    """Whether the line leaves enough of the terminal, and the terminal can draw one."""
    return display.is_terminal and columns >= COLUMNS_MIN and rows >= ROWS_MIN and os.environ.get("TERM") != "dumb"


def drawn(display: Display, parts: Iterable[Part], gap: str = GAP) -> str:
    """The pieces as one line, with their colours."""
    return gap.join(display.paint(role, terminal_line(text)) for role, text in parts)
