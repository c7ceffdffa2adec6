"""The destinations of a step's answer other than the screen: a file, a command of the system, or the pager.

Child processes stay in our process group, so Ctrl-C and Ctrl-Z reach them and us alike, and the process that started us can continue all
of us. On every way out our end of a pipe is closed first, then the child is waited for, then the terminal gets back its earlier modes.

At a prompt an answer longer than the screen goes to `$PAGER`. The answer is held until it is one line longer than the screen, then the
pager starts and gets the rest as it comes. A shorter answer never reaches the pager. Messages wait until the pager has ended. If the
user quits the pager, the command ends silently; if the pager dies, there is one note. If it cannot be run, the answer goes to the
screen, with one note."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import termios
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from metashell.common.errors import MetashellError
from metashell.common.forms import Display, text_width
from metashell.common.terminal import end_progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from subprocess import Popen
    from types import FrameType

    from metashell.shell.context import Context
    from metashell.shell.grammar import Redirect


_CHUNK: Final = 1 << 16
_STATUS_OF_SIGNALS: Final = 128


class ReaderGone(BrokenPipeError):
    """The reader of the answer has closed the pipe."""


class Sink:
    """Text to a descriptor, in chunks.

    Errors: ReaderGone; MetashellError that begins with `name`, only once, after which all text is dropped.
    """

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor = descriptor
        self._name = name
        self._parts: list[str] = []
        self._size = 0
        self._is_broken = False

    def write(self, text: str) -> None:
        self._parts.append(text)
        self._size += len(text)
        if self._size >= _CHUNK:
            self.flush()

    def flush(self) -> None:
        data = memoryview("".join(self._parts).encode("utf-8", "surrogateescape"))
        self._parts.clear()
        self._size = 0
        try:
            while data and not self._is_broken:
                data = data[os.write(self._descriptor, data) :]
        except BrokenPipeError:
            self._is_broken = True
            raise ReaderGone from None
        except OSError as error:
            self._is_broken = True
            raise MetashellError(f"{self._name}: {error.strerror}") from None

    def close(self) -> None:
        """Close the descriptor; text that was not flushed is lost."""
        self._parts.clear()
        os.close(self._descriptor)


@contextmanager
def to_file(ctx: Context, redirect: Redirect, also_read: Sequence[str]) -> Iterator[None]:
    """Send the answer to a file inside the block, as if the system's shell had opened it. Errors: MetashellError."""
    if ctx.open_output is None:
        raise MetashellError(f"{redirect.path}: files cannot be written here")
    sink = Sink(ctx.open_output(redirect.path, redirect.append, also_read), redirect.path)
    try:
        with ctx.writing_to(Display(sink)):
            try:
                yield
            finally:
                # Keep what was found before the interrupt.
                sink.flush()
    finally:
        sink.close()


@contextmanager
def to_command(ctx: Context, text: str) -> Iterator[None]:
    """Send the answer to a command of the system inside the block, and take its status. Errors: KeyboardInterrupt if Ctrl-C ended it."""
    ctx.out.flush()
    with terminal_kept():
        child = start_shell(text)
        assert child.stdin is not None
        sink = Sink(os.dup(child.stdin.fileno()), "the pipe")
        child.stdin.close()
        # The command may write to the screen, so names are made safe for it; the width is unknown.
        display = Display(sink, is_terminal=ctx.display.is_terminal)
        was_interrupted = True
        try:
            with suppress(ReaderGone), ctx.writing_to(display):
                yield
                sink.flush()
            was_interrupted = False
        finally:
            sink.close()
            status = wait_for(child)
        if status == _STATUS_OF_SIGNALS + signal.SIGINT and not was_interrupted:
            raise KeyboardInterrupt
    ctx.status = status


def start_shell(text: str, environ: dict[str, str] | None = None) -> Popen[bytes]:
    """Start a command of the system that reads from a pipe. Errors: MetashellError."""
    from subprocess import PIPE, Popen

    sys.stdout.flush()
    try:
        return Popen(["/bin/sh", "-c", text], stdin=PIPE, restore_signals=True, env=environ)
    except OSError as error:
        raise MetashellError(f"/bin/sh: {error.strerror}") from None


def wait_for(child: Popen[bytes]) -> int:
    """Wait for a child and return its exit status as a shell reports it. Meanwhile Ctrl-C only ends the child."""
    with _interrupts_ignored():
        status = child.wait()
    return _STATUS_OF_SIGNALS - status if status < 0 else status


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    def ignore(number: int, frame: FrameType | None) -> None: ...

    try:
        # A function and not SIG_IGN, which a child that is started now would inherit.
        before = signal.signal(signal.SIGINT, ignore)
    except ValueError:  # only the main thread gets the signal
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def terminal_kept() -> Iterator[None]:
    """Restore the modes of the terminal after the block, even if a killed child changed them."""
    try:
        descriptor = sys.stdin.fileno()
        modes = termios.tcgetattr(descriptor)
    except (OSError, ValueError, termios.error):
        yield
        return
    try:
        yield
    finally:
        with suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, modes)


if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from subprocess import Popen
    from typing import TextIO

    from metashell.common.forms import TextSink

    Streams = tuple[Display, TextIO]

LESS_OPTIONS: Final = "FRX"
_CANNOT_RUN: Final = (126, 127)
_NO_FAILURE: Final = (0, 130, 141)
"""Exit statuses that are no failure: the user left, Ctrl-C, or a broken pipe of its own."""
_COLORS: Final = re.compile(r"\x1b\[[0-9;]*m")
_KNOWS_COLORS: Final = frozenset(("less", "most"))
_READ_FOR_SURE: Final = 1 << 17
"""More than a pipe holds: after this much, the pager has read some of it."""


