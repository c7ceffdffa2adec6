"""How a command runs: its streams, its errors in one line, its exit status, questions at the terminal, and the signals that stop it.

Statuses of our own commands: 0 success, 1 something failed or a fault was found, 2 the command line is wrong. Tools under Kafka's names
end with 1 for any error. If the reader of its output closes the pipe, a command ends quietly with 0; Ctrl-C ends it with 130.

A command that runs until it is stopped uses `StopSignals`. A signal is noted from the moment `watch` is called, so none is lost while
modules are imported or files are created, where an exception could be dropped or leave something behind. It is raised only inside
`raised`, where waiting can be interrupted."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import contextmanager, suppress
from errno import EBADF, EDQUOT, EFBIG, ENOSPC
from functools import partial
from io import TextIOWrapper, UnsupportedOperation
from stat import S_ISFIFO, S_ISSOCK
from typing import TYPE_CHECKING, Final

from metashell import __version__
from metashell.common.errors import MetashellError, PathError, UsageError, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType, SimpleNamespace
    from typing import TextIO

    from metashell.common.errors import LogCorruptError, MetashellError
    from metashell.common.options import CommandSpec
    from metashell.common.settings import Settings
    from metashell.inspect.dump.options import ByteSink


STATUS_OK = 0
STATUS_FAILED = 1
STATUS_USAGE = 2
STATUS_INTERRUPTED = 130


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


def declared_tool(name: str, spec: CommandSpec, work: Callable[[SimpleNamespace], int], *, tells_interrupts: bool = False) -> Tool:
    """The tool of that name with that command line; `work` gets the parsed values."""

    def run(words: list[str]) -> int:
        values = parsed(spec._replace(name=name), words)
        return STATUS_OK if values is None else work(values)

    return Tool(name, run, tells_interrupts=tells_interrupts)


def run_sub_command(tool: CommandSpec, words: list[str], work: Callable[[CommandSpec, list[str]], int]) -> int:
    """Find the command of a tool that its first word names, and have it done by `work`, which gets its spec and the words after it."""

    from metashell.common.option_parser import render_help
    from metashell.common.options import did_you_mean

    if not words:
        sys.stderr.write(render_help(tool))
        return STATUS_USAGE
    commands = {command.name: command for command in tool.commands}
    if words[0] in commands:
        name = f"{tool.name} {words[0]}"
        return Tool(name, partial(work, commands[words[0]]._replace(name=name)))(words[1:])
    if not words[0].startswith("-"):
        raise UsageError(f"unknown command {words[0]}{did_you_mean(words[0], list(commands))}", words[0])
    values = parsed(tool, words)
    if values is not None:
        raise UsageError(f"name the command first ({tool.name} --help lists them)")
    return STATUS_OK


def kafka_tool(name: str, run: Callable[[list[str]], int]) -> Tool:
    """A tool by the name that Kafka gives it: any error is status 1, and it reads `--version` itself."""
    return Tool(name, run, usage_status=STATUS_FAILED, answers_version=False)


def parsed(spec: CommandSpec, words: Sequence[str]) -> SimpleNamespace | None:
    """The parsed command line; None if it asks for help or the version, which is then printed."""
    from metashell.common.option_parser import HelpRequested, parse_command

    if "--demo" in words:
        from metashell.cli.sources import with_demo

        words = with_demo(spec, words)
    try:
        values = parse_command(spec, words)
    except HelpRequested as help_text:
        sys.stdout.write(str(help_text))
        return None
    if any(word[:1] == "@" for word in words):
        from metashell.cli.sources import named_paths

        named_paths(spec, values, chosen_settings)
    if getattr(values, "version", False):
        print_version(spec.name)
        return None
    return values


def chosen_settings(name: str, named: str | None = None) -> Settings | None:
    """What the file of settings says, None without one: the `named` one, that of METASHELL_CONFIG, or else the usual one.

    Shape: a usual one that is wrong is reported in one line, and nothing is chosen. Errors: SettingsError for one that somebody named.
    """
    path = named or os.environ.get("METASHELL_CONFIG")
    if path:
        from metashell.common.settings import read_settings
        from metashell.shell.grammar import check_alias

        return read_settings(os.path.expanduser(path), check_alias)
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    path = os.path.join(folder if folder.startswith("/") else os.path.expanduser("~/.config"), "metashell", "config.toml")
    if not os.path.lexists(path):
        return None
    from metashell.common.settings import SettingsError, read_settings
    from metashell.shell.grammar import check_alias

    try:
        return read_settings(path, check_alias)
    except SettingsError as error:
        complain(name, f"{error} (nothing of this file is used)")
        return None


def named_values(option: str, words: Sequence[str], *, may_be_secret: bool = True) -> dict[str, str]:
    """`NAME=VALUE` words of an option, by name. Errors: UsageError, which never repeats what may be a secret."""

    found = {}
    for number, word in enumerate(words, 1):
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            what = f"number {number}" if may_be_secret else repr(word)
            raise UsageError(f"option {option}: {what} is not NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def print_version(name: str) -> int:
    """Print `dump-log 0.1.0`."""

    sys.stdout.write(f"{name} {__version__}\n")
    return STATUS_OK


def complain(name: str, message: str) -> None:
    """Write one line to stderr, safe for a terminal and without the credentials that a URI may hold."""

    from metashell.common.terminal import clear_progress, terminal_line

    clear_progress()
    with suppress(OSError):
        # Output that precedes the error is shown before it.
        sys.stdout.flush()
    sys.stderr.write(terminal_line(_without_credentials(f"{name}: {message}")) + "\n")


def _without_credentials(text: str) -> str:
    if not any(mark in text for mark in ("://", "@", "?")):
        return text
    from metashell.disk.uris import without_credentials

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

    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors=errors)


def with_way_out(error: LogCorruptError) -> MetashellError:
    """The same error about a bad place in a log, with the option that reads on."""

    return MetashellError(f"{error}; --on-error skip leaves it out and goes on")


def write_page(path: str, text: str, *, source: str | None = None) -> None:
    """Write a page about a source to a file. Errors: PathError if it cannot be written there, or lies in the source or among logs."""
    from metashell.disk.outputs import open_output

    try:
        with open(open_output(path, sources=[source] if source else ()), "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise PathError.of(path, error) from None


def output_target() -> int | ByteSink:
    """Where to write bytes for stdout: its descriptor, or its buffer if it has none (in tests)."""

    sys.stdout.flush()
    try:
        return sys.stdout.fileno()
    except (UnsupportedOperation, AttributeError):
        return sys.stdout.buffer


def drop_output() -> None:
    """Point stdout at the null device, so that flushing its buffer cannot fail again."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    except (OSError, ValueError):
        return


