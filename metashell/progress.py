"""One line on the terminal that says how far something is that takes long and tells nothing by itself.

    with shown_while("opening big.checkpoint"):            opening big.checkpoint: 12 s
    with shown_while(lambda seconds: ...):                 whatever it gives
    tell("40 of 100 files")                                from inside: what the line says from now on

Shape: it appears on standard error after a second, changes once a second, and is gone at the end. It is drawn only where standard error is
a terminal that can take a line back and whose foreground is ours, and never beside other output: `stepping_aside` makes a stream take the
line off before it writes. In a pipe the answer may go to a pager, which has the terminal for itself: what is written there ends the line.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Lock
    from typing import Any, TextIO

    Text = str | Callable[[float], str]

EVERY_S = 1.0
CLEAR_LINE = "\r\x1b[K"
"""The bytes that erase a line of progress from the terminal."""
_WIDTH = 80


class _Line:
    """The line of the outermost block; `texts` are those of all blocks, of which the innermost is shown."""

    def __init__(self, lock: Lock, out: TextIO) -> None:
        self._out = out
        self.texts: list[tuple[Text, float]] = []
        self.has_ended = False
        """Whether nothing more may be drawn: something else is on the terminal, or the line below the cursor is not ours."""
        self.was_written = False
        """Whether something else was written since the last look: what tells for itself needs no line."""
        self._is_shown = False
        self._lock = lock

    def draw(self, now: float) -> None:
        with self._lock:
            was_written, self.was_written = self.was_written, False
            if not self.texts or self.has_ended or was_written or not _is_foreground(self._out):
                return
            from metashell.escape import terminal_line

            text, began = self.texts[-1]
            room = _width(self._out) - 1
            if isinstance(text, str):
                seconds = f": {now - began:.0f} s"
                shown = _fitted(terminal_line(text), room - len(seconds)) + seconds
            else:
                shown = terminal_line(text(now - began))
            with suppress(OSError):
                self._out.write(f"{CLEAR_LINE}{shown[:room]}")
                self._out.flush()
                self._is_shown = True

    def clear(self) -> None:
        with self._lock:
            if self._is_shown:
                self._is_shown = False
                with suppress(OSError):
                    self._out.write(CLEAR_LINE)
                    self._out.flush()


_line: _Line | None = None


@contextmanager
def shown_while(text: Text, every_s: float | None = None) -> Iterator[None]:
    """Around work that takes long: each second the text, in one line that is gone at the end.

    Shape: a text is followed by the seconds so far; a function gets them, and is asked in a thread of its own. Of blocks within
    blocks the innermost is shown.
    """
    global _line
    import time

    if _line is not None:
        texts = _line.texts
        depth = len(texts)
        texts.append((text, time.monotonic()))
        try:
            yield
        finally:
            del texts[depth:]
        return
    if not may_show():
        yield
        return
    import threading

    line = _line = _Line(threading.Lock(), sys.stderr)
    line.texts.append((text, time.monotonic()))
    is_over = threading.Event()

    def show() -> None:
        while not is_over.wait(EVERY_S if every_s is None else every_s):
            line.draw(time.monotonic())

    thread = threading.Thread(target=show, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        _line = None
        is_over.set()
        thread.join()
        line.clear()


def tell(text: Text) -> None:
    """Say this in the line of the block that runs, if there is one."""
    if _line is not None and _line.texts:
        _line.texts[-1] = (text, _line.texts[-1][1])


def clear() -> None:
    """Take the line off before something else is written to the terminal; it may come back below."""
    if _line is not None:
        _line.was_written = True
        _line.clear()


def end() -> None:
    """Take the line off for good, as far as the block that runs is concerned: what follows waits for others, or has the terminal."""
    if _line is not None:
        _line.has_ended = True
        _line.clear()


def may_show() -> bool:
    """Whether a line of progress can be shown at all: standard error is a terminal, and can take a line back."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _fitted(text: str, room: int) -> str:
    """The text, its middle cut out where there is no room: paths differ at their ends."""
    if len(text) <= room:
        return text
    head = max(room // 3, 1)
    return f"{text[:head]}…{text[len(text) - max(room - head - 1, 0) :]}"


def _is_foreground(out: TextIO) -> bool:
    """Whether what we write does not fall into another job's lines."""
    try:
        return os.tcgetpgrp(out.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return True  # a stream of a test, or a terminal that is not ours to ask


def _width(out: TextIO) -> int:
    try:
        return os.get_terminal_size(out.fileno()).columns or _WIDTH
    except (OSError, ValueError):
        return _WIDTH


# ---- other output --------------------------------------------------------------------------------------------------------


def stepping_aside(out: TextIO) -> TextIO:
    """The stream for all that is written: where a line of progress could be in its way, one that takes the line off first."""
    if not may_show():
        return out
    if out.isatty():
        return _Beside(out, is_terminal=True)  # type: ignore[return-value]
    return _Beside(out, is_terminal=False) if _is_pipe(out) else out  # type: ignore[return-value]


def _is_pipe(out: TextIO) -> bool:
    from stat import S_ISFIFO

    try:
        return S_ISFIFO(os.fstat(out.fileno()).st_mode)
    except (OSError, ValueError):
        return False


class _Beside:
    """A stream beside a line of progress. On a terminal the line may come back once a whole line was written."""

    def __init__(self, out: TextIO, *, is_terminal: bool) -> None:
        self._out = out
        self._is_terminal = is_terminal

    def write(self, text: str) -> int:
        line = _line
        if line is not None:
            line.has_ended = not (self._is_terminal and text.endswith("\n"))
            line.was_written = True
            line.clear()
        return self._out.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)
