"""A production replica in a simulated process, with the core simulation's checkers at its joints.

The server's own classes run; where one hands on to another, a thin layer above it tells the world what passes: each step of the core, each
message and notice, each election state that is durable, each batch that the application has applied.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from metashell.codec.batches import RecordBatch
from metashell.codec.error_codes import UNSUPPORTED_VERSION
from metashell.common.errors import LogCorruptError
from metashell.common.values import OffsetAndEpoch
from metashell.net.listener_options import ListenerOptions
from metashell.quorum.raft.messages import RaftConfig, Request, Response
from metashell.quorum.raft.node import RaftNode
from metashell.quorum.raft.ready import Committed, Durable, ElectionState, LeaderChanged, Notice, Ready, Send, SnapshotToLoad
from metashell.quorum.server import replica_server
from metashell.quorum.server.config import ElectionStore, PeerSecurity, newest_epoch
from metashell.quorum.server.driver import Driver
from metashell.quorum.server.feed import ImageMachine
from metashell.quorum.server.links import Token
from metashell.quorum.server.records import SnapshotToMake
from metashell.quorum.server.replica_server import Parts, ReplicaServer
from tests.simulation.bugs import patched
from tests.simulation.checkers.delivery import on_committed, on_leader_changed
from tests.simulation.checkers.election import on_written
from tests.simulation.checkers.protocol import check_delivery, check_request, check_response
from tests.simulation.network import Flight
from tests.simulation.production.disk import SimDisk
from tests.simulation.production.loop import ProcessLoop
from tests.simulation.production.sasl import mechanisms, sasl_client
from tests.simulation.production.workers import Lanes, TurnLock
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.production.world import ProductionHost, ProductionWorld

LISTENER = "CONTROLLER"


class Process:
    """One life of a replica: what ends with it."""

    def __init__(self, world: ProductionWorld, host: ProductionHost) -> None:
        self.world = world
        self.host = host
        self.loop = ProcessLoop(world, host.index, host.rate, host.base_ms * 1_000)
        self.disk = SimDisk(world, host, host.platters)
        self.lanes = Lanes(world, self.loop)
        self.loop.lanes = self.lanes
        self.loop.on_call = self.lanes.call
        self.loop.on_failure = self._on_failure
        self.is_leaving = False
        self.server: WatchedServer

    def open(self) -> None:
        """Recover what the disk holds and begin to serve. Errors: OSError; LogCorruptError."""
        world, host = self.world, self.host
        host.log.reopen(self.disk)
        real = host.log.real
        real.acknowledged._lock = TurnLock(world)  # type: ignore[assignment]
        store = WatchedStore(world, host, ElectionStore(real.directory, sorted(world.static_voters), self.disk, real.acknowledged))
        election = store.take_over()
        parts = Parts(
            log=host.log,
            store=store,
            election=election,
            random=self.random,
            wall_ms=self.wall_ms,
            on_event=self._on_event,
            peers=PeerSecurity(sasl=sasl_client) if world.options.has_sasl else PeerSecurity(),
        )
        self.add_application(parts)
        self.server = WatchedServer(parts, world, host)
        self.loop.start(self._main())
        self.loop.run()

    @property
    def random(self) -> Random:
        """The chance of this life."""
        return Random(self.world.options.seed * 1_000_000 + self.host.id * 1_000 + self.host.life)

    def wall_ms(self) -> int:
        """The time of day of its machine, Unix ms."""
        return self.host.wall_ms + self.host.local_ms(self.world.now)

    def add_application(self, parts: Parts) -> None:
        """What the log is for."""
        self.machine = parts.machine = WatchedMachine(self.world, self.host)

    def begin(self, config: RaftConfig) -> None:
        """The listeners are open."""
        self.server.start(config)

    async def _main(self) -> None:
        host = self.host
        name, port = host.endpoint
        error: BaseException | None
        try:
            options = ListenerOptions(ranges={}, name=LISTENER, host=name, port=port, allow_plaintext=True)
            if self.world.options.has_sasl:
                options = replace(options, mechanisms=mechanisms())
            await self.server.open(options)
            self.begin(replace(self.world.config(host), retention_size=self.world.options.retention_size))
            error = await self.server.failure
        except (OSError, LogCorruptError) as refused:
            error = refused
        if not self.is_leaving:
            self.world.stopped(host, error)

    async def leave(self) -> None:
        """End in order, as an operator asks for it."""
        self.is_leaving = True
        await self.server.stop(1_000)
        self.world.left(self.host)

    def _on_failure(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.world.note_violation(
            error
            if isinstance(error, Violation)
            else Violation("an exception escaped", f"{self.host.name}: {context['message']}: {self.world.text(error)}")
        )

    def _on_event(self, line: str) -> None:
        self.world.note(f"{self.host.name} says: {line}")


class WatchedNode(RaftNode):
    """The core; every step of it is looked at when it ends."""

    __slots__ = ("host", "world")

    def take_ready(self) -> Ready:
        world, host = self.world, self.host
        world.is_up(host, self)
        ready = super().take_ready()
        world.checked(world.settle, host, ready)
        return ready

    def _finish(self) -> None:
        super()._finish()
        self.world.checked(self.world.settle, self.host, self.ready)

    def handle_response(self, destination: int, correlation_id: int, response: Response, now_ms: int) -> Ready:
        flight = self.host.flights.pop((destination, correlation_id), None)
        if flight is not None:
            self.world.checked(check_delivery, self.world, self.host, flight, response)
        return super().handle_response(destination, correlation_id, response, now_ms)

    def handle_failure(self, destination: int, correlation_id: int, error_code: int, now_ms: int) -> Ready:
        host = self.host
        host.flights.pop((destination, correlation_id), None)
        if host.fetch_sent is not None and host.fetch_sent[0] == correlation_id:
            host.fetch_sent = None
        if error_code == UNSUPPORTED_VERSION:
            host.unsupported = True
        return super().handle_failure(destination, correlation_id, error_code, now_ms)

    def consumed(self, listener: int, end_offset: int, now_ms: int) -> Ready:
        self.host.applied = end_offset
        return super().consumed(listener, end_offset, now_ms)

    def begin_shutdown(self, timeout_ms: int, now_ms: int) -> Ready:
        self.host.asked_to_resign = self.role.epoch
        return super().begin_shutdown(timeout_ms, now_ms)

    def prepare_append(self, epoch: int, values: Sequence[bytes], now_ms: int = 0) -> int:
        last = super().prepare_append(epoch, values, now_ms)
        host, first = self.host, last - len(values) + 1
        host.last_prepared = last
        host.prepared.append((first, last, values[0]))
        host.pending_acks.append((first, last, list(values)))
        return last


class WatchedServer(ReplicaServer):
    """The server; what leaves it is looked at first."""

    def __init__(self, parts: Parts, world: ProductionWorld, host: ProductionHost) -> None:
        super().__init__(parts)
        self._world = world
        self._host = host

    def start(self, config: RaftConfig) -> None:
        def make(*arguments: Any, **named: Any) -> WatchedNode:
            node = WatchedNode.__new__(WatchedNode)
            node.world, node.host = self._world, self._host
            node.__init__(*arguments, **named)  # type: ignore[misc]
            return node

        with patched([(replica_server, "RaftNode", make)]):
            super().start(config)
        self._inbound.start(Asked(self.driver, self._world, self._host))

    def send(self, message: Send) -> None:
        world, host, request = self._world, self._host, message.message
        receiver = world.by_endpoint.get(message.endpoint)
        flight = Flight(host, host.life, message.destination, message.correlation_id, request, receiver or host)
        host.flights[message.destination, message.correlation_id] = flight
        world.checked(check_request, world, host, request, flight)
        if world.trace is not None:
            world.trace.sends(world, host, receiver, request)
        super().send(message)

    def reply(self, token: Token, message: Response) -> None:
        world, host = self._world, self._host
        flight = host.asked_by.pop(token, None)
        if flight is not None:
            if world.trace is not None:
                world.trace.replies(world, host, flight.source, message)
            world.checked(check_response, world, host, flight, message)
        super().reply(token, message)

    def notice(self, notice: Notice) -> None:
        world, host = self._world, self._host
        match notice:
            case Committed():
                world.checked(on_committed, world, host, notice)
            case LeaderChanged():
                world.checked(on_leader_changed, world, host, notice)
            case SnapshotToLoad():
                world.checked(on_snapshot, host, notice.id)
            case _:
                pass
        super().notice(notice)


def on_snapshot(host: ProductionHost, id: OffsetAndEpoch) -> None:
    """As in `checkers.delivery`; what the snapshot holds is looked at when it is complete, and when it was loaded."""
    if host.announced_epoch == host.replica.role.epoch:
        raise Violation("S2 LeaderNeverLoadsSnapshot", f"{host.name} loads {id} in epoch {host.announced_epoch}, which it leads")
    if id not in host.log.snapshots():
        raise Violation("S1 SnapshotAtLogStart", f"{host.name} shall load {id}, and has {host.log.snapshot_ids}")
    host.applied = id.offset


class Asked:
    """The driver, for requests: who asked for what is noted."""

    def __init__(self, driver: Driver, world: ProductionWorld, host: ProductionHost) -> None:
        self._driver = driver
        self._world = world
        self._host = host

    @property
    def is_stopped(self) -> bool:
        return self._driver.is_stopped

    @property
    def kraft_version(self) -> int:
        return self._driver.kraft_version

    def request(self, token: Token, request: Request, listener: str) -> None:
        world, host = self._world, self._host
        source = world.by_name.get(token.request.host)
        if source is not None:
            flight = host.asked_by[token] = Flight(source, source.life, 0, 0, request, host)
            flight.arrived = host.contacts[source.key] = self._driver.now_ms()
        if world.trace is not None:
            world.trace.arrives(world, host, source, request)
        self._driver.request(token, request, listener)

    def forget(self, token: Token) -> None:
        self._host.asked_by.pop(token, None)
        self._driver.forget(token)


class WatchedStore:
    """quorum-state on the simulated disk; it is the world's, too, once it is durable."""

    def __init__(self, world: ProductionWorld, host: ProductionHost, store: ElectionStore) -> None:
        self._world = world
        self._host = host
        self._store = store

    def take_over(self) -> ElectionState:
        """What the file says when a process begins: what was durable, or what was being written when the last one ended."""
        host = self._host
        found = self._store.read_for(newest_epoch(host.log.real), is_recovering=host.log.recovering is not None)
        if host.has_lost_state:
            # The proof beside meta.properties was durable before anything of an epoch left.
            host.has_lost_state = False
            if found.epoch < host.election.epoch:
                raise Violation("I3 MonotonicEpoch", f"{host.name} finds epoch {found.epoch}, and has been in {host.election.epoch}")
        elif not is_same(found, host.election):
            if host.writing_election is None or not is_same(found, host.writing_election):
                raise Violation("the disk", f"{host.name} finds {found} in quorum-state, {host.election} was durable")
            on_written(self._world, host, found)
        host.election = found
        host.writing_election = None
        return found

    def write(self, election: ElectionState, kraft_version: int) -> Durable:
        world, host = self._world, self._host
        world.checked(world.before_write, host, election)
        host.writing_election = election
        durable = self._store.write(election, kraft_version)
        world.checked(on_written, world, host, election)
        host.election, host.quorum_version = election, kraft_version
        host.writing_election = None
        world.note(f"{host.name} has written {election}")
        return durable


