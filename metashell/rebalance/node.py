"""The broker that has the group: the coordinator, its log in memory, and what happens when the log moves to another broker.

Answers leave when the batch of their decision is committed, as in Kafka; what a crash finds uncommitted is lost, and nobody was answered.
"""

from __future__ import annotations

from enum import Enum
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from metashell.codec.api_keys import FIND_COORDINATOR, HEARTBEAT
from metashell.codec.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    NONE,
    NOT_COORDINATOR,
)
from metashell.groups.coordinator.coordinator import GroupCoordinator
from metashell.groups.coordinator.shard import Written
from metashell.groups.error_answers import error_body
from metashell.groups.record import Place
from metashell.groups.request import Request
from metashell.rebalance.network import Connection, Network

if TYPE_CHECKING:
    from metashell.groups.decision import Decision
    from metashell.groups.members.outputs import Send
    from metashell.groups.settings import Settings
    from metashell.groups.state import State
    from metashell.groups.topics import Topics
    from metashell.rebalance.clock import Clock


class SeededChance:
    """Ids from a seed; a new coordinator goes on where the one before it stopped."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._producers = 0

    def uuid(self) -> bytes:
        return self._chance.randbytes(16)

    def producer_id(self) -> int:
        self._producers += 1
        return self._producers


class NodeState(Enum):
    """What the node is to clients."""

    ACTIVE = "active"
    LOADING = "loading"
    MOVED = "moved"
    DOWN = "down"


class Listener(Protocol):
    """Who looks at what the coordinator does."""

    def written(self, batch: Written, connection: Connection | None, sent: Send | None) -> None:
        """A batch was appended, decided for this request, or by a timer."""
        ...

    def answering(self, connection: Connection, sent: Send, body: Any) -> None: ...

    def replaced(self, old: State, new: State, *, is_whole: bool) -> None:
        """A new coordinator has read the log that the old one wrote, or what is left of it."""
        ...


class Node:
    """See the module. Shape: `written` has every batch that a new coordinator reads."""

    def __init__(
        self, clock: Clock, network: Network, settings: Settings, chance: Random, topics: Topics, commit_ms: int, listener: Listener
    ) -> None:
        self._clock = clock
        self._network = network
        self._settings = settings
        self._chance = SeededChance(chance)
        self._topics = topics
        self._commit_ms = commit_ms
        self._listener = listener
        self._pending: dict[int, tuple[Connection, Send]] = {}
        self._tickets = 0
        self._committed_ms = 0
        self._end_offset = 0
        self._wake_ms = -1
        self._connections: dict[Connection, None] = {}
        self.state = NodeState.ACTIVE
        self.written: list[Written] = []
        self.coordinator = GroupCoordinator(settings, self._chance, topics)
        self.coordinator.loaded(0)
        self._plan()

    # ---- requests

    def arrive(self, arrived: tuple[Connection, Send]) -> None:
        """Take a request from a connection, in its turn."""
        connection, sent = arrived
        if not connection.is_open:
            self._network.lose(connection, sent.ticket)
        elif connection.served >= 0 or connection.waiting:
            connection.waiting.append(sent)
        else:
            self._serve(connection, sent)

    def _serve(self, connection: Connection, sent: Send) -> None:
        now_ms = self._clock.now_ms
        self._tickets += 1
        ticket = self._tickets
        self._connections[connection] = None
        request = Request(ticket, sent.api_key, sent.version, sent.body, connection.peer.client_id)
        if self.state is not NodeState.ACTIVE:
            self._refuse(connection, sent, request)
            return
        self._pending[ticket] = (connection, sent)
        connection.served = ticket
        self._perform(self.coordinator.decide(request, now_ms), connection, sent)
        self._plan()

    def _refuse(self, connection: Connection, sent: Send, request: Request) -> None:
        """Source: groups.md 7.2: a classic heartbeat is answered while the log is loaded, so that members stay."""
        is_loading = self.state is NodeState.LOADING
        if sent.api_key == FIND_COORDINATOR:
            code = COORDINATOR_NOT_AVAILABLE
        elif is_loading:
            code = NONE if sent.api_key == HEARTBEAT else COORDINATOR_LOAD_IN_PROGRESS
        else:
            # A broker that is down answers nothing; its connections are broken already, and new ones find another broker.
            code = NOT_COORDINATOR
        self._network.answer(connection, sent.ticket, error_body(request, code), self._clock.now_ms)

    def _next(self, connection: Connection) -> None:
        if connection.is_open and connection.served < 0 and connection.waiting:
            self._serve(connection, connection.waiting.popleft())

    # ---- decisions

    def _perform(self, decision: Decision, connection: Connection | None = None, sent: Send | None = None) -> None:
        now_ms = self._clock.now_ms
        if decision.records or decision.marker is not None:
            batch = Written(self._end_offset, now_ms, tuple(decision.records), decision.producer, decision.marker)
            self.written.append(batch)
            self._end_offset += len(batch.records) or 1
            self._committed_ms = now_ms + self._commit_ms
            replay(self.coordinator, batch, has_records=decision.replays)
            self._listener.written(batch, connection, sent)
        leaves_ms = max(now_ms, self._committed_ms)
        for answer in decision.answers:
            found = self._pending.pop(answer.ticket, None)
            if found is None:
                continue
            to, asked = found
            self._listener.answering(to, asked, answer.body)
            self._network.answer(to, asked.ticket, answer.body, leaves_ms)
            to.served = -1
            if to.waiting:
                self._clock.at(now_ms, self._next, to)

    def _plan(self) -> None:
        """Wake up when the coordinator's next timer is due."""
        due_ms = self.coordinator.next_due_ms()
        if due_ms is not None and (self._wake_ms < 0 or due_ms < self._wake_ms):
            self._wake_ms = due_ms
            self._clock.at(due_ms, self._wake, due_ms)

    def _wake(self, due_ms: int) -> None:
        if due_ms != self._wake_ms:
            self._clock.events -= 1
            return
        self._wake_ms = -1
        if self.state is not NodeState.ACTIVE:
            return
        while (decision := self.coordinator.run_due(self._clock.now_ms)) is not None:
            self._perform(decision)
        self._plan()

    # ---- what happens to the node

    def topics_changed(self, topics: Topics, changed: list[str], deleted: list[str]) -> None:
        self._topics = topics
        if self.state is NodeState.ACTIVE:
            self._perform(self.coordinator.topics_changed(topics, changed, deleted, self._clock.now_ms))
            self._plan()

    def move(self, away_ms: int, load_ms: int) -> None:
        """Another broker is to lead the log: this one answers who waits, and nothing is lost."""
        for answer in self.coordinator.unloaded(self._clock.now_ms):
            found = self._pending.pop(answer.ticket, None)
            if found is not None:
                connection, sent = found
                connection.served = -1
                self._network.answer(connection, sent.ticket, answer.body, max(self._clock.now_ms, self._committed_ms))
        for connection in self._connections:
            if connection.served >= 0:
                # Whoever still waits here would wait for ever.
                self._network.drop(connection)
            elif connection.waiting:
                self._clock.after(0, self._next, connection)
        self._pending.clear()
        self._leave(NodeState.MOVED, away_ms, load_ms, is_whole=True)

    def crash(self, away_ms: int, load_ms: int) -> None:
        """The broker dies: connections break, and batches that were not committed are lost."""
        now_ms = self._clock.now_ms
        whole = len(self.written)
        while self.written and self.written[-1].timestamp_ms + self._commit_ms > now_ms:
            self.written.pop()
        is_whole = len(self.written) == whole
        for connection in self._connections:
            self._network.drop(connection)
        self._connections.clear()
        self._pending.clear()
        self._leave(NodeState.DOWN, away_ms, load_ms, is_whole=is_whole)

    def _leave(self, state: NodeState, away_ms: int, load_ms: int, *, is_whole: bool) -> None:
        self.state = state
        self._wake_ms = -1
        self._clock.after(away_ms, self._load, (load_ms, is_whole))

    def _load(self, how: tuple[int, bool]) -> None:
        self.state = NodeState.LOADING
        load_ms, is_whole = how
        self._clock.after(load_ms, self._begin, is_whole)

    def _begin(self, is_whole: bool) -> None:
        old = self.coordinator
        self.coordinator = GroupCoordinator(self._settings, self._chance, self._topics)
        for batch in self.written:
            replay(self.coordinator, batch)
        self._listener.replaced(old.state, self.coordinator.state, is_whole=is_whole)
        self.coordinator.loaded(self._clock.now_ms)
        self._end_offset = self.written[-1].base_offset + (len(self.written[-1].records) or 1) if self.written else 0
        self.state = NodeState.ACTIVE
        self._plan()


def replay(coordinator: GroupCoordinator, batch: Written, *, has_records: bool = True) -> None:
    """Let a coordinator take in a batch that was written; without its records, where its state has them already."""
    producer_id = -1 if batch.producer is None else batch.producer.id
    for offset, record in enumerate(batch.records if has_records else (), batch.base_offset):
        coordinator.replay(record, Place(offset, batch.timestamp_ms, producer_id))
    if batch.marker is not None and batch.producer is not None:
        coordinator.replay_end_of_transaction(batch.producer.id, batch.marker)
