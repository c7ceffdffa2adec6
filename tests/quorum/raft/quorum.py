"""A few replicas on one clock and a network that delivers in order, for stories that need more than one of them.

Disks are in memory and lose nothing that was flushed. Every message takes a millisecond. At each step the invariants that can be seen
from outside are checked: one leader an epoch, offsets that only rise, logs that agree on what is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any

from metashell.codec.error_codes import BROKER_NOT_AVAILABLE
from metashell.common.values import OffsetAndEpoch, ReplicaKey
from metashell.quorum.raft.messages import Endpoint, RaftConfig, Request, Response
from metashell.quorum.raft.node import RaftNode
from metashell.quorum.raft.ready import Committed, Durable, ElectionState, LeaderChanged, Ready, Reply, Send, SnapshotToLoad
from metashell.quorum.raft.replicated_log import MemoryLog
from metashell.quorum.raft.voters import KRaftVersion, SnapshotFooter, SnapshotHeader, Voter, VoterSet, write_control_batch

CLUSTER = "cluster"
WALL_MS = 1_700_000_000_000


def key(id: int, disk: int = 1) -> ReplicaKey:
    """The key of a node with its first, second, ... disk."""
    return ReplicaKey(id, bytes([disk]) * 15 + bytes([id]))


def endpoint(id: int) -> Endpoint:
    return f"node-{id}", 9093


def voter(id: int, disk: int = 1) -> Voter:
    return Voter(key(id, disk), {"CONTROLLER": endpoint(id)}, 0, 1)


def bootstrap_snapshot(voters: Iterable[int]) -> bytes:
    """The (0, 0) snapshot that formatting writes for a dynamic quorum."""
    head = [SnapshotHeader(0), KRaftVersion(1), VoterSet(voter(id) for id in voters)]
    return write_control_batch(0, 0, 0, head) + write_control_batch(3, 0, 0, [SnapshotFooter()])


class Disk:
    """What survives a restart."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.election = ElectionState(0)


