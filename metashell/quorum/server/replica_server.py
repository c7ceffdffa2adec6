"""One replica on the running loop: listeners, connections to peers, the core with its log and store, and an application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Final

from metashell.net.listener import Listener
from metashell.net.listener_options import ConnectionLimits, ListenerOptions
from metashell.quorum.raft.messages import Endpoint, RaftConfig, Response
from metashell.quorum.raft.node import RaftNode
from metashell.quorum.raft.ready import Durable, Notice, Send
from metashell.quorum.server.config import PeerSecurity
from metashell.quorum.server.driver import SHUTDOWN_MS, Driver, Store
from metashell.quorum.server.event_queue import ServerEvent
from metashell.quorum.server.feed import Feed
from metashell.quorum.server.links import LINKS_MAX, Application, Inbound, LinkOptions, Links
from metashell.quorum.server.records import NoMachine, StateMachine

if TYPE_CHECKING:
    from metashell.common.values import Offset, Recovering
    from metashell.quorum.raft.ready import ElectionState
    from metashell.quorum.raft.replica import Random
    from metashell.quorum.raft.replicated_log import DurableLog
    from metashell.quorum.raft.roles import Role

STOP_GRACE_S: Final = 1.0
DRAIN_S: Final = 10.0
"""How long the end waits for what the disk has begun: one that takes longer hangs."""
REQUEST_SIZE_MAX: Final = 64 * 1024
"""Bytes of a request's frame: the largest that raft has are lists of endpoints, so what is larger is none.

Arrays of empty entries take some 25 times their bytes in memory, and the loop's time: 27 ms for this much.
"""
REQUESTS_MAX: Final = 4
"""Requests of one connection that are taken in before they are answered; replicas of Kafka have one, its clients up to five."""


COMPLAINT_PAUSE_S: Final = 10.0
"""Between two lines about what peers sent and must not."""


@dataclass(slots=True, kw_only=True)
class Parts:
    """The parts that a replica gets: its disk, a random source, and its listeners.

    `election` is what the store has; `wall_ms` is Unix ms now.
    `application` takes the requests of peers, without one raft does. `on_event` gets one line for each event that an operator wants to see.
    """

    log: DurableLog
    store: Store
    election: ElectionState
    random: Random
    wall_ms: Callable[[], int]
    machine: StateMachine = field(default_factory=NoMachine)
    application: Application | None = None
    peers: PeerSecurity = field(default_factory=PeerSecurity)
    on_event: Callable[[str], None] = lambda line: None


def bounded(limits: ConnectionLimits) -> ConnectionLimits:
    """Return the limits of a connection, no wider than peers and operators' tools need."""
    return replace(
        limits,
        frame_limit=min(limits.frame_limit, REQUEST_SIZE_MAX),
        unauthenticated_limit=min(limits.unauthenticated_limit, REQUEST_SIZE_MAX),
        requests_max=min(limits.requests_max, REQUESTS_MAX),
    )


def no_vote_line(found: Recovering) -> str:
    """Return the line that a replica without a vote prints at its start."""
    if found.until_offset is None:
        return f"this replica has no vote until a leader of epoch {found.epoch} or later has sent it all: {found.reason}"
    return f"this replica has no vote until its log reaches offset {found.until_offset}, or an epoch after {found.epoch}: {found.reason}"