_AGREED: Final = ("y", "yes")


def can_ask() -> bool:
    """Whether there is a terminal on which to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str, place: str) -> bool:
    """Whether a person says yes to a change of the cluster at this place. No line of progress is drawn over the question."""
    from metashell.common.terminal import end_progress, terminal_line

    end_progress()
    try:
        sys.stderr.write(terminal_line(f"{question} (cluster at {place}) [y/N] "))
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in _AGREED
    except KeyboardInterrupt:
        sys.stderr.write("\nnothing was changed\n")
        raise


STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StopRequested(BaseException):
    """A signal said to stop; `number` is which."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class StopSignals:
    """`noted` is the first of the signals that came, 0 for none; `watched` are those that can. Only the main thread may call anything."""

    def __init__(self) -> None:
        self.noted = 0
        self.watched: list[signal.Signals] = []
        self._raises = False

    def watch(self) -> None:
        """From now on signals are noted, but for SIGHUP where nohup has it ignored."""
        is_detached = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        self.watched = [number for number in STOP_SIGNALS if number != signal.SIGHUP or not is_detached]
        for number in self.watched:
            signal.signal(number, self._note)

    def ignore(self) -> None:
        """From now on signals do nothing: stopping takes a moment, and leaves nothing half done."""
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Here a signal, also one that came before, is StopRequested."""
        try:
            self._raises = True
            if self.noted:
                raise StopRequested(self.noted)
            yield
        finally:
            self._raises = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.noted = self.noted or number
        if self._raises:
            self._raises = False
            raise StopRequested(number)


@contextmanager
def left_in_order() -> Iterator[None]:
    """Within, SIGTERM and SIGHUP end the program as an exit does, so that what it has on disk is removed."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(_KILLED + number)

    numbers = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    before = [(number, signal.signal(number, leave)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


_KILLED = 128
