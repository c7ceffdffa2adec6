"""Renders an outcome as text: the verdict in the first line, then the timeline, the troubles, the loads, and the assumptions.

It decides only the wording, and one thing more: which steps delete records or may lose them (deleted topics, and settings that delete
records). These take nothing offline, so the rehearsal's own verdict does not mention them; but the first line must not say "safe". The
first line and the exit status always agree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from metashell.codec.codes import BROKER_RESOURCE, TOPIC_RESOURCE
from metashell.codec.error_codes import error_text
from metashell.common.forms import aligned, counted
from metashell.common.values import clock_text, duration_text, size_text
from metashell.metadata.image import MetadataImage
from metashell.quorum.controller.config_checks import topic_value
from metashell.quorum.controller.decision import UNCLEAN_ELECTION
from metashell.quorum.controller.settings import Settings, config_keys
from metashell.rehearse.assumptions import shown_assumptions
from metashell.rehearse.outcome import BrokerLoads, Interval, Load, Outcome, StepReport, Toll, Trouble, finding_changes
from metashell.rehearse.steps import Assumptions, DeleteTopic, step_text

EVENTS_MAX: Final = 40
REFUSALS_MAX: Final = 12
BROKERS_MAX: Final = 24
_INDENT: Final = "  "
_LINE_WIDTH: Final = 96
_UNSAID: Final = ("seed", "voters")
"""Assumptions that are printed only if they differ from the default."""
_PLACES_MAX: Final = {
    Trouble.OFFLINE: 12,
    Trouble.UNCLEAN: 12,
    Trouble.FAILOVER: 3,
    Trouble.UNDER_MIN_ISR: 6,
    Trouble.STALLED: 3,
}
"""The most lines that name the partitions of a trouble, more for the worse ones."""
MEANINGS: Final = {
    Trouble.OFFLINE: "offline (nobody can lead)",
    Trouble.UNCLEAN: "unclean election (records may be lost)",
    Trouble.UNDER_MIN_ISR: "under min ISR (writes with acks=all are refused)",
    Trouble.FAILOVER: "failing over (the leader is dead, the next one not yet elected)",
    Trouble.STALLED: "stalled (writes with acks=all wait for a dead replica)",
}
"""The meaning of each trouble for clients, the worst first."""


def verdict_line(outcome: Outcome) -> str:
    """The verdict in one line."""
    if status_of(outcome):
        return f"NOT SAFE: {'; '.join(list(_grave(outcome)) or outcome.verdict.reasons[:1])}"
    if before := outcome.verdict.offline_before:
        lead = f"NO WORSE: {counted(before, 'partition was', 'partitions were')} offline before, and nothing else goes offline"
    elif _toll(outcome, Trouble.UNDER_MIN_ISR).at_end:
        lead = "WRITES REFUSED: nothing goes offline"
    else:
        lead = "SAFE: nothing goes offline"
    return "; ".join([lead, *_bearable(outcome)])


def is_safe(outcome: Outcome) -> bool:
    """Return whether the first line says SAFE, which status 0 alone does not decide."""
    return not (status_of(outcome) or outcome.verdict.offline_before or _toll(outcome, Trouble.UNDER_MIN_ISR).at_end)


def status_of(outcome: Outcome) -> int:
    """The exit status: 1 also if the steps delete records or may lose them."""
    return 1 if data_losses(outcome) else outcome.verdict.status


def _toll(outcome: Outcome, trouble: Trouble) -> Toll:
    return outcome.verdict.tolls.get(trouble, Toll(0, 0, 0))


def _grave(outcome: Outcome) -> Iterator[str]:
    """Reasons for status 1, the worst first."""
    offline, unclean = _toll(outcome, Trouble.OFFLINE), _toll(outcome, Trouble.UNCLEAN)
    if offline.partitions:
        stays = offline.longest_ms is None and offline.at_end == offline.partitions
        yield f"{_go(offline.partitions, 'goes', 'go')} offline{_stay(offline.partitions) if stays else _how_long(offline)}"
    # Partitions led from an empty disk are reported apart: they lose all their records.
    if (perhaps := unclean.partitions - len(outcome.emptied)) > 0:
        yield f"{_go(perhaps, 'may lose', 'may lose')} records (unclean election)"
    yield from data_losses(outcome)
    yield from (f"no active controller any more: {gap.why}" for gap in outcome.quorum_gaps if gap.to_ms is None)
    if refused := [refusal for report in outcome.steps for refusal in report.refusals]:
        yield f"{counted(len(refused), 'request is', 'requests are')} refused ({refused[0].thing}: {error_text(refused[0].code)})"
    if left := [one for report in outcome.steps for one in report.unfinished]:
        yield f"{counted(len(left), 'change')} never {'finishes' if len(left) == 1 else 'finish'} ({left[0].thing}: {left[0].message})"
    if not outcome.settled:
        yield f"still changing after {duration_text(outcome.ended_ms)}, when the rehearsal stopped"
    if outcome.before.faults:
        yield f"{counted(len(outcome.before.faults), 'record')} of the metadata could not be applied, so the copy differs from the cluster"


def _bearable(outcome: Outcome) -> Iterator[str]:
    """Effects on clients although nothing goes offline."""
    failover, under = _toll(outcome, Trouble.FAILOVER), _toll(outcome, Trouble.UNDER_MIN_ISR)
    if failover.partitions:
        yield f"{_go(failover.partitions, 'fails', 'fail')} over{_how_long(failover)}"
    if under.partitions:
        yield f"{_go(under.partitions, 'refuses', 'refuse')} writes with acks=all{_how_long(under)}"
    for gap in outcome.quorum_gaps[:1]:
        yield f"no active controller for {duration_text((gap.to_ms or outcome.ended_ms) - gap.from_ms)}"


def _go(count: int, one: str, many: str) -> str:
    return f"{counted(count, 'partition')} {one if count == 1 else many}"


def _stay(count: int) -> str:
    return f" and {'stays' if count == 1 else 'stay'} so"


def _how_long(toll: Toll) -> str:
    if toll.longest_ms is not None:
        return f" for {'' if toll.partitions == 1 else 'up to '}{duration_text(toll.longest_ms)}"
    return " to the end" if toll.at_end == toll.partitions else f", {toll.at_end} of them to the end"


def outcome_lines(outcome: Outcome, texts: Sequence[str] = (), label: str = "") -> Iterator[str]:
    """The whole outcome as lines; `texts` are the steps as written, `label` is the source of the image."""
    yield verdict_line(outcome)
    if len(outcome.steps) > 1 or any(report.refusals or report.unfinished for report in outcome.steps):
        yield from _section("STEPS", step_lines(outcome, texts))
    yield from _section("WHAT HAPPENS", _event_lines(outcome))
    yield from _section("TROUBLE", trouble_lines(outcome))
    yield from _section("BROKERS", _broker_lines(outcome))
    yield from _section("SEEDS", range_lines(outcome))
    yield from _section("CHANGES", change_lines(outcome))
    yield from _section("HEALTH", finding_lines(outcome))
    yield from _section("ASSUMED", assumption_lines(outcome, label))


def _section(heading: str, lines: Iterable[str]) -> Iterator[str]:
    lines = list(lines)
    if lines:
        yield ""
        yield heading
        yield from (_INDENT + line for line in lines)


def step_lines(outcome: Outcome, texts: Sequence[str]) -> Iterator[str]:
    """Each step with its time and length, and its refusals."""
    rows = []
    for number, report in enumerate(outcome.steps):
        text = texts[number] if texts else step_text(report.step)
        rows.append([clock_text(report.began_ms), text, _step_length(report)])
    yield from aligned(rows)
    for number, report in enumerate(outcome.steps, 1):
        for refusal in report.refusals[:REFUSALS_MAX]:
            yield f"step {number} is refused: {refusal.thing}: {error_text(refusal.code)}: {refusal.message}"
        if len(report.refusals) > REFUSALS_MAX:
            yield f"step {number}: {len(report.refusals) - REFUSALS_MAX} more are refused; --show steps has all"
        for left in report.unfinished[:REFUSALS_MAX]:
            yield f"step {number} does not end: {left.thing}: {left.message}"
        if len(report.unfinished) > REFUSALS_MAX:
            yield f"step {number}: {len(report.unfinished) - REFUSALS_MAX} more do not end; --show steps has all"


def _step_length(report: StepReport) -> str:
    return "goes on to the end" if report.ended_ms is None else f"quiet after {duration_text(report.ended_ms - report.began_ms)}"


def _event_lines(outcome: Outcome) -> Iterator[str]:
    events = outcome.events
    kept = events if len(events) <= EVENTS_MAX else (*events[: EVENTS_MAX - 10], *events[-10:])
    for number, line in enumerate(aligned([[clock_text(event.at_ms), event.text] for event in kept])):
        if number == EVENTS_MAX - 10 and len(kept) < len(events):
            yield f"... {counted(len(events) - len(kept), 'event')} between: --show events has all"
        yield line


def trouble_lines(outcome: Outcome) -> Iterator[str]:
    """Each trouble with its partitions and its times; offline partitions are named."""
    for trouble, meaning in MEANINGS.items():
        toll = _toll(outcome, trouble)
        if toll.partitions:
            yield f"{meaning}: {counted(toll.partitions, 'partition')}{'' if trouble is Trouble.UNCLEAN else _how_long(toll)}"
            yield from _places((one for one in outcome.intervals_of(trouble) if not one.was_before), _PLACES_MAX[trouble])
    for gap in outcome.quorum_gaps:
        length = "to the end" if gap.to_ms is None else f"for {duration_text(gap.to_ms - gap.from_ms)}"
        yield f"no active controller from {clock_text(gap.from_ms)} {length}: {gap.why}"
    if outcome.verdict.offline_before:
        yield f"offline before the first step: {counted(outcome.verdict.offline_before, 'partition')}"


class _Span(NamedTuple):
    topic: str
    from_ms: int
    to_ms: int | None


def _places(intervals: Iterable[Interval], most: int) -> Iterator[str]:
    """The partitions of intervals; those of one topic and time are one line."""
    groups: dict[_Span, list[int]] = {}
    for one in intervals:
        groups.setdefault(_Span(one.topic, one.from_ms, one.to_ms), []).append(one.partition)
    rows = [[f"{span.topic}:{numbers_text(partitions)}", _span_text(span)] for span, partitions in list(groups.items())[:most]]
    yield from (_INDENT + line for line in aligned(rows))
    if len(groups) > most:
        left = sum(map(len, list(groups.values())[most:]))
        yield f"{_INDENT}and {counted(left, 'partition')} more: --show troubles has all"


def _span_text(span: _Span) -> str:
    begin = clock_text(span.from_ms)
    if span.to_ms == span.from_ms:
        return f"at {begin}"
    return f"from {begin} " + ("to the end" if span.to_ms is None else f"to {clock_text(span.to_ms)}")


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
    """Loads before and after: of all brokers, or of those that change if there are many."""
    changed = [loads for loads in outcome.brokers if loads.before != loads.after]
    if not changed:
        yield "leaders and replicas stay where they are"
        return
    shown = outcome.brokers if len(outcome.brokers) <= BROKERS_MAX else changed[:BROKERS_MAX]
    yield from aligned(load_rows(outcome, shown), right=(2, 4, 6))
    if len(shown) < len(changed):
        yield f"... {counted(len(changed) - len(shown), 'broker')} more: --show brokers has all"
    elif len(shown) < len(outcome.brokers):
        yield f"{counted(len(outcome.brokers) - len(shown), 'broker')} without a change"


def load_rows(outcome: Outcome, brokers: Sequence[BrokerLoads]) -> list[list[str]]:
    """A heading, a row for each broker, and one for each rack if there are several; nothing without brokers."""
    has_sizes = outcome.sizes_known
    rows = [[str(one.broker), one.rack or "-", *_load_cells(one.before, one.after, has_sizes)] for one in brokers]
    if 1 < len(outcome.racks) < len(outcome.brokers):
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
    """The controller's records, the differences at the end, and the copied bytes."""
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
    yield f"what differs in the end: {', '.join(parts)}" if parts else "in the end the metadata is what it was"
    yield from _copied_lines(outcome)


