"""Outcomes as rows, JSON objects and one HTML page.

The page compares the strategies: figures side by side, and for each the members at work and the number of partitions without an owner over
time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from metashell.common.forms import counted
from metashell.common.html_page import (
    LEFT,
    TOP,
    Lane,
    color_legend,
    color_rules,
    html_list,
    html_page,
    html_pre,
    html_table,
    html_text,
    time_axis,
    time_position,
    timeline,
)
from metashell.common.values import clock_text, duration_text
from metashell.groups.simulation import RULES, STRATEGIES, Outcome, Plan, Span
from metashell.groups.simulation.scenarios import Scenario

COLUMNS: Final = {
    "rounds": ("assignments of the group", "rounds"),
    "moved": ("partitions that went from one member to another", "partitions"),
    "given_back": ("partitions that a member revoked and got again", "partitions"),
    "revoked": ("partitions in revoked callbacks", "partitions"),
    "lost": ("partitions in lost callbacks", "partitions"),
    "idle_member_s": ("time that members ran and owned nothing, of all members", "s"),
    "unowned_partition_s": ("time without an owner, of all partitions", "s"),
    "longest_gap_ms": ("longest time that one partition had no owner", "ms"),
    "unowned_ms": ("time in which some partition had no owner", "ms"),
    "took_ms": ("from the first step to the last change that followed", "ms"),
    "settled_ms": ("from the last step to the last change that followed", "ms"),
    "zombies": ("partitions that a member removed as dead still believed to own", "partitions"),
    "read_twice": ("records that were processed, and read again by the next owner", "records"),
    "refused_commits": ("commits that were refused, at least in part", "requests"),
    "violations": ("broken rules", "rules"),
    "events": ("messages, timers, polls and callbacks of the simulation", "events"),
}
"""The figures of a row, in order: description and unit."""
VIOLATIONS_SHOWN: Final = 5


def outcome_row(outcome: Outcome) -> dict[str, Any]:
    """Return the figures of an outcome as an object of plain values."""
    figures = outcome.figures
    return {
        "strategy": outcome.strategy,
        "rounds": figures.rounds,
        "moved": figures.moved,
        "given_back": figures.given_back,
        "revoked": figures.revoked,
        "lost": figures.lost,
        "idle_member_s": figures.idle_member_ms / 1000,
        "unowned_partition_s": figures.unowned_partition_ms / 1000,
        "longest_gap_ms": figures.gap_max_ms,
        "unowned_ms": figures.unowned_ms,
        "took_ms": outcome.took_ms,
        "settled_ms": outcome.settled_ms,
        "zombies": figures.zombies,
        "read_twice": figures.read_twice,
        "refused_commits": figures.refused_commits,
        "violations": len(outcome.violations),
        "events": outcome.events,
    }


def outcome_object(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as JSON object, without the series that only the page draws."""
    return {
        "type": "rebalance_run",
        "scenario": outcome.scenario,
        "seed": outcome.seed,
        **outcome_row(outcome),
        "steps": [{"at_ms": mark.at_ms, "text": mark.text} for mark in outcome.marks],
        "assignments": [
            {"at_ms": one.at_ms, "epoch": one.epoch, "members": one.member_count, "moved": one.moved} for one in outcome.rounds
        ],
        "violated": [{"rule": one.rule, "at_ms": one.at_ms, "text": one.text} for one in outcome.violations],
        "owned": dict(outcome.final),
    }


