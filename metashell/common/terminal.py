"""Text on a terminal: control characters in data are escaped, colours have meanings, and one line shows the progress of long work.

Escaping: a character from data that could move the cursor, recolour, reorder or hide text is shown as an escape.

Colours: `Display.paint(role, text)` is the only way to colour, and `Display.joined` puts coloured and plain parts into one line. A painted
text is already safe for its terminal; a plain one beside it is made safe when they are joined, so that no name can bring its own colours.

Progress:

    with show_progress("opening big.checkpoint"):          opening big.checkpoint: 12 s
    with show_progress(lambda seconds: ...):               the text that the function returns
    update_progress("40 of 100 files")                     from inside: the new text of the line

The line appears on standard error after a second, changes once a second, and is removed at the end. It is drawn only where standard error
is a terminal that can erase a line and we are its foreground process, and never beside other output: `clear_progress_before` makes a
stream remove the line before it writes. Output to a pipe may go to a pager, which owns the terminal: writing there ends the line."""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager, suppress
from functools import cache
from stat import S_ISFIFO
from typing import TYPE_CHECKING, Final

# C0 without tab and line feed, DEL, C1, separators of lines, marks that reorder text or cannot be seen, and lone surrogates.
_UNSEEN = "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
_SURROGATES = "[\ud800-\udfff]"
UNSAFE_CHARACTERS = f"\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff{_UNSEEN}"
"""Characters that must not reach a terminal, as the inside of a character class. Tab and line feed are not among them."""
_UNSAFE = f"[{UNSAFE_CHARACTERS}]"
_ESCAPED = r"\\(?:n|t|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"
_ENDS = {"\\n": "\n", "\\t": "\t"}
_BYTE_FIRST, _BYTE_LAST = 0xDC80, 0xDCFF
"""The surrogates that Python puts in place of the bytes of a name that is not UTF-8."""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Compiled at first use: most commands never need it.
    return re.compile(pattern)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if _BYTE_FIRST <= code <= _BYTE_LAST:
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xD800 <= code < 0xE000:
        # Many readers refuse a lone surrogate as a JSON escape; all of them read it as text.
        return "\\" + _escape(match)
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def terminal_text(text: str) -> str:
    """The text with every character that a terminal might obey or hide as `\\x1b` or `\\u202e`; tabs and line ends stay."""
    return text if text.isascii() and text.isprintable() else _compiled(_UNSAFE).sub(_escape, text)


def terminal_line(text: str) -> str:
    """The same for text on one line: tabs and line ends are escaped too."""
    return terminal_text(text).replace("\n", "\\n").replace("\t", "\\t")


def spreadsheet_text(text: str) -> str:
    """The text on one line, as `terminal_line` shows it, that no spreadsheet takes for a formula.

    A text that begins with `=`, `+`, `-` or `@`, or with the wide form of one, gets an apostrophe before it, unless it is a number: -1
    stays one. A tab or line end at the beginning is escaped. Source: OWASP, CSV Injection.
    """
    text = terminal_line(text)
    return f"'{text}" if text.startswith(_COMPUTED) and not _compiled(_NUMBER).fullmatch(text) else text


_COMPUTED = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_NUMBER = r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?"


def unescape(text: str) -> str:
    """The text that `terminal_line` would show like this one: for a name that a user copied from the output."""
    return text if "\\" not in text else _compiled(_ESCAPED).sub(_unescape, text)


def _unescape(match: re.Match[str]) -> str:
    if match[0] in _ENDS:
        return _ENDS[match[0]]
    code = int(match[0][2:], 16)
    return chr(code) if code < 0x110000 else match[0]


def terminal_json(text: str) -> str:
    """JSON text with those characters as JSON escapes: the value stays the same."""
    return text if text.isascii() and text.isprintable() else _compiled(_UNSAFE).sub(_json_escape, text)


def writable(text: str) -> str:
    """The text with escapes for what UTF-8 cannot encode: the byte E9 of a name that is not UTF-8 becomes `\\xe9`."""
    return text if text.isascii() else _compiled(_SURROGATES).sub(_escape, text)


def writable_json(text: str) -> str:
    """The same for JSON text, which stays JSON."""
    return text if text.isascii() else _compiled(_SURROGATES).sub(_json_escape, text)


if TYPE_CHECKING:
    from collections.abc import Mapping

    Palette = Mapping[str, str]
    """SGR parameters (`1;31`) by role; empty ones leave the text as it is."""

BAD: Final = "bad"
UNUSUAL: Final = "unusual"
GOOD: Final = "good"
DIRECTORY: Final = "directory"
HEADING: Final = "heading"
KEY: Final = "key"
DIM: Final = "dim"
ROLES: Final[dict[str, str]] = {BAD: "31", UNUSUAL: "33", GOOD: "32", DIRECTORY: "1;34", HEADING: "1", KEY: "34", DIM: "2"}
"""Every role with its default colour."""
PLAIN: Final = "\x1b[0m"


