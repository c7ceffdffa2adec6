"""Plays the golden conversations of a real group coordinator into ours, in this process: no sockets, no log, the clock of the rows.

python -m tests.groups.golden [-v] [--ordered | --wire] [SCENARIO or FILE ...]     what differs, step by step

`--ordered` compares lists in their order, `--wire` compares with `differences` of the recorder, groups_wire.py, where that lies beside.

Our coordinator is fed the ids that Kafka made (of members, topics, producers), so that everything which follows from their hash order is
the same. Topics are made, changed and deleted by the player; the answers to those requests are the golden ones.
"""

from __future__ import annotations

import base64
import functools
import gzip
import json
import os
import re
import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from itertools import groupby
from pathlib import Path
from traceback import format_exc
from types import ModuleType
from typing import Any
from uuid import UUID

from metashell.codec.coordinator import COORDINATOR_LOGS
from metashell.codec.registry import message_type
from metashell.common.values import uuid_from_text
from metashell.groups.coordinator.coordinator import HANDLERS, GroupCoordinator, Shard, Written
from metashell.groups.decision import Answer, CreateTopics, Record, Request
from metashell.groups.log import key_bytes, read_record, value_bytes
from metashell.groups.topics import KnownTopics, Topic
from tests.golden_cases import REPOSITORY
from tests.groups.canon import differences
from tests.groups.profiles import PROFILES
from tests.quorum.controller.json_objects import from_json
from tests.recordings import Compared, show

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "groups"
BEGUN_MS = 1_795_308_000_000
RACKS = ("rack-1",)
LATE_MS = 20
"""A real broker's timers run a little late, so that who was near is still before them."""
_OFFSETS = COORDINATOR_LOGS["offsets"]
_JAVA_UUID = re.compile(r"^(.*)-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$", re.DOTALL)
_GONE = (25, 82, 27, 16)
"""Errors of joins that were given an id before they failed."""
# How long before the scenario the node's periodic expiry had last run, where that shows. Units: ms.
_EXPIRED_BEFORE_MS = {"explicit-retention-expires": 140}
# How much longer the last step took on a busy machine, where that shows. Units: ms.
_ENDED_LATE_MS = {"classic-in-consumer-group-times-out": 300}
SHARE_RECORDS = range(10, 16)
_TOPIC_APIS = {"CreateTopics", "DeleteTopics", "CreatePartitions"}

Scenario = dict[str, Any]


@cache
def scenarios() -> dict[str, Scenario]:
    """Every conversation by its name; those that only warm a node up are left out."""
    paths = sorted(
        path for room in ("classic", "consumer", "watched") for path in (FOLDER / room).glob("*.jsonl.gz") if "trace" not in path.name
    )
    return {row["scenario"]: row for path in paths for row in read_rows(path) if not row["scenario"].startswith("_")}