def pager_command(chosen: str | None) -> str:
    """Return the command line of the pager: the chosen one, else $PAGER, else `less -FRX` if installed; empty for none."""
    command = os.environ.get("PAGER") if chosen is None else chosen
    if command is None:
        command = f"less -{LESS_OPTIONS}" if shutil.which("less") else ""
    return "" if command.strip() in ("", "cat") else command


@contextmanager
def paged(display: Display, err: TextIO, command: str, note: Callable[[str, bool], object]) -> Iterator[Streams]:
    """Yield two streams whose text goes to the screen, or to the pager if it is too long for the screen.

    Shape: `note` is called after the screen is free again if the pager failed, with whether it could be run at all.
    """
    pages = _Pages(display.out, err, command)
    shown = Display(pages, is_terminal=display.is_terminal, width=display.width, color=display.color)
    shown.palette = display.palette
    with terminal_kept():
        try:
            yield shown, _Deferred(pages)  # type: ignore[misc]
        except ReaderGone:
            pages.close()
        except BaseException:
            pages.close(is_whole=False)
            raise
        else:
            pages.close()
    if pages.could_not_run:
        note(f"{command}: cannot be run; answers go to the screen", False)
    elif pages.status not in _NO_FAILURE:
        note(f"{command}: the pager ended with status {pages.status}", True)


class _Pages:
    """An answer on its way to the screen or to the pager."""

    def __init__(self, screen: TextSink, err: TextIO, command: str) -> None:
        self._screen = screen
        self._err = err
        self._command = command
        self._columns, self._room = _size()
        self._held: list[tuple[bool, str]] = []
        """The text so far, each part with whether it is a report."""
        self._sink: Sink | None = None
        self._child: Popen[bytes] | None = None
        self._takes_colors = any(os.path.basename(word) in _KNOWS_COLORS for word in command.split())
        self._written: list[str] = []
        """The text that the pager has received, while it is not certain that it has read any."""
        self._written_size = 0
        self._is_plain = False
        self.could_not_run = False
        self.status = 0

    def write(self, text: str) -> None:
        if self._sink is not None:
            self._hand_over(text)
        elif self._is_plain:
            self._screen.write(text)
        else:
            self._held.append((False, text))
            self._room -= self._rows(text)
            if self._room < 0:
                self._start()

    def report(self, text: str) -> None:
        """Take a line for standard error, shown in its turn on the screen, or after the pager has ended."""
        if self._is_plain:
            self._screen.flush()
            self._err.write(text)
        else:
            self._held.append((True, text))

    def flush(self) -> None:
        """Keep the held text, since it may still go to the pager."""
        if self._sink is not None:
            self._flush_pager()
        elif self._is_plain:
            self._screen.flush()

    def close(self, *, is_whole: bool = True) -> None:
        """Show the held text, or wait until the pager has ended. An interrupted answer is not completed."""
        try:
            # A pager reads as its user scrolls, so this may wait for the user.
            if self._sink is not None and is_whole:
                self._flush_pager()
        except ReaderGone:
            pass
        finally:
            if self._sink is not None:
                self._end_pager()
        for is_report, text in self._held:
            if is_report:
                self._screen.flush()
            (self._err if is_report else self._screen).write(text)
        self._held.clear()
        self._screen.flush()

    def _rows(self, text: str) -> int:
        rows = text.count("\n")
        if len(text) > self._columns:
            widths = (text_width(_COLORS.sub("", line)) for line in text.split("\n"))
            rows += sum((width - 1) // self._columns for width in widths if width)
        return rows

    def _start(self) -> None:
        end_progress()
        environ = dict(os.environ)
        environ.setdefault("LESS", LESS_OPTIONS)
        self._screen.flush()
        try:
            self._child = start_shell(self._command, environ)
        except MetashellError:
            self._go_plain()
            return
        assert self._child.stdin is not None
        self._sink = Sink(os.dup(self._child.stdin.fileno()), "the pager")
        self._child.stdin.close()
        answer = [text for is_report, text in self._held if not is_report]
        self._held = [(True, text) for is_report, text in self._held if is_report]
        self._hand_over("".join(answer))
        self._flush_pager()

    def _hand_over(self, text: str) -> None:
        assert self._sink is not None
        if self._written_size <= _READ_FOR_SURE:
            self._written.append(text)
            self._written_size += len(text)
        else:
            self._written.clear()
        try:
            self._sink.write(text if self._takes_colors else _COLORS.sub("", text))
        except ReaderGone:
            self._reader_gone()

    def _flush_pager(self) -> None:
        assert self._sink is not None
        try:
            self._sink.flush()
        except ReaderGone:
            self._reader_gone()

    def _reader_gone(self) -> None:
        """Raise ReaderGone, unless the pager never read anything: then the screen takes over."""
        self._end_pager()
        if not self.could_not_run:
            raise ReaderGone

    def _end_pager(self) -> None:
        assert self._sink is not None and self._child is not None
        sink, child = self._sink, self._child
        self._sink = self._child = None
        sink.close()
        self.status = wait_for(child)
        if self.status in _CANNOT_RUN and self._written:
            self._go_plain()

    def _go_plain(self) -> None:
        self.could_not_run = self._is_plain = True
        for text in self._written:
            self._screen.write(text)
        self._written.clear()


class _Deferred:
    """Standard error while the pager may use the screen."""

    def __init__(self, pages: _Pages) -> None:
        self._pages = pages

    def write(self, text: str) -> int:
        self._pages.report(text)
        return len(text)

    def flush(self) -> None: ...


def _size() -> tuple[int, int]:
    """Return the columns of the screen, and how many lines fit above the next prompt."""
    size = shutil.get_terminal_size((80, 24))
    return max(size.columns, 1), max(size.lines - 1, 1)
