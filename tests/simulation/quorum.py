"""The world of a seed before anything happens: its replicas, formatted disks and addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.common.values import ZERO_UUID, ReplicaKey
from metashell.quorum.raft.messages import Endpoint
from metashell.quorum.raft.voters import KRaftVersion, SnapshotFooter, SnapshotHeader, Voter, VoterSet, write_control_batch
from tests.simulation.history import History, Key
from tests.simulation.host import Host
from tests.simulation.options import Options
from tests.simulation.work import Work
from tests.simulation.world import World

if TYPE_CHECKING:
    from tests.simulation.trace import Trace

BROKER_ID = 100


def endpoint_of(id: int, move: int = 0) -> Endpoint:
    """Where a replica listens after it was moved so many times."""
    return f"c{id}", 9_000 + 100 * move + id


def directory_id(id: int, number: int) -> bytes:
    return bytes(14) + bytes((id + 1, number))


def build(options: Options, trace: Trace | None = None) -> World:
    """A world in which all replicas are about to start."""
    world = World(options, first_history(options), trace)
    world.work = Work(world)
    fill(world)
    for number in range(options.brokers):
        add_host(world, BROKER_ID + number).is_broker = True
    return world


def first_history(options: Options) -> History:
    """What formatting made of the log."""
    voters = range(1, options.voters + 1)
    keys: frozenset[Key] = frozenset((id, directory_id(id, 1) if options.level else ZERO_UUID) for id in voters)
    return History(keys, options.level)


def fill(world: World) -> None:
    """Add all replicas, with formatted disks."""
    options = world.options
    voters = list(range(1, options.voters + 1))
    ids = range(1, options.voters + options.observers + 1)
    if options.level == 0:
        world.static_voters = {id: endpoint_of(id) for id in voters}
    else:
        # Whoever may become a voter is among them: a list of old voters alone leads nobody to the new ones.
        world.bootstrap_servers = tuple(endpoint_of(id) for id in ids)
    for index, id in enumerate(ids):
        host = add_host(world, id)
        if options.generations:
            host.generation = options.generations[index]
        if options.level == 1 and id <= options.voters:
            world.format(host, bootstrap_snapshot(voters))


def add_host(world: World, id: int) -> Host:
    """One more replica, with an empty disk."""
    host = world.new_host(id, endpoint_of(id), world.new_log())
    if world.options.skew_percent:
        host.rate = 1_000 + int((world.chance() * 2 - 1) * world.options.skew_percent * 10)
    world.hosts.append(host)
    world.by_id[id] = host
    world.by_endpoint[host.endpoint] = host
    world.disks[host.key] = host.log
    return host


def bootstrap_snapshot(voters: list[int]) -> bytes:
    """What formatting a dynamic quorum writes: level 1 and the first voters."""
    members = VoterSet(Voter(ReplicaKey(id, directory_id(id, 1)), {"CONTROLLER": endpoint_of(id)}, 0, 1) for id in voters)
    head = write_control_batch(0, 0, 0, [SnapshotHeader(0), KRaftVersion(1), members])
    return head + write_control_batch(3, 0, 0, [SnapshotFooter()])
