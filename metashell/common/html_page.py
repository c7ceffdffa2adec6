"""HTML pages that load nothing and run no script; their Content-Security-Policy forbids both.

`html_text` escapes every text from data. Tables and timelines have a bounded number of rows and say how many they left out. On a narrow
screen, a table row becomes a block of its cells, each with its heading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

from metashell.common.forms import counted
from metashell.common.terminal import terminal_line

ROWS_MAX: Final = 300
LANES_MAX: Final = 120
MARKS_MAX: Final = 60
WIDTH, LEFT, RIGHT, TOP = 1100, 190, 20, 36
_LANE: Final = 18
_TICKS: Final = 8
_NICE_MS: Final = (
    *(100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000),
    *(60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000),
)
_CSS: Final = """
:root { color-scheme: light dark; --page: #fff; --text: #1c2430; --faint: #5b6675; --line: #d8dee6; --head: #f2f5f8;
  --safe: #2a7d45; --unsafe: #b83a3a; --bad: #b02a2a; --unusual: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --page: #14181d; --text: #e3e8ee; --faint: #9aa5b1; --line: #323a44; --head: #1d232a;
  --bad: #f08a8a; --unusual: #e8b75a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 80rem; padding: 1.5rem; overflow-wrap: anywhere;
  background: var(--page); color: var(--text); font: 15px/1.5 system-ui; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 1.75rem 0 .4rem; }
