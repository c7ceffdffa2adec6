"""The reports on groups in plain Python, from dump-log's JSON lines of `__consumer_offsets`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.tables.reports.known_answers import HOUR, Line, Row, dump

EPOCH_RECORDS = {"CONSUMER_GROUP_METADATA": "consumer", "SHARE_GROUP_METADATA": "share", "STREAMS_GROUP_METADATA": "streams"}
EXPIRY_RECORDS = {
    "OFFSET_COMMIT",
    "GROUP_METADATA",
    *EPOCH_RECORDS,
    "CONSUMER_GROUP_MEMBER_METADATA",
    "CONSUMER_GROUP_REGULAR_EXPRESSION",
    "STREAMS_GROUP_MEMBER_METADATA",
    "STREAMS_GROUP_TOPOLOGY",
}
"""Those that the report on expiry reads."""
RETENTION_MS = 7 * 24 * HOUR
FOREVER = 1 << 62
MEMBER_RECORDS = {
    "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT": ("consumer", "assignedPartitions", "topicId"),
    "SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT": ("share", "assignedPartitions", "topicId"),
    "STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT": ("streams", "activeTasks", "subtopologyId"),
}


def logs(files: list[Path]) -> Iterator[list[Line]]:
    """The records of each partition of __consumer_offsets once, in order, whichever replica has them."""
    by_log: dict[str, dict[int, Line]] = defaultdict(dict)
    for line in dump([file for file in files if "__consumer_offsets" in str(file)], offsets_decoder=True):
        if line["kind"] == "record":
            by_log[Path(line["file"]).parent.name][line["offset"]] = line
    for records in by_log.values():
        yield [line for _, line in sorted(records.items())]


class Group:
    """One group while its log is read: who is in it, who owns what, and what each generation brought."""

    def __init__(self) -> None:
        self.generation: int | None = None
        self.protocol = ""
        self.present: set[str] = set()
        self.owners: dict[str, str] = {}
        self.found: dict[int, Line] = {}

    def note(self, generation: int | None, at: int, protocol: str, **counts: int) -> None:
        if generation is None:
            return
        entry = self.found.setdefault(generation, {"first": at, "last": at, "protocol": protocol, "joined": 0, "departed": 0, "moved": 0})
        entry["first"], entry["last"] = min(entry["first"], at), max(entry["last"], at)
        entry["protocol"] = max(entry["protocol"], protocol)
        for name, count in counts.items():
            entry[name] += count

    def assign(self, member: str, parts: list[str]) -> int:
        moved = sum(1 for part in parts if self.owners.get(part, member) != member)
        self.owners.update(dict.fromkeys(parts, member))
        return moved

    def rows(self, name: str) -> Iterator[Row]:
        members = 0
        for generation, entry in sorted(self.found.items()):
            members += entry["joined"] - entry["departed"]
            span = (entry["first"], entry["last"] - entry["first"])
            yield (name, entry["protocol"], generation, *span, entry["joined"], entry["departed"], members, entry["moved"])


def group_rebalances(files: list[Path]) -> list[Row]:
    rows: list[Row] = []
    for records in logs(files):
        groups: dict[str, Group] = defaultdict(Group)
        for line in records:
            kind = line["type"]
            name = line["key"].get("groupId", line["key"].get("group"))
            if kind != "GROUP_METADATA" and kind not in EPOCH_RECORDS and kind not in MEMBER_RECORDS:
                continue
            if kind not in MEMBER_RECORDS and line["data"] is None:
                rows += groups.pop(name, Group()).rows(name)
            elif kind == "GROUP_METADATA":
                classic(groups[name], line)
            elif kind in EPOCH_RECORDS:
                group = groups[name]
                group.generation = max(group.generation or 0, line["data"]["epoch"])
                group.note(group.generation, line["timestamp"], EPOCH_RECORDS[kind])
            else:
                member(groups[name], line)
        for name, group in groups.items():
            rows += group.rows(name)
    return rows


def classic(group: Group, line: Line) -> None:
    data = line["data"]
    protocol = "cooperative" if (data["protocol"] or "").startswith("cooperative") else "classic"
    group.generation = data["generation"]
    now = {entry["memberId"] for entry in data["members"]}
    moved = 0
    for entry in line["decoded"]["members"]:
        assigned = (entry["assignment"] or {}).get("assignedPartitions", [])
        moved += group.assign(entry["memberId"], [f"{topic['topic']}-{number}" for topic in assigned for number in topic["partitions"]])
    counts = {"joined": len(now - group.present), "departed": len(group.present - now), "moved": moved}
    group.note(group.generation, line["timestamp"], protocol, **counts)
    if counts["departed"]:
        group.note(group.generation, line["timestamp"], group.protocol)  # who left was there by the protocol of before
    group.present, group.protocol = now, protocol


def member(group: Group, line: Line) -> None:
    protocol, field, label = MEMBER_RECORDS[line["type"]]
    who, data = line["key"]["memberId"], line["data"]
    if data is None or data["memberEpoch"] < 0:
        group.note(group.generation, line["timestamp"], protocol, departed=int(who in group.present))
        group.present.discard(who)
        return
    generation = data["memberEpoch"] if group.generation is None else group.generation
    moved = group.assign(who, [f"{part[label]}-{number}" for part in data[field] for number in part["partitions"]])
    counts = {"joined": int(who not in group.present), "moved": 0 if protocol == "share" else moved}
    group.note(generation, line["timestamp"], protocol, **counts)
    group.present.add(who)


def group_commits(files: list[Path]) -> list[Row]:
    found: dict[tuple[Any, ...], Line] = {}
    last: dict[tuple[Any, ...], int | None] = {}
    for records in logs(files):
        for line in records:
            if line["type"] != "OFFSET_COMMIT":
                continue
            key = (line["key"]["group"], line["key"]["topic"], line["key"]["partition"])
            entry = found.setdefault((*key, line["timestamp"] // HOUR * HOUR), {"n": 0, "first": None, "last": None, "back": 0, "gone": 0})
            committed = None if line["data"] is None else line["data"]["offset"]
            if committed is None:
                entry["gone"] += 1
            else:
                entry["n"] += 1
                entry["first"] = committed if entry["first"] is None else entry["first"]
                entry["last"] = committed
                before = last.get(key)
                entry["back"] += int(before is not None and committed < before)
            last[key] = committed
    return [(*key, entry["n"], entry["first"], entry["last"], entry["back"], entry["gone"]) for key, entry in found.items()]


def group_expiring(files: list[Path]) -> list[Row]:
    """What `metashell groups expiring` says of these logs, where the newest record is now."""
    from metashell.groups.log.queries import expiring_offsets, load_logs

    paths = sorted({str(file.parent) for file in files if "__consumer_offsets" in str(file)})
    now = max(line["timestamp"] for records in logs(files) for line in records if line["type"] in EXPIRY_RECORDS)
    return [
        (
            *(one.group_id, one.kind, one.row.topic, one.row.partition, one.row.offset, one.row.commit_ms, one.expires_ms),
            (one.expires_ms - now) // HOUR,
        )
        for one in expiring_offsets(load_logs(paths), FOREVER, RETENTION_MS)
    ]
