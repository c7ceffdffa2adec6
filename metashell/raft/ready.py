"""What a step of the core wants done, in the only order that is safe.

A `Ready` names the election state that has to be on disk before any of its messages leaves the process. The messages are handed out
only for a proof that it is: a `Durable`, which whoever writes quorum-state gives back. Nothing else in the core sends.

A driver takes each Ready in the order in which the core gave them:
1. write `ready.election` if it is not None (atomic replace, fsync of file and directory) and keep the Durable;
2. `ready.messages(durable)` leave;
3. `flush_to` asks for an fsync of the log up to that offset, which may run beside everything else; then `node.flushed(offset, now_ms)`;
4. `freeze` asks that the downloaded snapshot be made complete and durable; then `node.snapshot_frozen(id, now_ms)`;
5. `notices` go to the listeners.
The log itself is written by the core through `ReplicatedLog`, into the system's cache; only 3 makes it durable. `appended` asks for
nothing: it is what a leader wrote, in memory, so that it need not be read back when it is committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from metashell.ids import Epoch, NodeId
from metashell.raft.accumulator import AppendedBatch
from metashell.raft.connections import CorrelationId
from metashell.raft.listener import ListenerId
from metashell.raft.messages import Endpoint, Request, Response
from metashell.values import OffsetAndEpoch, ReplicaKey


@dataclass(frozen=True, slots=True)
class ElectionState:
    """What quorum-state holds: the epoch, its leader (-1: none known), and the key that got our vote in it.

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
