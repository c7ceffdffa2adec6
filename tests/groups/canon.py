"""Makes two runs of a golden conversation comparable, of which the second got the ids of the first.

Only times, hosts and the order of what Kafka lists in hash order differ then. The rules are those of the golden set's README
("Normalisation"), without its stand-ins for ids.
"""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

from tests.recordings import in_order

_TIMES = {
    *(
        "commitTimestamp",
        "currentStateTimestamp",
        "expireTimestamp",
        "assignmentTimestamp",
        "timestamp",
        "creationTimeMs",
        "stateTimestamp",
    ),
}
_DROPPED = {"throttleTimeMs", "at", "hex"}
_PLACES = {"offset", "batch", "keyHex", "valueHex"}
"""Of a record's row."""
_HOSTS = {"host", "clientHost"}
_SORTED = {
    *("members", "assignments", "topicPartitions", "assignedPartitions", "partitionsPendingRevocation", "groups", "ownedPartitions"),
    *("topics", "coordinators", "initializingTopics", "initializedTopics", "deletingTopics"),
}
_INTERNAL_TOPICS = {"watched-streams-internal", "watched-streams-standby", "watched-streams-delay"}
"""Conversations with topics that a group had made: no row shows their ids, on which hashes of metadata hang."""
PARTS = ("replies", "records", "waiting")


_SALTED = {"activePartitions", "standbyPartitions", "partitions"}


class Canon:
    """One run. Shape: with `is_ordered`, lists keep their order; with `is_salted`, what streams members read of each other does not, whose
    order in each JVM is another.
    """

    def __init__(self, is_ordered: bool = False, is_salted: bool = False) -> None:
        self.is_ordered = is_ordered
        self._sorted = _SORTED | _SALTED if is_salted else _SORTED
        self._hashes: dict[int, str] = {}
        self._has_unknown_topics = False

    def steps(self, scenario: dict[str, Any]) -> list[dict[str, Any]]:
        """Every step in comparable form; what belongs to no step for sure comes last, as one step more."""
        tags = set(scenario["tags"])
        self._has_unknown_topics = scenario["scenario"] in _INTERNAL_TOPICS
        rows: list[dict[str, Any]] = []
        late: list[dict[str, Any]] = []
        for step in scenario["steps"]:
            records = step["records"]
            if "pooled" in tags:
                late += records
                records = []
            if "background" in tags:
                records = [record for record in records if record.get("type") != 15]
            replies = [self._plain(reply) for reply in step["replies"]]
            rows.append({"step": step["step"], "replies": replies, "records": self._batches(records), "waiting": step["waiting"]})
        rows.append({"step": len(rows) + 1, "replies": [], "records": [self._record(record) for record in late], "waiting": []})
        return rows

    def _batches(self, records: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
        """Batches in order; in a batch, neighbours of one type are sorted by their key."""
        batches = []
        for _, batch in groupby(records, key=lambda record: record["batch"]):
            rows: list[dict[str, Any]] = []
            for _, neighbours in groupby(batch, key=lambda record: record.get("type")):
                run = list(neighbours)
                if not self.is_ordered:
                    run.sort(key=lambda record: in_order(record.get("key")))
                rows += [self._record(record) for record in run]
            batches.append(rows)
        return batches

    def _record(self, record: dict[str, Any]) -> dict[str, Any]:
        row: dict[str, Any] = self._plain({key: value for key, value in record.items() if key not in _PLACES})
        if row.get("type") == 16 and row.get("value"):
            row["value"]["version"] = "<version>"
        return row

    def _plain(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: self._plain(item, name) for name, item in value.items() if name not in _DROPPED}
        if isinstance(value, list):
            items = [self._plain(item, key) for item in value]
            return items if self.is_ordered or key not in self._sorted else sorted(items, key=in_order)
        if key in _TIMES and isinstance(value, int):
            return value if value <= 0 else "<time>"
        if key == "metadataHash" and value and self._has_unknown_topics:
            return self._hashes.setdefault(value, f"<hash {len(self._hashes) + 1}>")
        if key in _HOSTS and value:
            return "<host>"
        if key == "port" and isinstance(value, int) and value > 0:
            return "<port>"
        return value


def differences(golden: dict[str, Any], ours: dict[str, Any], is_ordered: bool = False, is_salted: bool = False) -> list[str]:
    """The steps at which two runs differ, in words."""
    found = []
    for one, two in zip(Canon(is_ordered, is_salted).steps(golden), Canon(is_ordered, is_salted).steps(ours), strict=True):
        for part in PARTS:
            if one[part] != two[part]:
                found.append(f"step {one['step']} {part}:\n    golden {json.dumps(one[part])}\n    here   {json.dumps(two[part])}")
    return found
