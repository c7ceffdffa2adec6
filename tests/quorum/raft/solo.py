"""One node among voters 1, 2 and 3 that are not there: the test speaks for them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

from metashell.common.values import ReplicaKey
from metashell.quorum.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    Request,
    Response,
    VoteRequest,
    VoteResponse,
)
from metashell.quorum.raft.node import RaftNode
from metashell.quorum.raft.ready import Durable, ElectionState, Notice, Ready, Reply, Send
from metashell.quorum.raft.replicated_log import MemoryLog
from tests.quorum.raft.made import data_batch
from tests.quorum.raft.pump import CLUSTER, LISTENER, directory, endpoint, key, settings

M = TypeVar("M")
START_MS = 1_000


def log_of(*epochs: int) -> MemoryLog:
    """A durable log with one batch of one record for each epoch given, from offset 0 on."""
    log = MemoryLog()
    entries: list[tuple[int, int]] = []
    for offset, epoch in enumerate(epochs):
        log.append(data_batch(offset, epoch, 1, [b"%d.%d" % (offset, epoch)]), offset + 1)
        if not entries or entries[-1][0] != epoch:
            entries.append((epoch, offset))
    log.write_leader_epochs(entries)
    log.flush_to(len(epochs))
    return log


def batches(start: int, *epochs: int) -> bytes:
    """One batch of one record for each epoch, from offset `start` on."""
    return b"".join(data_batch(offset, epoch, 1, [b"%d.%d" % (offset, epoch)]) for offset, epoch in enumerate(epochs, start))


class Solo:
    """Node 1, the time, and what it wants: `sent` and `replies` since they were last taken."""

    def __init__(self, election: ElectionState | None = None, log: MemoryLog | None = None, **others: Any) -> None:
        self.now_ms = START_MS
        self.log = log or MemoryLog()
        self.election = election or ElectionState(0)
        self.sent: list[Send] = []
        self.replies: list[Reply] = []
        self.notices: list[Notice] = []
        self.flush_to: int | None = None
        self.writes = 0
        config = settings(1, **others)
        self.node = RaftNode(config, self.log, self.election, random=Random(7), now_ms=START_MS, wall_ms=1_000_000)
        self.work(self.node.take_ready())

    def work(self, ready: Ready) -> None:
        """Take in a Ready; messages are only given for what was written."""
        if ready.election is not None:
            self.election = ready.election
            self.writes += 1
        for message in ready.messages(Durable(self.election, ready.kraft_version)):
            if isinstance(message, Send):
                self.sent.append(message)
            else:
                self.replies.append(message)
        if ready.flush_to is not None:
            self.flush_to = ready.flush_to
        self.notices += ready.notices

    def poll(self) -> None:
        self.work(self.node.poll(self.now_ms))

    def flush(self) -> None:
        """All of the log is durable."""
        self.log.flush_to(self.log.end_offset)
        self.work(self.node.flushed(self.now_ms))

    def wait(self, duration_ms: int) -> None:
        """Let time pass, and poll whenever it is due."""
        end = self.now_ms + duration_ms
        while True:
            due = max(self.node.next_poll_ms(), self.now_ms + 1)
            if due > end:
                self.now_ms = end
                return
            self.now_ms = due
            self.poll()

    def wait_for(self, state: str, at_most_ms: int = 20_000) -> None:
        end = self.now_ms + at_most_ms
        while self.node.state_name != state and self.now_ms < end:
            self.now_ms = max(self.node.next_poll_ms(), self.now_ms + 1)
            self.poll()
        assert self.node.state_name == state

    # What others say

    def ask(self, request: Request, token: Any = "token") -> Any:
        """The answer to a request, None while there is none."""
        before = len(self.replies)
        self.work(self.node.handle_request(token, request, LISTENER, self.now_ms))
        return self.replies[before].message if len(self.replies) > before else None

    def take(self, message_class: type[M]) -> list[tuple[Send, M]]:
        """The requests of a class that were sent since the last look."""
        found = [(send, send.message) for send in self.sent if isinstance(send.message, message_class)]
        self.sent = [send for send in self.sent if not isinstance(send.message, message_class)]
        return found  # type: ignore[return-value]

    def answer(self, send: Send, response: Response) -> None:
        self.work(self.node.handle_response(send.destination, send.correlation_id, response, self.now_ms))

    def fail(self, send: Send, error: int) -> None:
        self.work(self.node.handle_failure(send.destination, send.correlation_id, error, self.now_ms))

    # How it gets into a state

    def vote_from(self, id: int, granted: bool = True) -> None:
        """Answer the vote or pre-vote that voter `id` was asked for last."""
        asked = [send for send in self.sent if send.destination == id and isinstance(send.message, VoteRequest)]
        self.sent = [send for send in self.sent if not isinstance(send.message, VoteRequest) or send.destination != id]
        self.answer(asked[-1], VoteResponse(0, 0, -1, self.node.epoch, granted=granted))

    def stand(self) -> Solo:
        self.wait_for("prospective")
        return self

    def run_for_office(self) -> Solo:
        self.stand()
        self.vote_from(2)
        assert self.node.state_name == "candidate"
        return self

    def lead(self) -> Solo:
        """Be elected, with the first batch of the epoch written and durable here."""
        self.run_for_office()
        self.vote_from(2)
        assert self.node.state_name == "leader"
        self.poll()
        self.flush()
        return self

    def next_fetch(self) -> Send:
        """The Fetch that is in flight, sent by now."""
        self.poll()
        return self.take(FetchRequest)[-1][0]


def begin(leader_id: int, epoch: int, **changes: Any) -> BeginQuorumEpochRequest:
    endpoints = {LISTENER: endpoint(leader_id)}
    return changed(BeginQuorumEpochRequest(CLUSTER, 1, directory(1), leader_id, epoch, endpoints), changes)


def end(leader_id: int, epoch: int, candidates: Sequence[ReplicaKey] = (), **changes: Any) -> EndQuorumEpochRequest:
    return changed(EndQuorumEpochRequest(CLUSTER, leader_id, epoch, tuple(candidates)), changes)


def vote(candidate: int, epoch: int, last_epoch: int = 0, last_offset: int = 0, **changes: Any) -> VoteRequest:
    request = VoteRequest(CLUSTER, 1, directory(1), epoch, candidate, directory(candidate), last_epoch, last_offset)
    return changed(request, changes)


def fetch(replica: int, epoch: int, offset: int, last_epoch: int, max_wait_ms: int = 500, **changes: Any) -> FetchRequest:
    request = FetchRequest(CLUSTER, replica, directory(replica), epoch, offset, last_epoch, max_wait_ms, 1 << 20)
    return changed(request, changes)


def fetched(leader: int, epoch: int, records: bytes = b"", high_watermark: int = -1, **changes: Any) -> FetchResponse:
    return changed(FetchResponse(0, 0, leader, epoch, endpoint(leader), high_watermark, 0, None, None, records), changes)


def page(replica: int, epoch: int, snapshot_id: Any, position: int, max_size: int = 1 << 20, **changes: Any) -> FetchSnapshotRequest:
    return changed(FetchSnapshotRequest(CLUSTER, replica, directory(replica), epoch, snapshot_id, position, max_size), changes)


def changed(message: M, changes: dict[str, Any]) -> M:
    for name, value in changes.items():
        assert hasattr(message, name), name
        setattr(message, name, value)
    return message


__all__ = ["Solo", "batches", "begin", "changed", "end", "fetch", "fetched", "key", "log_of", "page", "vote"]
