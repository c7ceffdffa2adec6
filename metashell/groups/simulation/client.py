"""A process with one member: its machine, its application that polls and handles callbacks, and its connection.

The application is healthy unless a scenario wants it otherwise: it polls when the machine asks for it, spends a moment in each callback,
and consumes at a constant rate. `stalled_until_ms` keeps it from polling (the heartbeat thread goes on), `paused_until_ms` stops all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, Protocol

from metashell.groups.members import Callback, Closed, Failed, Output, Send
from metashell.groups.members.member import MemberMachine
from metashell.groups.simulation.node import Clock, Connection, CoordinatorNode, Network
from metashell.groups.topics import Topics

PartitionKey = tuple[str, int]
NEVER: Final = 1 << 62
_LATE_MS: Final = 100
"""The interval at which the heartbeat thread checks its timers, as in Java's client."""
_URGENT_MS: Final = 1_000
_POLL_MS: Final = 10
"""The time that a poll without result waits, unless something arrives meanwhile."""


class Watcher(Protocol):
    """Gets the events of applications."""

    def called(self, client: Client, callback: Callback) -> None:
        """A callback begins. The client owns assigned partitions from now on."""
        ...

    def returned(self, client: Client, callback: Callback) -> None:
        """A callback has ended. The client no longer owns revoked or lost partitions."""
        ...

    def failed(self, client: Client, code: int, message: str) -> None: ...

    def closed(self, client: Client) -> None: ...

    def started_at(self, client: Client, partition: PartitionKey, offset: int) -> None:
        """The client begins to read a partition at this offset."""
        ...


