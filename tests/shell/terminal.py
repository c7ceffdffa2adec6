"""A person at a terminal: types keys, and sees what a terminal of some size shows.

    with Screen.shell("--demo", home=tmp_path, rows=24, columns=80) as screen:
        screen.run("ls /image")                    types the line, presses Enter, waits for the next prompt
        screen.type("cat /ima\\t")                  types keys and does not wait
        screen.until("cat /image/")                waits until this is to be seen
        assert "topics" in screen.text
        assert screen.color_of("leaderless") == "red"
        assert screen.leave() == 0

Nothing here sleeps: each wait ends when the screen shows what was waited for, and fails with the whole screen where it never does.
"""

from __future__ import annotations

import os
import signal
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pexpect
import pyte

from tests.cli.conftest import command_line, environment

LIMIT_S = 120.0
_DROPPED = ("COLUMNS", "LINES", "NO_COLOR", "PAGER", "LESS", "EDITOR", "VISUAL", "INPUTRC")
_DROPPED_STARTS = ("METASHELL_", "XDG_")
CTRL_C, CTRL_D, CTRL_R, CTRL_Z = "\x03", "\x04", "\x12", "\x1a"
PASTE_START, PASTE_END = "\x1b[200~", "\x1b[201~"
# What a program writes when it begins to read a line, and when it has taken it: from here on a paste is (is not) marked as one.
_READS, _HAS_READ = b"\x1b[?2004h", b"\x1b[?2004l"


