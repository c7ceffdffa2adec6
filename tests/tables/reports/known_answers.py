"""Every report computed again in plain Python, from the JSON lines of dump-log: a fold over records in order, no SQL, no columns.

Rows are tuples in the order of `COLUMNS`, without the cluster; times are Unix milliseconds.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from metashell.inspect.dump import DumpOptions, run_dump

HOUR = 3_600_000
Line = dict[str, Any]
Row = tuple[Any, ...]
CHECKPOINT = re.compile(r"(\d{20})-\d{10}\.checkpoint$")
RESOURCES = {2: "topic", 4: "broker", 8: "broker logger", 16: "client metrics", 32: "group"}

COLUMNS: dict[str, str] = {
    "timeline": "started_at kind subject event lasted_ms ended_at is_open log_offset",
    "leadership_churn": "hour broker_id leaders_gained leaders_lost isr_shrinks isr_expands changes_left_out",
    "unclean_elections": "at log_offset topic partition event previous_leader leader previous_isr isr previous_elr elr last_known_elr "
    "lasted_ms ended_at is_open",
    "under_replicated": "topic partition started_at ended_at lasted_ms ended_by replicas isr_size_min was_leaderless missing_at_start",
    "topic_history": "at log_offset resource name event setting value_before value",
    "quota_history": "at log_offset entity quota event value_before value",
    "acl_history": "at log_offset event principal permission operation resource_type resource_name pattern_type host acl_id",
    "scram_history": "at log_offset user_name mechanism event iterations_before iterations",
    "replica_skew": "scope rack broker_id state replicas replicas_percent leaders leaders_percent preferred_leaders out_of_sync brokers",
    "broker_sessions": "broker_id broker_epoch rack registered_at first_unfenced_at fenced_count unfenced_count controlled_shutdown_at "
    "ended_at ended_by lasted_ms",
    "controller_elections": "elected_at epoch log_offset previous_leader_id leader_id led_ms silence_ms records batches",
    "metadata_growth": "source checkpoint hour type records bytes",
    "group_rebalances": "group_id protocol generation started_at settled_ms joined departed members partitions_moved",
    "group_commits": "group_id topic partition hour commits first_offset last_offset rewinds deletions",
    "group_expiring": "group_id kind topic partition committed committed_at expires_at hours_left",
}
"""The columns of the rows, in their order."""


def dump(files: list[Path], **options: Any) -> list[Line]:
    out = io.BytesIO()
    run_dump(DumpOptions(files=tuple(map(str, files)), batches="also", **options), out, io.StringIO())
    return [json.loads(line) for line in out.getvalue().splitlines()]


class Metadata:
    """The metadata log of one cluster from the files of several nodes: records of the log and of checkpoints, in order."""

    def __init__(self, files: list[Path]) -> None:
        self.files = [file for file in files if "__cluster_metadata-0" in str(file)]
        lines = dump(self.files, cluster_metadata_decoder=True)
        self.batches = {line["offset"]: line for line in lines if line["kind"] == "batch" and ".checkpoint" not in line["file"]}
        self.log: dict[int, Line] = {}
        self.checkpoints: dict[str, dict[int, Line]] = defaultdict(dict)
        for line in lines:
            if line["kind"] in ("record", "control"):
                found = CHECKPOINT.search(line["file"])
                (self.checkpoints[found[0]] if found else self.log)[line["offset"]] = line

    def ordered(self) -> list[tuple[bool, Line]]:
        """(is of a checkpoint, record) by place: a checkpoint stands before the first record that it does not hold."""
        placed = [((offset, 1), False, line) for offset, line in self.log.items()]
        for name, records in self.checkpoints.items():
            placed += [((int(name[:20]), 0), True, line) for line in records.values()]
        return [(is_state, line) for _, is_state, line in sorted(placed, key=lambda entry: (entry[0], entry[2]["offset"]))]

    @property
    def end_ms(self) -> int:
        return max(batch["timestamp"] for batch in self.batches.values())


class Partitions:
    """The fold of partition records: each step gives what the partition was and is."""

    def __init__(self, metadata: Metadata) -> None:
        self.metadata = metadata
        self.names: dict[str, str] = {}
        self.removed: dict[str, int] = {}
        self.state: dict[tuple[str, int], Line] = {}
        self.unread: list[Line] = []

    def steps(self) -> Iterator[tuple[str, Line, tuple[str, int], Line | None, Line]]:
        for is_state, line in self.metadata.ordered():
            data, kind = line["data"], line["type"]
            if kind == "TOPIC_RECORD":
                self.names[data["topicId"]] = data["name"]
            elif kind == "REMOVE_TOPIC_RECORD" and not is_state:
                self.removed[data["topicId"]] = line["timestamp"]
            elif kind == "PARTITION_RECORD":
                yield self._step("snapshot" if is_state else "created", line, data, self._whole(data))
            elif kind == "PARTITION_CHANGE_RECORD" and (data["topicId"], data["partitionId"]) not in self.state:
                self.unread.append(line)
            elif kind == "PARTITION_CHANGE_RECORD":
                yield self._step("changed", line, data, self._part(data))
            elif kind == "CLEAR_ELR_RECORD":
                for topic, number in list(self.state):
                    if topic not in self.removed and data["topicName"] in ("", self.names[topic]):
                        key = {"topicId": topic, "partitionId": number}
                        yield self._step("cleared", line, key, {"elr": [], "last": []})

    def _step(self, kind: str, line: Line, data: Line, change: Line) -> tuple[str, Line, tuple[str, int], Line | None, Line]:
        key = (data["topicId"], data["partitionId"])
        before = self.state.get(key)
        self.state[key] = {**(before or {}), **change}
        return kind, line, key, before, self.state[key]

    @staticmethod
    def _whole(data: Line) -> Line:
        return {
            "replicas": data["replicas"],
            "isr": data["isr"],
            "adding": data.get("addingReplicas") or [],
            "leader": data["leader"],
            "recovery": data.get("leaderRecoveryState", 0),
            "elr": data.get("eligibleLeaderReplicas") or [],
            "last": data.get("lastKnownElr") or [],
        }

    @staticmethod
    def _part(data: Line) -> Line:
        names = {
            "replicas": "replicas",
            "isr": "isr",
            "addingReplicas": "adding",
            "eligibleLeaderReplicas": "elr",
            "lastKnownElr": "last",
        }
        change = {name: data[field] for field, name in names.items() if data.get(field) is not None}
        if data.get("leader", -2) != -2:
            change["leader"] = data["leader"]
        if data.get("leaderRecoveryState", -1) != -1:
            change["recovery"] = data["leaderRecoveryState"]
        return change


def leadership_churn(metadata: Metadata) -> list[Row]:
    counts: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    fold = Partitions(metadata)
    for kind, line, _, before, after in fold.steps():
        if kind != "changed" or before is None:
            continue
        hour = line["timestamp"] // HOUR * HOUR
        if after["leader"] != before["leader"]:
            if after["leader"] >= 0:
                counts[hour, after["leader"]][0] += 1
            if before["leader"] >= 0:
                counts[hour, before["leader"]][1] += 1
        for broker in set(before["isr"]) - set(after["isr"]):
            counts[hour, broker][2] += 1
        for broker in set(after["isr"]) - set(before["isr"]):
            counts[hour, broker][3] += 1
    left_out = Counter(line["timestamp"] // HOUR * HOUR for line in fold.unread)
    rows: list[Row] = [(hour, broker, *found, 0) for (hour, broker), found in counts.items()]
    return rows + [(hour, None, 0, 0, 0, 0, count) for hour, count in left_out.items()]


def unclean_elections(metadata: Metadata) -> list[Row]:
    fold = Partitions(metadata)
    steps = list(fold.steps())
    rows: list[Row] = []
    for number, (kind, line, key, before, after) in enumerate(steps):
        if before is None or kind not in ("changed", "cleared"):
            continue
        event = _election_event(kind, before, after)
        if event:
            change = (before["leader"], after["leader"], before["isr"], after["isr"], before["elr"], after["elr"], after["last"])
            lasted: tuple[int | None, int | None, bool] = (None, None, False)
            if event == "no leader":
                led = next((step[1]["timestamp"] for step in steps[number + 1 :] if step[2] == key and step[4]["leader"] >= 0), None)
                end = led or fold.removed.get(key[0])
                lasted = ((end or metadata.end_ms) - line["timestamp"], end, end is None)
            rows.append((line["timestamp"], line["offset"], fold.names.get(key[0], ""), key[1], event, *change, *lasted))
    return rows


def _election_event(kind: str, before: Line, after: Line) -> str | None:
    is_won = kind == "changed" and after["leader"] >= 0 and after["leader"] != before["leader"] and after["leader"] not in before["isr"]
    if is_won and after["leader"] in before["elr"]:
        return "elected from ELR"
    if is_won and after["recovery"] == 1:
        return "unclean election"
    if after["leader"] == -1 and before["leader"] >= 0:
        return "no leader"
    if (before["recovery"], after["recovery"]) == (1, 0):
        return "recovered"
    if kind == "cleared" and (before["elr"] or before["last"]):
        return "ELR cleared"
    return "ELR changed" if (before["elr"], before["last"]) != (after["elr"], after["last"]) else None


def under_replicated(metadata: Metadata) -> list[Row]:
    fold = Partitions(metadata)
    begun: dict[tuple[str, int], Line] = {}
    ended: list[tuple[tuple[str, int], Line, int | None, str]] = []
    for _, line, key, _, after in fold.steps():
        wanted = [broker for broker in after["replicas"] if broker not in after["adding"]]
        if len(after["isr"]) < len(wanted):
            run = begun.setdefault(
                key,
                {"at": line["timestamp"], "isr": 99, "wanted": 0, "headless": False}
                | {"missing": [broker for broker in after["replicas"] if broker not in after["isr"]]},
            )
            run["isr"] = min(run["isr"], len(after["isr"]))
            run["wanted"] = max(run["wanted"], len(wanted))
            run["headless"] |= after["leader"] == -1
        elif key in begun:
            ended.append((key, begun.pop(key), line["timestamp"], "restored"))
    for key, run in begun.items():
        removed = fold.removed.get(key[0])
        ended.append((key, run, removed or metadata.end_ms, "topic removed" if removed else "open"))
    return [
        (
            fold.names[key[0]],
            key[1],
            run["at"],
            None if how == "open" else at,
            at - run["at"],
            how,
            run["wanted"],
            run["isr"],
            run["headless"],
            run["missing"],
        )
        for key, run, at, how in ended
        if at is not None
    ]


def topic_history(metadata: Metadata) -> list[Row]:
    rows: list[Row] = []
    names: dict[str, str] = {}
    sizes: dict[str, int] = defaultdict(int)
    grown: dict[tuple[str, int], list[int]] = {}
    values: dict[tuple[int, str, str], str | None] = {}
    for is_state, line in metadata.ordered():
        at, offset, data, kind = line["timestamp"], line["offset"], line["data"], line["type"]
        if kind == "TOPIC_RECORD":
            names[data["topicId"]] = data["name"]
            if not is_state:
                rows.append((at, offset, "topic", data["name"], "created", None, None, None))
        elif kind == "REMOVE_TOPIC_RECORD" and not is_state:
            rows.append((at, offset, "topic", names.get(data["topicId"], ""), "removed", None, None, None))
            values = {key: value for key, value in values.items() if key[:2] != (2, names.get(data["topicId"]))}
        elif kind == "PARTITION_RECORD":
            topic, size = data["topicId"], data["partitionId"] + 1
            if size > sizes[topic] and not is_state:
                entry = grown.setdefault((topic, at), [offset, sizes[topic], size])
                entry[2] = max(entry[2], size)
            sizes[topic] = max(sizes[topic], size)
        elif kind == "CONFIG_RECORD":
            key = (data["resourceType"], data["resourceName"], data["name"])
            if not is_state:
                event = "config removed" if data["value"] is None else "config set"
                resource = RESOURCES.get(key[0], f"resource type {key[0]}")
                rows.append((at, offset, resource, key[1], event, key[2], values.get(key), data["value"]))
            values[key] = data["value"]
    rows += [
        (at, offset, "topic", names.get(topic, ""), "partitions", None, str(before), str(now))
        for (topic, at), (offset, before, now) in grown.items()
    ]
    return rows


def broker_sessions(metadata: Metadata) -> list[Row]:
    ordered = metadata.ordered()
    sessions: dict[tuple[int, int], Line] = {}
    for is_state, line in ordered:
        data = line["data"]
        if line["type"] == "REGISTER_BROKER_RECORD":
            session = sessions.setdefault((data["brokerId"], data["brokerEpoch"]), {"at": None, "end": None})
            session["rack"] = data["rack"]
            if session["at"] is None and not is_state:
                # A broker may register again in the same epoch; the first time counts.
                session["at"] = line["timestamp"]
    for is_state, line in ordered:
        data = line["data"]
        broker = (data.get("brokerId", data.get("id")), data.get("brokerEpoch", data.get("epoch")))
        if not is_state and broker in sessions:
            _change_session(sessions[broker], line["type"], data, line["timestamp"])
    rows: list[Row] = []
    for (broker_id, epoch), found in sessions.items():
        later = min(((e, s["at"]) for (b, e), s in sessions.items() if b == broker_id and e > epoch), default=(0, None))[1]
        end = found["end"] or later
        how = "unregistered" if found["end"] else "registered again" if later else "open"
        lasted = None if found["at"] is None else (end or metadata.end_ms) - found["at"]
        counts = (found.get("fences", 0), found.get("unfences", 0))
        rows.append((broker_id, epoch, found["rack"], found["at"], found.get("unfenced"), *counts, found.get("down"), end, how, lasted))
    return rows


def _change_session(session: Line, kind: str, data: Line, at: int) -> None:
    fencing = {"FENCE_BROKER_RECORD": 1, "UNFENCE_BROKER_RECORD": -1}.get(kind, 0)
    if kind == "BROKER_REGISTRATION_CHANGE_RECORD":
        fencing = data.get("fenced", 0)
        if data.get("inControlledShutdown", 0) == 1:
            session.setdefault("down", at)
    elif kind == "UNREGISTER_BROKER_RECORD":
        session["end"] = at
    if fencing == 1:
        session["fences"] = session.get("fences", 0) + 1
    if fencing == -1:
        session["unfences"] = session.get("unfences", 0) + 1
        session.setdefault("unfenced", at)


def controller_elections(metadata: Metadata) -> list[Row]:
    rows: list[Row] = []
    elections = [line for _, line in sorted(metadata.log.items()) if line["type"] == "LEADER_CHANGE"]
    for number, line in enumerate(elections):
        epoch = line["epoch"]
        own = [batch for batch in metadata.batches.values() if batch["epoch"] == epoch]
        earlier = [batch for batch in metadata.batches.values() if batch["epoch"] < epoch]
        last_of = max((batch["epoch"] for batch in earlier), default=None)
        before = max((batch["timestamp"] for batch in earlier if batch["epoch"] == last_of), default=None)
        following = elections[number + 1]["timestamp"] if number + 1 < len(elections) else max(batch["timestamp"] for batch in own)
        at = line["timestamp"]
        winners = (elections[number - 1]["data"]["leaderId"] if number else None, line["data"]["leaderId"])
        spans = (following - at, None if before is None else at - before)
        rows.append((at, epoch, line["offset"], *winners, *spans, sum(batch["count"] for batch in own), len(own)))
    return rows


def metadata_growth(metadata: Metadata) -> list[Row]:
    """The sizes of values are those that Kafka's own text tells."""
    sizes = value_sizes(metadata.files)
    sums: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0])

    def add(line: Line, source: str, checkpoint: str, at_ms: int) -> None:
        found = sums[source, checkpoint, at_ms // HOUR * HOUR, line["type"]]
        found[0] += 1
        found[1] += sizes[line["file"], line["offset"]]

    for line in metadata.log.values():
        add(line, "log", "", line["timestamp"])
    for name, records in metadata.checkpoints.items():
        for line in records.values():
            add(line, "snapshot", name, min(line["timestamp"] for line in records.values()))
    return [(*key, *found) for key, found in sums.items()]


def value_sizes(files: list[Path]) -> dict[tuple[str, int], int]:
    """The size of each record's value by file and offset, from the text in Kafka's voice; with all else that a batch consists of
    they make its size."""
    out = io.BytesIO()
    run_dump(DumpOptions(files=tuple(map(str, files)), voice="kafka", output="kafka", print_data_log=True), out, io.StringIO())
    sizes: dict[tuple[str, int], int] = {}
    file, left, base = "", 0, (0, 0)
    for line in out.getvalue().decode("utf-8", "replace").splitlines():
        if line.startswith("Dumping "):
            assert left == 0
            file = line.removeprefix("Dumping ")
        elif found := re.match(r"baseOffset: (\d+) .*? CreateTime: (\d+) size: (\d+) .*compresscodec: none", line):
            assert left == 0, f"{file}: {left} bytes of the batch before"
            base, left = (int(found[1]), 0), int(found[3]) - 61
        elif found := re.match(r"\| offset: (\d+) CreateTime: (\d+) keySize: (-?\d+) valueSize: (-?\d+) ", line):
            offset, time, key_size, value_size = map(int, found.groups())
            base = (base[0], base[1] or time)
            sizes[file, offset] = value_size
            left -= encoded_size(offset - base[0], time - base[1], key_size, value_size)
    assert sizes and left == 0
    return sizes


def encoded_size(offset_delta: int, timestamp_delta: int, key_size: int, value_size: int) -> int:
    """How many bytes a record without headers takes in its batch."""
    body = 2 + sum(map(varint_size, (offset_delta, timestamp_delta, key_size, value_size))) + max(key_size, 0) + max(value_size, 0)
    return varint_size(body) + body


def varint_size(number: int) -> int:
    return max((2 * abs(number) - (number < 0)).bit_length() + 6, 7) // 7


METADATA_ANSWERS: dict[str, Callable[[Metadata], list[Row]]] = {
    function.__name__: function
    for function in (
        leadership_churn,
        unclean_elections,
        under_replicated,
        topic_history,
        broker_sessions,
        controller_elections,
        metadata_growth,
    )
}
