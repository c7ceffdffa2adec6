"""Where a step writes to when that is not the screen: a file, or a command of the system.

Children stay in our own process group: Ctrl-C and Ctrl-Z reach them and us alike, and whoever started us continues all of us. On every way
out our end of a pipe is closed first, then the child is waited for, then the terminal gets back the modes that it had.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from metashell.errors import MetashellError
from metashell.forms import Display

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from subprocess import Popen
    from types import FrameType

    from metashell.shell.context import Context
    from metashell.shell.lines.grammar import Redirect

_CHUNK: Final = 1 << 16
_STATUS_OF_SIGNALS: Final = 128


class ReaderGone(BrokenPipeError):
    """Whoever read the answer has seen enough."""


class Sink:
    """Text to a descriptor, in chunks. Errors: ReaderGone; MetashellError that begins with `name`, once: what follows is dropped."""

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
        """Close the descriptor; what was not flushed is lost."""
        self._parts.clear()
        os.close(self._descriptor)


@contextmanager
def to_file(ctx: Context, redirect: Redirect, also_read: Sequence[str]) -> Iterator[None]:
    """Inside, the answer goes to a file, as it would if the system's shell had opened it. Errors: MetashellError."""
    if ctx.open_output is None:
        raise MetashellError(f"{redirect.path}: files cannot be written here")
    sink = Sink(ctx.open_output(redirect.path, redirect.append, also_read), redirect.path)
    try:
        with ctx.writing_to(Display(sink)):
            try:
                yield
            finally:
                # What was found before it was stopped is kept.
                sink.flush()
    finally:
        sink.close()


@contextmanager
def to_command(ctx: Context, text: str) -> Iterator[None]:
    """Inside, the answer goes to a command of the system; its status becomes the status. Errors: KeyboardInterrupt if Ctrl-C ended it."""
    ctx.out.flush()
    with terminal_kept():
        child = start_shell(text)
        assert child.stdin is not None
        sink = Sink(os.dup(child.stdin.fileno()), "the pipe")
        child.stdin.close()
        # What the command writes may be the screen, so names are made safe for it; nothing is known of its width.
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
    """The exit status of a child, as a shell reports it. Until it ends, Ctrl-C goes to the child alone."""
    with _interrupts_ignored():
        status = child.wait()
    return _STATUS_OF_SIGNALS - status if status < 0 else status


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    def ignore(number: int, frame: FrameType | None) -> None: ...

    try:
        # A function, and not SIG_IGN: a child that is started now would inherit that.
        before = signal.signal(signal.SIGINT, ignore)
    except ValueError:  # not in the main thread, which alone gets it
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def terminal_kept() -> Iterator[None]:
    """Afterwards the terminal has the modes of before, whatever a child that was killed has left."""
    import termios

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