class Screen:
    """A program in a pseudo-terminal, and what it shows there."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        home: Path,
        rows: int = 24,
        columns: int = 80,
        env: dict[str, str] | None = None,
        grain: int = 65536,
    ) -> None:
        values = {name: value for name, value in environment().items() if name not in _DROPPED and not name.startswith(_DROPPED_STARTS)}
        folders = {"HOME": home, "XDG_STATE_HOME": home / "state", "XDG_CONFIG_HOME": home / "config", "XDG_CACHE_HOME": home / "cache"}
        values |= {name: str(path) for name, path in folders.items()} | {"TERM": "xterm-256color"} | (env or {})
        self.child: Any = pexpect.spawn(
            argv[0], list(argv[1:]), env=values, dimensions=(rows, columns), cwd=str(home), timeout=LIMIT_S, use_poll=True
        )
        self.child.delaybeforesend = None
        self._screen = _Answering(columns, rows, self.child)
        self._stream = pyte.ByteStream(self._screen)
        self.grain = grain
        """Bytes that are read at most at a time: with 1, a test does not hang on where a busy machine cuts what is written."""
        self.raw = b""
        """All that the program wrote so far."""
        self.is_over = False

    @classmethod
    def shell(cls, *words: str, home: Path, **shape: Any) -> Screen:
        """kafka-shell with these words, at its first prompt."""
        screen = cls(command_line("kafka-shell", *words), home=home, **shape)
        try:
            screen.until_prompt()
        except BaseException:
            screen.kill()
            raise
        return screen

    # ---- what is seen

    @property
    def lines(self) -> list[str]:
        """The lines of the screen, without blanks at their ends and without empty ones below."""
        found = [line.rstrip() for line in self._screen.display]
        while found and not found[-1]:
            found.pop()
        return found

    @property
    def lines_to_cursor(self) -> list[str]:
        """The lines down to that of the cursor: without a menu or a line at the bottom of the screen."""
        return [line.rstrip() for line in self._screen.display[: self._screen.cursor.y + 1]]

    @property
    def text(self) -> str:
        """The screen as one text."""
        return "\n".join(self.lines)

    @property
    def flowing(self) -> str:
        """The screen as one text without line ends: what a narrow terminal wrapped stands together."""
        return "".join(self._screen.display)

    @property
    def before_cursor(self) -> str:
        """What stands before the cursor on its line."""
        cursor = self._screen.cursor
        row = self._screen.buffer[cursor.y]
        return "".join(row[x].data for x in range(cursor.x))

    @property
    def is_at_prompt(self) -> bool:
        """Whether a line is read, the cursor stands behind its prompt, and nothing is typed yet."""
        # A dumb terminal is told neither mark: both are -1 there. What is typed before the terminal gives single keys may be lost.
        reads = self.raw.rfind(_READS) >= self.raw.rfind(_HAS_READ) and not self._modes() & termios.ICANON
        return reads and self.before_cursor.endswith("> ")

    def color_of(self, text: str) -> str:
        """The colour of the last place that shows the text: `default`, `red`, `brown` (a terminal's yellow) ...; `bold ` before it."""
        for row in range(self._screen.lines - 1, -1, -1):
            at = self._screen.display[row].rfind(text)
            if at >= 0:
                cell = self._screen.buffer[row][at]
                return f"{'bold ' if cell.bold else ''}{cell.fg}"
        raise AssertionError(f"{text!r} is not on the screen:\n{self.text}")

    # ---- keys and waiting

    def type(self, keys: str) -> None:
        """Send keys; Enter is `\\r`."""
        self.child.send(keys)

    def run(self, line: str) -> list[str]:
        """Type a line at the prompt, press Enter and wait for the next prompt; gives the lines of the screen down to that prompt."""
        self.start(line)
        self.until_prompt()
        return self.lines_to_cursor

    def start(self, line: str) -> None:
        """Type a line at the prompt, press Enter and wait until the program has taken it, and not for what it does."""
        self.until_prompt()
        self.type(line)
        self.until(lambda: not line or not self.is_at_prompt)
        self.enter()

    def enter(self) -> None:
        """Press Enter and wait until the program says that it has taken the line.

        The cursor does not tell: a program draws its prompt anew while one types and after Enter, and what was read may end there.
        """
        sign = _HAS_READ if _READS in self.raw else b"\n"
        seen = self.raw.count(sign)
        self.type("\r")
        self.until(lambda: self.raw.count(sign) > seen)

    def until(self, wanted: str | Callable[[], bool], limit_s: float = LIMIT_S) -> list[str]:
        """Wait until a text is to be seen, wrapped or not, or until a condition holds; gives the lines of the screen then.

        The cursor is hidden while something is drawn: nobody looks then, unless the program leaves it so and is silent.
        """
        end = time.monotonic() + limit_s
        silent = False
        while True:
            looks = silent or self.is_over or not self._screen.cursor.hidden
            if looks and (wanted in self.flowing if isinstance(wanted, str) else wanted()):
                return self.lines
            if self.is_over or time.monotonic() > end:
                state = "the program has ended" if self.is_over else f"not within {limit_s:.0f} s"
                raise AssertionError(f"{wanted!r}: {state}; the screen is\n{self.text}")
            silent = not self._read(0.2)

    def until_prompt(self, limit_s: float = LIMIT_S) -> list[str]:
        """Wait for a prompt with nothing typed."""
        return self.until(lambda: self.is_at_prompt, limit_s)

    def until_interruptible(self) -> None:
        """Wait until Ctrl-C is a signal: while a line is read it is a key, and for a moment after Enter too."""
        self.until(lambda: bool(self._modes() & termios.ISIG))

    def until_over(self) -> int:
        """Wait for the end of the program, and give its exit status; minus the signal if one ended it."""
        end = time.monotonic() + LIMIT_S
        while not self.is_over:
            assert time.monotonic() < end, f"the program does not end; the screen is\n{self.text}"
            self._read(0.2)
        self.child.close()
        status = self.child.exitstatus
        return int(-self.child.signalstatus if status is None else status)

    def leave(self) -> int:
        """Press Ctrl-D at the prompt; gives the exit status."""
        self.until_prompt()
        self.type(CTRL_D)
        return self.until_over()

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of the terminal, which tells the program."""
        self.child.setwinsize(rows, columns)
        self._screen.resize(rows, columns)

    def _modes(self) -> int:
        return int(termios.tcgetattr(self.child.child_fd)[3])

    def _read(self, timeout_s: float) -> bool:
        """Take what the program wrote; whether it wrote anything in that time."""
        try:
            data = self.child.read_nonblocking(self.grain, timeout_s)
        except pexpect.TIMEOUT:
            return False
        except pexpect.EOF:
            self.is_over = True
            return False
        self.raw += data
        self._stream.feed(data)
        return True

    # ---- its end

    def kill(self) -> None:
        """End the program and all that it started in its terminal."""
        if self.child.isalive():
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.close(force=True)

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.kill()


class _Answering(pyte.Screen):
    """A screen that answers what programs ask a terminal, such as where the cursor is."""

    def __init__(self, columns: int, lines: int, child: Any) -> None:
        super().__init__(columns, lines)
        self._child = child

    def write_process_input(self, data: str) -> None:
        self._child.send(data)