def read_rows(path: Path) -> list[Scenario]:
    """The rows of one golden file, each with the name of that file."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        return [{"file": f"{path.parent.name}/{path.name.removesuffix('.jsonl.gz')}", **json.loads(line)} for line in file]


class GoldenChance:
    """Gives the ids that Kafka made: to each request those that its answer names, however late that came."""

    def __init__(self, scenario: Scenario) -> None:
        self._ids = _given_ids(scenario)
        self._producers: list[int] = []
        self._left: list[bytes] = []
        self._made = 0

    def begin(self, number: int, producer_id: int) -> None:
        """A request is about to be decided."""
        self._left = [self._ids[number]] if number in self._ids else []
        self._producers = [producer_id] if producer_id >= 0 else []

    def uuid(self) -> bytes:
        if self._left:
            return self._left.pop()
        self._made += 1
        return b"not of the golden"[-8:] + self._made.to_bytes(8, "big")

    def producer_id(self) -> int:
        return self._producers.pop() if self._producers else -2


class Player:
    """One scenario. Shape: `played` is the scenario with our answers and records in place of Kafka's."""

    def __init__(self, golden: Scenario) -> None:
        self.golden = golden
        self.played: Scenario = {**golden, "steps": []}
        self.chance = GoldenChance(golden)
        self.topics = {name: Topic(uuid_from_text(id), name, (RACKS,) * 8) for name, id in golden["given"].items()}
        self.topics_version = 1
        self.sends = {step["send"]["n"]: step["send"] for step in golden["steps"] if "send" in step}
        self.golden_replies = {reply["to"]: reply for step in golden["steps"] for reply in step["replies"]}
        self.queued: dict[str, list[int]] = {}
        """Requests of each connection that have no answer yet: the first is being decided, the others wait behind it."""
        self.replies: list[dict[str, Any]] = []
        self.is_verbose = False
        self.shard = self._begin((), BEGUN_MS - _EXPIRED_BEFORE_MS.get(golden["scenario"], 0))
        self._seen = 0

    def _begin(self, written: tuple[Written, ...], now_ms: int) -> Shard:
        coordinator = GroupCoordinator(PROFILES[self.golden["profile"]], self.chance, self._view())
        return Shard(coordinator, written, now_ms)

    def _view(self) -> KnownTopics:
        return KnownTopics(self.topics.values(), self.topics_version)

    def play(self) -> Scenario:
        steps = self.golden["steps"]
        for step, after in zip(steps, [*steps[1:], None], strict=True):
            begin_ms = BEGUN_MS + step["at"]
            end_ms = BEGUN_MS + (after["at"] if after is not None else _last_ms(step) + _ENDED_LATE_MS.get(self.golden["scenario"], 0))
            self._run_timers(begin_ms)
            self._take_share_records(step, begin_ms)
            self._step(step, begin_ms, end_ms)
            self._make_wanted_topics(step, begin_ms)
            self._run_timers(end_ms - 1)
            self.played["steps"].append(
                {
                    **{key: step[key] for key in ("step", "at", "send", "wait", "until", "drop", "restart", "varies") if key in step},
                    "replies": sorted(self.replies, key=lambda reply: reply["to"]),
                    "records": self._new_records(),
                    "waiting": sorted(number for numbers in self.queued.values() for number in numbers),
                }
            )
            self.replies = []
        return self.played

    def _step(self, step: dict[str, Any], now_ms: int, end_ms: int) -> None:
        if "send" in step:
            numbers = self.queued.setdefault(step["send"]["who"], [])
            numbers.append(step["send"]["n"])
            if len(numbers) == 1:
                self._decide(numbers[0], now_ms)
        elif "drop" in step:
            self.queued.pop(step["drop"], None)
        elif "restart" in step:
            self.queued.clear()
            self.shard = self._begin(tuple(self.shard.written), end_ms - 1)

    def _take_share_records(self, step: dict[str, Any], now_ms: int) -> None:
        """Write what Kafka wrote for share groups, whose requests nobody decides here. The records that delete a group are ours."""
        deletes = step.get("send", {}).get("api") == "DeleteGroups"
        wanted = (row for row in step["records"] if row.get("type") in SHARE_RECORDS and not (deletes and row["value"] is None))
        for _, rows in groupby(wanted, key=lambda row: row["batch"]):
            records = tuple(read_record(bytes.fromhex(row["keyHex"]), _bytes_of(row["valueHex"])) for row in rows)
            self.shard._write(Written(self.shard.end_offset, now_ms, records), replays=True)

    def _make_wanted_topics(self, step: dict[str, Any], now_ms: int) -> None:
        for effect in tuple(self.shard.effects):
            if "wait" in step:
                self.shard.effects.remove(effect)
                self._make_internal_topics(effect, now_ms)

    def _make_internal_topics(self, effect: CreateTopics, now_ms: int) -> None:
        """The broker makes the topics that a streams group lacks, while nobody asks for anything; no row shows their ids."""
        for name, (partitions, _, _) in effect.topics.items():
            if name not in self.topics:
                self.topics[name] = Topic(name.encode()[-16:].rjust(16, b"-"), name, (RACKS,) * partitions)
        self.topics_version += 1
        self._take(self.shard.topics_changed(self._view(), list(effect.topics), [], now_ms), now_ms)

    def _run_timers(self, until_ms: int) -> None:
        while (due_ms := self.shard.coordinator.next_due_ms()) is not None and due_ms + LATE_MS <= until_ms:
            self.chance.begin(-1, -1)
            self._take(self.shard.run_due(due_ms), due_ms)

    def _decide(self, number: int, now_ms: int) -> None:
        send = self.sends[number]
        message = message_type("request", send["api"] + "Request")
        if send["api"] in _TOPIC_APIS:
            self._change_topics(send, self.golden_replies[number], now_ms)
            self._reply({"to": number, "json": self.golden_replies[number]["json"]}, now_ms)
            return
        if send["api"].startswith("ShareGroup"):
            self._reply({"to": number, "json": self.golden_replies[number]["json"]}, now_ms)
            return
        if message.key not in HANDLERS:
            self._reply({"to": number, "json": {"nobody answers": send["api"]}}, now_ms)
            return
        body = from_json("request", message.name, send["json"])
        given = (self.golden_replies.get(number, {}).get("json") or {}).get("producerId", -1)
        self.chance.begin(number, given if send["api"] == "InitProducerId" else -1)
        request = Request(number, message.key, send["version"], body, send["who"])
        try:
            answers = self.shard.submit(request, now_ms)
        except Exception as error:
            if self.is_verbose:
                print(format_exc())
            self._reply({"to": number, "json": {"raised": repr(error)}}, now_ms)
            return
        self._take(answers, now_ms)

    def _take(self, answers: list[Answer], now_ms: int) -> None:
        for answer in answers:
            send = self.sends[answer.ticket]
            kind = message_type("response", send["api"] + "Response")
            # What cannot be written in this version is found here.
            body = kind.read(kind.write(answer.body, send["version"]), send["version"])
            self._reply({"to": answer.ticket, "json": kind.to_json_value(body, send["version"])}, now_ms)

    def _reply(self, reply: dict[str, Any], now_ms: int) -> None:
        who = self.sends[reply["to"]]["who"]
        numbers = self.queued.get(who, [])
        if reply["to"] not in numbers:
            return  # the connection is closed
        self.replies.append({**reply, "at": now_ms - BEGUN_MS})
        numbers.remove(reply["to"])
        if numbers:
            self._decide(numbers[0], now_ms)

    def _change_topics(self, send: dict[str, Any], reply: dict[str, Any], now_ms: int) -> None:
        """Do what Kafka answered that it did."""
        changed: list[str] = []
        deleted: list[str] = []
        results = next(value for key, value in reply["json"].items() if key in ("topics", "responses", "results"))
        for result in results:
            name = result["name"]
            if result["errorCode"]:
                continue
            if send["api"] == "DeleteTopics":
                del self.topics[name]
                deleted.append(name)
                continue
            asked = next(topic for topic in send["json"]["topics"] if topic["name"] == name)
            count = asked["numPartitions"] if send["api"] == "CreateTopics" else asked["count"]
            id = uuid_from_text(result["topicId"]) if send["api"] == "CreateTopics" else self.topics[name].id
            self.topics[name] = Topic(id, name, (RACKS,) * count)
            changed.append(name)
        self.topics_version += 1
        self.chance.begin(-1, -1)
        self._take(self.shard.topics_changed(self._view(), changed, deleted, now_ms), now_ms)

    def _new_records(self) -> list[dict[str, Any]]:
        batches = self.shard.written[self._seen :]
        self._seen = len(self.shard.written)
        return [row for batch in batches for row in batch_rows(batch)]


