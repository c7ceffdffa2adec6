"""The picture of the prompt in README.md, from a real session: `python -m tools.prompt_picture` draws it, `--check` only compares.

`OPTIONS` open `kafka-shell` in a pseudo-terminal, the lines of `SESSION` are typed, and what its user sees is drawn as docs/prompt.svg:
a broker is fenced, the ISRs of a topic shrank, a secret is not shown, and paths are completed.
The session's history file and settings are in a temporary folder.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from html import escape
from itertools import groupby
from typing import Any

import pexpect
import pyte

from tools.generated import ROOT

PICTURE = ROOT / "docs" / "prompt.svg"
COLUMNS, ROWS = 108, 27
PROMPT = "demo /"
OPTIONS = ("--demo", "--certain-only")
"""The newest checkpoint of the demonstration was written while one of its brokers was away."""
SESSION = (
    "ls -l /image/cluster/brokers",
    "cd /image/topics/byName",
    "ls -l orders",
    "cat /image/scram/SCRAM-SHA-256/carol",
)
HALF_TYPED = "cat orders/"
"""The line at which the picture is taken, with the menu of its completions below."""
OF_ITS_USER = ("NO_COLOR", "METASHELL_CONFIG", "PAGER", "PROMPT_TOOLKIT_NO_CPR")
"""Variables of whoever draws the picture, which would change it."""
WINDOW = " ".join(("kafka-shell", *OPTIONS))
LIMIT_S = 60.0
QUIET_S = 0.7

BACKGROUND, FRAME, PLAIN = "#1c2128", "#8b949e", "#d8dee6"
COLORS = {
    "black": "#3b424c",
    "red": "#ff7b72",
    "green": "#7ee787",
    "brown": "#e3b341",
    "blue": "#79b8ff",
    "magenta": "#d2a8ff",
    "cyan": "#76e3ea",
    "white": "#b1bac4",
}
"""The eight colours of a terminal, by pyte's names, in shades that can be read on the background."""
CELL_WIDTH, CELL_HEIGHT, FONT_SIZE, MARGIN, BAR_HEIGHT = 8.4, 18, 14, 14, 30
FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"

Style = tuple[str, str, bool]
"""Of a cell: colour of the text, colour behind it ("" for the background), bold."""


