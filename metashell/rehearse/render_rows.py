"""Renders an outcome as JSON objects, as rows, and as one HTML page.

The objects are a contract: keys may be added, and none changes its meaning. Every object begins with its `type`. Times are milliseconds
since the rehearsal began, null for the end. Values from a record keep Kafka's field names. Secrets are redacted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from metashell.codec.error_codes import error_text
from metashell.codec.redaction import REDACTED, is_sensitive_config, redact
from metashell.codec.registry import message_type
from metashell.common.forms import counted
from metashell.common.html_page import (
    LANES_MAX,
    ROWS_MAX,
    Lane,
    color_legend,
    color_rules,
    html_list,
    html_page,
    html_pre,
    html_table,
    html_text,
    timeline,
)
from metashell.common.values import clock_text, duration_text
from metashell.metadata.image import BrokerRegistration, PartitionRegistration
from metashell.rehearse.assumptions import shown_assumptions
from metashell.rehearse.outcome import BrokerState, ImageDiff, Interval, Load, Outcome, Refusal, Trouble, Written, finding_changes
from metashell.rehearse.render_text import (
    MEANINGS,
    assumption_lines,
    change_lines,
    data_losses,
    finding_lines,
    is_safe,
    load_rows,
    numbers_text,
    range_lines,
    status_of,
    step_lines,
    trouble_lines,
    verdict_line,
)
from metashell.rehearse.steps import step_text

Row = dict[str, Any]


def verdict_row(outcome: Outcome) -> Row:
    """The verdict as one object."""
    verdict = outcome.verdict
    return {
        "type": "verdict",
        "status": status_of(outcome),
        "safe": is_safe(outcome),
        "verdict": verdict_line(outcome),
        "reasons": [*data_losses(outcome), *verdict.reasons],
        "troubles": {trouble.value: toll._asdict() for trouble, toll in verdict.tolls.items()},
        "offline_before": verdict.offline_before,
        "settled": outcome.settled,
        "ended_ms": outcome.ended_ms,
        "record_count": outcome.record_count,
        "image_end_offset": outcome.before.provenance.end_offset,
    }


def step_rows(outcome: Outcome, texts: Sequence[str]) -> Iterator[Row]:
    for number, report in enumerate(outcome.steps, 1):
        yield {
            "type": "step",
            "number": number,
            "step": texts[number - 1] if texts else step_text(report.step),
            "began_ms": report.began_ms,
            "ended_ms": report.ended_ms,
            "refusals": [_refusal(refusal) for refusal in report.refusals],
            "unfinished": [{"thing": left.thing, "message": left.message} for left in report.unfinished],
        }


def _refusal(refusal: Refusal) -> Row:
    return {"thing": refusal.thing, "code": refusal.code, "error": error_text(refusal.code), "message": refusal.message}


def event_rows(outcome: Outcome) -> Iterator[Row]:
    for event in outcome.events:
        yield {
            "type": "event",
            "at_ms": event.at_ms,
            "text": event.text,
            "broker": None if event.broker < 0 else event.broker,
            "step": None if event.step < 0 else event.step + 1,
        }


def trouble_rows(outcome: Outcome) -> Iterator[Row]:
    for interval in outcome.intervals:
        yield {
            "type": "trouble",
            "trouble": interval.trouble.value,
            "topic": interval.topic,
            "partition": interval.partition,
            "from_ms": interval.from_ms,
            "to_ms": interval.to_ms,
            "was_before": interval.was_before,
            "cause": interval.cause,
        }


def quorum_rows(outcome: Outcome) -> Iterator[Row]:
    for gap in outcome.quorum_gaps:
        yield {"type": "quorum_gap", "from_ms": gap.from_ms, "to_ms": gap.to_ms, "why": gap.why}


def span_rows(outcome: Outcome) -> Iterator[Row]:
    for span in outcome.broker_spans:
        yield {"type": "broker_state", "broker": span.broker, "state": span.state.value, "from_ms": span.from_ms, "to_ms": span.to_ms}


def broker_rows(outcome: Outcome) -> Iterator[Row]:
    for loads in outcome.brokers:
        yield {"type": "broker", "broker": loads.broker, "rack": loads.rack, **_loads(loads.before, loads.after)}


def rack_rows(outcome: Outcome) -> Iterator[Row]:
    for loads in outcome.racks:
        yield {"type": "rack", "rack": loads.rack, **_loads(loads.before, loads.after)}


def _loads(before: Load | None, after: Load | None) -> Row:
    row: Row = {}
    for name in ("leaders", "replicas", "size_bytes"):
        row[f"{name}_before"] = None if before is None else getattr(before, name)
        row[f"{name}_after"] = None if after is None else getattr(after, name)
    return row


def copied_rows(outcome: Outcome) -> Iterator[Row]:
    for copied in outcome.copied:
        yield {
            "type": "copied",
            "broker": copied.broker,
            "partitions": copied.partitions,
            "size_bytes": copied.size_bytes,
            "is_catch_up": copied.is_catch_up,
        }


def diff_rows(diff: ImageDiff) -> Iterator[Row]:
    """The differences of the images: topics, brokers, features, settings, partitions."""
    for topic in diff.topics_created:
        yield {"type": "topic_created", "topic": topic}
    for topic in diff.topics_deleted:
        yield {"type": "topic_deleted", "topic": topic}
    for broker in diff.brokers:
        yield {"type": "broker_diff", "broker": broker.broker, "before": _broker(broker.before), "after": _broker(broker.after)}
    for feature in diff.features:
        yield {"type": "feature_diff", "feature": feature.feature, "before": feature.before, "after": feature.after}
    for config in diff.configs:
        hide = is_sensitive_config(config.resource_type, config.name)
        yield {
            "type": "config_diff",
            "resource_type": config.resource_type,
            "resource_name": config.resource_name,
            "name": config.name,
            "before": REDACTED if hide and config.before is not None else config.before,
            "after": REDACTED if hide and config.after is not None else config.after,
        }
    for partition in diff.partitions:
        yield {
            "type": "partition_diff",
            "topic": partition.topic,
            "partition": partition.partition,
            "before": _partition(partition.before),
            "after": _partition(partition.after),
        }


def _partition(partition: PartitionRegistration | None) -> Row | None:
    if partition is None:
        return None
    return {
        "leader": partition.leader,
        "leader_epoch": partition.leader_epoch,
        "partition_epoch": partition.partition_epoch,
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "elr": list(partition.elr),
        "last_known_elr": list(partition.last_known_elr),
        "adding_replicas": list(partition.adding_replicas),
        "removing_replicas": list(partition.removing_replicas),
    }


def _broker(broker: BrokerRegistration | None) -> Row | None:
    if broker is None:
        return None
    return {"epoch": broker.epoch, "rack": broker.rack, "fenced": broker.fenced, "in_controlled_shutdown": broker.in_controlled_shutdown}


def finding_rows(outcome: Outcome) -> Iterator[Row]:
    for one in finding_changes(outcome):
        yield {
            "type": "finding",
            "id": one.check.id,
            "severity": one.check.severity,
            "words": one.check.words,
            "before": one.before,
            "after": one.after,
            "begun": one.begun,
            "ended": one.ended,
            "names_begun": list(one.names_begun),
            "names_ended": list(one.names_ended),
        }


def range_rows(outcome: Outcome) -> Iterator[Row]:
    for one in outcome.ranges:
        broker = None if one.broker < 0 else one.broker
        yield {"type": "range", "what": one.what, "broker": broker, "min": one.low, "max": one.high, "seeds": outcome.seeds}


def record_row(written: Written) -> Row:
    name = type(written.record).__name__
    message = message_type("metadata", name)
    return {
        "type": "record",
        "offset": written.offset,
        "at_ms": written.at_ms,
        "why": written.why,
        "record": name,
        "version": written.version,
        "data": redact(name, message.to_json_value(written.record, written.version)),
    }


def record_rows(outcome: Outcome) -> Iterator[Row]:
    return map(record_row, outcome.records())


def assumption_rows(outcome: Outcome) -> Iterator[Row]:
    for one in shown_assumptions(outcome.assumptions):
        row = {"type": "assumption", "name": one.name, "value": one.value, "is_default": one.is_default}
        yield {**row, "read_from": one.where or None}
    for note in outcome.notes:
        yield {"type": "note", "text": note}


SECTIONS: Final[Mapping[str, Callable[[Outcome], Iterable[Row]]]] = {
    "events": event_rows,
    "troubles": trouble_rows,
    "quorum": quorum_rows,
    "states": span_rows,
    "brokers": broker_rows,
    "racks": rack_rows,
    "copied": copied_rows,
    "diff": lambda outcome: diff_rows(outcome.diff),
    "findings": finding_rows,
    "ranges": range_rows,
    "records": record_rows,
    "assumptions": assumption_rows,
}
"""Values of `--show` besides `steps`, in the order of the output."""


def section_rows(outcome: Outcome, section: str, texts: Sequence[str]) -> Iterable[Row]:
    """The objects of one section; `texts` are the steps as they were written."""
    return step_rows(outcome, texts) if section == "steps" else SECTIONS[section](outcome)


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
    return html_page(heading, f"metashell rehearse: {label}", _CSS + color_rules(_COLORS), body)


def _body(outcome: Outcome, texts: Sequence[str], label: str, notes: Sequence[str]) -> Iterator[str]:
    yield f'<p class="verdict {"safe" if is_safe(outcome) else "unsafe"}">{html_text(verdict_line(outcome))}</p>\n'
    yield from html_list(outcome.verdict.reasons[1:])
    yield "<h2>Steps</h2>\n"
    yield html_pre(step_lines(outcome, texts))
    yield from html_list(f"step {number}: {note}" for number, note in enumerate(notes, 1) if note)
    yield "<h2>Timeline</h2>\n"
    yield from _timeline(outcome, texts)
    yield "<h2>Trouble</h2>\n"
    yield html_pre(list(trouble_lines(outcome)) or ["none"])
    yield from _trouble_table(outcome)
    yield "<h2>Events</h2>\n"
    yield from html_table(["at", "what"], ([clock_text(event.at_ms), event.text] for event in outcome.events), len(outcome.events))
    yield "<h2>Brokers before and after</h2>\n"
    head, *rows = load_rows(outcome, outcome.brokers) or [[]]
    yield from html_table([name.lower() for name in head], rows, len(rows))
    yield "<h2>What changes</h2>\n"
    yield html_pre(change_lines(outcome))
    if outcome.seeds > 1:
        yield "<h2>Seeds</h2>\n"
        yield html_pre(range_lines(outcome))
    yield "<h2>Health before and after</h2>\n"
    yield html_pre(list(finding_lines(outcome)) or ["the same findings as before"])
    yield "<h2>Assumed</h2>\n"
    yield html_pre(assumption_lines(outcome, label))


def _trouble_table(outcome: Outcome) -> Iterator[str]:
    """The intervals as a table, the worst first; those of one topic, trouble and time are one row."""
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
        yield from html_table(["trouble", "partitions", "from", "to", "length", "cause"], rows, len(groups))


_Key = tuple[Trouble, str, int, int | None, bool, str]


def _grouped(intervals: Iterable[Interval]) -> list[tuple[_Key, list[int]]]:
    groups: dict[_Key, list[int]] = {}
    for one in intervals:
        groups.setdefault((one.trouble, one.topic, one.from_ms, one.to_ms, one.was_before, one.cause), []).append(one.partition)
    gravity = {trouble: number for number, trouble in enumerate(MEANINGS)}
    return sorted(groups.items(), key=lambda item: (gravity[item[0][0]], item[0][2], item[0][1]))


# ---- the timeline


def _timeline(outcome: Outcome, texts: Sequence[str]) -> Iterator[str]:
    """The timeline: a lane for the quorum, for each broker that did not serve all the time, and for each topic in trouble."""
    lanes = [*_quorum_lane(outcome), *_broker_lanes(outcome), *_trouble_lanes(outcome)]
    marks = (
        (report.began_ms, f"{clock_text(report.began_ms)} {texts[number] if texts else number + 1}")
        for number, report in enumerate(outcome.steps)
    )
    yield color_legend(_COLORS)
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
    """A lane for each topic and trouble, the worst first."""
    lanes: dict[tuple[Trouble, str], Lane] = {}
    for (trouble, topic, from_ms, to_ms, _, _), partitions in _grouped(outcome.intervals):
        word = trouble.value.replace("_", " ")
        lane = lanes.setdefault((trouble, topic), Lane(f"{word}: {topic}"))
        if len(lane.bars) < ROWS_MAX:
            lane.bars.append((trouble.value, from_ms, to_ms, _says(f"{counted(len(partitions), 'partition')} {word}", from_ms, to_ms)))
    yield from lanes.values()
