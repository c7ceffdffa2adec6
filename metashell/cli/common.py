"""What every command shares: how it is run, its streams, its errors in one line, and its statuses.

Statuses of our own voice: 0 all went well, 1 something failed or a fault was found, 2 the command line is wrong. Kafka's names
end with 1 for any error. A reader that closes its pipe ends a command quietly; Ctrl-C ends it with 130.
"""

from __future__ import annotations

import gc
import os
import sys
from errno import EBADF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import SimpleNamespace
    from typing import TextIO

    from metashell.dump.output import ByteSink
    from metashell.errors import LogCorruptError, MetashellError
    from metashell.options import CommandSpec
    from metashell.settings import Settings

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
        from metashell.errors import MetashellError, PathError, UsageError

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
    from metashell.escape import terminal_line

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

    from metashell.errors import reason_of

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
    from functools import partial

    from metashell.errors import UsageError
    from metashell.options.help import render_help
    from metashell.options.values import did_you_mean

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
    from metashell.options.parser import HelpRequested, parse

    if "--demo" in words:
        from metashell.cli.sources import with_demo

        words = with_demo(spec, words)
    try:
        values = parse(spec, words)
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
        from metashell.settings import read_settings
        from metashell.shell.lines.aliases import check_alias

        return read_settings(os.path.expanduser(path), check_alias)
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    path = os.path.join(folder if folder.startswith("/") else os.path.expanduser("~/.config"), "metashell", "config.toml")
    if not os.path.lexists(path):
        return None
    from metashell.settings import SettingsError, read_settings
    from metashell.shell.lines.aliases import check_alias

    try:
        return read_settings(path, check_alias)
    except SettingsError as error:
        complain(name, f"{error} (nothing of this file is used)")
        return None


def named_values(option: str, words: Sequence[str], *, may_be_secret: bool = True) -> dict[str, str]:
    """`NAME=VALUE` words of an option, by name. Errors: UsageError, which never repeats what may be a secret."""
    from metashell.errors import UsageError

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
    from metashell import __version__

    sys.stdout.write(f"{name} {__version__}\n")
    return STATUS_OK


def complain(name: str, message: str) -> None:
    """Write one line to stderr, safe for a terminal and without the credentials that a URI may hold."""
    from contextlib import suppress

    from metashell.escape import terminal_line
    from metashell.progress import clear

    clear()
    with suppress(OSError):
        # Output that precedes the error is shown before it.
        sys.stdout.flush()
    sys.stderr.write(terminal_line(_without_credentials(f"{name}: {message}")) + "\n")


def _without_credentials(text: str) -> str:
    if not any(mark in text for mark in ("://", "@", "?")):
        return text
    from metashell.codec.uris import without_credentials

    return without_credentials(text)


class EscapedErrors:
    """Stderr for layers that write whole lines: escaped, since names of files may hold what a terminal obeys."""

    def write(self, text: str) -> int:
        from metashell.escape import terminal_line

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


def with_way_out(error: LogCorruptError) -> MetashellError:
    """The same error about a bad place in a log, with the option that reads on."""
    from metashell.errors import MetashellError

    return MetashellError(f"{error}; --on-error skip leaves it out and goes on")


def write_page(path: str, text: str, *, source: str | None = None) -> None:
    """Write a page about a source to a file. Errors: PathError if it cannot be written there, or lies in the source or among logs."""
    from metashell.errors import PathError
    from metashell.log.outputs import open_output

    try:
        with open(open_output(path, sources=[source] if source else ()), "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise PathError.of(path, error) from None


def output_target() -> int | ByteSink:
    """Where to write bytes for stdout: its descriptor, or its buffer if it has none (in tests)."""
    from io import UnsupportedOperation

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