def range_lines(outcome: Outcome) -> Iterator[str]:
    """The ranges of all figures, if several seeds were tried."""
    if outcome.seeds < 2:
        return
    first = f"{outcome.seeds} seeds were tried; this is the worst of them, seed {outcome.assumptions.seed}"
    differing = [one for one in outcome.ranges if one.low != one.high]
    yield f"{first}. What differs:" if differing else f"{first}, and all come to the same"
    rows = []
    for one in differing:
        what = one.what.removesuffix("_ms").replace("_", " ") + (f" of broker {one.broker}" if one.broker >= 0 else "")
        shown = [_range_text(value, is_time=one.what.endswith("_ms")) for value in (one.low, one.high)]
        rows.append([what, f"{shown[0]} to {shown[1]}"])
    yield from aligned(rows)


def _range_text(value: int | None, *, is_time: bool) -> str:
    if value is None:
        return "the end"
    return duration_text(value) if is_time else str(value)


def finding_lines(outcome: Outcome) -> Iterator[str]:
    """New and vanished findings of `metashell health`."""
    rows = []
    for one in finding_changes(outcome):
        for verb, count, names in (("begins", one.begun, one.names_begun), ("ends", one.ended, one.names_ended)):
            if count:
                more = f" and {count - len(names)} more" if count > len(names) > 0 else ""
                rows.append([verb, one.check.severity, one.check.id, str(count), f"{', '.join(names)}{more}"])
    return aligned(rows, right=(3,))


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
    """The basis of the answer: the state, the assumptions, and notes."""
    if label:
        yield label
    found = shown_assumptions(outcome.assumptions)
    yield from read_lines(outcome.assumptions)
    if changed := [f"{one.name}={one.value}" for one in found if not one.is_default and not one.where]:
        yield from _filled("as asked: ", changed)
    usual = [f"{one.name} {one.value}" for one in found if one.is_default and not one.where and one.name not in _UNSAID]
    yield from _filled("by default: ", usual)
    yield from outcome.notes


