"""The broker that coordinates the group: the coordinator, its log in memory, and failover; with the clock and the network of a simulation.

Answers leave when the batch of their decision is committed, as in Kafka. A crash loses uncommitted batches, whose requests are unanswered.
Connections deliver late but in order, and some break."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from heapq import heappop, heappush
from random import Random
from typing import Any, Protocol

from metashell.codec.codes import FIND_COORDINATOR, HEARTBEAT
from metashell.codec.error_codes import COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NONE, NOT_COORDINATOR
from metashell.groups.coordinator.coordinator import GroupCoordinator, Written
from metashell.groups.decision import Decision, Place, Request, error_body
from metashell.groups.members import Send
from metashell.groups.state import Settings, State
from metashell.groups.topics import Topics


class SeededChance:
    """Ids from a seed. A new coordinator continues the sequence."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._producers = 0

    def uuid(self) -> bytes:
        return self._chance.randbytes(16)

    def producer_id(self) -> int:
        self._producers += 1
        return self._producers


class NodeState(Enum):
    """The node's state for clients."""

    ACTIVE = "active"
    LOADING = "loading"
    MOVED = "moved"
    DOWN = "down"


class NodeListener(Protocol):
    """Gets the events of the coordinator."""

    def written(self, batch: Written, connection: Connection | None, sent: Send | None) -> None:
        """A batch was appended, for this request or by a timer."""
        ...

    def answering(self, connection: Connection, sent: Send, body: Any) -> None: ...

    def replaced(self, old: State, new: State, *, is_whole: bool) -> None:
        """A new coordinator has read the old one's log, or the part of it that survived."""
        ...


