"""A group that lives: members and a coordinator in memory, on a clock that jumps from one event to the next.

Requests of one member go over one connection, which is served in order: while an answer waits, what was sent behind it waits too. What is
checked after every event: no partition has two owners who both believe in it and are both in the group.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from heapq import heappop, heappush
from typing import Any, NamedTuple

from metashell.groups.coordinator.coordinator import GroupCoordinator, Shard
from metashell.groups.decision import Request
from metashell.groups.members import Callback, Closed, Failed, MemberSettings, Output, Send
from metashell.groups.members.classic import ClassicMember
from metashell.groups.members.consumer import ConsumerMember
from metashell.groups.members.member import MemberMachine
from metashell.groups.members.strategy import Strategy, strategies
from metashell.groups.state import KindSettings, Settings
from metashell.groups.topics import KnownTopics, Topic
from tests.groups.driven import SeededChance

LATENCY_MS = 1
FOREVER = 1 << 60
BROKER = Settings(
    initial_rebalance_delay_ms=0,
    min_session_timeout_ms=1_000,
    has_transactions=True,
    consumer=KindSettings(session_timeout_ms=6_000, heartbeat_interval_ms=300, assignment_interval_ms=0, is_assignor_offloaded=False),
)


def topics_named(version: int = 0, **partitions: int) -> KnownTopics:
    return KnownTopics((Topic(name.encode().ljust(16, b"."), name, ((),) * count) for name, count in partitions.items()), version)


class Seen(NamedTuple):
    """What one member did, and when. `what` is a Send, a Callback, a Failed or a Closed."""

    at_ms: int
    member: str
    what: Output


class Connection:
    """Shape: `waiting` was sent and is not yet served; `asked` is the ticket that is being served, 0 for none."""

    def __init__(self) -> None:
        self.waiting: list[Send] = []
        self.asked = 0
        self.is_stalled = False
        self.is_cut = False


class Life:
    """Shape: `seen` has all that members did, in order; `overlaps` every partition that had two owners, with the time. Callbacks take
    `call_ms`, those of a `slow` member as long as it says.
    """

    def __init__(self, topics: KnownTopics, settings: Settings = BROKER, chance: Any = None, call_ms: int = 0) -> None:
        self.topics = topics
        self.shard = Shard(GroupCoordinator(settings, chance or SeededChance(), topics))
        self.members: dict[str, MemberMachine] = {}
        self.connections: dict[str, Connection] = {}
        self.seen: list[Seen] = []
        self.overlaps: list[tuple[int, tuple[str, int], list[str]]] = []
        self.now_ms = 0
        self.call_ms = call_ms
        self.slow: dict[str, int] = {}
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self._tickets: dict[int, tuple[str, Send]] = {}

    # What a test does.

    def join(
        self, name: str, topics: Collection[str] = ("t",), assignors: str | list[Strategy] = "range", **settings: Any
    ) -> MemberMachine:
        """A new member; assignors "" for one of the consumer protocol."""
        settings = {"group_id": "g", "client_id": name, "session_timeout_ms": 6_000, "heartbeat_interval_ms": 300, **settings}
        made: MemberMachine
        if assignors == "":
            made = ConsumerMember(MemberSettings(**{"member_id": f"{name:0<22}", **settings}))
        else:
            made = ClassicMember(MemberSettings(**settings), strategies(assignors.split(",")) if isinstance(assignors, str) else assignors)
        return self.add(name, made, topics)

    def add(self, name: str, member: MemberMachine, topics: Collection[str]) -> MemberMachine:
        member.topics = self.topics
        self.members[name], self.connections[name] = member, Connection()
        self._take(name, member.subscribe(topics, self.now_ms))
        return member

    def subscribe(self, name: str, *topics: str) -> None:
        self._take(name, self.members[name].subscribe(topics, self.now_ms))

    def close(self, name: str) -> None:
        self._take(name, self.members[name].close(self.now_ms))

    def enforce(self, name: str) -> None:
        self._take(name, self.members[name].enforce_rebalance("asked", self.now_ms))

    def stall(self, name: str, ms: int) -> None:
        """The application does not poll for so long."""
        connection = self.connections[name]
        connection.is_stalled = True
        self._at(self.now_ms + ms, lambda: setattr(connection, "is_stalled", False))

    def kill(self, name: str) -> None:
        """The process is gone, without a word."""
        del self.members[name], self.connections[name]

    def cut(self, name: str, ms: int) -> None:
        """Nothing gets through for so long."""
        self.connections[name].is_cut = True
        self._at(self.now_ms + ms, lambda: self._mend(name))

    def change_topics(self, topics: KnownTopics, changed: Collection[str] = (), deleted: Collection[str] = ()) -> None:
        """The metadata is another one, for everybody at once."""
        self.topics = topics
        self._answers(self.shard.topics_changed(topics, changed, deleted, self.now_ms))
        for member in self.members.values():
            member.topics = topics

    def run(self, ms: int) -> None:
        until = self.now_ms + ms
        steps = 0
        while (at := self._next()) is not None and at <= until:
            self.now_ms = max(self.now_ms, at)
            self._step()
            steps += 1
            assert steps < 100_000, "the group does not come to rest"
        self.now_ms = until

    # What a test looks at.

    def of(self, name: str) -> list[str]:
        """A member's callbacks, as text."""
        return [text(one.what) for one in self.seen if one.member == name and isinstance(one.what, Callback)]

    def requests(self, name: str, api_key: int) -> list[Any]:
        return [one.what.body for one in self.seen if one.member == name and isinstance(one.what, Send) and one.what.api_key == api_key]

    def owned(self) -> dict[str, list[int]]:
        """Partition numbers by member."""
        return {name: sorted(partition for _, partition in member.owned) for name, member in self.members.items()}

    # How it runs.

    def _at(self, at_ms: int, do: Callable[[], None]) -> None:
        self._count += 1
        heappush(self._events, (at_ms, self._count, do))

    def _next(self) -> int | None:
        times = [self._events[0][0]] if self._events else []
        due = self.shard.coordinator.next_due_ms()
        times += [] if due is None else [due]
        for name, member in self.members.items():
            times += [time for time in (member.next_due_ms(), self._poll_ms(name)) if time is not None]
        return min(times, default=None)

    def _poll_ms(self, name: str) -> int | None:
        return None if self.connections[name].is_stalled else self.members[name].next_poll_ms()

    def _step(self) -> None:
        while self._events and self._events[0][0] <= self.now_ms:
            heappop(self._events)[2]()
        self._answers(self.shard.run_due(self.now_ms))
        for name, member in list(self.members.items()):
            due = member.next_due_ms()
            if due is not None and due <= self.now_ms:
                self._take(name, member.run_due(self.now_ms))
            poll_ms = self._poll_ms(name)
            if poll_ms is not None and poll_ms <= self.now_ms:
                self._take(name, member.poll(self.now_ms))
        self._check()

    def _take(self, name: str, outputs: list[Output]) -> None:
        for output in outputs:
            self.seen.append(Seen(self.now_ms, name, output))
            match output:
                case Send():
                    self.connections[name].waiting.append(output)
                    self._at(self.now_ms + LATENCY_MS, lambda: self._serve(name))
                case Callback():
                    member = self.members[name]
                    self._at(
                        self.now_ms + self.slow.get(name, self.call_ms),
                        lambda member=member: self._take(name, member.called_back(self.now_ms)),
                    )  # type: ignore[misc]
                case Failed() | Closed():
                    pass

    def _serve(self, name: str) -> None:
        connection = self.connections.get(name)
        if connection is None or connection.asked or not connection.waiting or connection.is_cut:
            return
        send = connection.waiting.pop(0)
        ticket = len(self._tickets) + 1
        connection.asked = ticket
        self._tickets[ticket] = (name, send)
        settings = self.members[name].settings
        self._answers(self.shard.submit(Request(ticket, send.api_key, send.version, send.body, settings.client_id), self.now_ms))

    def _answers(self, answers: list[Any]) -> None:
        for answer in answers:
            name, send = self._tickets[answer.ticket]
            self._at(self.now_ms + LATENCY_MS, lambda name=name, send=send, answer=answer: self._answer(name, send, answer))  # type: ignore[misc]

    def _answer(self, name: str, send: Send, answer: Any) -> None:
        connection = self.connections.get(name)
        if connection is None or connection.asked != answer.ticket:
            return
        connection.asked = 0
        if not connection.is_cut:
            self._take(name, self.members[name].answered(send.ticket, answer.body, self.now_ms))
            self._serve(name)

    def _mend(self, name: str) -> None:
        if name not in self.connections:
            return
        connection = self.connections[name]
        connection.is_cut, connection.asked = False, 0
        lost = list(self.members[name]._pending)
        connection.waiting.clear()
        for ticket in lost:
            self._take(name, self.members[name].unanswered(ticket, self.now_ms))

    def _check(self) -> None:
        owners: dict[tuple[str, int], list[str]] = {}
        for name, member in self.members.items():
            if not member.is_over and member.generation > 0:
                for partition in member.owned:
                    owners.setdefault(partition, []).append(name)
        self.overlaps += [(self.now_ms, partition, names) for partition, names in owners.items() if len(names) > 1]


def text(output: Output) -> str:
    """`revoked t-0 t-1`"""
    assert isinstance(output, Callback)
    return " ".join((output.event, *(f"{topic}-{partition}" for topic, partition in output.partitions)))