class Session:
    """A real `kafka-shell` in a pseudo-terminal, and the screen of the person in front of it."""

    def __init__(self, state: str) -> None:
        code = "import sys; from metashell.cli.inspect.kafka_shell import main; sys.exit(main(sys.argv[1:]))"
        surroundings = {"TERM": "xterm-256color", "XDG_STATE_HOME": state, "XDG_CONFIG_HOME": state, "PYTHONPATH": str(ROOT)}
        environment = {name: value for name, value in os.environ.items() if name not in OF_ITS_USER} | surroundings
        self._child = pexpect.spawn(
            sys.executable, ["-c", code, *OPTIONS], env=environment, dimensions=(ROWS, COLUMNS), encoding="utf-8", use_poll=True
        )
        self._child.delaybeforesend = None
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.screen.write_process_input = self._child.send  # Where the cursor is: without that the line at the bottom is not drawn.
        self._stream = pyte.Stream(self.screen)

    def type(self, keys: str) -> None:
        """Press these keys."""
        self._child.send(keys)

    def read_until(self, is_done: Callable[[], bool]) -> bool:
        """Show what the shell prints until that holds; False if it does not within LIMIT_S."""
        deadline = time.monotonic() + LIMIT_S
        while not is_done():
            if time.monotonic() > deadline:
                return False
            self._read(0.1)
        return True

    def read_until_quiet(self) -> None:
        """Show what the shell prints until nothing has come for QUIET_S."""
        while self._read(QUIET_S):
            pass

    def _read(self, timeout_s: float) -> bool:
        try:
            self._stream.feed(self._child.read_nonblocking(4096, timeout_s))
        except pexpect.TIMEOUT:
            return False
        except pexpect.EOF:
            sys.exit(f"the shell ended: {self.text()}")
        return True

    def asks_again(self, count: int) -> bool:
        """Whether the prompt stands on the screen for the `count`-th time, and waits."""
        lines = self.screen.display
        waits = lines[self.screen.cursor.y].rstrip().endswith(">")
        return waits and sum(line.startswith(PROMPT) for line in lines) == count

    def text(self) -> str:
        """What is on the screen, without colours."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def close(self) -> None:
        """End the shell."""
        self._child.terminate(force=True)


def draw(committed: str | None = None) -> str:
    """Run the session and return its picture.

    Shape: with `committed`, the picture is taken as soon as it equals that one, at the latest after LIMIT_S; without, when the
    menu has come and nothing has changed for QUIET_S.
    """
    with tempfile.TemporaryDirectory() as state:
        session = Session(state)
        try:
            for count, line in enumerate(SESSION, 1):
                _expect(session, count)
                session.type(f"{line}\r")
            _expect(session, len(SESSION) + 1)
            session.type(HALF_TYPED)
            if committed is None:
                session.read_until(lambda: session.text().count(HALF_TYPED) == 1 and session.screen.cursor.x > 1)
                session.read_until_quiet()
            else:
                session.read_until(lambda: svg(session.screen) == committed)
            return svg(session.screen)
        finally:
            session.close()


def _expect(session: Session, count: int) -> None:
    if not session.read_until(lambda: session.asks_again(count)):
        sys.exit(f"no prompt after {LIMIT_S:.0f} s:\n{session.text()}")


def svg(screen: Any) -> str:
    """The screen as a drawing: a window with rounded corners, rows of coloured text, a block for the cursor.

    Shape: every run of cells has its width given, so that columns stand under each other in any font.
    """
    lines = [y for y in range(screen.lines) if screen.display[y].strip()]
    count = max([*lines, screen.cursor.y]) + 1
    width, height = round(screen.columns * CELL_WIDTH) + 2 * MARGIN, BAR_HEIGHT + count * CELL_HEIGHT + MARGIN
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} xml:space="preserve" role="img">',
        "<!-- Made by `python -m tools.prompt_picture`; do not edit. -->",
        f"<title>A session of {WINDOW}</title>",
        f"<style>text{{font-family:{FONTS};font-size:{FONT_SIZE}px;white-space:pre}}.b{{font-weight:bold}}rect.c{{shape-rendering:crispEdges}}</style>",
        f'<rect x="1" y="1" width="{width - 2}" height="{height - 2}" rx="9" fill="{BACKGROUND}" stroke="{FRAME}" stroke-width="1.5"/>',
        *(f'<circle cx="{20 + 18 * n}" cy="{BAR_HEIGHT // 2 + 1}" r="5" fill="{FRAME}" opacity="0.6"/>' for n in range(3)),
        f'<text x="{width // 2}" y="{BAR_HEIGHT // 2 + 6}" text-anchor="middle" fill="{FRAME}">{WINDOW}</text>',
    ]
    for y in range(count):
        parts += _row(screen, y)
    return "\n".join([*parts, "</svg>", ""])


def _row(screen: Any, y: int) -> Iterator[str]:
    top = BAR_HEIGHT + y * CELL_HEIGHT
    cells = [(x, screen.buffer[y][x].data, _style(screen, x, y)) for x in range(screen.columns)]
    for (text_color, behind, bold), run in groupby(cells, key=lambda cell: cell[2]):
        run_cells = list(run)
        left, text = MARGIN + run_cells[0][0] * CELL_WIDTH, "".join(data for _, data, _ in run_cells)
        if behind:
            size = f'width="{len(run_cells) * CELL_WIDTH:.1f}" height="{CELL_HEIGHT}"'
            yield f'<rect class="c" x="{left:.1f}" y="{top}" {size} fill="{behind}"/>'
        if text.strip():
            left += (len(text) - len(text.lstrip())) * CELL_WIDTH
            shown = text.strip()
            weight = ' class="b"' if bold else ""
            yield (
                f'<text x="{left:.1f}" y="{top + CELL_HEIGHT - 5}" textLength="{len(shown) * CELL_WIDTH:.1f}" '
                f'fill="{text_color}"{weight}>{escape(shown, quote=False)}</text>'
            )


def _style(screen: Any, x: int, y: int) -> Style:
    cell = screen.buffer[y][x]
    text_color, behind = _color(cell.fg, PLAIN), _color(cell.bg, "")
    if cell.reverse or (x, y) == (screen.cursor.x, screen.cursor.y):
        text_color, behind = behind or BACKGROUND, text_color
    return text_color, behind, cell.bold


def _color(name: str, default: str) -> str:
    if name == "default":
        return default
    return COLORS.get(name.removeprefix("bright")) or f"#{int(name, 16):06x}"


def main() -> int:
    """Draw the picture; with `--check` say whether the one that is committed is out of date, status 1."""
    if "--check" in sys.argv[1:]:
        committed = PICTURE.read_text(encoding="utf-8")
        if draw(committed) == committed:
            return 0
        print(f"{PICTURE.relative_to(ROOT)} is out of date")
        return 1
    PICTURE.write_text(draw(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
