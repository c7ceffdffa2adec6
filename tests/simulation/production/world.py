"""The world of a production run: one clock, one heap, and the hosts whose processes run on them.

Units: the heap counts microseconds, `now` and all that the core simulation's checkers and faults use are milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from errno import EIO
from heapq import heappop, heappush
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from metashell.common.errors import DecodeError, LogCorruptError
from metashell.common.values import OffsetAndEpoch
from metashell.disk.names import META_PROPERTIES, METADATA_DIRECTORY
from metashell.disk.properties import MetaProperties, format_properties
from metashell.quorum.raft.messages import Endpoint
from metashell.quorum.raft.ready import Durable, ElectionState, Ready
from tests.simulation.checkers.logs import on_truncate
from tests.simulation.disk_log import scratch_folder
from tests.simulation.harness import place
from tests.simulation.history import History
from tests.simulation.host import Host
from tests.simulation.network import Flight
from tests.simulation.production.disk import Platters
from tests.simulation.production.images import Images
from tests.simulation.production.live_log import LiveLog
from tests.simulation.production.loop import ProcessLoop
from tests.simulation.production.network import Network
from tests.simulation.production.operators import NAME, OPERATOR
from tests.simulation.production.options import ProductionOptions
from tests.simulation.production.replica import Process, WatchedNode
from tests.simulation.production.workers import Call, Crew, Killed
from tests.simulation.sim_log import SimLog
from tests.simulation.violation import Violation
from tests.simulation.world import CLUSTER_ID, ENTERED, World, restart

if TYPE_CHECKING:
    from metashell.quorum.server.links import Token
    from tests.simulation.production.clients import Clients
    from tests.simulation.trace import Trace

NO_TIMER = -1

AT_ONCE_MAX = 500_000
"""Events of one microsecond, from which on time stands still."""


class ProductionHost(Host):
    """A machine with its disk. `fuse_left` counts steps on the disk and writes to sockets; with `fuse_power` the last one ends its power.

    A disk that hangs does not return from syncs until `hangs_until_us`; where it `hangs_log_only`, from those of segments. Between
    `fails_from_us` and `fails_until_us` each step on it fails. `writes_left` is how many more times quorum-state is written before a write
    in the midst of which the power fails, -1 for never. `has_lost_state` says that quorum-state is gone, and the next life has to know.
    """

    log: LiveLog

    def __init__(self, index: int, id: int, endpoint: Endpoint, log: LiveLog, world: ProductionWorld) -> None:
        self.world = world
        self.platters = log.platters
        self.process: Process | None = None
        self.has_power = True
        self.hangs_until_us = 0
        self.hangs_log_only = False
        self.fails_from_us = self.fails_until_us = 0
        self.fails_with = EIO
        self.has_lost_state = False
        super().__init__(index, id, 1, endpoint, log, Random(world.options.seed * 1_000 + id))

    def forget(self) -> None:
        super().forget()
        self.flights: dict[tuple[int, int], Flight] = {}
        self.asked_by: dict[Token, Flight] = {}
        self.last_prepared = -1
        self.fuse_power = False
        self.writes_left = -1
        self.writing_election: ElectionState | None = getattr(self, "writing_election", None)

    def hangs_at(self, path: str) -> bool:
        """Whether a sync of that path does not return now."""
        return self.hangs_until_us > self.world.now_us and (path.endswith(".log") or not self.hangs_log_only)

    def burn_step(self) -> None:
        """A step is about to be made that others, or a later life, can see."""
        if self.fuse_left > 0:
            self.fuse_left -= 1
        elif self.fuse_left == 0 and self.process is not None:
            self.fuse_left = -1
            self.world.die_here(self)


class ProductionWorld(World):
    """One run of one seed."""

    options: ProductionOptions
    hosts: list[ProductionHost]  # type: ignore[assignment]
    by_endpoint: dict[Endpoint, ProductionHost]  # type: ignore[assignment]
    work: Clients

    def __init__(self, options: ProductionOptions, history: History, trace: Trace | None = None) -> None:
        self.now_us = 0
        self.found: Violation | None = None
        self.network = Network(self)
        self.crew = Crew(self)
        self.operator = ProcessLoop(self, OPERATOR)
        self.operator.on_failure = self._operator_failed
        self.images = Images(history)
        self.by_name: dict[str, ProductionHost] = {}
        self.is_undecodable = False
        """Whether a record was appended that nobody can decode."""
        self._doomed: ProductionHost | None = None
        self._ended: list[Process] = []
        """Kept to the end, lest what is collected does anything."""
        super().__init__(options, history, trace)

    def name_of(self, index: int) -> str:
        """The name on the network of a host, or of the operators' machine."""
        return NAME if index == OPERATOR else self.hosts[index].endpoint[0]

    # The clock

    @property
    def now(self) -> int:  # type: ignore[override]
        return self.now_us // 1_000

    @now.setter
    def now(self, value: int) -> None:
        self.now_us = value * 1_000

    def push_us(self, due_us: int, function: Callable[..., None], first: Any, second: Any) -> None:
        self.number += 1
        heappush(self.heap, (due_us, self.number, function, first, second))

    def push(self, due: int, function: Callable[..., None], first: Any, second: Any) -> None:
        self.push_us(due * 1_000, function, first, second)

    def run(self, until_ms: int, until_events: int) -> None:
        """Let things happen until a time or a number of events is reached. Errors: Violation."""
        heap, until_us = self.heap, until_ms * 1_000
        at_once = 0
        while self.events < until_events and heap and heap[0][0] <= until_us:
            due_us, _, function, first, second = heappop(heap)
            if due_us > self.now_us:
                self.now_us = due_us
                at_once = 0
            at_once += 1
            if at_once > AT_ONCE_MAX:
                raise Violation("V7", f"time stands still at {self.now_us} us")
            function(self, first, second)
            if self.found is not None:
                raise self.found
        if self.events < until_events:
            self.now_us = max(self.now_us, until_us)

    # Violations, also those that are found where the server would handle them

    def checked(self, check: Callable[..., None], *arguments: Any) -> None:
        """Look at something from within the server."""
        try:
            check(*arguments)
        except Violation as violation:
            self.note_violation(violation)
            raise

    def note_violation(self, violation: Violation) -> None:
        if self.found is None:
            self.found = violation

    def _operator_failed(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.note_violation(error if isinstance(error, Violation) else Violation("an operator fails", self.text(error)))

    def spins(self, loop: ProcessLoop) -> None:
        self.note_violation(Violation("V7", f"{self.name_of(loop.index)} makes callbacks for ever at {self.now}"))
        loop.die()

    # Steps of the core: only looked at here, the Driver performs them

    def perform(self, host: Host, ready: Ready) -> None:
        """The process does that by itself."""

    def before_write(self, host: ProductionHost, election: ElectionState) -> None:
        """quorum-state is about to be written: that may be the moment that a fault waited for."""
        if host.writes_left > 0:
            host.writes_left -= 1
        elif host.writes_left == 0:
            host.writes_left = -1
            host.fuse_power = True
            host.fuse_left = int(self.chance() * 7)

    def arrived(self, socket: Any, piece: bytes | None) -> None:
        """Bytes reached the other end."""
        self.events += 1
        if self.trace is not None:
            size = "the end" if piece is None else f"{len(piece)} bytes"
            self.trace.note(self, f"{size} from {socket.addresses[1][0]}:{socket.addresses[1][1]} at {socket.addresses[0][0]}")

    def call_is_over(self, call: Call) -> None:
        """A thread has done what it was given."""
        loop = call.loop
        doomed, self._doomed = self._doomed, None
        if doomed is not None:
            self.kill(doomed, doomed.fuse_power)
        if loop.is_dead:
            return
        self.hosts[loop.index].process.lanes.over(call)  # type: ignore[union-attr]
        loop.call_soon(settle_call, call)

    # Disks

    def sync_time_us(self, host: ProductionHost) -> int:
        """How long a sync takes, unless the disk hangs."""
        delay_ms = self.options.fsync_ms
        if host.slow_until > self.now:
            delay_ms += self.options.slow_disk_ms
        return 100 + int(self.chance() * delay_ms * 1_000)

    def new_host(self, id: int, endpoint: Endpoint, log: SimLog) -> ProductionHost:
        assert isinstance(log, LiveLog)
        host = self.by_name[endpoint[0]] = ProductionHost(len(self.hosts), id, endpoint, log, self)
        meta = MetaProperties(1, CLUSTER_ID, id, host.key[1])
        host.platters.take({META_PROPERTIES: format_properties(meta.as_properties(), date="")})
        return host

    def format(self, host: Host, bootstrap: bytes) -> None:
        """As a storage tool does it: the directory of the log with its first snapshot."""
        assert isinstance(host, ProductionHost)
        snapshot = {METADATA_DIRECTORY: None, f"{METADATA_DIRECTORY}/{0:020d}-{0:010d}.checkpoint": bootstrap}
        host.platters.take(host.platters.tree() | snapshot)
        host.log.snapshot_ids = [OffsetAndEpoch(0, 0)]

    def new_log(self) -> LiveLog:
        if self.folder is None:
            self.folder = scratch_folder()
        platters = Platters(Path(self.folder) / str(len(self.hosts)))
        return LiveLog(self.history, platters, self.options.segment_size)

    # Lives

    def start(self, host: Host) -> None:
        """Start a process on a host's disk."""
        assert isinstance(host, ProductionHost)
        if host.process is not None:
            return
        self.counts["starts"] += 1
        host.has_power = True
        host.forget()
        host.life += 1
        host.log.changed = host.log.epochs_changed = True
        process = host.process = self.new_process(host)
        host.log.on_snapshot = lambda id, data: self.checked(self.images.check_snapshot, host.name, id, data)
        self.note(f"{host.name} starts")
        try:
            process.open()
        except Killed:
            return
        except OSError as error:
            self.stopped(host, error)
            return
        except LogCorruptError as error:
            raise Violation("a replica cannot start", f"{host.name}: {self.text(error)}") from error
        # While its disk was slow, the process waited; what it does begins after that.

    def new_process(self, host: ProductionHost) -> Process:
        """A life that begins."""
        return Process(self, host)

    def is_up(self, host: ProductionHost, node: WatchedNode) -> None:
        """The core of a process is made."""
        host.up = True
        host.timer = NO_TIMER
        host.node = host.replica = node
        host.proof = Durable(host.election, host.quorum_version)
        host.asked, host.asked_version = host.election, host.quorum_version
        host.log.on_truncate = lambda log, offset: self.checked(on_truncate, self, host, log, offset)
        self.note(f"{host.name} is up: log {host.log.start_offset} to {host.log.end_offset}, {host.election}")

    def crash(self, host: Host) -> None:
        """A process is killed, or its machine loses its power."""
        assert isinstance(host, ProductionHost)
        self.kill(host, self.chance() < self.options.power_share)

    def die_here(self, host: ProductionHost) -> None:
        """The process ends at the step that it is about to make. Errors: Killed, always."""
        if self.crew.running is None:
            self.kill(host, host.fuse_power)
        else:
            assert host.process is not None
            host.process.disk.is_dead = True
            host.process.loop.die()
            self._doomed = host
        raise Killed

    def kill(self, host: ProductionHost, power: bool) -> None:
        """What ends with a process ends; its disk keeps what it has, but for what a loss of power takes. It comes back after a while."""
        process = host.process
        if process is None:
            return
        host.process = None
        self.counts["losses of power" if power else "kills"] += 1
        self._ended.append(process)
        process.loop.die()
        process.disk.die()
        process.lanes.die()
        process.loop.close_tasks()
        host.log.abandon()
        self.network.forget(host.index, tell=not power)
        ENTERED.clear()
        host.log.on_truncate = None
        if power:
            host.has_power = False
            host.platters.lose_power(self.random)
        self.note(f"{host.name} {'loses power' if power else 'is killed'}: log to {host.log.end_offset}, {host.election}")
        host.forget()
        host.restart_at = self.now + 1 + int(self.chance() * self.options.down_ms)
        self.push(host.restart_at, restart_when_due, host, host.life)

    def stopped(self, host: ProductionHost, error: BaseException | None) -> None:
        """A replica stopped by itself."""
        self.note(f"{host.name} stops: {self.text(error)}")
        if isinstance(error, OSError):
            self.counts["stopped by a disk"] += 1
        elif self.is_undecodable and isinstance(error, DecodeError | LogCorruptError):
            # That is right, and it will stop again.
            self.counts["stopped by a record"] += 1
            host.is_resting = True
        else:
            self.note_violation(Violation("a replica stops by itself", f"{host.name}: {self.text(error)}{place(error)}"))
        self.push(self.now, kill_later, host, host.life)

    def text(self, error: BaseException | None) -> str:
        """An error in words that are the same in each run: without the name of the scratch folder."""
        return f"{error.__class__.__name__} {error}".replace(str(self.folder), "")

    def left(self, host: ProductionHost) -> None:
        """A replica was stopped in order."""
        self.counts["graceful stops"] += 1
        self.push(self.now, kill_later, host, host.life)

    def set_faults(self, on: bool) -> None:
        super().set_faults(on)
        if not on:
            self.network.stalls.clear()
            for host in self.hosts:
                host.hangs_until_us = min(host.hangs_until_us, self.now_us)
                host.fails_until_us = 0
                host.writes_left = -1
                if host.process is not None:
                    host.process.loop.free()

    def close(self) -> None:
        """Nothing is left of the world."""
        self.trace = None
        for host in self.hosts:
            if host.process is not None:
                self.kill(host, False)
        self.operator.die()
        self.operator.close_tasks()
        self.crew.close()
        if self.folder is not None:
            rmtree(self.folder, ignore_errors=True)


def settle_call(call: Call) -> None:
    """Whoever waits for an executor's call hears of its end."""
    if call.waiter.done():
        return
    if call.error is not None:
        call.waiter.set_exception(call.error)
    else:
        call.waiter.set_result(call.result)


def restart_when_due(world: ProductionWorld, host: ProductionHost, life: int) -> None:
    """A stopped process comes back; somebody may have put it off."""
    if host.restart_at > world.now:
        world.push(host.restart_at, restart_when_due, host, life)
    else:
        restart(world, host, life)


def kill_later(world: ProductionWorld, host: ProductionHost, life: int) -> None:
    """A process that came to its own end."""
    if host.life == life:
        world.kill(host, False)
