"""The world of a seed before anything happens: its replicas, formatted disks and addresses."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from metashell.common.values import ZERO_UUID, OffsetAndEpoch, ReplicaKey
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
    voters = list(range(1, options.voters + 1))
    if options.level == 0:
        keys: frozenset[Key] = frozenset((id, ZERO_UUID) for id in voters)
    else:
        keys = frozenset((id, directory_id(id, 1)) for id in voters)
    world = World(options, History(keys, options.level), trace)
    world.work = Work(world)
    if options.level == 0:
        world.static_voters = {id: endpoint_of(id) for id in voters}
    else:
        # Whoever may become a voter is among them: a list of old voters alone leads nobody to the new ones.
        world.bootstrap_servers = tuple(endpoint_of(id) for id in range(1, options.voters + options.observers + 1))
    bootstrap = bootstrap_snapshot(voters)
    observers = range(options.voters + 1, options.voters + 1 + options.observers)
    for index, id in enumerate((*voters, *observers)):
        host = add_host(world, id)
        if options.generations:
            host.generation = options.generations[index]
        if options.level == 1 and id <= options.voters:
            host.log.add_snapshot(OffsetAndEpoch(0, 0), bootstrap)
    for number in range(options.brokers):
        add_host(world, BROKER_ID + number).is_broker = True
    return world


def add_host(world: World, id: int) -> Host:
    """One more replica, with an empty disk."""
    options = world.options
    log = world.new_log()
    host = Host(len(world.hosts), id, 1, endpoint_of(id), log, Random(options.seed * 1_000 + id))
    if options.skew_percent:
        host.rate = 1_000 + int((world.chance() * 2 - 1) * options.skew_percent * 10)
    world.hosts.append(host)
    world.by_id[id] = host
    world.by_endpoint[host.endpoint] = host
    world.disks[host.key] = log
    return host


def bootstrap_snapshot(voters: list[int]) -> bytes:
    """What formatting a dynamic quorum writes: level 1 and the first voters."""
    members = VoterSet(Voter(ReplicaKey(id, directory_id(id, 1)), {"CONTROLLER": endpoint_of(id)}, 0, 1) for id in voters)
    head = write_control_batch(0, 0, 0, [SnapshotHeader(0), KRaftVersion(1), members])
    return head + write_control_batch(3, 0, 0, [SnapshotFooter()])