def simulation_object(plan: Plan, scenario: Scenario, outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """Return all outcomes as one JSON object."""
    return {
        "type": "rebalance",
        "scenario": scenario.name,
        "summary": scenario.summary,
        "members": plan.members,
        "partitions": plan.partitions,
        "topics": len(plan.topic_sizes()),
        "seed": plan.seed,
        "runs": [outcome_object(outcome) for outcome in outcomes],
    }


def simulation_heading(plan: Plan, scenario: Scenario) -> str:
    """Return a line that describes the simulation."""
    size = f"{counted(plan.members, 'member')}, {counted(plan.partitions, 'partition')} of {counted(len(plan.topic_sizes()), 'topic')}"
    return f"{scenario.name}: {scenario.summary}; {size}; seed {plan.seed}"


HEAD: Final = (
    *("STRATEGY", "ROUNDS", "MOVED", "GIVEN BACK", "WITHOUT WORK", "WITHOUT OWNER", "LONGEST GAP", "READ TWICE"),
    *("TOOK", "SETTLED AFTER"),
)


def outcome_text_rows(outcomes: Iterable[Outcome]) -> Iterator[Sequence[str]]:
    """Yield the head and a row for each outcome, with the main figures."""
    yield HEAD
    for one in outcomes:
        figures = one.figures
        yield (
            one.strategy,
            str(figures.rounds),
            str(figures.moved),
            str(figures.given_back),
            f"{figures.idle_member_ms / 1000:.1f} member-s",
            f"{figures.unowned_partition_ms / 1000:.1f} partition-s",
            duration_text(figures.gap_max_ms),
            str(figures.read_twice),
            duration_text(one.took_ms),
            "never" if one.settled_ms is None else duration_text(one.settled_ms),
        )


def outcome_remarks(outcome: Outcome) -> Iterator[str]:
    """Yield lines about problems of an outcome: broken rules, failed members, a group that did not settle."""
    for one in outcome.violations[:VIOLATIONS_SHOWN]:
        yield f"{outcome.strategy}: {clock_text(one.at_ms)} {one.text} (rule {one.rule}: {RULES[one.rule]})"
    if len(outcome.violations) > VIOLATIONS_SHOWN:
        yield f"{outcome.strategy}: {len(outcome.violations) - VIOLATIONS_SHOWN} more"
    if outcome.figures.zombies:
        zombies = counted(outcome.figures.zombies, "partition")
        yield f"{outcome.strategy}: {zombies} went to another member while one that was removed as dead still believed to own them"
    for text in outcome.failures:
        yield f"{outcome.strategy}: {text}"


_CSS: Final = """
:root { --working: #9fd0ae; --callback: #d9a13a; --idle: #b83a3a; --bar: #8fb8dc; --area: #b83a3a; --moves: #35618a; }
@media (prefers-color-scheme: dark) { :root { --working: #2f6b43; --bar: #35618a; } }
.bar { fill: var(--bar); } .area { fill: var(--area); opacity: .75; } .moves { fill: none; stroke: var(--moves); stroke-width: 1.5; }
"""
_STATES: Final = ("working", "callback", "idle")
"""States of members, the worst one last."""
_SPANS_MAX: Final = 150
_SAYS: Final = {"working": "owns partitions", "callback": "in a callback", "idle": "owns nothing"}
_CHART: Final = 120
_BAR: Final = 22
_POINTS_MAX: Final = 2_000
_COMPARED: Final = ("moved", "given_back", "idle_member_s", "unowned_partition_s", "longest_gap_ms", "rounds", "took_ms")


def simulation_page(plan: Plan, scenario: Scenario, outcomes: Sequence[Outcome]) -> str:
    """Yield the HTML page of the outcomes of one scenario."""
    source = f"metashell simulate rebalance: {simulation_heading(plan, scenario)}"
    return html_page(f"Rebalance: {scenario.name}", source, _CSS + color_rules(_STATES), _body(outcomes))


def _body(outcomes: Sequence[Outcome]) -> Iterator[str]:
    broken = sum(len(outcome.violations) for outcome in outcomes)
    verdict = f"rules were broken {broken} times" if broken else f"all {len(RULES)} rules held"
    yield f'<p class="verdict {"unsafe" if broken else "safe"}">{html_text(verdict)}</p>\n'
    yield from html_list(remark for outcome in outcomes for remark in outcome_remarks(outcome))
    yield "<h2>Side by side</h2>\n"
    head, *rows = outcome_text_rows(outcomes)
    yield from html_table([name.lower() for name in head], rows, len(rows))
    for name in _COMPARED:
        yield from _bars(name, outcomes)
    for outcome in outcomes:
        yield f"<h2>{html_text(outcome.strategy)}: {html_text(STRATEGIES[outcome.strategy].summary)}</h2>\n"
        yield from _members(outcome)
        yield from _unowned(outcome)
        rounds = ([clock_text(one.at_ms), str(one.epoch), str(one.member_count), str(one.moved)] for one in outcome.rounds)
        yield from html_table(
            ["assignment at", "generation or epoch", "members", "partitions moved"], rows=rounds, count=len(outcome.rounds)
        )
    yield "<h2>Figures</h2>\n"
    yield html_pre(f"{name:<24} {meaning} [{unit}]" for name, (meaning, unit) in COLUMNS.items())
    yield "<h2>Rules</h2>\n"
    yield html_pre(f"{name:<12} {rule}" for name, rule in RULES.items())


def _bars(name: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Draw one figure of each strategy as bars."""
    values = [float(outcome_row(outcome)[name] or 0) for outcome in outcomes]
    most = max(values, default=0)
    if most <= 0:
        return
    meaning, unit = COLUMNS[name]
    height = _BAR * len(outcomes) + 26
    yield f'<div class="wide"><svg viewBox="0 0 1100 {height}" role="img" aria-label="{html_text(meaning)}">\n'
    yield f'<text x="8" y="16">{html_text(meaning)} [{html_text(unit)}]</text>\n'
    for number, (outcome, value) in enumerate(zip(outcomes, values, strict=True)):
        y = 24 + number * _BAR
        yield f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{html_text(outcome.strategy)}</text>'
        yield f'<rect class="bar" x="{LEFT}" y="{y}" width="{max(780 * value / most, 1):.1f}" height="{_BAR - 5}"/>'
        yield f'<text x="{LEFT + 786 * value / most + 6:.1f}" y="{y + 13}">{value:g}</text>\n'
    yield "</svg></div>\n"


def _members(outcome: Outcome) -> Iterator[str]:
    """Draw the states of members over time."""
    end_ms = _end_ms(outcome)
    lanes = []
    for slot, spans in outcome.lanes.items():
        lane = Lane(slot)
        lane.bars = [(span.state, span.from_ms, span.to_ms, _says(span)) for span in _seen(spans, end_ms) if span.from_ms < end_ms]
        lanes.append(lane)
    yield color_legend(_STATES)
    yield from timeline(lanes, ((mark.at_ms, f"{clock_text(mark.at_ms)} {mark.text}") for mark in outcome.marks), end_ms, clock_text)


def _seen(spans: Sequence[Span], end_ms: int) -> Sequence[Span]:
    """Return the spans to draw: if there are too many, the worst state in each slice of time."""
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
    """Draw partitions without an owner over time, and those that have moved so far."""
    end_ms = _end_ms(outcome)
    most = max((count for _, count in outcome.unowned), default=0)
    moved = max((count for _, count in outcome.moves), default=0)
    height = TOP + _CHART + 10
    yield f'<div class="wide"><svg viewBox="0 0 1100 {height}" role="img" aria-label="partitions without an owner">\n'
    yield from time_axis(end_ms, height, clock_text)
    says = f"without an owner, at most {most}; the line: moved so far, {moved}"
    yield f'<text x="{LEFT - 8}" y="{TOP + 12}" text-anchor="end">partitions<title>{html_text(says)}</title></text>\n'
    area = f"{_path(outcome.unowned, most, end_ms)} V{TOP + _CHART} H{LEFT} Z"
    yield f'<path class="area" d="{area}"><title>{html_text(says)}</title></path>\n'
    yield f'<path class="moves" d="{_path(outcome.moves, moved, end_ms)}"/>\n'
    yield f'</svg></div>\n<p class="faint">Partitions {html_text(says)}.</p>\n'


def _path(points: Sequence[tuple[int, int]], most: int, end_ms: int) -> str:
    """Return a step line through points, thinned if there are too many to see."""
    bottom = TOP + _CHART
    parts = [f"M{LEFT} {bottom}"]
    seen: dict[int, int] = {}
    for at_ms, count in points:
        if at_ms <= end_ms:
            x = round(time_position(at_ms, end_ms) * 2)
            seen[x] = max(count, seen.get(x, 0)) if len(points) > _POINTS_MAX else count
    for x, count in seen.items():
        parts.append(f"H{x / 2:.1f} V{bottom - _CHART * count / max(most, 1):.1f}")
    return " ".join((*parts, f"H{time_position(end_ms, end_ms):.1f}"))


def _end_ms(outcome: Outcome) -> int:
    return max(outcome.took_ms, 1) * 21 // 20 + 1
