"""Real Java consumers' stories, played to our members: each is handed what its Java twin was, and has to do what that did.

    python -m tests.groups.members.traces [STORY]          shows what differs

A story's rows come in the order in which they were seen. One member is played at a time: orders and answers are handed in, requests and
callbacks are collected and compared. Heartbeats that repeated the last one were left out of the rows, so they are left out of ours.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from metashell.codec.registry import message_type
from metashell.groups.members import Callback, Closed, Failed, MemberSettings, Output, Send
from metashell.groups.members.classic import ClassicMember
from metashell.groups.members.consumer import ConsumerMember
from metashell.groups.members.member import MemberMachine
from metashell.groups.members.strategy import strategies
from metashell.groups.topics import KnownTopics, Topic
from metashell.net.frames import decode_response
from tests.recordings import Compared, show, sorted_structs

GOLDEN = Path(__file__).parents[2] / "golden" / "groups" / "consumer"
FILES = ("member-trace.jsonl.gz", "member-trace-more.jsonl.gz")
PARTITIONS = {"t": 6, "u": 2}
RACKS = ("rack-1",)
"""The broker had one."""
APIS = {
    8: "OffsetCommit",
    9: "OffsetFetch",
    10: "FindCoordinator",
    11: "JoinGroup",
    12: "Heartbeat",
    13: "LeaveGroup",
    14: "SyncGroup",
    68: "ConsumerGroupHeartbeat",
}
KEYS = {name: key for key, name in APIS.items()}
HEARTBEATS = {"Heartbeat", "ConsumerGroupHeartbeat"}
ASSIGNORS = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
DEFAULT_ASSIGNORS = "RangeAssignor,CooperativeStickyAssignor"

Row = dict[str, Any]


class Shown(NamedTuple):
    """One thing that a member did. `what` is an api or an event."""

    what: str
    detail: Any


def stories() -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for name in FILES:
        with gzip.open(GOLDEN / name, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                found.setdefault(row["story"], []).append(row)
    return found


def members_of(rows: list[Row]) -> list[str]:
    return [row["text"].split()[1] for row in rows if row["kind"] == "order" and row["text"].startswith("start ")]


def topics_of(rows: list[Row], names: tuple[str, ...] = ("t", "u")) -> KnownTopics:
    """The story's topics, with the ids under which commits were written."""
    ids = {
        row["key"]["topic"]: row["value"].get("topicId") for row in rows if row["kind"] == "record" and row["type"] == 1 and row["value"]
    }
    story = rows[0]["story"]
    return KnownTopics(
        Topic(uuid(ids.get(f"{story}-{name}")) or name.encode() * 16, f"{story}-{name}", (RACKS,) * PARTITIONS[name]) for name in names
    )


def uuid(text: str | None) -> bytes:
    import base64

    return base64.urlsafe_b64decode(text + "==") if text else b""