def is_same(one: ElectionState, other: ElectionState) -> bool:
    """Whether two states say the same; version 0 of the file names no directory."""
    if (one.epoch, one.leader_id, one.voted is None) != (other.epoch, other.leader_id, other.voted is None):
        return False
    return one.voted is None or other.voted is None or one.voted.id == other.voted.id


class WatchedMachine(ImageMachine):
    """The application; what it has applied is compared with the committed path."""

    def __init__(self, world: ProductionWorld, host: ProductionHost) -> None:
        super().__init__(world.options.snapshot_after_size)
        self._world = world
        self._host = host
        self.end = 0

    async def handle_commit(self, batches: Sequence[RecordBatch]) -> SnapshotToMake | None:
        await self._think()
        wanted = await super().handle_commit(batches)
        self._look(batches[-1].header.last_offset + 1, always=wanted is not None)
        return wanted

    async def handle_load_snapshot(self, id: OffsetAndEpoch, batches: Iterable[RecordBatch]) -> None:
        await self._think()
        await super().handle_load_snapshot(id, batches)
        self._look(id.offset, always=True)

    async def _think(self) -> None:
        """An application may take its time; the log may go on, and be compacted, meanwhile."""
        world = self._world
        if world.options.machine_ms and world.faults_on:
            await asyncio.sleep(world.chance() * world.options.machine_ms / 1_000)

    def _look(self, end: int, *, always: bool) -> None:
        world = self._world
        self.end = end
        world.checked(lambda: world.images.check(self._host.name, self.image, end, always=always))
