"""The clock, the heap of what is to come, and the driver of every replica: what `server` does with threads and sockets, on one clock.

A heap item is (time, number, function, argument, argument); the function gets the world and the two. Time is in ms. An event is a delivered
message, a timer or a disk completion; after each, whatever it may have changed is checked.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from heapq import heappop, heappush
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from metashell.common.errors import LogCorruptError
from metashell.common.values import OffsetAndEpoch, Recovering
from metashell.disk import properties
from metashell.quorum.raft import transitions
from metashell.quorum.raft.messages import Endpoint, RaftConfig
from metashell.quorum.raft.ready import Committed, Durable, ElectionState, LeaderChanged, Ready, Reply, Send, SnapshotToLoad
from metashell.quorum.raft.replica import Replica
from metashell.quorum.raft.roles import Role
from tests.simulation import triggers
from tests.simulation.checkers.clients import Record
from tests.simulation.checkers.delivery import on_committed, on_leader_changed, on_snapshot
from tests.simulation.checkers.election import Elections, on_role, on_written
from tests.simulation.checkers.leadership import on_polled
from tests.simulation.checkers.logs import on_epochs, on_log, on_truncate
from tests.simulation.checkers.watermark import on_committed_offset, on_high_watermark
from tests.simulation.disk_events import consumed, flushed, frozen, register, stop_rotten
from tests.simulation.disk_log import DiskLog, scratch_folder
from tests.simulation.history import Entry, History, Key
from tests.simulation.host import NEVER, CrashError, Host
from tests.simulation.network import Flight, reply, send, version_tables
from tests.simulation.options import Options
from tests.simulation.sim_log import SimLog
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.trace import Trace
    from tests.simulation.work import Work

CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAg"
_TABLES = version_tables()
ENTERED: deque[Role] = deque(maxlen=64)
"""What the step that runs has entered so far: a step may pass through several states. Other tests of this process come here too."""


def _note_roles() -> None:
    enter = transitions.enter

    def noted(node: Replica, role: Role) -> None:
        enter(node, role)
        ENTERED.append(role)

    transitions.enter = noted


_note_roles()


class World:
    """One run of one seed; `quorum.build` fills it.

    `cuts` are directed pairs of hosts that cannot talk, `blocked` hosts that get no requests, `slow_links` the bytes a ms of pairs. `disks`
    has the logs of all metadata directories that ever were, also of lost ones. `adding` is when an operator last asked to add a replica
    (-1: to remove any), `moved` the addresses that replicas had before. `counts` is what happened, for the summary. `lies` has (epoch,
    leader) of what strangers said.
    """

    def __init__(self, options: Options, history: History, trace: Trace | None = None) -> None:
        ENTERED.clear()
        self.options = options
        self.random = Random(options.seed)
        self.chance: Callable[[], float] = self.random.random
        self.now = 0
        self.number = 0
        self.events = 0
        self.heap: list[tuple[int, int, Callable[..., None], Any, Any]] = []
        self.history = history
        self.elections = Elections()
        self.record = Record()
        self.hosts: list[Host] = []
        self.by_id: dict[int, Host] = {}
        self.by_endpoint: dict[Endpoint, Host] = {}
        self.disks: dict[Key, SimLog] = {}
        self.static_voters: dict[int, Endpoint] = {}
        self.bootstrap_servers: tuple[Endpoint, ...] = ()
        self.adding: dict[int, int] = {}
        self.moved: dict[Endpoint, Host] = {}
        self.cuts: set[tuple[int, int]] = set()
        self.blocked: set[int] = set()
        self.slow_links: dict[tuple[int, int], int] = {}
        self.versions = _TABLES if options.generations else None
        self.own_versions = _TABLES
        self.codec_countdown = options.codec_share
        self.request_timeout_ms = 2_000
        self.counts: Counter[str] = Counter()
        self.trace = trace
        self.faults_on = True
        self.folder: Path | None = None
        self.work: Work
        self.is_spinning = (0, 0)
        self.lies: set[tuple[int, int]] = set()
        self.has_triggers = triggers.are_wanted(options)
        self.set_faults(True)

    def set_faults(self, on: bool) -> None:
        """Whether the network misbehaves from now on."""
        options = self.options
        self.faults_on = on
        self.delay_ms = options.delay_ms if on else min(options.delay_ms, 5)
        self.tail_chance = options.tail_chance if on else 0.0
        self.drop_chance = options.drop_chance if on else 0.0
        self.duplicate_chance = options.duplicate_chance if on else 0.0
        self.corrupt_chance = options.corrupt_chance if on else 0.0
        self.late_read_chance = options.late_read_chance if on else 0.0
        if not on:
            self.cuts.clear()
            self.blocked.clear()
            self.slow_links.clear()

    def new_host(self, id: int, endpoint: Endpoint, log: SimLog) -> Host:
        return Host(len(self.hosts), id, 1, endpoint, log, Random(self.options.seed * 1_000 + id))

    def format(self, host: Host, bootstrap: bytes) -> None:
        """As a storage tool does it."""
        host.log.add_snapshot(OffsetAndEpoch(0, 0), bootstrap)

    def new_log(self) -> SimLog:
        """The log of an empty disk."""
        if not self.options.log_on_disk:
            return SimLog(self.history)
        if self.folder is None:
            self.folder = scratch_folder()
        number = len(list(self.folder.iterdir()))
        return DiskLog(self.history, self.folder / str(number), 400 + int(self.chance() * 4_000))

    def close(self) -> None:
        """Nothing is left of the world on any disk."""
        for log in self.disks.values():
            if isinstance(log, DiskLog):
                log.close()
        if self.folder is not None:
            rmtree(self.folder, ignore_errors=True)

    def some_host(self) -> Host | None:
        """A running replica for a fault; in one of three cases the leader."""
        running = [host for host in self.hosts if host.up]
        leader = self.work.leader()
        if leader is not None and self.chance() < 0.33:
            return leader
        return running[int(self.chance() * len(running))] if running else None

    def note(self, text: str) -> None:
        if self.trace is not None:
            self.trace.note(self, text)

    # The loop

    def push(self, due: int, function: Callable[..., None], first: Any, second: Any) -> None:
        self.number += 1
        heappush(self.heap, (due, self.number, function, first, second))

    def run(self, until_ms: int, until_events: int) -> None:
        """Let things happen until a time or a number of events is reached."""
        heap = self.heap
        while heap and self.events < until_events:
            try:
                while self.events < until_events and heap and heap[0][0] <= until_ms:
                    due, _, function, first, second = heappop(heap)
                    if due > self.now:
                        self.now = due
                    function(self, first, second)
                if self.events >= until_events or not heap or heap[0][0] > until_ms:
                    break
            except CrashError as crash:
                self.counts["crashes inside of a step"] += 1
                self.crash(crash.host)
            except OSError as error:
                self.stop_broken(error)
        if self.events < until_events:
            self.now = max(self.now, until_ms)

    def stop_broken(self, error: OSError) -> None:
        """A disk that cannot be written stops its replica."""
        broken = [host for host in self.hosts if host.up and host.is_full]
        if not broken:
            raise error
        for host in broken:
            self.counts["full disks"] += 1
            self.crash(host)

    # One step

    def settle(self, host: Host, ready: Ready) -> None:
        """After a step: check what changed, do what it asks for, and note when the core wants to be polled."""
        replica = host.replica
        role = replica.role
        host.began = host.role
        if role is not host.role:
            self.enter_roles(host, role)
        if ready.election is not None:
            host.asked = ready.election
            host.transitions += 1
        if host.asked.epoch != role.epoch:
            raise Violation("I3 MonotonicEpoch", f"{host.name} is in epoch {role.epoch} and asked to write {host.asked}")
        log = host.log
        if log.changed:
            log.changed = False
            on_log(self, host)
        if log.epochs_changed:
            log.epochs_changed = False
            on_epochs(host)
        if replica.committed != host.committed:
            on_committed_offset(self, host, replica.committed)
        if replica.high_watermark != host.seen_watermark:
            on_high_watermark(self, host, replica.high_watermark)
        if self.options.directory_every:
            host.prove()
        if ready:
            self.perform(host, ready)
        if host.is_stopping and replica.is_shut_down:
            self.counts["graceful stops"] += 1
            self.crash(host)
            return
        due = replica.next_poll
        if due < host.timer:
            host.timer = due
            self.push(max(self.now, host.world_ms(due)), timer, host, host.life)

    def enter_roles(self, host: Host, role: Role) -> None:
        """Check each transition of the step, of which there may be several, up to `role`."""
        if not ENTERED or ENTERED[-1] is not role:
            ENTERED.append(role)
        steps = list(ENTERED)
        ENTERED.clear()
        for step in steps:
            before, host.role = host.role, step
            host.transitions += 1
            on_role(self, host, before, step)
            if self.trace is not None:
                self.trace.role(self, host)
            if self.has_triggers:
                triggers.on_role(self, host)

    def perform(self, host: Host, ready: Ready) -> None:
        """Do what a step asked for, in its order."""
        if ready.election is not None:
            if host.fuse_left >= 0:
                host.burn()
            delay = self.options.election_write_ms
            if host.slow_until > self.now:
                delay += self.options.slow_disk_ms
            if delay:
                due = self.now + 1 + int(self.chance() * delay)
                host.writing = ready
                if self.has_triggers:
                    triggers.on_writing(self, host, due)
                host.paused_until = max(host.paused_until, due + 1)
                self.push(due, election_written, host, host.life)
                return
            self.write_election(host, ready)
        self.release(host, ready)

    def write_election(self, host: Host, ready: Ready) -> None:
        election = ready.election
        assert election is not None
        on_written(self, host, election)
        host.election_before = host.election
        host.election = election
        host.quorum_version = ready.kraft_version
        host.proof_on_disk = replace(host.proof_on_disk, epoch=max(host.proof_on_disk.epoch, election.epoch))
        host.proof = Durable(election, ready.kraft_version)
        if host.fuse_left >= 0:
            host.burn()

    def release(self, host: Host, ready: Ready) -> None:
        """All of a step but its election state, which is durable by now."""
        life = host.life
        if ready.has_messages:
            for message in ready.messages(host.proof):
                if host.fuse_left >= 0:
                    host.burn()
                if message.__class__ is Send:
                    send(self, host, message)
                else:
                    assert isinstance(message, Reply)
                    reply(self, host, message)
        if ready.flush_to is not None:
            self.start_flush(host, ready.flush_to)
        if ready.freeze is not None:
            delay = self.fsync_delay(host)
            self.push(self.now + delay, frozen, host, (life, ready.freeze, host.replica.freezing))
        for notice in ready.notices:
            kind = notice.__class__
            if kind is Committed:
                on_committed(self, host, notice)  # type: ignore[arg-type]
                self.push(self.now, consumed, host, life)
            elif kind is LeaderChanged:
                on_leader_changed(self, host, notice)  # type: ignore[arg-type]
            elif kind is SnapshotToLoad and notice.id in host.log.rotten:  # type: ignore[union-attr]
                self.push(self.now, stop_rotten, host, life)
            elif kind is SnapshotToLoad:
                on_snapshot(self, host, notice)  # type: ignore[arg-type]
                self.push(self.now, consumed, host, life)

    def fsync_delay(self, host: Host) -> int:
        if host.hang_until > self.now:
            return host.hang_until - self.now
        delay = self.options.fsync_ms
        if host.slow_until > self.now:
            delay += self.options.slow_disk_ms
        return int(self.chance() * (delay + 1))

    def start_flush(self, host: Host, offset: int) -> None:
        self.push(self.now + self.fsync_delay(host), flushed, host, (host.life, offset, len(host.log.truncations)))

    # Lives

    def config(self, host: Host) -> RaftConfig:
        options = self.options
        return RaftConfig(
            cluster_id=CLUSTER_ID,
            local=host.replica_key,
            listeners={"CONTROLLER": host.endpoint},
            static_voters=self.static_voters,
            bootstrap_servers=self.bootstrap_servers,
            is_controller=not host.is_broker,
            auto_join=options.auto_join and not host.is_broker and self.faults_on,
            election_timeout_ms=options.election_timeout_ms,
            fetch_timeout_ms=options.fetch_timeout_ms,
            append_linger_ms=options.linger_ms,
            fetch_max_size=options.fetch_max_size,
            fetch_snapshot_max_size=options.fetch_snapshot_max_size,
            request_timeout_ms=self.request_timeout_ms,
            retention_size=20_000 if options.snapshot_every else 100 << 20,
            clean_interval_ms=1_000 if options.snapshot_every else 60_000,
        )

    def start(self, host: Host) -> None:
        """Start a process on a host's disk."""
        self.counts["starts"] += 1
        if self.options.generations and self.chance() < 0.2:
            # The binary was replaced while it was down.
            host.generation = self.options.generations[int(self.chance() * len(self.options.generations))]
        try:
            host.start(self.config(host), self.now)
        except LogCorruptError as error:
            if not host.log.rotten:
                raise
            self.note(f"{host.name} does not start: {error}")
            self.replace_disk(host)
            return
        if self.trace is not None:
            self.trace.note(self, f"{host.name} starts: log {host.log.start_offset} to {host.log.end_offset}, {host.election}")
        node = host.node
        assert node is not None
        host.log.on_truncate = lambda log, offset: on_truncate(self, host, log, offset)
        self.settle(host, node.take_ready())
        self.push(self.now, register, host, host.life)

    def crash(self, host: Host, kept: float | None = None) -> None:
        """A process ends and its disk keeps what is durable, perhaps more; it comes back after a while.

        `kept` is the share of what was not durable that is left, drawn where it is None: all of it where only the process was killed.
        """
        if not host.up:
            return
        self.counts["crashes"] += 1
        if host.writing is not None and self.chance() < 0.5:
            # The write of quorum-state was under way: its rename may have reached the disk.
            assert host.writing.election is not None
            on_written(self, host, host.writing.election)
            host.election_before = host.election
            host.election, host.quorum_version = host.writing.election, host.writing.kraft_version
        ENTERED.clear()
        host.log.on_truncate = None
        host.log.crash(self.random, kept)
        if self.trace is not None:
            self.trace.note(self, f"{host.name} crashes: log to {host.log.end_offset}, {host.election}")
        self.work.lost(host)
        host.forget()
        host.restart_at = self.now + 1 + int(self.chance() * self.options.down_ms)
        self.push(host.restart_at, restart, host, host.life)

    def lose_directory(self, host: Host, is_state_left: bool) -> None:
        """A replica comes back without its metadata directory, or with quorum-state alone in it, under the same directory id."""
        self.counts["lost directories"] += 1
        self.crash(host)
        old, new, proof = host.log, SimLog(self.history), host.proof_on_disk
        entry: Entry | None = old.entry_ending_at(old.flushed_offset)
        while entry is not None:
            new.lost.add(entry)
            entry = entry.prev
        host.log = self.disks[host.key] = new
        if old.flushed_offset:
            host.lost_end = max(old.flushed_offset, host.lost_end or 0)
        epoch = host.election.epoch if is_state_left else None
        reason = properties.find_loss(proof, 0, 0, epoch)
        if reason is not None:
            new.recovering = Recovering(None, max(proof.epoch, epoch or 0), reason)
        if not is_state_left:
            host.unaware_of = max(host.led_epochs, default=-1)
            host.election = host.election_before = ElectionState(0 if reason is None else proof.epoch)
        self.note(f"{host.name} has lost {old.end_offset} and has {host.election}: {reason}")

    def replace_disk(self, host: Host) -> None:
        """A replica comes back with an empty disk and a new directory id; `tolerance.can_lose` says whether that may be."""
        self.counts["lost disks"] += 1
        self.crash(host)
        log = self.new_log()
        host.format(host.directory + 1, log)
        self.disks[host.key] = log
        if self.elections.top is not None and self.elections.top[1] is host:
            self.elections.top = None