class Quorum:
    """Replicas by id. `answers` are the replies to the test's own requests, by their token; `committed` what listeners were handed."""

    def __init__(self, seed: int = 1) -> None:
        self.now = 1_000
        self.nodes: dict[int, RaftNode] = {}
        self.configs: dict[int, RaftConfig] = {}
        self.disks: dict[int, Disk] = {}
        self.answers: dict[str, Response] = {}
        self.cut: set[int] = set()
        self.lost: Callable[[int, int, Request | Response], bool] = lambda source, target, message: False
        self.leaders: dict[int, int] = {}
        self.committed: dict[int, bytes] = {}
        self.watermarks: dict[int, int] = {}
        self.highest_watermark = 0
        self.sent: list[tuple[int, int, Request]] = []
        self._random = Random(seed)
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._incarnation: dict[int, int] = {}

    # Making it

    @classmethod
    def dynamic(cls, voters: Iterable[int], others: Iterable[int] = (), seed: int = 1, **settings: Any) -> Quorum:
        """A formatted quorum of kraft.version 1, and controllers that were formatted without voters."""
        quorum, ids = cls(seed), list(voters)
        for id in ids:
            disk = quorum.disks[id] = Disk()
            disk.log.add_snapshot(OffsetAndEpoch(0, 0), bootstrap_snapshot(ids))
        settings.setdefault("bootstrap_servers", tuple(endpoint(id) for id in ids))
        for id in [*ids, *others]:
            quorum.start(id, **settings)
        return quorum

    @classmethod
    def static(cls, voters: Iterable[int], others: Iterable[int] = (), seed: int = 1, **settings: Any) -> Quorum:
        """A quorum of controller.quorum.voters, at kraft.version 0."""
        quorum, ids = cls(seed), list(voters)
        for id in [*ids, *others]:
            quorum.start(id, static_voters={voter: endpoint(voter) for voter in ids}, **settings)
        return quorum

    def start(self, id: int, *, disk: int = 1, **settings: Any) -> RaftNode:
        """Start a node, or restart it with what is on its disk."""
        if settings or id not in self.configs:
            settings.setdefault("listeners", {"CONTROLLER": endpoint(id)})
            self.configs[id] = RaftConfig(cluster_id=CLUSTER, local=key(id, disk), **settings)
        self._incarnation[id] = self._incarnation.get(id, 0) + 1
        stored = self.disks.setdefault(id, Disk())
        node = RaftNode(
            self.configs[id], stored.log, stored.election, random=Random(self._random.random()), now_ms=self.now, wall_ms=self.now + WALL_MS
        )
        self.nodes[id] = node
        self.watermarks.pop(id, None)
        self._take(id, node.take_ready())
        self._take(id, node.register(self.now)[1])
        return node

    def stop(self, id: int) -> None:
        """Kill a node: what was not flushed is lost."""
        del self.nodes[id]
        self.disks[id].log.lose_unflushed()

    # Using it

    def run(self, duration_ms: int, until: Callable[[], bool] | None = None) -> bool:
        """Let time pass, at most so long; whether `until` came true."""
        end = self.now + duration_ms
        while True:
            if until is not None and until():
                return True
            due, id = min(((max(node.next_poll_ms(), self.now), id) for id, node in self.nodes.items()), default=(end + 1, -1))
            if self._events and self._events[0][0] <= due:
                due, _, event = self._events[0]
                if due > end:
                    break
                heappop(self._events)
                self.now = max(self.now, due)
                event()
            elif due > end:
                break
            else:
                self.now = due
                self._take(id, self.nodes[id].poll(self.now))
        self.now = end
        return until is None

    def leader(self) -> RaftNode | None:
        """Who leads the highest epoch, if it leads."""
        leaders = [node for node in self.nodes.values() if node.state_name == "leader"]
        return max(leaders, key=lambda node: node.epoch, default=None)

    def elect(self) -> RaftNode:
        """Let time pass until there is a leader that has committed a record of its epoch."""
        assert self.run(60_000, lambda: (leader := self.leader()) is not None and leader.high_watermark is not None)
        leader = self.leader()
        assert leader is not None
        return leader

    def append(self, *values: bytes) -> int:
        """Append values at the leader, and give the offset of the last."""
        leader = self.leader()
        assert leader is not None
        last = leader.prepare_append(leader.epoch, values)
        self._take(leader.local_id, leader.schedule_append(self.now))
        return last

    def commit(self, *values: bytes) -> None:
        """Append values and let time pass until they are committed everywhere that is connected."""
        last = self.append(*values)
        assert self.run(20_000, lambda: all((node.high_watermark or 0) > last for id, node in self.nodes.items() if id not in self.cut))

    def ask(self, id: int, request: Request, name: str = "client") -> Response | None:
        """Ask a node as a client would; its answer if it came at once, later in `answers`."""
        self.answers.pop(name, None)
        self._take(id, self.nodes[id].handle_request(name, request, "CONTROLLER", self.now))
        return self.answers.get(name)

    def take(self, id: int, ready: Ready) -> None:
        """Work off what a call of the test's own wanted done."""
        self._take(id, ready)

    # The world

    def _take(self, id: int, ready: Ready) -> None:
        node, disk = self.nodes[id], self.disks[id]
        if ready.election is not None:
            assert ready.election.epoch >= disk.election.epoch, "a durable epoch went down"
            disk.election = ready.election
        for message in ready.messages(Durable(disk.election, ready.kraft_version)):
            if isinstance(message, Send):
                self._send(id, message)
            else:
                self._reply(id, message)
        if ready.flush_to is not None:
            self._later(id, 1, self._flush, id, ready.flush_to)
        if ready.freeze is not None:
            part = node.downloaded_part()
            assert part is not None
            part.freeze()
            self._later(id, 1, self._frozen, id, ready.freeze)
        for notice in ready.notices:
            if isinstance(notice, Committed):
                self._later(id, 0, self._consume, id, notice.listener, notice.end_offset)
            elif isinstance(notice, SnapshotToLoad):
                self._later(id, 0, self._consume, id, notice.listener, notice.id.offset)
            elif isinstance(notice, LeaderChanged):
                assert notice.epoch <= node.epoch
        self._check(id)

    def _later(self, id: int, delay_ms: int, call: Callable[..., None], *args: Any) -> None:
        """Call something later, unless the node was restarted by then."""
        incarnation = self._incarnation[id]

        def event() -> None:
            if id in self.nodes and self._incarnation[id] == incarnation:
                call(*args)

        heappush(self._events, (self.now + delay_ms, next(self._order), event))

    def _flush(self, id: int, offset: int) -> None:
        log = self.disks[id].log
        log.flush_to(min(offset, log.end_offset))
        self._take(id, self.nodes[id].flushed(self.now))

    def _frozen(self, id: int, snapshot: OffsetAndEpoch) -> None:
        self._take(id, self.nodes[id].snapshot_frozen(snapshot, self.now))

    def _consume(self, id: int, listener: int, offset: int) -> None:
        self._take(id, self.nodes[id].consumed(listener, offset, self.now))

    def _send(self, id: int, message: Send) -> None:
        target = int(message.endpoint[0].removeprefix("node-"))
        self.sent.append((id, target, message.message))
        if target not in self.nodes or {id, target} & self.cut or self.lost(id, target, message.message):
            self._later(id, 5, self._fail, id, message)
            return
        token = (id, message.destination, message.correlation_id, self._incarnation[id], target)
        self._later(target, 1, self._request, target, token, message.message)

    def _fail(self, id: int, message: Send) -> None:
        self._take(id, self.nodes[id].handle_failure(message.destination, message.correlation_id, BROKER_NOT_AVAILABLE, self.now))

    def _request(self, id: int, token: Any, request: Request) -> None:
        self._take(id, self.nodes[id].handle_request(token, request, "CONTROLLER", self.now))

    def _reply(self, id: int, reply: Reply) -> None:
        if isinstance(reply.token, str):
            self.answers[reply.token] = reply.message
            return
        source, destination, correlation_id, incarnation, _ = reply.token
        if source not in self.nodes or self._incarnation[source] != incarnation or {id, source} & self.cut:
            return
        if not self.lost(id, source, reply.message):
            self._later(source, 1, self._response, source, destination, correlation_id, reply.message)

    def _response(self, id: int, destination: int, correlation_id: int, response: Response) -> None:
        self._take(id, self.nodes[id].handle_response(destination, correlation_id, response, self.now))

    # What must hold

    def _check(self, id: int) -> None:
        node, log = self.nodes[id], self.disks[id].log
        assert node.log_end == log.end_offset
        if node.state_name == "leader":
            assert self.leaders.setdefault(node.epoch, id) == id, f"two leaders in epoch {node.epoch}"
        watermark = node.high_watermark
        if watermark is None:
            if node.state_name != "leader":
                self.watermarks.pop(id, None)
            return
        assert watermark <= node.log_end
        before = self.watermarks.get(id, 0)
        if node.state_name != "leader":
            assert watermark >= before, f"the high watermark of {id} went from {before} to {watermark}"
        self.watermarks[id] = watermark
        self.highest_watermark = max(self.highest_watermark, watermark)
        for base, end, _, data in log.batches(max(before, log.start_offset)) if watermark > log.start_offset else []:
            if end <= watermark:
                assert self.committed.setdefault(base, data) == data, f"node {id} committed another batch at {base}"
