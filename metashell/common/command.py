"""How a command runs: its streams, its errors in one line, and its exit status.

Statuses of our own commands: 0 success, 1 something failed or a fault was found, 2 the command line is wrong. Tools under Kafka's names
end with 1 for any error. If the reader of its output closes the pipe, a command ends quietly with 0; Ctrl-C ends it with 130.

Every start pays for what is imported here, so most imports wait for an error."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import contextmanager
from errno import EBADF
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TextIO

    from metashell.common.errors import LogCorruptError, MetashellError

STATUS_OK = 0
STATUS_FAILED = 1
STATUS_USAGE = 2
STATUS_INTERRUPTED = 130


class TimeUp(KeyboardInterrupt):
    """The time of a `TimeLimit` is over. As Ctrl-C does, it ends what is under way wherever that is."""


class TimeLimit:
    """The seconds that a command may wait for a cluster, over all its calls together.

    A peer can draw out each answer, or send answers that take long to decode, or always one more: only the sum is a limit. Time between
    calls, such as that of a question at the terminal, does not count. A call that does not notice the end of its time by itself is
    interrupted `GRACE_S` later, also in the middle of computing; that needs the main thread.
    """

    GRACE_S = 0.5
    REPEAT_S = 0.5
    """The first interrupt may come where exceptions are lost, such as in a finalizer."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._spent_s = 0.0

    @property
    def left_s(self) -> float:
        """The seconds that are left to the next call."""
        return max(0.0, self.limit_s - self._spent_s)

    def renew(self) -> None:
        """Begin anew: for a command that shows its answer again and again."""
        self._spent_s = 0.0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the time of the block. Errors: TimeUp when it is over, also before the block begins."""
        from time import monotonic

        if self.left_s <= 0:
            raise TimeUp
        began_s = monotonic()
        try:
            with _interrupted_after(self.left_s + self.GRACE_S, self.REPEAT_S):
                yield
        finally:
            self._spent_s += monotonic() - began_s


@contextmanager
def _interrupted_after(limit_s: float, repeat_s: float) -> Iterator[None]:
    """Raise TimeUp in the block after a time. Only the main thread can be interrupted: elsewhere nothing is done."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise TimeUp

    from time import monotonic

    before, began_s = signal.signal(signal.SIGALRM, interrupt), monotonic()
    others_s, others_repeat_s = signal.setitimer(signal.ITIMER_REAL, limit_s, repeat_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if others_s:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, others_s - (monotonic() - began_s)), others_repeat_s)


class Tool:
    """A command of the operating system: called with its words, by default those of the process, it returns its exit status.

    Shape: `run` gets the words; `usage_status` is the status for a wrong command line. With `answers_version` a lone `--version` is
    answered before anything heavy is imported. A command that `tells_interrupts` has a line for Ctrl-C: its output is files, and
    somebody may look for them.
    """

    def __init__(
        self,
        name: str,
        run: Callable[[list[str]], int],
        *,
        usage_status: int = STATUS_USAGE,
        answers_version: bool = True,
        tells_interrupts: bool = False,
    ) -> None:
        self.name = name
        self._run = run
        self._usage_status = usage_status
        self._answers_version = answers_version
        self._tells_interrupts = tells_interrupts

    def __call__(self, argv: Sequence[str] | None = None) -> int:
        """Run the command; its output is flushed, and its error, if any, is one line on stderr."""
        try:
            status = self._flushed(argv)
        except KeyboardInterrupt:  # before the command runs, or while its last output is written
            status = STATUS_INTERRUPTED
        if status == STATUS_INTERRUPTED:
            # An interrupt within `exec` of a text, as of a dataclass, leaves a mark for which CPython ends itself by SIGINT at exit.
            exec("")
        return status

    def _flushed(self, argv: Sequence[str] | None) -> int:
        prepare_streams()
        words = list(sys.argv[1:] if argv is None else argv)
        # What a start imports lives until the end: looking for garbage among it costs 5 ms.
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            status = self._guarded(words)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader has seen enough. Without this the interpreter would complain when it exits.
            drop_output()
            return STATUS_OK
        except OSError as error:
            text = _unnamed_error_text(error)
            drop_output()
            complain(self.name, text)
            return STATUS_FAILED
        finally:
            if was_enabled:
                gc.enable()
        return status

    def _guarded(self, words: list[str]) -> int:
        from metashell.common.errors import MetashellError, PathError, UsageError

        try:
            if self._answers_version and words == ["--version"]:
                return print_version(self.name)
            return self._run(words)
        except KeyboardInterrupt as error:
            if error.args or self._tells_interrupts:
                complain(self.name, str(error) or "interrupted")
            return STATUS_INTERRUPTED
        except MetashellError as error:
            show_error(self.name, error)
            is_usage = isinstance(error, UsageError) and not isinstance(error, PathError)
            return self._usage_status if is_usage else STATUS_FAILED
        except BrokenPipeError:
            raise
        except OSError as error:
            if error.filename is None:
                raise
            complain(self.name, file_error_text(error))
            return STATUS_FAILED
        except MemoryError:
            complain(self.name, "not enough memory")
            return STATUS_FAILED