def read_lines(assumptions: Assumptions) -> Iterator[str]:
    """Values read from servers, and where."""
    found = shown_assumptions(assumptions)
    for where in dict.fromkeys(one.where for one in found if one.where):
        yield from _filled(f"read from {where}: ", [f"{one.name} {one.value}" for one in found if one.where == where])


def _filled(lead: str, items: Sequence[str]) -> list[str]:
    """Items with commas, in lines of a bounded width."""
    lines = [lead]
    for number, item in enumerate(items):
        word = item + ("," if number < len(items) - 1 else "")
        if len(lines[-1]) + len(word) > _LINE_WIDTH:
            lines.append(_INDENT)
        lines[-1] += f"{word} "
    return [line.rstrip() for line in lines]


RETENTION_TIME: Final = "retention.ms"
RETENTION_SIZE: Final = "retention.bytes"
CLEANUP: Final = "cleanup.policy"
NO_LIMIT: Final = -1
NAMED_MAX: Final = 5


def data_losses(outcome: Outcome) -> tuple[str, ...]:
    """A sentence for each way in which the steps cost records; empty if they cost none."""
    return (*_deleted(outcome), *_emptied(outcome), *_by_settings(outcome))


def _deleted(outcome: Outcome) -> Iterator[str]:
    topics = outcome.before.topics.by_name
    done = [report.step for report in outcome.steps if not report.refusals]
    deleted = dict.fromkeys(step.topic for step in done if isinstance(step, DeleteTopic) and step.topic in topics)
    if len(deleted) > NAMED_MAX:
        yield f"{len(deleted)} topics are deleted with all their records"
        return
    for name in deleted:
        yield f"topic {name} is deleted with all its records ({counted(topics[name].partition_count, 'partition')})"


