"""A line on a terminal that says how far something is that takes long and tells nothing by itself."""

from __future__ import annotations

import sys
from contextlib import contextmanager

from metashell.cli.common import CLEAR_LINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EVERY_S = 1.0


@contextmanager
def shown_while(text: Callable[[float], str], every_s: float = EVERY_S) -> Iterator[None]:
    """Around work that takes long: each second the text on standard error, in one line that is gone at the end.

    Shape: `text` gets the seconds so far; it is asked in a thread of its own. What is over within a second shows nothing, nor does what is
    no terminal.
    """
    if not sys.stderr.isatty():
        yield
        return
    import threading
    import time

    from metashell.escape import terminal_line

    is_over = threading.Event()
    began = time.monotonic()

    def show() -> None:
        while not is_over.wait(every_s):
            sys.stderr.write(f"{CLEAR_LINE}{terminal_line(text(time.monotonic() - began))[:79]}")
            sys.stderr.flush()

    thread = threading.Thread(target=show, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        if time.monotonic() - began >= every_s:
            sys.stderr.write(CLEAR_LINE)
            sys.stderr.flush()
