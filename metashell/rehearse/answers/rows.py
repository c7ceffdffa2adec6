"""An outcome as objects of JSON and as rows: a contract, in which keys may come and none changes its meaning.

Every object begins with its `type`. Times are milliseconds since the rehearsal began, null for the end; what comes from a record keeps
Kafka's own field names; secrets are redacted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from metashell.codec.error_codes import error_text
from metashell.codec.redaction import REDACTED, is_sensitive_config, redact
from metashell.codec.registry import message_type
from metashell.image import BrokerRegistration, PartitionRegistration
from metashell.rehearse.answers.answer_text import is_safe, status_of, verdict_line
from metashell.rehearse.answers.data_loss import data_losses
from metashell.rehearse.findings import finding_changes
from metashell.rehearse.outcome import ImageDiff, Load, Outcome, Refusal, Written
from metashell.rehearse.step_text import step_text
from metashell.rehearse.words.assumption_words import assumed

Row = dict[str, Any]


def verdict_row(outcome: Outcome) -> Row:
    """The answer in one object."""
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
    """How the images differ: topics, brokers, features, settings, partitions."""
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
    for one in assumed(outcome.assumptions):
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
"""Values of `--show` besides `steps`, in the order of the answer."""


def section_rows(outcome: Outcome, section: str, texts: Sequence[str]) -> Iterable[Row]:
    """The objects of one section; `texts` are the steps as they were written."""
    return step_rows(outcome, texts) if section == "steps" else SECTIONS[section](outcome)
