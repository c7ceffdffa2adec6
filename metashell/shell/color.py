"""The colours of names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.escape import terminal_line

if TYPE_CHECKING:
    from metashell.shell.context import Context

_DIRECTORY = "\x1b[1;34m"
_PLAIN = "\x1b[0m"


def colored_name(ctx: Context, name: str, is_directory: bool) -> str:
    """A name as a listing shows it: safe for a terminal, directories in blue."""
    shown = terminal_line(name) if ctx.terminal else name
    return f"{_DIRECTORY}{shown}{_PLAIN}" if ctx.color and is_directory else shown