.verdict { padding: .6rem .9rem; border-radius: 6px; color: #fff; font-weight: 600; font-size: 1.1rem; }
.safe { background: var(--safe); } .unsafe { background: var(--unsafe); }
.faint { color: var(--faint); } ul { margin: .25rem 0; padding-left: 1.25rem; }
pre { overflow-x: auto; background: var(--head); padding: .75rem; border-radius: 6px; font-size: .85rem; }
.wide { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; padding: .25rem; }
svg { display: block; min-width: 60rem; width: 100%; height: auto; font: 11px system-ui, sans-serif; fill: var(--text); }
svg line { stroke: var(--line); } .mark line { stroke: var(--text); stroke-dasharray: 3 3; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .5rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { background: var(--head); overflow-wrap: normal; } th.whole { white-space: normal; } td { min-width: 2.5rem; }
.number { text-align: right; } .whole { white-space: nowrap; } .time { overflow-wrap: normal; }
.bad { color: var(--bad); font-weight: 600; } .unusual { color: var(--unusual); font-weight: 600; }
@media (max-width: 70rem) {
  body { padding: 1rem; }
  thead { display: none; }
  tbody tr { display: grid; grid-template-columns: repeat(auto-fill, minmax(6.5rem, 1fr)); border-bottom: 1px solid var(--line);
    padding: .3rem 0; }
  td, td.number, td.whole { border: 0; padding: .1rem .5rem; text-align: left; white-space: normal; min-width: 0; }
  td:empty { display: none; }
  td::before { content: attr(data-label); display: block; color: var(--faint); font-weight: 400; font-size: .75rem; }
}
.key span { display: inline-block; width: .8rem; height: .8rem; margin: 0 .3rem 0 .9rem; border-radius: 2px; vertical-align: -1px; }
"""
Clock = Callable[[int], str]
"""Formats a moment, given in ms since the start of the timeline."""


def html_page(title: str, source: str, css: str, body: Iterable[str]) -> str:
    """A whole page. `source` is one line about what made it; `css` has the rules that only this page needs."""
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html_text(title)}</title>\n<style>{_CSS}{css}</style>\n</head>\n<body>\n"
        f'<h1>{html_text(title)}</h1>\n<p class="faint">{html_text(source)}</p>\n'
    )
    return "".join((head, *body, "</body>\n</html>\n"))


def html_text(text: str) -> str:
    """Text from data with markup escaped, and with every character that could reorder or hide text."""
    return escape(terminal_line(text))


def html_pre(lines: Iterable[str]) -> str:
    return "<pre>" + "\n".join(map(html_text, lines)) + "</pre>\n"


def html_list(items: Iterable[str]) -> Iterator[str]:
    """A list; nothing if there are no items."""
    found = [f"<li>{html_text(item)}</li>" for item in items]
    if found:
        yield f"<ul>{''.join(found)}</ul>\n"


class Cell(NamedTuple):
    """A table cell: its text, its tooltip, and its classes (`number`, `time`, `whole`, `bad`)."""

    text: str
    hint: str = ""
    css: str = ""


def html_table(head: Sequence[str | Cell], rows: Iterable[Sequence[str | Cell]], count: int, *, rows_max: int = ROWS_MAX) -> Iterator[str]:
    """A table of the first rows; `count` is the number of all rows."""
    names = [Cell(name) if isinstance(name, str) else name for name in head]
    labels = [f' data-label="{html_text(name.text)}"' for name in names]
    yield '<div class="wide"><table><thead><tr>' + "".join(_cell("th", name, "") for name in names) + "</tr></thead><tbody>\n"
    for number, row in enumerate(rows):
        if number == rows_max:
            break
        yield "<tr>" + "".join(_cell("td", cell, label) for cell, label in zip(row, labels, strict=True)) + "</tr>\n"
    yield "</tbody></table></div>\n"
    if count > rows_max:
        yield f'<p class="faint">{count - rows_max} more rows are left out.</p>\n'


def _cell(tag: str, cell: str | Cell, label: str) -> str:
    text, hint, css = (cell, "", "") if isinstance(cell, str) else cell
    more = (f' class="{css}"' if css else "") + (f' title="{html_text(hint)}"' if hint else "")
    inner = html_text(text)
    # A narrow column may break a time before its T, and nowhere else.
    inner = inner.replace("T", "<wbr>T", 1) if tag == "td" and "time" in css.split() else inner
    return f"<{tag}{more}{label}>{inner}</{tag}>"


def color_rules(names: Iterable[str]) -> str:
    """A CSS class per name, in the colour of the page's variable of that name."""
    return "".join(f".{name} {{ fill: var(--{name}); background: var(--{name}); }}\n" for name in names)


def color_legend(names: Iterable[str]) -> str:
    """A legend of the class colours."""
    return (
        '<p class="key faint">' + "".join(f'<span class="{name}"></span>{html_text(name.replace("_", " "))}' for name in names) + "</p>\n"
    )


# ---- timelines


class Lane:
    """A row of a timeline: its name, and bars of (class, from, to, tooltip)."""

    __slots__ = ("bars", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.bars: list[tuple[str, int, int | None, str]] = []


def timeline(lanes: Sequence[Lane], marks: Iterable[tuple[int, str]], end_ms: int, clock: Clock) -> Iterator[str]:
    """Lanes over time, with numbered marks of (time, tooltip) across all of them."""
    first = lanes[:LANES_MAX]
    height = TOP + _LANE * max(len(first), 1) + 10
    yield f'<div class="wide"><svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="timeline">\n'
    yield from time_axis(end_ms, height, clock)
    for number, lane in enumerate(first):
        yield from _lane(lane, TOP + number * _LANE, end_ms)
    for number, (at_ms, says) in enumerate(marks):
        if number == MARKS_MAX:
            break
        x = time_position(at_ms, end_ms)
        yield f'<text x="{x:.1f}" y="{TOP - 5}" text-anchor="middle">{number + 1}</text>'
        yield f'<g class="mark"><line x1="{x:.1f}" y1="{TOP - 3}" x2="{x:.1f}" y2="{height}"/><title>{html_text(says)}</title></g>\n'
    yield "</svg></div>\n"
    if len(lanes) > len(first):
        yield f'<p class="faint">{counted(len(lanes) - len(first), "more lane")} left out.</p>\n'


def time_position(at_ms: int, end_ms: int) -> float:
    """The x coordinate of a moment."""
    return LEFT + (WIDTH - LEFT - RIGHT) * min(max(at_ms, 0), end_ms) / end_ms


def time_axis(end_ms: int, height: int, clock: Clock) -> Iterator[str]:
    """Vertical lines with their times, for a picture of this height."""
    step = next((nice for nice in _NICE_MS if end_ms / nice <= _TICKS), max(_NICE_MS[-1], end_ms // _TICKS // _NICE_MS[-1] * _NICE_MS[-1]))
    for at_ms in range(0, end_ms + 1, step):
        x = time_position(at_ms, end_ms)
        yield f'<line x1="{x:.1f}" y1="{TOP - 12}" x2="{x:.1f}" y2="{height}"/>'
        yield f'<text x="{x:.1f}" y="14" text-anchor="middle">{clock(at_ms)}</text>\n'


def _lane(lane: Lane, y: int, end_ms: int) -> Iterator[str]:
    name = lane.name if len(lane.name) <= 28 else lane.name[:27] + "…"
    yield f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{html_text(name)}<title>{html_text(lane.name)}</title></text>'
    for css, from_ms, to_ms, says in lane.bars[:ROWS_MAX]:
        x = time_position(from_ms, end_ms)
        width = max(time_position(end_ms if to_ms is None else to_ms, end_ms) - x, 2.0)
        box = f'x="{x:.1f}" y="{y + 2}" width="{width:.1f}" height="{_LANE - 5}"'
        yield f'<rect class="{css}" {box}><title>{html_text(says)}</title></rect>'
    yield "\n"