def batch_rows(batch: Written) -> list[dict[str, Any]]:
    """Records in the form of the golden rows, without their bytes."""
    base: dict[str, Any] = {"batch": batch.base_offset}
    if batch.producer is not None:
        base["transactional"] = {"producerId": batch.producer.id, "producerEpoch": batch.producer.epoch}
    if batch.marker is not None:
        return [{**base, "control": "COMMIT" if batch.marker else "ABORT"}]
    return [{**base, **record_row(record)} for record in batch.records]


def record_row(record: Record) -> dict[str, Any]:
    key_message, value_message = _OFFSETS.key_message(record.type), _OFFSETS.value_message(record.type)
    assert key_message is not None and value_message is not None
    assert read_record(key_bytes(record), value_bytes(record)) == record
    row = {
        "type": record.type,
        "name": key_message.name.removesuffix("Key"),
        "key": key_message.to_json_value(record.key, key_message.versions[0]),
    }
    if record.value is None:
        return {**row, "value": None}
    return {**row, "valueVersion": record.version, "value": value_message.to_json_value(record.value, record.version)}


def _bytes_of(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def _last_ms(step: dict[str, Any]) -> int:
    """When the last step of a scenario is over."""
    replied = max((reply["at"] for reply in step["replies"]), default=0)
    return max(replied, step["at"] + int(step.get("wait", 0))) + 25


def _given_ids(scenario: Scenario) -> dict[int, bytes]:
    """The id that Kafka made for each request, where it made one: from its answer, or, where that came to nothing, from what others saw."""
    given: dict[int, str] = {}
    sends = {step["send"]["n"]: step["send"] for step in scenario["steps"] if "send" in step}
    replies = {reply["to"]: reply.get("json") or {} for step in scenario["steps"] for reply in step["replies"]}
    unnamed: list[int] = []
    for number, send in sends.items():
        own = replies.get(number, {}).get("memberId")
        if own and own not in json.dumps(send["json"]):
            given[number] = own
        elif (
            send["api"] == "JoinGroup" and not send["json"]["memberId"] and (number not in replies or replies[number]["errorCode"] in _GONE)
        ):
            unnamed.append(number)
    known = set(given.values())
    last = 0
    for step in scenario["steps"]:
        last = step["send"]["n"] if "send" in step else last
        for text in _texts([step["replies"], step["records"]]):
            match = _JAVA_UUID.match(text)
            if match is None or text in known:
                continue
            known.add(text)
            # Who saw it first saw the newest one: a static member may have been replaced again and again.
            makers = [n for n in unnamed if n <= last and (sends[n]["json"].get("groupInstanceId") or sends[n]["who"]) == match[1]]
            if makers:
                given[makers[-1]] = text
                unnamed.remove(makers[-1])
    return {number: _uuid_of(text) for number, text in given.items()}


def _uuid_of(member_id: str) -> bytes:
    match = _JAVA_UUID.match(member_id)
    return UUID(match[2]).bytes if match else base64.urlsafe_b64decode(member_id + "==")


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return _texts(list(value.values()))
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


def play(golden: Scenario) -> Scenario:
    """The scenario with what our coordinator did."""
    return Player(golden).play()


def _recorder() -> ModuleType:
    """The driver that recorded the conversations. It makes its own normal form of both sides."""
    path = Path(os.environ.get("METASHELL_GOLDEN", REPOSITORY.parent / "shared" / "golden")) / "groups" / "drivers" / "groups_wire.py"
    spec = spec_from_file_location("groups_wire", path)
    assert spec is not None and spec.loader is not None
    recorder = module_from_spec(spec)
    spec.loader.exec_module(recorder)
    return recorder


def main(arguments: list[str]) -> int:
    compare = functools.partial(differences, is_ordered="--ordered" in arguments)
    if "--wire" in arguments:
        compare = functools.partial(_recorder().differences, everything=True)
    files = [Path(word) for word in arguments if Path(word).is_file()]
    rows = {row["scenario"]: row for path in files for row in read_rows(path)} or scenarios()

    def play_one(name: str) -> list[Compared]:
        player = Player(rows[name])
        player.is_verbose = "-v" in arguments
        return [("different", text) for text in compare(rows[name], player.play())] or [("equal", "")]

    return show([word for word in arguments if Path(word) not in files], rows, play_one)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