class Replay:
    """One member of a story. `shown` is what it did, `wanted` what its twin did; `fetches` are apart: Java sends them on another thread."""

    def __init__(self, rows: list[Row], name: str) -> None:
        self.story = rows[0]["story"]
        self.rows = rows
        self.name = name
        self.own = [row for row in rows if row.get("member") == name]
        self.shown: list[Shown] = []
        self.fetches: list[Any] = []
        self.now = 0
        self.shift = 0
        self.is_stalled = True
        self.open: list[Send] = []
        self.heartbeat: Row | None = None
        self.last_answer: Any = None
        self.answers = {(row["api"], row["correlation"]): row for row in self.own if row["kind"] == "response"}
        self.requests = [row for row in self.own if row["kind"] == "request" and row["api"] in HEARTBEATS]
        self.is_awaited = False
        self.generation = -1
        self.member = self._member()

    def _member(self) -> MemberMachine:
        order = next(row["text"].split() for row in self.rows if row["kind"] == "order" and row["text"].startswith(f"start {self.name} "))
        config = dict(one.split("=", 1) for one in order[4:])
        is_consumer = config.get("group.protocol") == "consumer"
        settings = MemberSettings(
            group_id=order[2],
            client_id=self.name,
            member_id=next(row["json"]["memberId"] for row in self.requests) if is_consumer else "",
            instance_id=config.get("group.instance.id"),
            session_timeout_ms=6_000,
            heartbeat_interval_ms=300,
            max_poll_interval_ms=int(config.get("max.poll.interval.ms", 300_000)),
            auto_commit_interval_ms=60_000,
        )
        if is_consumer:
            return ConsumerMember(settings)
        classes = config.get("partition.assignment.strategy", DEFAULT_ASSIGNORS)
        return ClassicMember(settings, strategies(ASSIGNORS[one.rpartition(".")[2]] for one in classes.split(",")))

    # Playing.

    def play(self) -> None:
        self.member.topics = topics_of(self.rows, ("t",) if isinstance(self.member, ConsumerMember) else ("t", "u"))
        late = self._late_metadata()
        for row in self.own:
            self._pass_time(row["at"] + self.shift)
            if row is late:
                self.member.topics = topics_of(self.rows)
                self._settle()
            if row["kind"] == "callback":
                self._application(row)
            elif row["kind"] == "response":
                self._answer(row)
        if self.own[-1]["kind"] == "callback" and self.own[-1]["event"] == "closed":
            assert self.member.is_closed, f"{self.name} is not closed"

    def _late_metadata(self) -> Row | None:
        """The row before which a member of the consumer protocol has heard of the second topic: the commit before it is assigned."""
        before = None
        for row in self.own:
            if row["kind"] == "request" and row["api"] == "OffsetCommit":
                before = row
            if row["kind"] == "callback" and any("-u-" in one for one in row["partitions"] or ()):
                return before
        return None

    def _pass_time(self, until: int) -> None:
        while True:
            times = [time for time in (self.member.next_due_ms(), self._next_poll_ms()) if time is not None and time <= until]
            if not times:
                break
            self.now = max(self.now, min(times))
            due = self.member.next_due_ms()
            if due is not None and due <= self.now:
                self._take(self.member.run_due(self.now))
            self._settle()
        self.now = max(self.now, until)

    def _next_poll_ms(self) -> int | None:
        return None if self.is_stalled else self.member.next_poll_ms()

    def _settle(self) -> None:
        """The application polls as long as that does something."""
        for _ in range(50):
            due = self._next_poll_ms()
            if due is None or due > self.now:
                return
            self._take(self.member.poll(self.now))
        raise AssertionError(f"{self.story}: {self.name} at {self.now}: polls without end in {self.member}")

    def _application(self, row: Row) -> None:
        words = row["event"].split()
        if words[0] == "subscribed":
            self._take(self.member.subscribe(words[1].split(","), self.now))
            self.is_stalled = False
        elif words[0] == "stalls":
            self.is_stalled = True
        elif row["event"] == "polls again":
            self.is_stalled = False
        elif words[0] == "enforceRebalance":
            self._take(self.member.enforce_rebalance("asked", self.now))
        elif words[0] == "closing":
            self._take(self.member.close(self.now))
        self._settle()

    def _answer(self, row: Row) -> None:
        """Hand in an answer; one of a heartbeat that was left out goes to the next heartbeat."""
        key = KEYS[row["api"]]
        if not any(send.api_key == key for send in self.open):
            assert row["api"] in HEARTBEATS, f"{self.story}: {self.name} at {row['at']}: no {row['api']} waits for its answer"
            self.is_awaited = True
            while not any(send.api_key == key for send in self.open):
                due = self.member.next_due_ms()
                assert due is not None, f"{self.story}: {self.name} at {row['at']}: no heartbeat comes"
                self.shift += max(0, due - self.now)
                self._pass_time(due)
            self.is_awaited = False
        send = next(send for send in self.open if send.api_key == key)
        _, body = decode_response(bytes.fromhex(row["hex"]), key, row["version"])
        if row["api"] in HEARTBEATS:
            self.last_answer = body
        self._hand_in(send, body)
        self._settle()

    def _hand_in(self, send: Send, body: Any) -> None:
        self.open.remove(send)
        self._take(self.member.answered(send.ticket, body, self.now))

    def _take(self, outputs: list[Output]) -> None:
        for output in outputs:
            if self.member.generation > 0:
                self.generation = self.member.generation
            match output:
                case Send():
                    self.open.append(output)
                    self._sent(output)
                case Callback(event, partitions):
                    # What the application is told of its group stays while the member is out of it.
                    generation = self.generation if event == "lost" else self.member.generation
                    self.shown.append(Shown(event, (partitions, tuple(sorted(self.member.owned)), generation)))
                    self._take(self.member.called_back(self.now))
                case Failed(_, message):
                    self.shown.append(Shown("failed", message))
                case Closed():
                    pass

    def _sent(self, send: Send) -> None:
        api = APIS[send.api_key]
        shown = normal(api, json_of(send))
        if api == "OffsetFetch":
            self.fetches.append(shown)
        elif api == "FindCoordinator":
            pass
        elif api in HEARTBEATS:
            is_new = self.heartbeat is None or self.heartbeat != shown
            self.heartbeat = shown
            if is_new:
                self.shown.append(Shown(api, shown))
            twin = self.requests.pop(0) if is_new and self.requests else None
            if twin is not None and (api, twin["correlation"]) in self.answers:
                return
            if not self.is_awaited and self.last_answer is not None:
                self._hand_in(send, self.last_answer)
        else:
            self.shown.append(Shown(api, shown))

    # Comparing.

    def wanted(self) -> Iterator[Shown]:
        for row in self.own:
            if row["kind"] == "callback" and row["event"] in ("revoked", "assigned", "lost"):
                yield Shown(row["event"], (pairs(row["partitions"]), pairs(row["assignmentDuring"]), row["generation"]))
            elif row["kind"] == "callback" and row["event"] == "failed":
                yield Shown("failed", row["message"])
            elif row["kind"] == "request" and row["api"] not in ("OffsetFetch", "FindCoordinator"):
                yield Shown(row["api"], normal(row["api"], row["json"]))

    def wanted_fetches(self) -> list[Any]:
        return [normal("OffsetFetch", row["json"]) for row in self.own if row["kind"] == "request" and row["api"] == "OffsetFetch"]


