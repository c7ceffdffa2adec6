"""An outcome as one HTML page: the verdict, a timeline, what was in trouble, what changes, what was assumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from metashell.amounts import clock_text, duration_text
from metashell.forms import counted
from metashell.page import LANES_MAX, ROWS_MAX, Lane, bullets, color_rules, key, page, pre, shown, table, timeline
from metashell.rehearse.answers.answer_text import (
    MEANINGS,
    assumption_lines,
    change_lines,
    finding_lines,
    is_safe,
    load_rows,
    numbers_text,
    range_lines,
    step_lines,
    trouble_lines,
    verdict_line,
)
from metashell.rehearse.outcome import BrokerState, Interval, Outcome, Trouble

_STATE_CLASSES: Final = {
    BrokerState.DEAD: "dead",
    BrokerState.STARTING: "starting",
    BrokerState.FENCED: "fenced",
    BrokerState.SERVING: "serving",
    BrokerState.SHUTTING_DOWN: "leaving",
}
_CSS: Final = """
:root { --serving: #9fd0ae; --dead: #b83a3a; --fenced: #d9a13a; --starting: #8fb8dc; --leaving: #c9ab72; --gap: #444;
  --offline: #b83a3a; --unclean: #7a2a6b; --failover: #d9730d; --under_min_isr: #c7b12c; --stalled: #8c95a1; }
@media (prefers-color-scheme: dark) { :root { --serving: #2f6b43; --starting: #35618a; } }
"""
_COLORS: Final = (*_STATE_CLASSES.values(), *(trouble.value for trouble in Trouble), "gap")


def outcome_page(outcome: Outcome, texts: Sequence[str], label: str, title: str = "", notes: Sequence[str] = ()) -> str:
    """The HTML of an outcome; `texts` are the steps as they were written, `notes` what the plan says about each."""
    heading = title or (texts[0] if len(texts) == 1 else f"Rehearsal of {counted(len(texts), 'step')}")
    body = _body(outcome, texts, label, notes)
    return page(heading, f"metashell rehearse: {label}", _CSS + color_rules(_COLORS), body)


def _body(outcome: Outcome, texts: Sequence[str], label: str, notes: Sequence[str]) -> Iterator[str]:
    yield f'<p class="verdict {"safe" if is_safe(outcome) else "unsafe"}">{shown(verdict_line(outcome))}</p>\n'
    yield from bullets(outcome.verdict.reasons[1:])
    yield "<h2>Steps</h2>\n"
    yield pre(step_lines(outcome, texts))
    yield from bullets(f"step {number}: {note}" for number, note in enumerate(notes, 1) if note)
    yield "<h2>Timeline</h2>\n"
    yield from _timeline(outcome, texts)
    yield "<h2>Trouble</h2>\n"
    yield pre(list(trouble_lines(outcome)) or ["none"])
    yield from _trouble_table(outcome)
    yield "<h2>Events</h2>\n"
    yield from table(["at", "what"], ([clock_text(event.at_ms), event.text] for event in outcome.events), len(outcome.events))
    yield "<h2>Brokers before and after</h2>\n"
    head, *rows = load_rows(outcome, outcome.brokers) or [[]]
    yield from table([name.lower() for name in head], rows, len(rows))
    yield "<h2>What changes</h2>\n"
    yield pre(change_lines(outcome))
    if outcome.seeds > 1:
        yield "<h2>Seeds</h2>\n"
        yield pre(range_lines(outcome))
    yield "<h2>Health before and after</h2>\n"
    yield pre(list(finding_lines(outcome)) or ["the same findings as before"])
    yield "<h2>Assumed</h2>\n"
    yield pre(assumption_lines(outcome, label))


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
        yield from table(["trouble", "partitions", "from", "to", "length", "cause"], rows, len(groups))


_Key = tuple[Trouble, str, int, int | None, bool, str]


def _grouped(intervals: Iterable[Interval]) -> list[tuple[_Key, list[int]]]:
    groups: dict[_Key, list[int]] = {}
    for one in intervals:
        groups.setdefault((one.trouble, one.topic, one.from_ms, one.to_ms, one.was_before, one.cause), []).append(one.partition)
    gravity = {trouble: number for number, trouble in enumerate(MEANINGS)}
    return sorted(groups.items(), key=lambda item: (gravity[item[0][0]], item[0][2], item[0][1]))


# ---- the timeline


def _timeline(outcome: Outcome, texts: Sequence[str]) -> Iterator[str]:
    """Lanes over time: the quorum, the brokers that did anything but serve, and the topics in trouble."""
    lanes = [*_quorum_lane(outcome), *_broker_lanes(outcome), *_trouble_lanes(outcome)]
    marks = (
        (report.began_ms, f"{clock_text(report.began_ms)} {texts[number] if texts else number + 1}")
        for number, report in enumerate(outcome.steps)
    )
    yield key(_COLORS)
    yield from timeline(lanes, marks, max(outcome.ended_ms, 1), clock_text)


def _says(what: str, from_ms: int, to_ms: int | None) -> str:
    return f"{what}: {clock_text(from_ms)} {'to the end' if to_ms is None else f'to {clock_text(to_ms)}'}"


def _quorum_lane(outcome: Outcome) -> Iterator[Lane]:
    if outcome.quorum_gaps:
        lane = Lane("active controller")
        lane.bars = [("gap", gap.from_ms, gap.to_ms, _says(gap.why, gap.from_ms, gap.to_ms)) for gap in outcome.quorum_gaps]
        yield lane


def _broker_lanes(outcome: Outcome) -> Iterator[Lane]:
    lanes: dict[int, Lane] = {}
    for span in outcome.broker_spans:
        lane = lanes.setdefault(span.broker, Lane(f"broker {span.broker}"))
        lane.bars.append((_STATE_CLASSES[span.state], span.from_ms, span.to_ms, _says(span.state.value, span.from_ms, span.to_ms)))
    for _, lane in sorted(lanes.items()):
        if len(lanes) <= LANES_MAX // 2 or any(css != "serving" for css, _, _, _ in lane.bars):
            yield lane


def _trouble_lanes(outcome: Outcome) -> Iterator[Lane]:
    """A lane for each topic and trouble, the gravest first."""
    lanes: dict[tuple[Trouble, str], Lane] = {}
    for (trouble, topic, from_ms, to_ms, _, _), partitions in _grouped(outcome.intervals):
        word = trouble.value.replace("_", " ")
        lane = lanes.setdefault((trouble, topic), Lane(f"{word}: {topic}"))
        if len(lane.bars) < ROWS_MAX:
            lane.bars.append((trouble.value, from_ms, to_ms, _says(f"{counted(len(partitions), 'partition')} {word}", from_ms, to_ms)))
    yield from lanes.values()