# What the heap holds


def timer(world: World, host: Host, life: int) -> None:
    """The time that the core named has come, if it still stands."""
    if host.life != life or not host.up:
        return
    now = world.now
    if host.paused_until > now:
        world.push(host.paused_until, timer, host, life)
        return
    due = host.replica.next_poll
    local = host.local_ms(now)
    if due > local:
        host.timer = due
        if due < NEVER:
            world.push(host.world_ms(due), timer, host, life)
        return
    host.timer = NEVER
    world.events += 1
    at, count = world.is_spinning
    world.is_spinning = (now, count + 1 if at == now else 0)
    if count > 2_000:
        raise Violation("V7", f"{host.name} as {host.role.name} is polled for ever at {now}")
    if world.trace is not None:
        world.trace.polls(world, host)
    world.settle(host, host.node.poll(local))  # type: ignore[union-attr]
    if host.up and host.role.name == "leader":
        on_polled(world, host)


def election_written(world: World, host: Host, life: int) -> None:
    """A slow write of quorum-state is done: the step that waited for it goes on."""
    if host.life != life or not host.up:
        return
    world.events += 1
    ready, host.writing = host.writing, None
    assert ready is not None
    world.write_election(host, ready)
    world.release(host, ready)


def restart(world: World, host: Host, life: int) -> None:
    """A stopped process comes back, unless it shall stay down."""
    if host.life == life and not host.up and not host.is_resting:
        world.start(host)


__all__ = ["Flight", "World"]