def pairs(names: list[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((name.rpartition("-")[0], int(name.rpartition("-")[2])) for name in names))


def json_of(send: Send) -> Any:
    return message_type("request", type(send.body).__name__).to_json_value(send.body, send.version)


def normal(api: str, value: Any) -> Any:
    """Without what was decoded beside it, and sorted where Java's order comes from a hash."""
    value = json.loads(json.dumps(value))
    if api == "JoinGroup":
        for protocol in value["protocols"]:
            protocol.pop("subscription", None)
    elif api == "SyncGroup":
        for one in value["assignments"]:
            one.pop("decoded", None)
    elif api == "ConsumerGroupHeartbeat" and value["subscribedTopicNames"] is not None:
        value["subscribedTopicNames"].sort()
    return sorted_structs(value, every_list=True)


def differences(story: str, rows: list[Row]) -> list[str]:
    """What our members do otherwise than Java's, in words."""
    found = []
    for name in members_of(rows):
        replay = Replay(rows, name)
        replay.play()
        wanted = list(replay.wanted())
        for index in range(max(len(wanted), len(replay.shown))):
            theirs = wanted[index] if index < len(wanted) else None
            ours = replay.shown[index] if index < len(replay.shown) else None
            if ours != theirs:
                found.append(f"{story}: {name}: {index}: Java {theirs}\n    ours {ours}")
                break
        if replay.fetches != replay.wanted_fetches():
            found.append(f"{story}: {name}: fetches: Java {replay.wanted_fetches()}\n    ours {replay.fetches}")
    return found


def main(argv: list[str]) -> int:
    def play(story: str) -> Iterator[Compared]:
        found = differences(story, stories()[story])
        yield from [("different", text) for text in found] or [("equal", "")]

    return show(argv, stories(), play)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
