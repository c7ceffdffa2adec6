"""An outcome as one HTML page: the verdict, a timeline, what was in trouble, what changes, what was assumed.

The page loads nothing and runs nothing, and forbids itself both by a Content-Security-Policy. Every text from data goes through `_text`.
However large the cluster is, the page has a bounded number of rows and says what it left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from metashell.amounts import clock_text, duration_text
from metashell.escape import terminal_line
from metashell.forms import counted
from metashell.rehearse.answers.answer_text import (
    MEANINGS,
    assumption_lines,
    change_lines,
    is_safe,
    load_rows,
    numbers_text,
    step_lines,
    trouble_lines,
    verdict_line,
)
from metashell.rehearse.outcome import BrokerState, Interval, Outcome, Trouble

ROWS_MAX: Final = 300
LANES_MAX: Final = 120
MARKS_MAX: Final = 60
_WIDTH, _LEFT, _RIGHT, _LANE, _TOP = 1100, 190, 20, 18, 36
_TICKS: Final = 8
_NICE_MS: Final = (
    100,
    200,
    500,
    1000,
    2000,
    5000,
    10_000,
    15_000,
    30_000,
    60_000,
    120_000,
    300_000,
    600_000,
    900_000,
    1_800_000,
    3_600_000,
)
_STATE_CLASSES: Final = {
    BrokerState.DEAD: "dead",
    BrokerState.STARTING: "starting",
    BrokerState.FENCED: "fenced",
    BrokerState.SERVING: "serving",
    BrokerState.SHUTTING_DOWN: "leaving",
}
_CSS: Final = """
:root { color-scheme: light dark; --page: #fff; --text: #1c2430; --faint: #5b6675; --line: #d8dee6; --head: #f2f5f8;
  --safe: #2f8f4e; --unsafe: #b83a3a; --serving: #9fd0ae; --dead: #b83a3a; --fenced: #d9a13a; --starting: #8fb8dc; --leaving: #c9ab72;
  --offline: #b83a3a; --unclean: #7a2a6b; --failover: #d9730d; --under_min_isr: #c7b12c; --stalled: #8c95a1; }
@media (prefers-color-scheme: dark) { :root { --page: #14181d; --text: #e3e8ee; --faint: #9aa5b1; --line: #323a44; --head: #1d232a;
  --serving: #2f6b43; --starting: #35618a; } }
body { margin: 0 auto; max-width: 75rem; padding: 1.5rem; background: var(--page); color: var(--text); font: 15px/1.5 system-ui; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 1.75rem 0 .4rem; }
.verdict { padding: .6rem .9rem; border-radius: 6px; color: #fff; font-weight: 600; font-size: 1.1rem; }
.safe { background: var(--safe); } .unsafe { background: var(--unsafe); }
.faint { color: var(--faint); } ul { margin: .25rem 0; padding-left: 1.25rem; }
pre { overflow-x: auto; background: var(--head); padding: .75rem; border-radius: 6px; font-size: .85rem; }
.wide { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; padding: .25rem; }
svg { display: block; min-width: 60rem; width: 100%; height: auto; font: 11px system-ui, sans-serif; fill: var(--text); }
svg line { stroke: var(--line); } .mark line { stroke: var(--text); stroke-dasharray: 3 3; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: left; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { background: var(--head); }
.key span { display: inline-block; width: .8rem; height: .8rem; margin: 0 .3rem 0 .9rem; border-radius: 2px; vertical-align: -1px; }
"""
_COLORS: Final = (*_STATE_CLASSES.values(), *(trouble.value for trouble in Trouble), "gap")


def outcome_page(outcome: Outcome, texts: Sequence[str], label: str, title: str = "", notes: Sequence[str] = ()) -> str:
    """The HTML of an outcome; `texts` are the steps as they were written, `notes` what the plan says about each."""
    heading = title or (texts[0] if len(texts) == 1 else f"Rehearsal of {counted(len(texts), 'step')}")
    return "".join(_page(outcome, texts, label, heading, notes))


def _page(outcome: Outcome, texts: Sequence[str], label: str, heading: str, notes: Sequence[str]) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{_text(heading)}</title>\n<style>{_CSS}{_color_rules()}</style>\n</head>\n<body>\n"
    yield f'<h1>{_text(heading)}</h1>\n<p class="faint">metashell rehearse: {_text(label)}</p>\n'
    yield f'<p class="verdict {"safe" if is_safe(outcome) else "unsafe"}">{_text(verdict_line(outcome))}</p>\n'
    yield from _list(outcome.verdict.reasons[1:])
    yield "<h2>Steps</h2>\n"
    yield _pre(step_lines(outcome, texts))
    yield from _list(f"step {number}: {note}" for number, note in enumerate(notes, 1) if note)
    yield "<h2>Timeline</h2>\n"
    yield from _timeline(outcome, texts)
    yield "<h2>Trouble</h2>\n"
    yield _pre(list(trouble_lines(outcome)) or ["none"])
    yield from _trouble_table(outcome)
    yield "<h2>Events</h2>\n"
    yield from _table(["at", "what"], ([clock_text(event.at_ms), event.text] for event in outcome.events), len(outcome.events))
    yield "<h2>Brokers before and after</h2>\n"
    head, *rows = load_rows(outcome, outcome.brokers) or [[]]
    yield from _table([name.lower() for name in head], rows, len(rows))
    yield "<h2>What changes</h2>\n"
    yield _pre(change_lines(outcome))
    yield "<h2>Assumed</h2>\n"
    yield _pre(assumption_lines(outcome, label))
    yield "</body>\n</html>\n"


def _text(text: str) -> str:
    """Text from data, escaped: markup, and what would reorder or hide text."""
    return escape(terminal_line(text))


def _pre(lines: Iterable[str]) -> str:
    return "<pre>" + "\n".join(map(_text, lines)) + "</pre>\n"


def _list(items: Iterable[str]) -> Iterator[str]:
    shown = [f"<li>{_text(item)}</li>" for item in items]
    if shown:
        yield f"<ul>{''.join(shown)}</ul>\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], count: int) -> Iterator[str]:
    yield '<div class="wide"><table><thead><tr>' + "".join(f"<th>{_text(name)}</th>" for name in head) + "</tr></thead><tbody>\n"
    for number, row in enumerate(rows):
        if number == ROWS_MAX:
            break
        yield "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>\n"
    yield "</tbody></table></div>\n"
    if count > ROWS_MAX:
        yield f'<p class="faint">{count - ROWS_MAX} more rows are left out.</p>\n'


def _trouble_table(outcome: Outcome) -> Iterator[str]:
    """The intervals, those of one topic, trouble and time together, the gravest first."""
    groups = _grouped(outcome.intervals)
    rows = (
        [
            trouble.value.replace("_", " "),
            f"{topic}:{numbers_text(partitions)}",
            clock_text(from_ms) if not was_before else "before",
            "to the end" if to_ms is None else clock_text(to_ms),
            "" if to_ms is None else duration_text(to_ms - from_ms),
            cause,
        ]
        for (trouble, topic, from_ms, to_ms, was_before, cause), partitions in groups
    )
    if groups:
        yield from _table(["trouble", "partitions", "from", "to", "length", "cause"], rows, len(groups))


_Key = tuple[Trouble, str, int, int | None, bool, str]


def _grouped(intervals: Iterable[Interval]) -> list[tuple[_Key, list[int]]]:
    groups: dict[_Key, list[int]] = {}
    for one in intervals:
        groups.setdefault((one.trouble, one.topic, one.from_ms, one.to_ms, one.was_before, one.cause), []).append(one.partition)
    gravity = {trouble: number for number, trouble in enumerate(MEANINGS)}
    return sorted(groups.items(), key=lambda item: (gravity[item[0][0]], item[0][2], item[0][1]))


# ---- the timeline


def _color_rules() -> str:
    return "".join(f".{name} {{ fill: var(--{name}); background: var(--{name}); }}\n" for name in _COLORS if name != "gap") + (
        ".gap { fill: #444; background: #444; }\n"
    )


class _Lane:
    """A row of the timeline: its name, and bars of (class, from, to, what it says)."""

    __slots__ = ("bars", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.bars: list[tuple[str, int, int | None, str]] = []


def _timeline(outcome: Outcome, texts: Sequence[str]) -> Iterator[str]:
    """Lanes over time: the quorum, the brokers that did anything but serve, and the topics in trouble."""
    lanes = [*_quorum_lane(outcome), *_broker_lanes(outcome), *_trouble_lanes(outcome)]
    shown = lanes[:LANES_MAX]
    end_ms = max(outcome.ended_ms, 1)
    height = _TOP + _LANE * max(len(shown), 1) + 10
    yield '<p class="key faint">' + "".join(f'<span class="{name}"></span>{_text(name.replace("_", " "))}' for name in _COLORS) + "</p>\n"
    yield f'<div class="wide"><svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="timeline">\n'
    yield from _axis(end_ms, height)
    for number, lane in enumerate(shown):
        yield from _lane(lane, _TOP + number * _LANE, end_ms)
    for number, report in enumerate(outcome.steps[:MARKS_MAX]):
        x = _x(report.began_ms, end_ms)
        yield f'<text x="{x:.1f}" y="{_TOP - 5}" text-anchor="middle">{number + 1}</text>'
        yield f'<g class="mark"><line x1="{x:.1f}" y1="{_TOP - 3}" x2="{x:.1f}" y2="{height}"/>'
        yield f"<title>{_text(f'{clock_text(report.began_ms)} {texts[number] if texts else number + 1}')}</title></g>\n"
    yield "</svg></div>\n"
    if len(lanes) > len(shown):
        yield f'<p class="faint">{counted(len(lanes) - len(shown), "more lane")} left out.</p>\n'


def _x(at_ms: int, end_ms: int) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * min(max(at_ms, 0), end_ms) / end_ms


def _axis(end_ms: int, height: int) -> Iterator[str]:
    step = next((nice for nice in _NICE_MS if end_ms / nice <= _TICKS), max(_NICE_MS[-1], end_ms // _TICKS // _NICE_MS[-1] * _NICE_MS[-1]))
    for at_ms in range(0, end_ms + 1, step):
        x = _x(at_ms, end_ms)
        yield f'<line x1="{x:.1f}" y1="{_TOP - 12}" x2="{x:.1f}" y2="{height}"/>'
        yield f'<text x="{x:.1f}" y="14" text-anchor="middle">{clock_text(at_ms)}</text>\n'


def _lane(lane: _Lane, y: int, end_ms: int) -> Iterator[str]:
    name = lane.name if len(lane.name) <= 28 else lane.name[:27] + "…"
    yield f'<text x="{_LEFT - 8}" y="{y + 12}" text-anchor="end">{_text(name)}<title>{_text(lane.name)}</title></text>'
    for css, from_ms, to_ms, says in lane.bars[:ROWS_MAX]:
        x = _x(from_ms, end_ms)
        width = max(_x(end_ms if to_ms is None else to_ms, end_ms) - x, 2.0)
        yield f'<rect class="{css}" x="{x:.1f}" y="{y + 2}" width="{width:.1f}" height="{_LANE - 5}"><title>{_text(says)}</title></rect>'
    yield "\n"


def _says(what: str, from_ms: int, to_ms: int | None) -> str:
    return f"{what}: {clock_text(from_ms)} {'to the end' if to_ms is None else f'to {clock_text(to_ms)}'}"


def _quorum_lane(outcome: Outcome) -> Iterator[_Lane]:
    if outcome.quorum_gaps:
        lane = _Lane("active controller")
        lane.bars = [("gap", gap.from_ms, gap.to_ms, _says(gap.why, gap.from_ms, gap.to_ms)) for gap in outcome.quorum_gaps]
        yield lane


def _broker_lanes(outcome: Outcome) -> Iterator[_Lane]:
    lanes: dict[int, _Lane] = {}
    for span in outcome.broker_spans:
        lane = lanes.setdefault(span.broker, _Lane(f"broker {span.broker}"))
        lane.bars.append((_STATE_CLASSES[span.state], span.from_ms, span.to_ms, _says(span.state.value, span.from_ms, span.to_ms)))
    for _, lane in sorted(lanes.items()):
        if len(lanes) <= LANES_MAX // 2 or any(css != "serving" for css, _, _, _ in lane.bars):
            yield lane


def _trouble_lanes(outcome: Outcome) -> Iterator[_Lane]:
    """A lane for each topic and trouble, the gravest first."""
    lanes: dict[tuple[Trouble, str], _Lane] = {}
    for (trouble, topic, from_ms, to_ms, _, _), partitions in _grouped(outcome.intervals):
        word = trouble.value.replace("_", " ")
        lane = lanes.setdefault((trouble, topic), _Lane(f"{word}: {topic}"))
        if len(lane.bars) < ROWS_MAX:
            lane.bars.append((trouble.value, from_ms, to_ms, _says(f"{counted(len(partitions), 'partition')} {word}", from_ms, to_ms)))
    yield from lanes.values()
