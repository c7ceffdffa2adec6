"""`!!`, `!12`, `!-2` and `!prefix` at the start of a line: earlier lines again, as bash has them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from metashell.shell.lines.grammar import LineError

if TYPE_CHECKING:
    from collections.abc import Sequence

_EVENT = re.compile(r"!(?:(!)|(-?)([0-9]+)|([^\s!;&|<>=(]+))")


def recalled(line: str, history: Sequence[str]) -> str:
    """The line with what its first word stands for; a ! anywhere else is only a !. Errors: LineError if there was no such line.

    Shape: numbers are those of `history`, from 0; `!-2` is the line before the last one.
    """
    start = len(line) - len(line.lstrip())
    found = _EVENT.match(line, start)
    if found is None:
        return line
    last, minus, number, prefix = found.groups()
    if last:
        event = history[-1] if history else None
    elif number:
        index = len(history) - int(number[:9]) if minus else int(number[:9])
        event = history[index] if 0 <= index < len(history) else None
    else:
        event = next((earlier for earlier in reversed(history) if earlier.startswith(prefix)), None)
    if event is None:
        raise LineError(f"{found[0]}: no such line in the history", line, start)
    return line[:start] + event + line[found.end() :]
