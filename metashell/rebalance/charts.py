"""Simulations as one HTML page: figures side by side, and for each strategy who worked when and how many partitions had no owner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from metashell.amounts import clock_text, duration_text
from metashell.page import LEFT, TOP, Lane, axis, bullets, color_rules, key, page, place, pre, shown, table, timeline
from metashell.rebalance.answer import COLUMNS, heading, remarks, row, text_rows
from metashell.rebalance.outcome import RULES, Outcome, Span
from metashell.rebalance.plan import STRATEGIES, Plan
from metashell.rebalance.scenarios import Scenario

_CSS: Final = """
:root { --working: #9fd0ae; --callback: #d9a13a; --idle: #b83a3a; --bar: #8fb8dc; --area: #b83a3a; --moves: #35618a; }
@media (prefers-color-scheme: dark) { :root { --working: #2f6b43; --bar: #35618a; } }
.bar { fill: var(--bar); } .area { fill: var(--area); opacity: .75; } .moves { fill: none; stroke: var(--moves); stroke-width: 1.5; }
"""
_STATES: Final = ("working", "callback", "idle")
"""The worst one last."""
_SPANS_MAX: Final = 150
_SAYS: Final = {"working": "owns partitions", "callback": "in a callback", "idle": "owns nothing"}
_CHART: Final = 120
_BAR: Final = 22
_POINTS_MAX: Final = 2_000
_COMPARED: Final = ("moved", "given_back", "idle_member_s", "unowned_partition_s", "longest_gap_ms", "rounds", "took_ms")


def simulation_page(plan: Plan, scenario: Scenario, outcomes: Sequence[Outcome]) -> str:
    """The HTML of the outcomes of one scenario."""
    source = f"metashell simulate rebalance: {heading(plan, scenario)}"
    return page(f"Rebalance: {scenario.name}", source, _CSS + color_rules(_STATES), _body(outcomes))


def _body(outcomes: Sequence[Outcome]) -> Iterator[str]:
    broken = sum(len(outcome.violations) for outcome in outcomes)
    verdict = f"{broken} times a rule did not hold" if broken else f"all {len(RULES)} rules held"
    yield f'<p class="verdict {"unsafe" if broken else "safe"}">{shown(verdict)}</p>\n'
    yield from bullets(remark for outcome in outcomes for remark in remarks(outcome))
    yield "<h2>Side by side</h2>\n"
    head, *rows = text_rows(outcomes)
    yield from table([name.lower() for name in head], rows, len(rows))
    for name in _COMPARED:
        yield from _bars(name, outcomes)
    for outcome in outcomes:
        yield f"<h2>{shown(outcome.strategy)}: {shown(STRATEGIES[outcome.strategy].summary)}</h2>\n"
        yield from _members(outcome)
        yield from _unowned(outcome)
        rounds = ([clock_text(one.at_ms), str(one.epoch), str(one.member_count), str(one.moved)] for one in outcome.rounds)
        yield from table(["assignment at", "generation or epoch", "members", "partitions moved"], rows=rounds, count=len(outcome.rounds))
    yield "<h2>Figures</h2>\n"
    yield pre(f"{name:<24} {meaning} [{unit}]" for name, (meaning, unit) in COLUMNS.items())
    yield "<h2>Rules</h2>\n"
    yield pre(f"{name:<12} {rule}" for name, rule in RULES.items())


def _bars(name: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """One figure of each strategy as bars."""
    values = [float(row(outcome)[name] or 0) for outcome in outcomes]
    most = max(values, default=0)
    if most <= 0:
        return
    meaning, unit = COLUMNS[name]
    height = _BAR * len(outcomes) + 26
    yield f'<div class="wide"><svg viewBox="0 0 1100 {height}" role="img" aria-label="{shown(meaning)}">\n'
    yield f'<text x="8" y="16">{shown(meaning)} [{shown(unit)}]</text>\n'
    for number, (outcome, value) in enumerate(zip(outcomes, values, strict=True)):
        y = 24 + number * _BAR
        yield f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{shown(outcome.strategy)}</text>'
        yield f'<rect class="bar" x="{LEFT}" y="{y}" width="{max(780 * value / most, 1):.1f}" height="{_BAR - 5}"/>'
        yield f'<text x="{LEFT + 786 * value / most + 6:.1f}" y="{y + 13}">{value:g}</text>\n'
    yield "</svg></div>\n"


def _members(outcome: Outcome) -> Iterator[str]:
    """Who worked when."""
    end_ms = _end_ms(outcome)
    lanes = []
    for slot, spans in outcome.lanes.items():
        lane = Lane(slot)
        lane.bars = [(span.state, span.from_ms, span.to_ms, _says(span)) for span in _seen(spans, end_ms) if span.from_ms < end_ms]
        lanes.append(lane)
    yield key(_STATES)
    yield from timeline(lanes, ((mark.at_ms, f"{clock_text(mark.at_ms)} {mark.text}") for mark in outcome.marks), end_ms, clock_text)


def _seen(spans: Sequence[Span], end_ms: int) -> Sequence[Span]:
    """Spans as they are drawn: of very many, the worst state in each short part of the time."""
    if len(spans) <= _SPANS_MAX:
        return spans
    parts = [-1] * _SPANS_MAX
    for span in spans:
        badness = _STATES.index(span.state)
        for part in range(span.from_ms * _SPANS_MAX // end_ms, min(span.to_ms * _SPANS_MAX // end_ms, _SPANS_MAX - 1) + 1):
            parts[part] = max(parts[part], badness)
    found: list[Span] = []
    for part, badness in enumerate(parts):
        from_ms, to_ms = part * end_ms // _SPANS_MAX, (part + 1) * end_ms // _SPANS_MAX
        if found and badness >= 0 and found[-1].state == _STATES[badness] and found[-1].to_ms == from_ms:
            found[-1] = found[-1]._replace(to_ms=to_ms)
        elif badness >= 0:
            found.append(Span(_STATES[badness], from_ms, to_ms))
    return found


def _says(span: Span) -> str:
    return f"{_SAYS[span.state]}: {clock_text(span.from_ms)}, {duration_text(span.to_ms - span.from_ms)}"


def _unowned(outcome: Outcome) -> Iterator[str]:
    """Partitions without an owner over time, and those that have moved so far."""
    end_ms = _end_ms(outcome)
    most = max((count for _, count in outcome.unowned), default=0)
    moved = max((count for _, count in outcome.moves), default=0)
    height = TOP + _CHART + 10
    yield f'<div class="wide"><svg viewBox="0 0 1100 {height}" role="img" aria-label="partitions without an owner">\n'
    yield from axis(end_ms, height, clock_text)
    says = f"without an owner, at most {most}; the line: moved so far, {moved}"
    yield f'<text x="{LEFT - 8}" y="{TOP + 12}" text-anchor="end">partitions<title>{shown(says)}</title></text>\n'
    yield f'<path class="area" d="{_path(outcome.unowned, most, end_ms)} V{TOP + _CHART} H{LEFT} Z"><title>{shown(says)}</title></path>\n'
    yield f'<path class="moves" d="{_path(outcome.moves, moved, end_ms)}"/>\n'
    yield f'</svg></div>\n<p class="faint">Partitions {shown(says)}.</p>\n'


def _path(points: Sequence[tuple[int, int]], most: int, end_ms: int) -> str:
    """A line of steps through points; of very many, those that are seen."""
    bottom = TOP + _CHART
    parts = [f"M{LEFT} {bottom}"]
    seen: dict[int, int] = {}
    for at_ms, count in points:
        if at_ms <= end_ms:
            x = round(place(at_ms, end_ms) * 2)
            seen[x] = max(count, seen.get(x, 0)) if len(points) > _POINTS_MAX else count
    for x, count in seen.items():
        parts.append(f"H{x / 2:.1f} V{bottom - _CHART * count / max(most, 1):.1f}")
    return " ".join((*parts, f"H{place(end_ms, end_ms):.1f}"))


def _end_ms(outcome: Outcome) -> int:
    return max(outcome.took_ms, 1) * 21 // 20 + 1