class Client:
    """See the module. Shape: `slot` is a name that survives restarts; `revoke_ms` and `assign_ms` are the durations of callbacks."""

    def __init__(
        self,
        clock: Clock,
        network: Network,
        node: CoordinatorNode,
        watcher: Watcher,
        *,
        slot: str,
        member: MemberMachine,
        rate: int,
        instance_id: str | None,
    ) -> None:
        self._clock = clock
        self._network = network
        self._arrive = node.arrive
        self._watcher = watcher
        self._rate = rate
        self._random = network.random
        self._wake_ms = NEVER
        self._read_ms = 0
        self._next_poll_ms = 0
        self._beats_from_ms = 0
        self._due_seen_ms = -1
        self._hold_until_ms = 0
        self._positions = member.positions
        self._seen: dict[PartitionKey, None] = {}
        self._running: Callback | None = None
        self._connection = Connection(self)
        self.slot = slot
        self.client_id = slot
        self.member = member
        self.instance_id = instance_id
        self.subscribed: frozenset[str] = frozenset()
        self.pattern: re.Pattern[str] | None = None
        self.is_incremental = False
        """Whether it revokes only the partitions that it loses."""
        self.is_modern = False
        """Whether it uses the consumer protocol."""
        self.is_alive = True
        self.is_leaving = False
        self.revoke_ms = 0
        self.assign_ms = 0
        self.slow: list[int] = []
        """The duration of the next revocation instead. Members may share one list, so that only one of them is slow."""
        self.stalled_until_ms = 0
        self.paused_until_ms = 0
        self.held: dict[PartitionKey, None] = {}
        """Its partitions, from the begin of `assigned` to the end of `revoked`, without those that others got after its removal."""

    # ---- actions of scenarios

    def subscribe(self, topics: Iterable[str]) -> None:
        names = tuple(sorted(topics))
        self.subscribed = frozenset(names)
        self._handle_outputs(self.member.subscribe(names, self._clock.now_ms))

    def subscribe_pattern(self, pattern: str) -> None:
        self.pattern = re.compile(pattern)
        self._handle_outputs(self.member.subscribe_pattern(pattern, self._clock.now_ms))

    def wants(self, topic: str) -> bool:
        """Return whether it is subscribed to a topic."""
        return topic in self.subscribed or (self.pattern is not None and self.pattern.fullmatch(topic) is not None)

    def see(self, topics: Topics) -> None:
        """Update the client's metadata."""
        if self.is_alive:
            self.member.topics = topics
            self._plan()

    def enforce_rebalance(self, reason: str) -> None:
        """Request a rebalance, as the application."""
        self._handle_outputs(self.member.enforce_rebalance(reason, self._clock.now_ms))

    def leave(self) -> None:
        """Close the consumer, after which the process ends."""
        if self.is_alive and not self.is_leaving:
            self.is_leaving = True
            self._handle_outputs(self.member.close(self._clock.now_ms))

    def kill(self) -> None:
        """End the process at once."""
        self.is_alive = False
        self._connection.is_open = False

    def lose_connection(self) -> None:
        """Break its connection."""
        self._network.drop(self._connection)

    def pause(self, until_ms: int) -> None:
        """Pause the whole process, as in a long garbage collection."""
        self.paused_until_ms = until_ms
        self._clock.at(until_ms, self._resume)

    def stall(self, until_ms: int) -> None:
        """Keep the application from polling."""
        self.stalled_until_ms = until_ms
        self._clock.at(until_ms, self._resume)

    def delay_heartbeats(self, until_ms: int) -> None:
        """Delay the heartbeat thread once. After a rebalance all heartbeats are simultaneous, and real ones drift apart over hours."""
        self._hold_until_ms = until_ms

    def _resume(self, nothing: None) -> None:
        self._plan()

    # ---- the network

    def answered(self, ticket: int, body: Any) -> None:
        if not self.is_alive:
            return
        now_ms = self._clock.now_ms
        if self.paused_until_ms > now_ms:
            self._clock.at(self.paused_until_ms, self._late, (ticket, body))
        else:
            self._handle_outputs(self.member.answered(ticket, body, now_ms))

    def _late(self, answer: tuple[int, Any]) -> None:
        self.answered(*answer)

    def unanswered(self, ticket: int) -> None:
        if not self.is_alive:
            return
        if not self._connection.is_open:
            self._connection = Connection(self)
        self._handle_outputs(self.member.unanswered(ticket, self._clock.now_ms))

    # ---- the machine

    def _handle_outputs(self, outputs: list[Output]) -> None:
        """Perform the machine's outputs, and schedule its next work."""
        self._perform(outputs)
        self._plan()

    def _perform(self, outputs: list[Output]) -> None:
        self._next_poll_ms = 0
        for output in outputs:
            if isinstance(output, Send):
                self._network.send(self._connection, output, self._arrive)
            elif isinstance(output, Callback):
                self._begin(output)
            elif isinstance(output, Failed):
                self.kill()
                self._watcher.failed(self, output.code, output.message)
                return
            elif isinstance(output, Closed):
                self.kill()
                self._watcher.closed(self)
                return
        self._note_starts()

    def _begin(self, callback: Callback) -> None:
        """Run a callback in the application. The machine waits for it, but the heartbeat thread does not."""
        self._running = callback
        self._watcher.called(self, callback)
        took_ms = self.assign_ms if callback.event == "assigned" else self.revoke_ms
        if self.slow and callback.event == "revoked" and callback.partitions:
            took_ms = self.slow.pop()
        self._clock.after(took_ms, self._end, callback)

    def _end(self, callback: Callback) -> None:
        if not self.is_alive or self._running is not callback:
            return
        if self.paused_until_ms > self._clock.now_ms:
            self._clock.at(self.paused_until_ms, self._end, callback)
            return
        self._running = None
        self._watcher.returned(self, callback)
        self._handle_outputs(self.member.called_back(self._clock.now_ms))

    @property
    def reached(self) -> dict[PartitionKey, int]:
        """The processed offsets of its partitions."""
        return self.member.positions

    @property
    def is_busy(self) -> bool:
        """Return whether a callback is running."""
        return self._running is not None

    def _plan(self) -> None:
        """Do the work that is due, and schedule a wake-up for the next."""
        while self.is_alive:
            now_ms = self._clock.now_ms
            due_ms = self._due_ms()
            if self._running is None and (poll_ms := self.member.next_poll_ms()) is not None:
                if poll_ms < self._next_poll_ms:
                    poll_ms = self._next_poll_ms
                if poll_ms < self.stalled_until_ms:
                    poll_ms = self.stalled_until_ms
                if poll_ms < due_ms:
                    due_ms = poll_ms
            if due_ms < self.paused_until_ms:
                due_ms = self.paused_until_ms
            if due_ms > now_ms:
                if due_ms < self._wake_ms:
                    self._wake_ms = due_ms
                    self._clock.at(due_ms, self._wake, due_ms)
                return
            self._clock.events += 1
            self._work(now_ms)

    def _may_poll(self) -> bool:
        return self.is_alive and self._running is None

    def _due_ms(self) -> int:
        """Return when the heartbeat thread runs next: a moment after a timer is due, unless that is urgent."""
        due_ms = self.member.next_due_ms()
        if due_ms is None:
            return NEVER
        if due_ms != self._due_seen_ms:
            self._due_seen_ms = due_ms
            is_urgent = due_ms < self._clock.now_ms + _URGENT_MS
            self._beats_from_ms = due_ms if is_urgent else due_ms + int(self._random() * _LATE_MS)
        return max(self._beats_from_ms, self._hold_until_ms)

    def _wake(self, planned_ms: int) -> None:
        self._clock.events -= 1
        if planned_ms == self._wake_ms:
            self._wake_ms = NEVER
            self._plan()

    def _work(self, now_ms: int) -> None:
        """Run the heartbeat thread and the application as far as they are due."""
        if self._due_ms() <= now_ms:
            outputs = self.member.run_due(now_ms)
            self._perform(outputs)
            if not outputs and self._due_ms() <= now_ms:
                self._hold_until_ms = now_ms + _POLL_MS
        if self.stalled_until_ms <= now_ms and self._may_poll():
            poll_ms = self.member.next_poll_ms()
            if poll_ms is not None and max(poll_ms, self._next_poll_ms) <= now_ms:
                self._read(now_ms)
                outputs = self.member.poll(now_ms)
                if outputs:
                    self._perform(outputs)
                else:
                    self._next_poll_ms = now_ms + _POLL_MS

    # ---- the application reads

    def _read(self, now_ms: int) -> None:
        """Process all records since the last poll."""
        records = (now_ms - self._read_ms) * self._rate // 1000
        if records <= 0:
            return
        self._read_ms += records * 1000 // self._rate
        positions, given_up = self.member.positions, self.member.giving_up
        for partition in positions:
            if partition not in given_up:
                positions[partition] += records

    def _note_starts(self) -> None:
        """Note new positions. The machine makes a new dict when partitions come or go."""
        positions, seen = self.member.positions, self._seen
        if positions is not self._positions:
            self._positions = positions
            self._seen = seen = {partition: None for partition in seen if partition in positions}
        if len(positions) != len(seen):
            for partition, offset in positions.items():
                if partition not in seen:
                    seen[partition] = None
                    self._watcher.started_at(self, partition, offset)
