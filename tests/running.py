"""Runs a console script's `main` inside the test process, and stops what hangs."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import BinaryIO, Final

REPOSITORY = Path(__file__).resolve().parents[1]

MEASURED: Final = (
    "import resource, subprocess, sys; status = subprocess.run(sys.argv[1:]).returncode; "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr, end=''); sys.exit(status)"
)
"""A program that runs a command and adds the largest size in kB of that process alone, whatever the size of the tests' own process."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command left behind."""

    status: int
    stdout: bytes
    stderr: str


class Hang(Exception):
    """A command ran longer than it ever should."""


@contextlib.contextmanager
def no_longer_than(seconds: int) -> Iterator[None]:
    """Raise Hang in the block when it runs longer than that."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise Hang(f"still running after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def wait_until(holds: Callable[[], object], told: Callable[[], object] = lambda: "it does not hold", limit_s: float = 120.0) -> None:
    """Return once `holds` is true. The limit ends what hangs, with what is `told` then; how fast something is no test says by it."""
    ends_at = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < ends_at, told()
        time.sleep(0.02)


@contextlib.contextmanager
def handlers_kept() -> Iterator[None]:
    """What a command does with signals ends with it, as with a process: a Ctrl-C of a later test is that test's."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)
    before = [(number, signal.getsignal(number)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def run_main(
    main: Callable[[list[str]], int],
    argv: Sequence[str],
    *,
    cwd: Path,
    stdin: str = "",
    stdout: BinaryIO | None = None,
    limit_s: int = 120,
) -> Outcome:
    """Run `main(argv)` with the three standard descriptors redirected to files, in that working directory.

    Descriptors, not only Python's streams: dumps are written to descriptor 1, also by child processes. What goes to a `stdout` of the
    caller's is not in the outcome.
    """
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        files[0].write(stdin.encode())
        files[0].seek(0)
        files[1] = stdout or files[1]
        stack.enter_context(contextlib.chdir(cwd))
        with _redirected(files), handlers_kept(), no_longer_than(limit_s):
            status = _status_of(main, list(argv))
        written = b"" if stdout else _read_all(files[1])
        return Outcome(status, written, _read_all(files[2]).decode("utf-8", "backslashreplace"))


# What the golden answers do not depend on, turned to what they were not made with.
ODD_SURROUNDINGS = {
    "LC_ALL": "C",
    "LANG": "C",
    "TZ": "Asia/Tokyo",
    "COLUMNS": "40",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
}


def command_line(module: str, *argv: str) -> list[str]:
    """The command line that runs a console script's module as a process of its own, installed or not."""
    return [
        sys.executable,
        "-c",
        f"import sys; from {module.partition(':')[0]} import {module.partition(':')[2] or 'main'} as main; sys.exit(main())",
        *argv,
    ]


def run_process(
    module: str, argv: Sequence[str], *, cwd: Path, stdin: str = "", env: dict[str, str] | None = None, limit_s: int = 120
) -> Outcome:
    """Run a console script's module as a process of its own, with these variables on top of the environment."""
    search = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run(
        command_line(module, *argv),
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": search, **(env or {})},
        input=stdin.encode(),
        capture_output=True,
        check=False,
        timeout=limit_s,
    )
    return Outcome(done.returncode, done.stdout, done.stderr.decode("utf-8", "backslashreplace"))


def _status_of(main: Callable[[list[str]], int], argv: list[str]) -> int:
    """The exit status, whether it is returned or raised."""
    try:
        return main(argv) or 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


@contextlib.contextmanager
def _redirected(files: Sequence[BinaryIO]) -> Iterator[None]:
    """Put the files in place of descriptors 0 to 2 and of `sys`'s streams, then restore both."""
    saved = [os.dup(number) for number in range(3)]
    streams = sys.stdin, sys.stdout, sys.stderr
    try:
        for number, file in enumerate(files):
            os.dup2(file.fileno(), number)
        sys.stdin, sys.stdout, sys.stderr = _text(0, "r"), _text(1, "w"), _text(2, "w")
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        sys.stdin, sys.stdout, sys.stderr = streams
        for number, descriptor in enumerate(saved):
            os.dup2(descriptor, number)
            os.close(descriptor)


def _text(descriptor: int, mode: str) -> io.TextIOWrapper:
    """A text stream like those that the interpreter makes, which leaves its descriptor open."""
    raw = io.FileIO(descriptor, mode, closefd=False)
    buffered = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    return io.TextIOWrapper(buffered, encoding="utf-8", errors="surrogateescape", newline="\n" if mode == "w" else None)


def _read_all(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()