def show_error(name: str, error: MetashellError) -> None:
    """Write an error to stderr: one line and, where the error has them, the line of a text that is wrong and a caret below it."""
    from metashell.common.terminal import terminal_line

    complain(name, str(error))
    for line in getattr(error, "excerpt", ()):
        sys.stderr.write(f"    {terminal_line(line)}\n")


def file_error_text(error: OSError) -> str:
    """An error of the operating system, beginning with the file at fault where one is."""
    return str(error) if error.filename is None else f"{os.fsdecode(error.filename)}: {error.strerror}"


def _unnamed_error_text(error: OSError) -> str:
    """An error that names no file: standard output's, unless that is what no disk is behind, and the disk is full."""
    from contextlib import suppress
    from errno import EDQUOT, EFBIG, ENOSPC
    from stat import S_ISFIFO, S_ISSOCK

    from metashell.common.errors import reason_of

    if error.errno == EBADF:
        return "standard output is closed"
    reason = reason_of(error)
    if error.errno in (EDQUOT, EFBIG, ENOSPC):
        with suppress(OSError, ValueError):
            number = sys.stdout.fileno()
            mode = os.fstat(number).st_mode
            if os.isatty(number) or S_ISFIFO(mode) or S_ISSOCK(mode):
                return reason
    return f"standard output: {reason}"


def with_way_out(error: LogCorruptError) -> MetashellError:
    """The same error about a bad place in a log, with the option that reads on."""
    from metashell.common.errors import MetashellError

    return MetashellError(f"{error}; --on-error skip leaves it out and goes on")


def print_version(name: str) -> int:
    """Print `dump-log 0.1.0`."""
    from metashell import __version__

    sys.stdout.write(f"{name} {__version__}\n")
    return STATUS_OK


def complain(name: str, message: str) -> None:
    """Write one line to stderr, safe for a terminal and without the credentials that a URI may hold."""
    from contextlib import suppress

    from metashell.common.terminal import clear_progress, terminal_line

    clear_progress()
    with suppress(OSError):
        # Output that precedes the error is shown before it.
        sys.stdout.flush()
    sys.stderr.write(terminal_line(_without_credentials(f"{name}: {message}")) + "\n")


def _without_credentials(text: str) -> str:
    if not any(mark in text for mark in ("://", "@", "?")):
        return text
    from metashell.common.uris import without_credentials

    return without_credentials(text)


class EscapedErrors:
    """Stderr for layers that write whole lines: escaped, since names of files may hold what a terminal obeys."""

    def write(self, text: str) -> int:
        from metashell.common.terminal import terminal_line

        return sys.stderr.write(terminal_line(_without_credentials(text.removesuffix("\n"))) + "\n")

    def flush(self) -> None:
        sys.stderr.flush()


def prepare_streams() -> None:
    """Make the standard streams use UTF-8 and plain line feeds in any locale, and replace those that are closed."""
    for name, mode, flags in (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, name) is None:
            # Writing to a closed stdout must be an error, since the answer is lost; a command that prints nothing succeeds.
            setattr(sys, name, open(os.open(os.devnull, flags), mode, encoding="utf-8"))  # noqa: SIM115 - stays open to the end
    _make_utf8(sys.stdout, "surrogateescape")
    _make_utf8(sys.stderr, "backslashreplace")
    _make_utf8(sys.stdin, "surrogateescape")


def _make_utf8(stream: TextIO, errors: str) -> None:
    from io import TextIOWrapper

    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors=errors)


def drop_output() -> None:
    """Point stdout at the null device, so that flushing its buffer cannot fail again."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    except (OSError, ValueError):
        return


def settings_file(named: str | None = None) -> tuple[str | None, bool]:
    """The path of a user's settings and whether somebody named it: the `named` one, that of METASHELL_CONFIG, or else the usual one.

    The path is None if nobody named one and there is no usual one.
    """
    path = named or os.environ.get("METASHELL_CONFIG")
    if path:
        return os.path.expanduser(path), True
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    path = os.path.join(folder if folder.startswith("/") else os.path.expanduser("~/.config"), "metashell", "config.toml")
    return (path if os.path.lexists(path) else None), False
