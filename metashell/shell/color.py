"""When to colour, and the few colours of names and the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from metashell.shell.escape import terminal_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metashell.shell.context import Context

_DIRECTORY = "\x1b[1;34m"
_PLAIN = "\x1b[0m"


def wants_color(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether to colour what goes to a stream: it is a terminal, not a dumb one, and NO_COLOR is not set.

    Source: https://no-color.org, any value but the empty one.
    """
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM", "") not in ("", "dumb")


def colored_name(ctx: Context, name: str, is_directory: bool) -> str:
    """A name as a listing shows it: safe for a terminal, directories in blue."""
    shown = terminal_line(name) if ctx.terminal else name
    return f"{_DIRECTORY}{shown}{_PLAIN}" if ctx.color and is_directory else shown
