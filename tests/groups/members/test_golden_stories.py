"""The same stories with our members, our assignors and our coordinator together: callbacks, frames and records are those of Java and Kafka.

Orders are given when they were given, member ids are the broker's of that day. Nothing else is handed in.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from metashell.codec.registry import message_type
from metashell.groups.consumer import CONSUMER_TARGET
from metashell.groups.members import Callback, Send
from tests.groups.members.life import Life, Seen
from tests.groups.members.traces import APIS, HEARTBEATS, Replay, Row, json_of, members_of, normal, stories, topics_of
from tests.recordings import sorted_structs

STORIES = stories()
OFFSET_COMMIT_RECORD, CURRENT_ASSIGNMENT_RECORD = 1, 8
SLOW = {"consumer-protocol": {"a": 110, "c": 60}}
"""Milliseconds that a member's callbacks took: in this story b gave up its partition before a did, and c had not yet asked for the offset
of the first when it got the second, so that it could not commit it. With ours it has. How often a member was written down with the
partitions that it waits for hangs on the same race, so of this story targets and callbacks are compared, not steps and commits.
"""
TIMES = ("currentStateTimestamp", "assignmentTimestamp", "commitTimestamp")


class KnownIds:
    """The ids that the broker made, in their order."""

    def __init__(self, rows: list[Row]) -> None:
        given = [row["json"]["memberId"] for row in rows if row["kind"] == "response" and row["api"] == "JoinGroup"]
        self._ids = [uuid.UUID(member_id[-36:]).bytes for member_id in dict.fromkeys(given)]

    def uuid(self) -> bytes:
        return self._ids.pop(0)

    def producer_id(self) -> int:
        return 1


def played(rows: list[Row]) -> Life:
    life = Life(topics_of(rows), chance=KnownIds(rows))
    life.slow = SLOW.get(rows[0]["story"], {})
    for at_ms, name, words in sorted(orders(rows), key=lambda one: one[0]):
        life.run(max(0, at_ms - life.now_ms))
        match words:
            case ["start", topics]:
                life.add(name, Replay(rows, name).member, topics.split(","))
            case ["subscribed", topics]:
                life.subscribe(name, *topics.split(","))
            case ["closing"]:
                life.close(name)
            case ["stalls", ms]:
                life.stall(name, int(ms))
            case ["enforceRebalance"]:
                life.enforce(name)
    life.run(8_000)
    return life


def orders(rows: list[Row]) -> list[tuple[int, str, list[str]]]:
    """When an application did what it was told to; it has begun when its first request was sent."""
    found = []
    for name in members_of(rows):
        own = [row for row in rows if row.get("member") == name]
        begun = next(row["at"] for row in own if row["kind"] == "request" and row["api"] in ("JoinGroup", "ConsumerGroupHeartbeat"))
        subscribed = [row for row in own if row["kind"] == "callback" and row["event"].startswith("subscribed ")]
        found.append((begun - 3, name, ["start", subscribed[0]["event"].split()[1]]))
        found += [(row["at"], name, row["event"].split()) for row in own if row["kind"] == "callback" and row not in subscribed[:1]]
    return found


@pytest.mark.parametrize("story", sorted(STORIES))
def test_callbacks_frames_and_records_of_a_story_are_those_of_java_and_kafka(story: str) -> None:
    rows = STORIES[story]
    life = played(rows)
    for name in members_of(rows):
        theirs = [(one.what, one.detail[0] if isinstance(one.detail, tuple) else one.detail) for one in Replay(rows, name).wanted()]
        left_out = HEARTBEATS | {"failed"} | ({"OffsetCommit"} if story in SLOW else set())
        assert [one for one in shown(life.seen, name) if one[0] not in left_out] == [one for one in theirs if one[0] not in left_out], name
    wanted = [plain(row["type"], row["key"], row["value"]) for row in rows if row["kind"] == "record"]
    records = [record for batch in life.shard.written for record in batch.records]
    written = [record_json(record) for record in records if not is_of_empty_group(record)]
    # The stories are of 4.3.1. Since 4.4 a consumer group that loses its last member has one record more.
    assert len(records) - len(written) == sum(group.type == "consumer" for group in life.shard.coordinator.state.groups.values())
    left_out_records = {OFFSET_COMMIT_RECORD} | ({CURRENT_ASSIGNMENT_RECORD} if story in SLOW else set())
    assert without(left_out_records, written) == without(left_out_records, wanted)
    if story not in SLOW:
        assert sorted(written, key=str) == sorted(wanted, key=str)


def is_of_empty_group(record: Any) -> bool:
    """Whether a record says that the assignment of an empty group is up to date."""
    return record.type == CONSUMER_TARGET and record.value is not None and record.value.assignment_timestamp == 0


def without(types: set[int], records: list[Any]) -> list[Any]:
    return [one for one in records if one[0] not in types]


def shown(seen: list[Seen], name: str) -> list[Any]:
    found: list[Any] = []
    for one in seen:
        if one.member != name:
            continue
        if isinstance(one.what, Callback):
            found.append((one.what.event, one.what.partitions))
        elif isinstance(one.what, Send) and APIS[one.what.api_key] not in HEARTBEATS | {"FindCoordinator", "OffsetFetch"}:
            found.append((APIS[one.what.api_key], normal(APIS[one.what.api_key], json_of(one.what))))
    return found


def record_json(record: Any) -> Any:
    key = message_type("offsets", type(record.key).__name__)
    value = None
    if record.value is not None:
        value = message_type("offsets", type(record.value).__name__).to_json_value(record.value, record.version)
    return plain(record.type, key.to_json_value(record.key, key.versions[0]), value)


def plain(type: int, key: Any, value: Any) -> Any:
    """Without times, with topics sorted: their order follows from a hash of Java's."""

    def without_times(one: Any) -> Any:
        if isinstance(one, dict):
            return {name: without_times(inner) for name, inner in one.items() if name not in TIMES}
        return [without_times(inner) for inner in one] if isinstance(one, list) else one

    return type, sorted_structs(key, every_list=True), in_pairs(without_times(json.loads(json.dumps(value))))


def in_pairs(value: Any) -> Any:
    """Partitions with their epochs and topics, sorted; other lists as they are."""
    if isinstance(value, dict):
        if "assignmentEpochs" in value:
            pairs = sorted(zip(value["partitions"], value["assignmentEpochs"], strict=True))
            return {"topicId": value["topicId"], "pairs": [list(pair) for pair in pairs]}
        return {name: in_pairs(inner) for name, inner in value.items()}
    if isinstance(value, list):
        made = [in_pairs(inner) for inner in value]
        return sorted(made, key=lambda one: one["topicId"]) if made and isinstance(made[0], dict) and "topicId" in made[0] else made
    return value