class ReplicaServer:
    """One replica on the running loop. First `open` the listeners, then `start`: advertised endpoints may depend on chosen ports."""

    def __init__(self, parts: Parts) -> None:
        self.is_hung = False
        """Whether the disk had not done what was begun when this ended; a thread still waits for it, so the log must not be closed."""
        self._parts = parts
        self._inbound = Inbound(parts.application, parts.on_event)
        self._links: Links | None = None
        self._driver: Driver | None = None
        self._feed: Feed | None = None
        self._config: RaftConfig | None = None
        self._seen_role: Role | None = None
        self._seen_line = ""
        self._is_recovering = False
        self._complaints = 0
        self._next_complaint_s = 0.0
        self._late_complaint: asyncio.TimerHandle | None = None
        self._troubles: dict[Endpoint, str] = {}

    async def open(self, *listeners: ListenerOptions) -> dict[str, Listener]:
        """Open the listeners; what they serve is filled in here. Errors: OSError, UsageError."""
        inbound = self._inbound
        for options in listeners:
            limits = options.limits if inbound.application is not None else bounded(options.limits)
            await inbound.open(replace(options, ranges=inbound.ranges, limits=limits))
        return self._inbound.listeners

    def start(self, config: RaftConfig) -> None:
        """Take part, as `config` says. Errors: OSError, LogCorruptError; those of the core's start."""
        parts = self._parts
        loop = asyncio.get_running_loop()
        now_ms = int(loop.time() * 1000)
        self._config = config
        parts.log.defer()
        node = RaftNode(config, parts.log, parts.election, random=parts.random, now_ms=now_ms, wall_ms=parts.wall_ms())
        if node.recovering is not None:
            self._is_recovering = True
            parts.on_event(no_vote_line(node.recovering))
        driver = self._driver = Driver(node, parts.log, parts.store, Durable(parts.election, -1), parts.wall_ms)
        self._links = Links(self._link_options(config), driver, self._on_trouble, self._on_reached)
        self._feed = Feed(driver, parts.log, parts.machine)
        driver.watch(self._look)
        driver.start(self, node.take_ready())
        self._feed.register()
        self._inbound.start(driver)

    def _link_options(self, config: RaftConfig) -> LinkOptions:
        peers = self._parts.peers
        return LinkOptions(
            client_id=f"raft-client-{-1 if config.local is None else config.local.id}",
            request_timeout_ms=config.request_timeout_ms,
            tls=peers.tls,
            sasl=peers.sasl,
        )

    # ---- what it is

    @property
    def driver(self) -> Driver:
        """The driver, which does what the core hands out; the core is its `node`."""
        assert self._driver is not None, "not started"
        return self._driver

    @property
    def node(self) -> RaftNode:
        return self.driver.node

    @property
    def inbound(self) -> Inbound:
        return self._inbound

    @property
    def links(self) -> Links:
        assert self._links is not None, "not started"
        return self._links

    @property
    def feed(self) -> Feed:
        assert self._feed is not None, "not started"
        return self._feed

    @property
    def counters(self) -> dict[str, int]:
        """The counters since the start, by name: links to peers, complaints, each listener's connections and requests.

        `longest_hold_ms` is the longest time in which one piece of work held the loop, `long_holds` how many took 50 ms and more.
        """
        links = self.links
        found = {
            "links_opened": links.opened,
            "link_failures": links.failures,
            "answers": links.answered,
            "complaints": self.node.complaints,
            "without_vote": int(self.node.recovering is not None),
            "unanswerable": self._inbound.unanswerable,
            "longest_hold_ms": round(self.driver.held.longest_s * 1000),
            "long_holds": self.driver.held.long_count,
        }
        for name, listener in self._inbound.listeners.items():
            found |= {f"{name}.{key}": value for key, value in asdict(listener.counters).items()}
        return found

    @property
    def failure(self) -> asyncio.Future[BaseException | None]:
        """Done when the replica has stopped: with the error that stopped it, or None."""
        return self.driver.failure

    async def append(self, values: Sequence[bytes]) -> Offset:
        """Append values as one atomic batch, wait until it is committed, return the last offset. Errors: RaftError."""
        return await self.driver.append(values)

    # ---- the end

    async def stop(self, timeout_ms: int = SHUTDOWN_MS) -> None:
        """Leave gracefully: a leader resigns and waits for another; then close everything."""
        if self._driver is not None:
            await self._driver.shut_down(timeout_ms)
        await self._close(STOP_GRACE_S)

    async def kill(self) -> None:
        """Stop as a crash would: nobody is told."""
        if self._driver is not None:
            self._driver.stop()
        await self._close(0.0)

    async def _close(self, grace_s: float) -> None:
        if self._late_complaint is not None:
            self._late_complaint.cancel()
        if self._feed is not None:
            await self._feed.close()
        if self._links is not None:
            await self._links.close()
        await self._inbound.stop(grace_s)
        if self._driver is not None:
            self.is_hung = not await self._driver.drained(DRAIN_S)

    # ---- what the driver sends outward

    def send(self, message: Send) -> None:
        """See driver.Outward."""
        self.links.send(message)

    def reply(self, token: object, message: Response) -> None:
        """See driver.Outward."""
        self._inbound.reply(token, message)

    def notice(self, notice: Notice) -> None:
        """See driver.Outward."""
        self.feed.notice(notice)

    # ---- beside the core

    def _look(self) -> None:
        """Report a change of state, and a peer's fault, in one line each."""
        if self.driver.is_stopped:
            return
        node = self.node
        if self._is_recovering and node.recovering is None:
            self._is_recovering = False
            self._parts.on_event(f"the log is whole again, to offset {node.log_end_offset}: this replica votes")
        if node.role is not self._seen_role:
            self._seen_role = node.role
            line = f"{node.state_name} epoch={node.epoch} leader={node.leader_id}"
            if line != self._seen_line:
                self._seen_line = line
                self._parts.on_event(ServerEvent(line, "state", state=node.state_name, epoch=node.epoch, leader_id=node.leader_id))
        if node.complaints != self._complaints:
            now_s = asyncio.get_running_loop().time()
            if now_s >= self._next_complaint_s:
                self._report_complaint(now_s)
            elif self._late_complaint is None:
                # The last word of a flood is said when it is time.
                self._late_complaint = asyncio.get_running_loop().call_at(self._next_complaint_s, self._look)

    def _report_complaint(self, now_s: float) -> None:
        """Report the last complaint, at most once in `COMPLAINT_PAUSE_S`: whoever may send something may do so as often as they like."""
        node = self.node
        count = node.complaints - self._complaints
        self._complaints = node.complaints
        self._next_complaint_s = now_s + COMPLAINT_PAUSE_S
        self._late_complaint = None
        more = f" (the last of {count} since the line before)" if count > 1 else ""
        text = f"complaint {node.complaints}: {node.last_complaint}{more}"
        self._parts.on_event(ServerEvent(text, "complaint", number=node.complaints, what=node.last_complaint))

    def _on_trouble(self, endpoint: Endpoint, reason: str) -> None:
        if self._troubles.get(endpoint) != reason:
            if len(self._troubles) >= LINKS_MAX:
                self._troubles.clear()
            self._troubles[endpoint] = reason
            self._parts.on_event(
                ServerEvent(f"{endpoint[0]}:{endpoint[1]}: {reason}", "peer", host=endpoint[0], port=endpoint[1], reached=False)
            )

    def _on_reached(self, endpoint: Endpoint) -> None:
        if self._troubles.pop(endpoint, None) is not None:
            self._parts.on_event(
                ServerEvent(f"{endpoint[0]}:{endpoint[1]}: reached again", "peer", host=endpoint[0], port=endpoint[1], reached=True)
            )
