"""A quorum in one process: messages arrive in the order in which they were sent, each after a fixed time, and disks are at once durable."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Any

from metashell.common.values import ReplicaKey
from metashell.quorum.raft.messages import Endpoint, RaftConfig, Request, Response
from metashell.quorum.raft.node import RaftNode
from metashell.quorum.raft.ready import Committed, Durable, ElectionState, LeaderChanged, Ready, Send, SnapshotToLoad
from metashell.quorum.raft.replicated_log import MemoryLog

LISTENER = "CONTROLLER"
LATENCY_MS = 1
CLUSTER = "cluster"


def endpoint(id: int) -> Endpoint:
    return (f"node{id}", 9000 + id)


def directory(id: int) -> bytes:
    return bytes(15) + bytes((100 + id,))


def key(id: int) -> ReplicaKey:
    return ReplicaKey(id, directory(id))


def settings(id: int, voters: tuple[int, ...] = (1, 2, 3), **others: Any) -> RaftConfig:
    """The settings of one of the static voters, or of an observer of them."""
    static = {voter: endpoint(voter) for voter in voters}
    values: dict[str, Any] = {"static_voters": static, "listeners": {LISTENER: endpoint(id)}, "append_linger_ms": 0} | others
    return RaftConfig(cluster_id=CLUSTER, local=key(id), **values)


class Host:
    """A node with its disk, and what its one listener heard."""

    def __init__(self, pump: Pump, config: RaftConfig, log: MemoryLog | None = None, election: ElectionState | None = None) -> None:
        assert config.local is not None
        self.pump = pump
        self.config = config
        self.id = config.local.id
        self.log = log or MemoryLog()
        self.election = election or ElectionState(0)
        self.kraft_version = 0
        self.is_up = True
        self.node = RaftNode(
            config, self.log, self.election, random=Random(pump.seed * 31 + self.id), now_ms=pump.now_ms, wall_ms=pump.now_ms + 1_000_000
        )
        self.leaders: list[tuple[int, int]] = []
        self.committed: list[tuple[int, int]] = []
        self.work(self.node.take_ready())
        _, ready = self.node.register(pump.now_ms)
        self.work(ready)

    def work(self, ready: Ready) -> None:
        """Work off a Ready as a driver does."""
        if ready.election is not None:
            self.election, self.kraft_version = ready.election, ready.kraft_version
        for message in ready.messages(Durable(self.election, self.kraft_version)):
            self.pump.post(self, message)
        if ready.flush_to is not None:
            offset = min(ready.flush_to, self.log.end_offset)
            self.log.flush_to(offset)
            self.pump.later(0, lambda: self.step(lambda: self.node.flushed(self.pump.now_ms)))
        if ready.freeze is not None:
            part, id = self.node.downloaded_part(), ready.freeze
            assert part is not None
            part.freeze()
            self.pump.later(0, lambda: self.step(lambda: self.node.snapshot_frozen(id, self.pump.now_ms)))
        for notice in ready.notices:
            match notice:
                case LeaderChanged():
                    self.leaders.append((notice.leader_id, notice.epoch))
                case Committed(listener, base_offset, end_offset):
                    self.committed.append((base_offset, end_offset))
                    self.consume(listener, end_offset)
                case SnapshotToLoad(listener, id):
                    self.consume(listener, id.offset)

    def consume(self, listener: int, end_offset: int) -> None:
        self.pump.later(0, lambda: self.step(lambda: self.node.consumed(listener, end_offset, self.pump.now_ms)))

    def step(self, call: Callable[[], Ready]) -> None:
        if self.is_up:
            self.work(call())

    def append(self, *values: bytes) -> int:
        """Append on a leader; the offset of the last value."""
        last_offset = self.node.prepare_append(self.node.epoch, values)
        self.work(self.node.schedule_append(self.pump.now_ms))
        return last_offset


class Pump:
    """Hosts by id, the time, and what is under way. `cut` holds ids that nobody reaches."""

    def __init__(self, seed: int = 1) -> None:
        self.seed = seed
        self.now_ms = 1_000
        self.hosts: dict[int, Host] = {}
        self.cut: set[int] = set()
        self.delivered = 0
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    def start(self, *configs: RaftConfig) -> Pump:
        for config in configs:
            host = Host(self, config)
            self.hosts[host.id] = host
        return self

    def restart(self, id: int) -> Host:
        """Stop a host as a crash would, and start it from its disk."""
        old = self.hosts[id]
        old.is_up = False
        old.log.lose_unflushed()
        host = self.hosts[id] = Host(self, old.config, old.log, old.election)
        return host

    def later(self, delay_ms: int, act: Callable[[], None]) -> None:
        self._count += 1
        heappush(self._queue, (self.now_ms + delay_ms, self._count, act))

    def host_at(self, where: Endpoint) -> Host | None:
        return next((host for host in self.hosts.values() if where in host.config.listeners.values()), None)

    def post(self, source: Host, message: Any) -> None:
        if isinstance(message, Send):
            target = self.host_at(message.endpoint)
            if target is None:
                return
            token = (source, message.destination, message.correlation_id, target)
            request = message.message
            self.later(LATENCY_MS, lambda: self.deliver(target, source, token, request))
        else:
            origin, destination, correlation_id, _ = message.token
            response = message.message
            self.later(LATENCY_MS, lambda: self.answer(source, origin, destination, correlation_id, response))

    def deliver(self, target: Host, source: Host, token: Any, request: Request) -> None:
        if self.reaches(source, target):
            self.delivered += 1
            target.step(lambda: target.node.handle_request(token, request, LISTENER, self.now_ms))

    def answer(self, source: Host, origin: Host, destination: int, correlation_id: int, response: Response) -> None:
        if self.reaches(source, origin):
            self.delivered += 1
            origin.step(lambda: origin.node.handle_response(destination, correlation_id, response, self.now_ms))

    def reaches(self, source: Host, target: Host) -> bool:
        return source.is_up and target.is_up and source.id not in self.cut and target.id not in self.cut

    def run(self, duration_ms: int, until: Callable[[], bool] = lambda: False) -> bool:
        """Let time pass, until a condition holds; whether it does."""
        end = self.now_ms + duration_ms
        while not until():
            due = min((host.node.next_poll_ms() for host in self.hosts.values() if host.is_up), default=end)
            if self._queue and self._queue[0][0] <= max(due, self.now_ms):
                at, _, act = heappop(self._queue)
                self.now_ms = max(self.now_ms, at)
                if self.now_ms > end:
                    self.now_ms = end
                    heappush(self._queue, (at, 0, act))
                    return until()
                act()
                continue
            if due > end:
                self.now_ms = end
                return until()
            self.now_ms = max(self.now_ms, due)
            for host in list(self.hosts.values()):
                if host.is_up and host.node.next_poll_ms() <= self.now_ms:
                    host.step(lambda host=host: host.node.poll(self.now_ms))  # type: ignore[misc]
        return True

    def leader(self) -> Host | None:
        """Who leads in the highest epoch."""
        leading = [host for host in self.hosts.values() if host.is_up and host.node.state_name == "leader"]
        return max(leading, key=lambda host: host.node.epoch, default=None)

    def has_leader(self) -> bool:
        """Whether all that can be reached follow one leader that has committed something."""
        leader = self.leader()
        if leader is None or leader.id in self.cut or leader.node.high_watermark is None:
            return False
        others = [host for host in self.hosts.values() if host.is_up and host.id not in self.cut and host is not leader]
        return all(host.node.leader_id == leader.id and host.node.epoch == leader.node.epoch for host in others)
