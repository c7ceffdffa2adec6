"""The timeline computed again in plain Python, from the JSON lines of dump-log: one fold over records in order."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from tests.tables.reports.known_answers import RESOURCES, Line, Metadata, Partitions, Row

STORM_GAP_MS = 60_000
STORM_MIN = 10


@dataclass
class Session:
    """A registration of a broker, with (time, offset, state) of its states."""

    broker: int
    states: list[tuple[int | None, int, str]] = field(default_factory=list)
    fenced: bool = False
    leaving: bool = False
    ended: int | None = None

    def step(self, at: int | None, offset: int) -> None:
        state = "fenced" if self.fenced else "shutting down" if self.leaving else "active"
        if not self.states or self.states[-1][2] != state:
            self.states.append((at, offset, state))


def timeline(metadata: Metadata) -> list[Row]:
    return [*elections(metadata), *brokers(metadata), *storms(metadata), *features(metadata), *configs(metadata)]


def moment(kind: str, subject: str, event: str, at: int, offset: int) -> Row:
    return (at, kind, subject, event, None, None, False, offset)


def interval(metadata: Metadata, kind: str, subject: str, event: str, at: int | None, end: int | None, offset: int) -> Row:
    lasted = None if at is None else (metadata.end_ms if end is None else end) - at
    return (at, kind, subject, event, lasted, end, end is None, offset)


def elections(metadata: Metadata) -> list[Row]:
    found = [line for _, line in sorted(metadata.log.items()) if line["type"] == "LEADER_CHANGE"]
    ends = [*(line["timestamp"] for line in found[1:]), None]
    return [
        interval(
            metadata, "election", f"node {line['data']['leaderId']}", f"leads epoch {line['epoch']}", line["timestamp"], end, line["offset"]
        )
        for line, end in zip(found, ends, strict=True)
    ]


def brokers(metadata: Metadata) -> list[Row]:
    sessions: dict[tuple[int, int], Session] = {}
    gone: list[Row] = []
    ordered = metadata.ordered()
    logged = {key(line["data"]) for is_state, line in ordered if line["type"] == "REGISTER_BROKER_RECORD" and not is_state}
    for is_state, line in ordered:
        data, kind, at, offset = line["data"], line["type"], line["timestamp"], line["offset"]
        if kind == "REGISTER_BROKER_RECORD" and key(data) not in sessions:
            if is_state and key(data) in logged:
                continue
            for (broker, _), session in sessions.items():
                if broker == data["brokerId"] and session.ended is None and not is_state:
                    session.ended = at
            session = sessions[key(data)] = Session(data["brokerId"])
            session.fenced, session.leaving = data["fenced"], data.get("inControlledShutdown", False)
            session.step(None if is_state else at, place(metadata, line) if is_state else offset)
        elif not is_state and key(data) in sessions:
            session = sessions[key(data)]
            if kind == "UNREGISTER_BROKER_RECORD":
                session.ended = at
                gone.append(moment("broker", f"broker {session.broker}", "unregistered", at, offset))
            elif kind in ("BROKER_REGISTRATION_CHANGE_RECORD", "FENCE_BROKER_RECORD", "UNFENCE_BROKER_RECORD"):
                fencing = {"FENCE_BROKER_RECORD": 1, "UNFENCE_BROKER_RECORD": -1}.get(kind, data.get("fenced", 0))
                session.fenced = fencing == 1 or (session.fenced and fencing != -1)
                session.leaving |= data.get("inControlledShutdown", 0) == 1
                session.step(at, offset)
    rows: list[Row] = []
    for session in sessions.values():
        ends = [*(at for at, _, _ in session.states[1:]), session.ended]
        for (at, offset, state), end in zip(session.states, ends, strict=True):
            rows.append(interval(metadata, "broker", f"broker {session.broker}", state, at, end, offset))
    return rows + gone


def key(data: Line) -> tuple[Any, Any]:
    return data.get("brokerId", data.get("id")), data.get("brokerEpoch", data.get("epoch"))


def place(metadata: Metadata, line: Line) -> int:
    return next(int(name[:20]) for name, records in metadata.checkpoints.items() if line in records.values())


def storms(metadata: Metadata) -> list[Row]:
    runs: list[list[tuple[int, int, set[int]]]] = []
    for kind, line, _, before, after in Partitions(metadata).steps():
        lost = set(before["isr"]) - set(after["isr"]) if before and kind == "changed" else set()
        if lost:
            if not runs or line["timestamp"] - runs[-1][-1][0] > STORM_GAP_MS:
                runs.append([])
            runs[-1].append((line["timestamp"], line["offset"], lost))
    rows: list[Row] = []
    for run in runs:
        if len(run) >= STORM_MIN:
            times = Counter(broker for _, _, lost in run for broker in lost)
            broker = min(times, key=lambda broker: (-times[broker], broker))
            event = f"{len(run)} shrinks, {times[broker]} of this broker"
            rows.append(interval(metadata, "ISR storm", f"broker {broker}", event, run[0][0], run[-1][0], run[0][1]))
    return rows


def features(metadata: Metadata) -> list[Row]:
    levels: dict[str, int] = defaultdict(int)
    rows: list[Row] = []
    for is_state, line in metadata.ordered():
        if line["type"] == "FEATURE_LEVEL_RECORD":
            name, level = line["data"]["name"], line["data"]["featureLevel"]
            if not is_state:
                rows.append(moment("feature", name, f"{levels[name]} -> {level}", line["timestamp"], line["offset"]))
            levels[name] = level
    return rows


def configs(metadata: Metadata) -> list[Row]:
    values: dict[tuple[int, str, str], str | None] = {}
    names: dict[str, str] = {}
    made: set[tuple[str, int]] = set()
    changes: dict[tuple[str, str, int], list[tuple[int, str, str | None, str | None]]] = defaultdict(list)
    for is_state, line in metadata.ordered():
        data, at = line["data"], line["timestamp"]
        if line["type"] == "TOPIC_RECORD":
            names[data["topicId"]] = data["name"]
            made |= set() if is_state else {(data["name"], at)}
        elif line["type"] == "REMOVE_TOPIC_RECORD":
            values = {key: value for key, value in values.items() if key[:2] != (2, names.get(data["topicId"]))}
        elif line["type"] == "CONFIG_RECORD":
            where = (data["resourceType"], data["resourceName"], data["name"])
            if not is_state:
                resource = RESOURCES.get(where[0], f"resource type {where[0]}")
                changes[resource, where[1], at].append((line["offset"], where[2], values.get(where), data["value"]))
            values[where] = data["value"]
    rows: list[Row] = []
    for (resource, name, at), found in changes.items():
        if resource == "topic" and (name, at) in made:
            continue
        offset, setting, before, value = found[0]
        event = f"{setting}: {before} -> {value}"
        if len(found) > 1:
            event = f"{len(found)} settings"
        elif value is None:
            event = f"{setting}: removed, was {before}" if before is not None else f"{setting}: removed"
        elif before is None:
            event = f"{setting}: set to {value}"
        subject = f"{resource} {'(default)' if resource == 'broker' and not name else name}"
        rows.append(moment("config", subject, event, at, offset))
    return rows
