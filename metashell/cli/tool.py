"""Commands with a declared command line, questions at the terminal, and the signals that stop a command.

`common.command` runs the commands: streams, errors, exit statuses.

A command that runs until it is stopped uses `StopSignals`. A signal is noted from the moment `watch` is called, so none is lost while
modules are imported or files are created, where an exception could be dropped or leave something behind. It is raised only inside
`raised`, where waiting can be interrupted."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from functools import partial
from io import UnsupportedOperation
from typing import TYPE_CHECKING, Final

from metashell.common.command import STATUS_FAILED, STATUS_OK, STATUS_USAGE, TimeLimit, Tool, complain, print_version, settings_file
from metashell.common.errors import PathError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType, SimpleNamespace

    from metashell.common.options import CommandSpec
    from metashell.common.settings import Settings
    from metashell.inspect.dump.options import ByteSink


def declared_tool(name: str, spec: CommandSpec, work: Callable[[SimpleNamespace], int], *, tells_interrupts: bool = False) -> Tool:
    """Return the tool with that name and command line; `work` gets the parsed values."""

    def run(words: list[str]) -> int:
        values = parsed(spec._replace(name=name), words)
        return STATUS_OK if values is None else work(values)

    return Tool(name, run, tells_interrupts=tells_interrupts)


def run_sub_command(tool: CommandSpec, words: list[str], work: Callable[[CommandSpec, list[str]], int]) -> int:
    """Find the command that the first word names, and call `work` with its spec and the words after it."""

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
    """Return a tool with Kafka's name: any error is status 1, and the tool reads `--version` itself."""
    return Tool(name, run, usage_status=STATUS_FAILED, answers_version=False)


def parsed(spec: CommandSpec, words: Sequence[str]) -> SimpleNamespace | None:
    """Return the parsed command line. If it asks for help or the version, print it and return None."""
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
    if getattr(values, "timeout", None) is not None:
        # Copies of the values share it, and so do all the clients that a command opens.
        values.time_limit = TimeLimit(values.timeout)
    return values


def chosen_settings(name: str, named: str | None = None) -> Settings | None:
    """Read the settings from the `named` file, that of METASHELL_CONFIG, or else the default one; return None without a file.

    Shape: a fault in the default file is reported in one line, and the result is None. Errors: SettingsError for a file that was named.
    """
    path, is_named = settings_file(named)
    if path is None:
        return None
    from metashell.common.settings import SettingsError, read_settings
    from metashell.shell.grammar import check_alias

    try:
        return read_settings(path, check_alias)
    except SettingsError as error:
        if is_named:
            raise
        complain(name, f"{error} (nothing of this file is used)")
        return None


def named_values(option: str, words: Sequence[str], *, may_be_secret: bool = True) -> dict[str, str]:
    """Return the `NAME=VALUE` words of an option by name. Errors: UsageError, which never repeats what may be a secret."""
    found = {}
    for number, word in enumerate(words, 1):
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            what = f"number {number}" if may_be_secret else repr(word)
            raise UsageError(f"option {option}: {what} is not NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def write_page(path: str, text: str, *, source: str | None = None) -> None:
    """Write a page about a source to a file. Errors: PathError if it cannot be written, or lies in the source or among logs."""
    from metashell.disk.file_system import open_output

    try:
        with open(open_output(path, sources=[source] if source else ()), "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise PathError.of(path, error) from None


def output_target() -> int | ByteSink:
    """Return where to write bytes for stdout: its descriptor, or its buffer if it has none, as in tests."""
    sys.stdout.flush()
    try:
        return sys.stdout.fileno()
    except (UnsupportedOperation, AttributeError):
        return sys.stdout.buffer


_AGREED: Final = ("y", "yes")


def can_ask() -> bool:
    """Return whether there is a terminal for questions."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str, place: str) -> bool:
    """Ask whether to change the cluster at this place; return whether the answer is yes. Progress does not overwrite the question."""
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
    """The request to stop by a signal; `number` is the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class StopSignals:
    """The signals that stop a command. Call it only from the main thread.

    `noted` is the first signal that came, 0 for none; `watched` are the signals that can come.
    """

    def __init__(self) -> None:
        self.noted = 0
        self.watched: list[signal.Signals] = []
        self._raises = False

    def watch(self) -> None:
        """Start to note signals, except SIGHUP if nohup has it ignored."""
        is_detached = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        self.watched = [number for number in STOP_SIGNALS if number != signal.SIGHUP or not is_detached]
        for number in self.watched:
            signal.signal(number, self._note)

    def ignore(self) -> None:
        """Ignore signals from now on, so that a short shutdown completes."""
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Raise StopRequested inside the block for a signal, even one that came before."""
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
    """Let SIGTERM and SIGHUP end the program like an exit inside the block, so that its files on disk are removed."""

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