class CoordinatorNode:
    """See the module. Shape: `written` are the batches that a new coordinator reads."""

    def __init__(
        self, clock: Clock, network: Network, settings: Settings, chance: Random, topics: Topics, commit_ms: int, listener: NodeListener
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
        """Handle the next request of a connection."""
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
        """Refuse a request while the node does not coordinate.

        While the log is loaded, a classic heartbeat is answered without error, so that members stay. Source: the heartbeat method of
        org.apache.kafka.coordinator.group.GroupCoordinatorService, which handles CoordinatorLoadInProgressException so.
        """
        is_loading = self.state is NodeState.LOADING
        if sent.api_key == FIND_COORDINATOR:
            code = COORDINATOR_NOT_AVAILABLE
        elif is_loading:
            code = NONE if sent.api_key == HEARTBEAT else COORDINATOR_LOAD_IN_PROGRESS
        else:
            # A dead broker answers nothing: its connections are broken, and clients find another broker.
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
        """Schedule a wake-up for the coordinator's next timer."""
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

    # ---- failover

    def topics_changed(self, topics: Topics, changed: list[str], deleted: list[str]) -> None:
        self._topics = topics
        if self.state is NodeState.ACTIVE:
            self._perform(self.coordinator.topics_changed(topics, changed, deleted, self._clock.now_ms))
            self._plan()

    def move(self, away_ms: int, load_ms: int) -> None:
        """Move the log's leadership to another broker. This one answers waiting requests, and no batch is lost."""
        for answer in self.coordinator.unloaded(self._clock.now_ms):
            found = self._pending.pop(answer.ticket, None)
            if found is not None:
                connection, sent = found
                connection.served = -1
                self._network.answer(connection, sent.ticket, answer.body, max(self._clock.now_ms, self._committed_ms))
        for connection in self._connections:
            if connection.served >= 0:
                # Requests without an answer by now would wait for ever.
                self._network.drop(connection)
            elif connection.waiting:
                self._clock.after(0, self._next, connection)
        self._pending.clear()
        self._leave(NodeState.MOVED, away_ms, load_ms, is_whole=True)

    def crash(self, away_ms: int, load_ms: int) -> None:
        """Let the broker die: connections break, and uncommitted batches are lost."""
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
    """Replay a written batch, without its records if the state already includes them."""
    producer_id = -1 if batch.producer is None else batch.producer.id
    for offset, record in enumerate(batch.records if has_records else (), batch.base_offset):
        coordinator.replay(record, Place(offset, batch.timestamp_ms, producer_id))
    if batch.marker is not None and batch.producer is not None:
        coordinator.replay_end_of_transaction(batch.producer.id, batch.marker)


class Peer(Protocol):
    """The client's end of a connection."""

    client_id: str

    def answered(self, ticket: int, body: Any) -> None: ...

    def unanswered(self, ticket: int) -> None:
        """The connection broke before this request was answered."""
        ...


class Connection:
    """A connection. The node serves its requests in order, each after the previous one was answered."""

    __slots__ = ("in_flight", "is_open", "last_down_ms", "last_up_ms", "peer", "served", "waiting")

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.is_open = True
        self.last_up_ms = 0
        self.last_down_ms = 0
        self.in_flight: dict[int, None] = {}
        self.served = -1
        """The node's ticket of the unanswered request, -1 for none."""
        self.waiting: deque[Send] = deque()


class Network:
    """Delivers requests and answers with delay. A message is lost only with its connection."""

    def __init__(self, clock: Clock, chance: Random, latency_ms: tuple[int, int]) -> None:
        self._clock = clock
        self.random = chance.random
        self._least_ms = latency_ms[0]
        self._spread_ms = latency_ms[1] - latency_ms[0] + 1

    def delay_ms(self) -> int:
        return self._least_ms + int(self.random() * self._spread_ms)

    def send(self, connection: Connection, sent: Send, arrive: Any) -> None:
        """Deliver a request to the node: `arrive((connection, sent))`."""
        connection.in_flight[sent.ticket] = None
        at_ms = self._clock.now_ms + self.delay_ms()
        if at_ms < connection.last_up_ms:
            at_ms = connection.last_up_ms
        connection.last_up_ms = at_ms
        self._clock.at(at_ms, arrive, (connection, sent))

    def answer(self, connection: Connection, ticket: int, body: Any, leaves_ms: int) -> None:
        """Deliver an answer to the client."""
        at_ms = leaves_ms + self.delay_ms()
        if at_ms < connection.last_down_ms:
            at_ms = connection.last_down_ms
        connection.last_down_ms = at_ms
        self._clock.at(at_ms, _deliver, (connection, ticket, body))

    def drop(self, connection: Connection) -> None:
        """Break a connection: messages in flight are lost, and the client notices."""
        if not connection.is_open:
            return
        connection.is_open = False
        for ticket in list(connection.in_flight):
            self.lose(connection, ticket)

    def lose(self, connection: Connection, ticket: int) -> None:
        """Tell a client that a request gets no answer because its connection broke."""
        if connection.in_flight.pop(ticket, ticket) is None:
            self._clock.after(self.delay_ms(), _unanswered, (connection.peer, ticket))


def _deliver(arrived: tuple[Connection, int, Any]) -> None:
    connection, ticket, body = arrived
    if connection.is_open:
        del connection.in_flight[ticket]
        connection.peer.answered(ticket, body)


def _unanswered(lost: tuple[Peer, int]) -> None:
    peer, ticket = lost
    peer.unanswered(ticket)


Action = Callable[[Any], None]


STANDSTILL_MAX = 100_000
"""More events than this at one time mean an endless loop."""


class Clock:
    """A queue of actions by time. Actions of the same time run in the order in which they were added.

    Shape: an action gets one argument, which is stored with it and saves a closure for each event. `events` counts the actions that have
    run. An action that finds itself outdated subtracts itself again.
    """

    __slots__ = ("_count", "_heap", "events", "now_ms")

    def __init__(self) -> None:
        self.now_ms = 0
        self.events = 0
        self._heap: list[tuple[int, int, Action, Any]] = []
        self._count = 0

    def at(self, at_ms: int, action: Action, argument: Any = None) -> None:
        """Schedule an action; if its time is past, it runs next."""
        self._count += 1
        heappush(self._heap, (max(at_ms, self.now_ms), self._count, action, argument))

    def after(self, delay_ms: int, action: Action, argument: Any = None) -> None:
        self.at(self.now_ms + delay_ms, action, argument)

    def run_until(self, end_ms: int, is_over: Callable[[], bool]) -> None:
        """Run the actions up to a time; `is_over` is called after each."""
        heap = self._heap
        moment_ms, stuck_at = -1, 0
        while heap and heap[0][0] <= end_ms:
            self.now_ms, _, action, argument = heappop(heap)
            self.events += 1
            if self.now_ms != moment_ms:
                moment_ms, stuck_at = self.now_ms, self._count + STANDSTILL_MAX
            assert self._count < stuck_at, f"{action} goes on at {moment_ms} ms without end"
            action(argument)
            if is_over():
                return
        self.now_ms = max(self.now_ms, end_ms)
