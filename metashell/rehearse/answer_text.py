"""An outcome in words: the verdict in the first line, then what happens when, what it costs for how long, and what was assumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from metashell.codec.error_codes import error_text
from metashell.forms import aligned, counted
from metashell.rehearse.amounts import clock_text, duration_text, size_text
from metashell.rehearse.assumption_words import assumed
from metashell.rehearse.outcome import BrokerLoads, Interval, Load, Outcome, StepReport, Toll, Trouble
from metashell.rehearse.step_words import step_text

EVENTS_MAX: Final = 40
PLACES_MAX: Final = 12
BROKERS_MAX: Final = 24
_SAFE: Final = "SAFE"
_NOT_SAFE: Final = "NOT SAFE"
_INDENT: Final = "  "
MEANINGS: Final = {
    Trouble.OFFLINE: "offline: no leader, and no live replica that may lead",
    Trouble.UNCLEAN: "unclean election: records may be lost",
    Trouble.FAILOVER: "failing over: the leader is dead, the next one not yet elected",
    Trouble.UNDER_MIN_ISR: "under min ISR: writes with acks=all are refused",
    Trouble.STALLED: "stalled: writes with acks=all wait for a dead replica",
}
"""What each trouble means for clients, the worst first."""


def verdict_line(outcome: Outcome) -> str:
    """The answer, for who reads one line."""
    word = _NOT_SAFE if outcome.verdict.status else _SAFE
    reasons = outcome.verdict.reasons
    return f"{word}: {reasons[0]}" if reasons else word


def outcome_lines(outcome: Outcome, texts: Sequence[str] = (), label: str = "") -> Iterator[str]:
    """The whole answer; `texts` are the steps as they were written, `label` the source of the image."""
    yield verdict_line(outcome)
    for reason in outcome.verdict.reasons[1:]:
        yield _INDENT + reason
    yield from _section("STEPS", step_lines(outcome, texts))
    yield from _section("WHAT HAPPENS", _event_lines(outcome))
    yield from _section("TROUBLE", trouble_lines(outcome))
    yield from _section("BROKERS", _broker_lines(outcome))
    yield from _section("CHANGES", change_lines(outcome))
    yield from _section("ASSUMED", assumption_lines(outcome, label))


def _section(heading: str, lines: Iterable[str]) -> Iterator[str]:
    lines = list(lines)
    if lines:
        yield ""
        yield heading
        yield from (_INDENT + line for line in lines)


def step_lines(outcome: Outcome, texts: Sequence[str]) -> Iterator[str]:
    """Each step with its time and length, and what was refused of it."""
    rows = []
    for number, report in enumerate(outcome.steps):
        text = texts[number] if texts else step_text(report.step)
        rows.append([clock_text(report.began_ms), text, _step_length(report)])
    yield from aligned(rows)
    for number, report in enumerate(outcome.steps, 1):
        for refusal in report.refusals[:PLACES_MAX]:
            yield f"step {number} is refused: {refusal.thing}: {error_text(refusal.code)}: {refusal.message}"
        if len(report.refusals) > PLACES_MAX:
            yield f"step {number}: {len(report.refusals) - PLACES_MAX} more are refused; --show steps has all"


def _step_length(report: StepReport) -> str:
    return "lasts to the end" if report.ended_ms is None else f"done after {duration_text(report.ended_ms - report.began_ms)}"


def _event_lines(outcome: Outcome) -> Iterator[str]:
    events = outcome.events
    kept = events if len(events) <= EVENTS_MAX else (*events[: EVENTS_MAX - 10], *events[-10:])
    for number, line in enumerate(aligned([[clock_text(event.at_ms), event.text] for event in kept])):
        if number == EVENTS_MAX - 10 and len(kept) < len(events):
            yield f"... {counted(len(events) - len(kept), 'event')} between: --show events has all"
        yield line


def trouble_lines(outcome: Outcome) -> Iterator[str]:
    """Each trouble with its partitions and its time; those offline are named."""
    for trouble, meaning in MEANINGS.items():
        toll = outcome.verdict.tolls.get(trouble, Toll(0, 0, 0))
        if toll.partitions:
            yield f"{counted(toll.partitions, 'partition')} {_lasting(trouble, toll)} {meaning}"
            if trouble in (Trouble.OFFLINE, Trouble.UNCLEAN):
                yield from _places(one for one in outcome.intervals_of(trouble) if not one.was_before)
    for gap in outcome.quorum_gaps:
        length = "to the end" if gap.to_ms is None else f"for {duration_text(gap.to_ms - gap.from_ms)}"
        yield f"no active controller from {clock_text(gap.from_ms)} {length}: {gap.why}"
    if outcome.verdict.offline_before:
        yield f"{counted(outcome.verdict.offline_before, 'partition')} offline before the first step"


def _lasting(trouble: Trouble, toll: Toll) -> str:
    if trouble is Trouble.UNCLEAN:
        return "with an"
    if toll.longest_ms is None:
        some = "" if toll.at_end == toll.partitions else f", {toll.at_end} of them to the end"
        return f"to the end,{some[1:]}," if some else "to the end,"
    return f"for {duration_text(toll.longest_ms)} at most,"


class _Span(NamedTuple):
    topic: str
    from_ms: int
    to_ms: int | None


def _places(intervals: Iterable[Interval]) -> Iterator[str]:
    """The partitions of intervals, those of one topic and time together."""
    groups: dict[_Span, list[int]] = {}
    for one in intervals:
        groups.setdefault(_Span(one.topic, one.from_ms, one.to_ms), []).append(one.partition)
    rows = []
    for span, partitions in list(groups.items())[:PLACES_MAX]:
        end = "to the end" if span.to_ms is None else f"to {clock_text(span.to_ms)}"
        rows.append([f"{span.topic}:{numbers_text(partitions)}", f"from {clock_text(span.from_ms)} {end}"])
    yield from (_INDENT + line for line in aligned(rows))
    if len(groups) > PLACES_MAX:
        left = sum(map(len, list(groups.values())[PLACES_MAX:]))
        yield f"{_INDENT}... {counted(left, 'partition')} more: --show troubles has all"


def numbers_text(numbers: Iterable[int], most: int = 8) -> str:
    """`0-3,7`, cut after some ranges."""
    ranges: list[list[int]] = []
    for number in sorted(set(numbers)):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    shown = [str(low) if low == high else f"{low}-{high}" if high > low + 1 else f"{low},{high}" for low, high in ranges[:most]]
    return ",".join(shown) + (",..." if len(ranges) > most else "")


def _broker_lines(outcome: Outcome) -> Iterator[str]:
    """Loads before and after: of all brokers, or of those that change where there are many."""
    changed = [loads for loads in outcome.brokers if loads.before != loads.after]
    shown = outcome.brokers if len(outcome.brokers) <= BROKERS_MAX else changed[:BROKERS_MAX]
    yield from aligned(load_rows(outcome, shown), right=(2, 4, 6))
    if len(shown) < len(changed):
        yield f"... {counted(len(changed) - len(shown), 'broker')} more: --show brokers has all"
    elif len(shown) < len(outcome.brokers):
        yield f"{counted(len(outcome.brokers) - len(shown), 'broker')} without a change"


def load_rows(outcome: Outcome, brokers: Sequence[BrokerLoads]) -> list[list[str]]:
    """A heading, a row for each of these brokers, and one for each rack where there are several; nothing where there are none."""
    has_sizes = outcome.sizes_known
    rows = [[str(one.broker), one.rack or "-", *_load_cells(one.before, one.after, has_sizes)] for one in brokers]
    if len(outcome.racks) > 1:
        rows += [["rack", rack.rack or "-", *_load_cells(rack.before, rack.after, has_sizes)] for rack in outcome.racks]
    return [["BROKER", "RACK", "LEADERS", "", "REPLICAS", ""] + (["DATA", ""] if has_sizes else []), *rows] if rows else []


def _load_cells(before: Load | None, after: Load | None, has_sizes: bool) -> list[str]:
    cells = [*_pair(before and str(before.leaders), after and str(after.leaders))]
    cells += _pair(before and str(before.replicas), after and str(after.replicas))
    if has_sizes:
        cells += _pair(before and _size(before), after and _size(after))
    return cells


def _pair(before: str | None, after: str | None) -> list[str]:
    return [before or "-", "" if before == after else f"-> {after or '-'}"]


def _size(load: Load) -> str:
    return "?" if load.size_bytes is None else size_text(load.size_bytes)


def change_lines(outcome: Outcome) -> Iterator[str]:
    """What the controller writes, what differs in the end, and what is copied."""
    kinds = Counter(type(record).__name__ for batch in outcome.batches for record, _ in batch.records)
    if kinds:
        named = ", ".join(f"{count} {name}" for name, count in kinds.most_common())
        yield f"the controller writes {counted(outcome.record_count, 'record')}: {named}"
    diff = outcome.diff
    parts = [
        counted(len(found), noun)
        for found, noun in (
            (diff.topics_created, "new topic"),
            (diff.topics_deleted, "deleted topic"),
            (diff.partitions, "partition"),
            (diff.brokers, "broker"),
            (diff.configs, "setting"),
            (diff.features, "feature"),
        )
        if found
    ]
    yield f"in the end {', '.join(parts)} differ from before" if parts else "in the end the metadata is what it was"
    yield from _copied_lines(outcome)


def _copied_lines(outcome: Outcome) -> Iterator[str]:
    for is_catch_up, what in ((False, "new replicas copy"), (True, "replicas that were away catch up")):
        copied = [one for one in outcome.copied if one.is_catch_up == is_catch_up]
        if not copied:
            continue
        partitions = sum(one.partitions for one in copied)
        known = [one.size_bytes for one in copied if one.size_bytes is not None]
        data = f", {size_text(sum(known))}" if known else ""
        unknown = " (sizes are assumed: give --sizes)" if not outcome.sizes_known and not is_catch_up else ""
        yield f"{what}: {counted(partitions, 'partition')}{data} on {counted(len(copied), 'broker')}{unknown}"


def assumption_lines(outcome: Outcome, label: str) -> Iterator[str]:
    """What the answer rests on: the state, what was assumed, and remarks."""
    if label:
        yield label
    changed = [f"{name}={value}" for name, value, is_default in assumed(outcome.assumptions) if not is_default]
    if changed:
        yield f"as asked: {', '.join(changed)}"
    usual = [f"{name} {value}" for name, value, is_default in assumed(outcome.assumptions) if is_default and name not in ("seed", "voters")]
    yield f"by default: {', '.join(usual)}"
    yield from outcome.notes
