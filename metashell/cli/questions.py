"""Questions to a person at a terminal, before a cluster is changed."""

from __future__ import annotations

import sys
from typing import Final

_AGREED: Final = ("y", "yes")


def can_ask() -> bool:
    """Whether there is a terminal on which to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def agreed(question: str, place: str) -> bool:
    """Whether a person says yes to a change of the cluster at this place. No line of progress is drawn over the question."""
    from metashell.escape import terminal_line
    from metashell.progress import end

    end()
    try:
        sys.stderr.write(terminal_line(f"{question} (cluster at {place}) [y/N] "))
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in _AGREED
    except KeyboardInterrupt:
        sys.stderr.write("\nnothing was changed\n")
        raise
