"""The work that a step of the core hands out, in the only order that is safe, and the requests outstanding at each destination.

A `Ready` names the election state that has to be on disk before any of its messages leaves the process. The messages are handed out
only for a proof that it is: a `Durable`, which whoever writes quorum-state gives back. Nothing else in the core sends.

A driver takes each Ready in the order in which the core gave them:
1. write `ready.election` if it is not None (atomic replace, fsync of file and directory) and keep the Durable;
2. `ready.messages(durable)` leave;
3. `flush_to` asks for an fsync of the log up to that offset, which may run beside everything else; then `node.flushed(now_ms)`;
4. `freeze` asks that the downloaded snapshot be made complete and durable; then `node.snapshot_frozen(id, now_ms)`;
5. `notices` go to the listeners.
The log itself is written by the core through `ReplicatedLog`, into the system's cache; only 3 makes it durable. `appended` asks for
nothing: it is what a leader wrote, in memory, so that it need not be read back when it is committed.

`Connections` allows one request at a time to each destination, and a pause after a failure. A destination is a node id; bootstrap servers
have -2, -3, ... An answer counts only while its correlation id is awaited, and all is forgotten when the replica's state changes, so that a
late answer cannot be counted in the wrong round.

Source: org.apache.kafka.raft.RequestManager."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NewType, TypeAlias

from metashell.common.values import NO_LEADER, Epoch, NodeId, OffsetAndEpoch, ReplicaKey
from metashell.quorum.raft.accumulator import AppendedBatch
from metashell.quorum.raft.messages import Endpoint, Request, Response


@dataclass(frozen=True, slots=True)
class ElectionState:
    """The content of quorum-state: the epoch, its leader (-1: none known), and the key that got our vote in it.

    Source: org.apache.kafka.raft.ElectionState.
    """

    epoch: int
    leader_id: int = -1
    voted: ReplicaKey | None = None


@dataclass(frozen=True, slots=True)
class Durable:
    """The proof that an election state, written for a kraft.version, survives a crash. Only a store of quorum-state makes one."""

    election: ElectionState
    kraft_version: int


@dataclass(frozen=True, slots=True)
class DurableEnd:
    """The proof that the whole own log survives a crash: it ends before `offset`, with a batch of `epoch`. Only `Replica` makes one.

    A vote is won, and a batch committed, by what others read of this end. A tail that a power cut takes away must never count for either,
    so requests that speak of the log are made from this proof and wait until there is one.
    """

    offset: int
    epoch: int


@dataclass(frozen=True, slots=True)
class UncountedEnd:
    """The log's end of a replica that neither votes nor may become a voter, on disk or not: no leader counts what it fetched."""

    offset: int
    epoch: int


LogEnd: TypeAlias = DurableEnd | UncountedEnd


@dataclass(slots=True)
class Send:
    """A request for a peer: `destination` is its node id, or -2, -3, ... for a bootstrap server; the answer comes with `correlation_id`."""

    destination: int
    endpoint: Endpoint
    correlation_id: CorrelationId
    message: Request


@dataclass(slots=True)
class Reply:
    """An answer; `token` is what the driver gave with the request."""

    token: object
    message: Response


@dataclass(slots=True)
class LeaderChanged:
    """For one listener: who leads (-1: not known) in an epoch. The new leader itself hears it once all before its epoch was consumed."""

    listener: ListenerId
    leader_id: NodeId
    epoch: Epoch


@dataclass(slots=True)
class Committed:
    """For one listener: `base_offset` up to `end_offset` is committed; read it, then `node.consumed(listener, end_offset)`."""

    listener: ListenerId
    base_offset: int
    end_offset: int


@dataclass(slots=True)
class SnapshotToLoad:
    """For one listener: forget all, load this snapshot, then call `node.consumed(listener, id.offset)`."""

    listener: ListenerId
    id: OffsetAndEpoch


@dataclass(slots=True)
class TruncatedTo:
    """For whoever mirrors the uncommitted log: everything from `offset` on is gone."""

    offset: int


Message: TypeAlias = Send | Reply
Notice: TypeAlias = LeaderChanged | Committed | SnapshotToLoad | TruncatedTo


class Ready:
    """One step's wishes; empty ones are false."""

    __slots__ = ("_messages", "_required", "appended", "election", "flush_to", "freeze", "kraft_version", "notices")

    def __init__(self, required: ElectionState, kraft_version: int) -> None:
        self._required = required
        self._messages: list[Message] = []
        self.election: ElectionState | None = None
        self.kraft_version = kraft_version
        self.flush_to: int | None = None
        self.freeze: OffsetAndEpoch | None = None
        self.notices: list[Notice] = []
        self.appended: Sequence[AppendedBatch] = ()

    def __bool__(self) -> bool:
        return bool(self.election is not None or self._messages or self.notices or self.flush_to is not None or self.freeze is not None)

    def require(self, election: ElectionState, kraft_version: int) -> None:
        """The core decided: from here on this state must be durable before any message of this Ready, also those added earlier."""
        self._required = self.election = election
        self.kraft_version = kraft_version

    def add(self, message: Message) -> None:
        self._messages.append(message)

    @property
    def has_messages(self) -> bool:
        return bool(self._messages)

    def messages(self, proof: Durable) -> list[Message]:
        """The messages that may leave now. Errors: AssertionError where the proof is of another state than the one required."""
        assert proof.election == self._required, f"{proof.election} is durable, {self._required} is required"
        return self._messages


ListenerId = NewType("ListenerId", int)


class Listener:
    """`next_offset` is what it has consumed, -1 before anything; `is_busy` while it has something to consume."""

    __slots__ = ("epoch", "id", "is_busy", "leader_id", "next_offset")

    def __init__(self, id: ListenerId) -> None:
        self.id = id
        self.next_offset = -1
        self.is_busy = False
        self.leader_id = NO_LEADER
        self.epoch = -1


