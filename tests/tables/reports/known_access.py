"""Changes of quotas, ACLs and SCRAM credentials, and the skew of replicas, by plain Python from the JSON lines of dump-log."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from metashell.codec.codes import ACL_OPERATIONS, ACL_PATTERN_TYPES, ACL_PERMISSION_TYPES, ACL_RESOURCE_TYPES, SCRAM_MECHANISMS
from tests.tables.reports.known_answers import Line, Metadata, Partitions, Row
from tests.tables.reports.known_timeline import timeline


def quota_history(metadata: Metadata) -> list[Row]:
    rows: list[Row] = []
    values: dict[tuple[str, str], float] = {}
    for is_state, line in metadata.ordered():
        data = line["data"]
        if line["type"] != "CLIENT_QUOTA_RECORD":
            continue
        parts = {part["entityType"]: part["entityName"] for part in data["entity"]}
        named = [(kind, parts[kind]) for kind in ("user", "client-id", "ip") if kind in parts]
        entity = ", ".join(f"{kind} {'(default)' if name is None else name}" for kind, name in named)
        before = values.pop((entity, data["key"]), None)
        if not data["remove"]:
            values[entity, data["key"]] = data["value"]
        if not is_state:
            event = "removed" if data["remove"] else "set"
            rows.append((line["timestamp"], line["offset"], entity, data["key"], event, before, values.get((entity, data["key"]))))
    return rows


def acl_history(metadata: Metadata) -> list[Row]:
    rows: list[Row] = []
    told: dict[str, Row] = {}
    for is_state, line in metadata.ordered():
        data = line["data"]
        if line["type"] == "ACCESS_CONTROL_ENTRY_RECORD":
            said = (
                data["principal"],
                ACL_PERMISSION_TYPES[data["permissionType"]],
                ACL_OPERATIONS[data["operation"]],
                ACL_RESOURCE_TYPES[data["resourceType"]],
                data["resourceName"],
                ACL_PATTERN_TYPES[data["patternType"]],
                data["host"],
            )
            told[data["id"]] = said
        elif line["type"] != "REMOVE_ACCESS_CONTROL_ENTRY_RECORD":
            continue
        if not is_state:
            event = "removed" if line["type"].startswith("REMOVE") else "added"
            rows.append((line["timestamp"], line["offset"], event, *told.get(data["id"], (None,) * 7), data["id"]))
    return rows


def scram_history(metadata: Metadata) -> list[Row]:
    rows: list[Row] = []
    known: dict[tuple[str, str], int] = {}
    for is_state, line in metadata.ordered():
        data = line["data"]
        if line["type"] not in ("USER_SCRAM_CREDENTIAL_RECORD", "REMOVE_USER_SCRAM_CREDENTIAL_RECORD"):
            continue
        who = (data["name"], SCRAM_MECHANISMS[data["mechanism"]])
        before = known.pop(who, None)
        is_removed = line["type"].startswith("REMOVE")
        if not is_removed:
            known[who] = data["iterations"]
        if not is_state:
            event = "removed" if is_removed else "added" if before is None else "changed"
            rows.append((line["timestamp"], line["offset"], *who, event, before, known.get(who)))
    return rows


def replica_skew(metadata: Metadata) -> list[Row]:
    fold = Partitions(metadata)
    for _ in fold.steps():
        pass
    counts: dict[int, Line] = defaultdict(lambda: dict.fromkeys(("replicas", "leaders", "preferred", "out"), 0))
    for (topic, _), state in fold.state.items():
        for place, broker in enumerate(state["replicas"] if topic not in fold.removed else ()):
            found = counts[broker]
            found["replicas"] += 1
            found["leaders"] += state["leader"] == broker
            found["preferred"] += place == 0
            found["out"] += broker not in state["isr"]
    racks, states = brokers(metadata)
    for broker in racks:
        counts[broker]
    brokers_of: dict[Any, list[int]] = defaultdict(list)
    for broker in counts:
        if racks.get(broker) is not None:
            brokers_of[racks[broker]].append(broker)
    rows = [skew("broker", racks.get(one), one, states.get(one), [one], counts) for one in counts]
    return rows + [skew("rack", rack, None, None, of_rack, counts) for rack, of_rack in brokers_of.items()]


def skew(scope: str, rack: str | None, broker: int | None, state: str | None, own: list[int], counts: dict[int, Line]) -> Row:
    def total(name: str, of: list[int] | None = None) -> int:
        return sum(found[name] for one, found in counts.items() if of is None or one in of)

    def percent(name: str) -> int | None:
        return 100 * total(name, own) * len(counts) // (total(name) * len(own)) if total(name) else None

    numbers = (
        total("replicas", own),
        percent("replicas"),
        total("leaders", own),
        percent("leaders"),
        total("preferred", own),
        total("out", own),
    )
    return (scope, rack, broker, state, *numbers, len(own))


def brokers(metadata: Metadata) -> tuple[dict[int, Any], dict[int, str]]:
    """The racks of registered brokers, and their states, which the timeline knows."""
    racks: dict[int, Any] = {}
    for is_state, line in metadata.ordered():
        if line["type"] == "REGISTER_BROKER_RECORD":
            racks[line["data"]["brokerId"]] = line["data"]["rack"]
        elif line["type"] == "UNREGISTER_BROKER_RECORD" and not is_state:
            racks.pop(line["data"]["brokerId"], None)
    opened = [row for row in timeline(metadata) if row[1] == "broker" and row[6]]
    return racks, {int(row[2].removeprefix("broker ")): row[3] for row in opened}