class Painted(str):
    """Text with colours, safe for its terminal; `plain` is the text without them, which decides the width."""

    __slots__ = ("plain", "sgr")

    plain: str
    sgr: str

    def __new__(cls, text: str, plain: str, sgr: str = "") -> Painted:
        self = super().__new__(cls, text)
        self.plain = plain
        self.sgr = sgr
        return self


def painted(text: str, sgr: str) -> Painted:
    """The text in a colour."""
    return Painted(f"\x1b[{sgr}m{text}{PLAIN}" if sgr and text else text, text, sgr)


def may_color() -> bool:
    """Whether the environment allows colours: no NO_COLOR, and not a dumb terminal."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


_LIMIT = 200_000
_TOKEN = r'("(?:[^"\\]|\\.)*")(\s*:)?|null'


def colored_json(text: str, palette: Palette = ROLES) -> str:
    """JSON text, safe for its terminal, with colours. A large text stays plain, because colouring it would take long."""
    if len(text) > _LIMIT:
        return text
    key, string, null = (palette.get(role, "") for role in (KEY, GOOD, DIM))

    def colored(match: re.Match[str]) -> str:
        if match[1] is None:
            return painted(match[0], null)
        return f"{painted(match[1], key)}{match[2]}" if match[2] else painted(match[1], string)

    return re.sub(_TOKEN, colored, text)


if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Lock
    from typing import Any, TextIO

    Text = str | Callable[[float], str]

PROGRESS_EVERY_S = 1.0
CLEAR_LINE = "\r\x1b[K"
"""The bytes that erase a line of progress from the terminal."""
_WIDTH = 80


class _Line:
    """The line of the outermost block. `texts` has the texts of all blocks; the line shows the innermost."""

    def __init__(self, lock: Lock, out: TextIO) -> None:
        self._out = out
        self.texts: list[tuple[Text, float]] = []
        self.has_ended = False
        """Whether drawing has ended: other output left the cursor within a line, or another program has the terminal."""
        self.was_written = False
        """Whether other output was written since the last tick: as long as output appears, no line is needed."""
        self._is_shown = False
        self._lock = lock

    def draw(self, now: float) -> None:
        with self._lock:
            was_written, self.was_written = self.was_written, False
            if not self.texts or self.has_ended or was_written or not _is_foreground(self._out):
                return

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
def show_progress(text: Text, every_s: float | None = None) -> Iterator[None]:
    """A block of long work: a line on the terminal shows the text, changes each second, and is removed at the end.

    Shape: the seconds so far follow a text; a function gets them and returns the text, in a thread of its own. Of nested blocks, the
    innermost is shown.
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
    if not may_show_progress():
        yield
        return
    import threading

    line = _line = _Line(threading.Lock(), sys.stderr)
    line.texts.append((text, time.monotonic()))
    is_over = threading.Event()

    def show() -> None:
        while not is_over.wait(PROGRESS_EVERY_S if every_s is None else every_s):
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


def update_progress(text: Text) -> None:
    """Change the text of the current block, if there is one."""
    if _line is not None and _line.texts:
        _line.texts[-1] = (text, _line.texts[-1][1])


def clear_progress() -> None:
    """Remove the line before other output; it may come back below that."""
    if _line is not None:
        _line.was_written = True
        _line.clear()


def end_progress() -> None:
    """Remove the line for the rest of the current block, because it waits for others or uses the terminal itself."""
    if _line is not None:
        _line.has_ended = True
        _line.clear()


def may_show_progress() -> bool:
    """Whether a line of progress can be shown: standard error is a terminal that can erase a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _fitted(text: str, room: int) -> str:
    """The text, with its middle cut out if it is too long: paths differ at their ends."""
    if len(text) <= room:
        return text
    head = max(room // 3, 1)
    return f"{text[:head]}…{text[len(text) - max(room - head - 1, 0) :]}"


def _is_foreground(out: TextIO) -> bool:
    """Whether we are the terminal's foreground job: a background job must not write into another job's lines."""
    try:
        return os.tcgetpgrp(out.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return True  # a test's stream, or a terminal without job control


def _width(out: TextIO) -> int:
    try:
        return os.get_terminal_size(out.fileno()).columns or _WIDTH
    except (OSError, ValueError):
        return _WIDTH


# ---- other output --------------------------------------------------------------------------------------------------------


def clear_progress_before(out: TextIO) -> TextIO:
    """The stream for all output: where a line of progress could be in the way, one that removes the line before it writes."""
    if not may_show_progress():
        return out
    if out.isatty():
        return _Beside(out, is_terminal=True)  # type: ignore[return-value]
    return _Beside(out, is_terminal=False) if _is_pipe(out) else out  # type: ignore[return-value]


def _is_pipe(out: TextIO) -> bool:

    try:
        return S_ISFIFO(os.fstat(out.fileno()).st_mode)
    except (OSError, ValueError):
        return False


class _Beside:
    """A stream that removes the line of progress before it writes. On a terminal, the line may come back after a whole line of output."""

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