CorrelationId = NewType("CorrelationId", int)
"""Which request an answer belongs to; int32, and it wraps."""

NEVER = 1 << 62
"""A time that does not come."""

PAUSES_MAX = 64
"""Pauses that are remembered before those that are over are forgotten: ids of voters to be added are what a client says."""


class Awaited:
    """A request that was sent to `endpoint` and not answered, or failed: `backing_off` until `since_ms` plus the pause."""

    __slots__ = ("backing_off", "correlation_id", "endpoint", "request", "since_ms")

    def __init__(self, correlation_id: CorrelationId, endpoint: Endpoint, request: Request, since_ms: int) -> None:
        self.correlation_id = correlation_id
        self.endpoint = endpoint
        self.request = request
        self.since_ms = since_ms
        self.backing_off = False


class Connections:
    """All destinations that are not simply ready.

    Units: ms. `bootstrap` are (destination, endpoint), asked in turn, beginning with number `first`.
    """

    __slots__ = ("_bootstrap", "_next_bootstrap", "_next_correlation_id", "_retry_backoff_ms", "_timeout_ms", "entries")

    def __init__(self, request_timeout_ms: int, retry_backoff_ms: int, bootstrap: tuple[tuple[int, Endpoint], ...], first: int) -> None:
        self._timeout_ms = request_timeout_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._bootstrap = bootstrap
        self._next_bootstrap = first
        self._next_correlation_id = CorrelationId(0)
        self.entries: dict[int, Awaited] = {}

    @property
    def has_bootstrap(self) -> bool:
        return bool(self._bootstrap)

    def is_ready(self, destination: int, now_ms: int) -> bool:
        """Whether a request may be sent: nothing awaited (or for too long), and no pause."""
        return self.ready_at(destination, now_ms) <= now_ms

    def ready_at(self, destination: int, now_ms: int) -> int:
        """Return the time when a request may be sent, `now_ms` at the earliest."""
        entry = self.entries.get(destination)
        if entry is None:
            return now_ms
        return max(now_ms, entry.since_ms + (self._retry_backoff_ms if entry.backing_off else self._timeout_ms))

    def is_backing_off(self, destination: int, now_ms: int) -> bool:
        entry = self.entries.get(destination)
        return entry is not None and entry.backing_off and entry.since_ms + self._retry_backoff_ms > now_ms

    def has_timed_out(self, destination: int, now_ms: int) -> bool:
        """Whether a request is awaited for longer than the timeout."""
        entry = self.entries.get(destination)
        return entry is not None and not entry.backing_off and entry.since_ms + self._timeout_ms <= now_ms

    def has_in_flight(self, now_ms: int) -> bool:
        """Whether any destination has a request that may still be answered."""
        since_ms = now_ms - self._timeout_ms
        return any(not entry.backing_off and entry.since_ms > since_ms for entry in self.entries.values())

    def in_flight_until(self, now_ms: int) -> int:
        """Return the first timeout of the requests in flight, NEVER without one."""
        timeout_ms = self._timeout_ms
        times = [entry.since_ms + timeout_ms for entry in self.entries.values() if not entry.backing_off]
        return min([time for time in times if time > now_ms], default=NEVER)

    def sent(self, destination: int, endpoint: Endpoint, request: Request, now_ms: int) -> CorrelationId:
        """Note that `request` leaves; returns its correlation id."""
        correlation_id = self._next_correlation_id
        self._next_correlation_id = CorrelationId((correlation_id + 1) & 0x7FFFFFFF)
        self.entries[destination] = Awaited(correlation_id, endpoint, request, now_ms)
        return correlation_id

    def find_awaited(self, destination: int, correlation_id: CorrelationId) -> Awaited | None:
        """The request that an answer belongs to, None for a late or foreign answer; the destination stays as it was."""
        entry = self.entries.get(destination)
        if entry is None or entry.backing_off or entry.correlation_id != correlation_id:
            return None
        return entry

    def succeeded(self, destination: int) -> None:
        self.entries.pop(destination, None)

    def failed(self, destination: int, now_ms: int) -> None:
        entry = self.entries.get(destination)
        if entry is not None:
            entry.backing_off = True
            entry.since_ms = now_ms
            if len(self.entries) > PAUSES_MAX:
                since_ms = now_ms - self._retry_backoff_ms
                self.entries = {id: entry for id, entry in self.entries.items() if not entry.backing_off or entry.since_ms > since_ms}

    def give_up_late(self) -> None:
        """Await nothing any more, when all that is awaited has timed out: another request is about to take its place."""
        if self.entries:
            self.entries = {destination: entry for destination, entry in self.entries.items() if entry.backing_off}

    def reset(self) -> None:
        self.entries.clear()

    def ready_bootstrap(self, now_ms: int) -> tuple[int, Endpoint] | None:
        """The next bootstrap server that is ready, None where none is or where anything is in flight anywhere."""
        if self.has_in_flight(now_ms):
            return None
        self.give_up_late()
        count = len(self._bootstrap)
        for step in range(count):
            index = (self._next_bootstrap + step) % count
            if self.is_ready(self._bootstrap[index][0], now_ms):
                self._next_bootstrap = (index + 1) % count
                return self._bootstrap[index]
        return None

    def bootstrap_ready_at(self, now_ms: int) -> int:
        """Return the time to call `ready_bootstrap` again, NEVER without bootstrap servers."""
        if not self._bootstrap:
            return NEVER
        waiting = self.in_flight_until(now_ms) if self.has_in_flight(now_ms) else now_ms
        return max(waiting, min(self.ready_at(destination, now_ms) for destination, _ in self._bootstrap))
