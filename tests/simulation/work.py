"""What the quorum is there for: appends, snapshots of the application, and operators who change its members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.common.values import OffsetAndEpoch
from metashell.quorum.raft.messages import AddRaftVoterRequest, RaftError, RemoveRaftVoterRequest, Request
from tests.simulation.host import Host
from tests.simulation.network import Flight, deliver_request
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.world import World


class Work:
    """The clients of a world: `asked` are requests of operators without an answer yet, by number, `done` those with one."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.written = 0
        self.asked: dict[int, Flight] = {}
        self.done: set[int] = set()
        self.number = 0
        self.is_writing = True

    def begin(self) -> None:
        """Start all that the options ask for."""
        world, options = self.world, self.world.options
        world.push(world.now + options.append_every, append_some, None, None)
        if options.snapshot_every:
            world.push(world.now + options.snapshot_every, snapshot_somewhere, None, None)

    def leader(self) -> Host | None:
        """Who a client believes to lead: the leader of the highest epoch, sometimes another one that still believes in itself."""
        world = self.world
        leaders = [host for host in world.hosts if host.up and host.role is not None and host.role.name == "leader"]
        if not leaders:
            return None
        if len(leaders) > 1 and world.chance() < 0.5:
            return leaders[int(world.chance() * len(leaders))]
        return max(leaders, key=lambda host: host.role.epoch)

    def append(self, host: Host, count: int) -> int:
        """Let a leader append `count` values in one call, and give the last offset, -1 where it refused."""
        world = self.world
        node = host.node
        assert node is not None
        self.written += count
        values = [b"%d:%d" % (self.written, index) + b"." * int(world.chance() * 40) for index in range(count)]
        try:
            last = node.prepare_append(host.role.epoch, values)
        except RaftError:
            world.counts["refused appends"] += 1
            return -1
        host.prepared.append((last - count + 1, last, values[0]))
        host.pending_acks.append((last - count + 1, last, values))
        if world.trace is not None:
            world.trace.note(world, f"client: {host.name} appends {count} values up to {last}")
        world.settle(host, node.schedule_append(host.local_ms(world.now)))
        return last

    def ask(self, host: Host, request: Request) -> int:
        """Send an operator's request to a replica, over a network that may lose it."""
        world = self.world
        self.number += 1
        flight = Flight(None, 0, self.number, 0, request, host)
        self.asked[self.number] = flight
        if world.trace is not None:
            world.trace.note(world, f"operator: asks {host.name} for {request}")
        world.push(world.now + 1, deliver_request, flight, None)
        return self.number

    def answered(self, flight: Flight, response: Any) -> None:
        """An operator's answer."""
        world = self.world
        self.asked.pop(flight.destination, None)
        if flight.destination in self.done:
            raise Violation("V6", f"{flight.receiver.name} answers {flight.request} twice")
        self.done.add(flight.destination)
        world.counts[f"{flight.request.__class__.__name__} answered {response.error}"] += 1
        if world.trace is not None:
            world.trace.note(world, f"operator: {flight.request.__class__.__name__} is answered {response}")

    def lost(self, host: Host) -> None:
        """A replica died: what it was asked for gets no answer, what was prepared there may never be written."""
        for number in [number for number, flight in self.asked.items() if flight.receiver is host]:
            del self.asked[number]

    def add_voter(self, leader: Host, host: Host) -> int:
        endpoints = {"CONTROLLER": host.endpoint}
        return self.ask(leader, AddRaftVoterRequest(None, host.id, host.key[1], endpoints, 30_000, self.world.chance() < 0.7))

    def remove_voter(self, leader: Host, id: int, directory: bytes) -> int:
        return self.ask(leader, RemoveRaftVoterRequest(None, id, directory))


def append_some(world: World, first: None, second: None) -> None:
    """One client call, and the next one later."""
    work, options = world.work, world.options
    world.push(world.now + 1 + int(world.random.expovariate(1 / options.append_every)), append_some, None, None)
    if not work.is_writing:
        return
    host = work.leader()
    if host is None or host.paused_until > world.now:
        return
    for _ in range(1 + int(world.chance() * options.burst)):
        if host.role is None or host.role.name != "leader":
            return
        work.append(host, 1 + int(world.chance() * 4))


def snapshot_somewhere(world: World, first: None, second: None) -> None:
    """The application of some replica makes a snapshot, and now and then asks for one that must be refused."""
    options = world.options
    world.push(world.now + 1 + int(world.random.expovariate(1 / options.snapshot_every)), snapshot_somewhere, None, None)
    hosts = [host for host in world.hosts if host.up and host.paused_until <= world.now and host.applied > 0]
    if hosts:
        make_snapshot(world, hosts[int(world.chance() * len(hosts))])


def make_snapshot(world: World, host: Host) -> None:
    """A snapshot of what the application consumed; one in four is of another offset of the log, one in eight of another epoch."""
    log = host.log
    entry = log.entry_ending_at(host.applied)
    if entry is None or entry.end == 0:
        return
    offset, epoch, digest = entry.end, entry.epoch, entry.digest
    roll = world.chance()
    if roll < 0.25:
        if not log.entries:
            return
        other = log.entries[int(world.chance() * len(log.entries))]
        offset, epoch, digest = other.end, other.epoch, other.digest
        if roll < 0.05:
            offset -= 1
            before = log.entry_ending_at(offset)
            digest = -1 if before is None else before.digest
    elif roll < 0.35:
        epoch += 1
    id = OffsetAndEpoch(offset, epoch)
    padding = world.options.snapshot_padding
    values = [b"%d" % digest] + [bytes(100)] * (padding // 100)
    node = host.node
    assert node is not None
    writer = node.create_snapshot(id, 0)
    if writer is None:
        world.counts["refused snapshots"] += 1
        return
    check_snapshot(world, host, id)
    writer.append(values)
    writer.freeze()
    world.settle(host, node.snapshot_frozen(id, host.local_ms(world.now)))
    world.counts["snapshots"] += 1
    if world.trace is not None:
        world.trace.note(world, f"{host.name} makes the snapshot {id}")


def check_snapshot(world: World, host: Host, id: OffsetAndEpoch) -> None:
    """A snapshot that was made stands for committed batches, all of them whole (S1)."""
    entry = world.history.committed.get(id.offset)
    if host.high_watermark is None or id.offset > host.high_watermark or entry is None or entry.epoch != id.epoch:
        raise Violation("S1 SnapshotAtLogStart", f"{host.name} makes {id} with high watermark {host.high_watermark}; committed is {entry}")