def _emptied(outcome: Outcome) -> Iterator[str]:
    if names := outcome.emptied:
        which = f"partition {names[0]}" if len(names) == 1 else f"{len(names)} partitions, such as {names[0]},"
        yield f"{which} lost all records: nobody else had them, and the disk came back empty"


def _by_settings(outcome: Outcome) -> Iterator[str]:
    """Compares what counts for each topic whose settings changed, and for those without settings of their own where a broker's did."""
    settings = Settings(dict(outcome.assumptions.settings), "", -1)
    there = outcome.after.topics.by_name
    changed = {diff.resource_name for diff in outcome.diff.configs if diff.resource_type == TOPIC_RESOURCE and diff.resource_name in there}
    subjects = [(f"topic {name}", (TOPIC_RESOURCE, name)) for name in sorted(changed & set(outcome.before.topics.by_name))]
    if any(diff.resource_type == BROKER_RESOURCE and not diff.resource_name for diff in outcome.diff.configs):
        subjects.append(("topics without a setting of their own", (TOPIC_RESOURCE, "")))
    for subject, resource in subjects:
        before, after = (_values(settings, image, resource) for image in (outcome.before, outcome.after))
        yield from (f"{subject}: {text}" for text in _compared(before, after))


def _values(settings: Settings, image: MetadataImage, resource: tuple[int, str]) -> Mapping[str, str]:
    own: Mapping[str, str] = image.configs.get(resource, {})
    keys = config_keys("topic")
    names = (RETENTION_TIME, RETENTION_SIZE, CLEANUP, UNCLEAN_ELECTION)
    return {name: (topic_value(settings, image.configs, own, keys[name]).value or "").strip() for name in names}


def _compared(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    policies = {part.strip() for part in after[CLEANUP].split(",")}
    if "delete" in policies:
        newly = "delete" not in before[CLEANUP]
        if (limit := _shrunk(before[RETENTION_TIME], after[RETENTION_TIME], newly=newly)) is not None:
            yield f"records older than {duration_text(limit)} are deleted"
        if (limit := _shrunk(before[RETENTION_SIZE], after[RETENTION_SIZE], newly=newly)) is not None:
            yield f"the oldest records of each partition above {size_text(limit)} are deleted"
    if "compact" in policies and "compact" not in before[CLEANUP]:
        yield "of records with the same key only the newest is kept"
    if after[UNCLEAN_ELECTION].lower() == "true" != before[UNCLEAN_ELECTION].lower():
        yield "a replica that is not in sync may become the leader, and records be lost"


def _shrunk(before: str, after: str, *, newly: bool) -> int | None:
    """The limit that holds from now on, where it is a smaller one, or the first."""
    old, new = _limit(before), _limit(after)
    if new is None or new == NO_LIMIT:
        return None
    return new if newly or old is None or old == NO_LIMIT or new < old else None


def _limit(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?[0-9]{1,19}", text) else None
