"""One seed from its first event to its last: faults, healing, a restart of everything."""

from __future__ import annotations

from tests.simulation import faults
from tests.simulation.checkers import clients, liveness
from tests.simulation.harness import Simulation
from tests.simulation.options import draw
from tests.simulation.planted import BUGS
from tests.simulation.quorum import build
from tests.simulation.tolerance import is_electable, is_electable_whatever_is_in_force
from tests.simulation.violation import Violation
from tests.simulation.world import World, restart

EVENTS = 4_000
"""The least that a run has."""
FAULTY_PART = 0.65
PHASE_MS = 600_000
REST_MS = 20 * PHASE_MS


def play(world: World, events: int) -> None:
    """All phases."""
    for host in world.hosts:
        world.push(int(world.chance() * 300), restart, host, host.life)
    world.work.begin()
    faults.begin(world, faults.KINDS)
    world.run(PHASE_MS, int(events * FAULTY_PART))
    if settle_down(world):
        shape = world.chance()
        if shape < 0.25:
            liveness.check_isolated_leader(world)
        elif shape < 0.5:
            liveness.check_healed_follower(world)
        elif shape < 0.7:
            liveness.check_partial_cut(world, is_majority_left=True)
        elif shape < 0.9:
            liveness.check_partial_cut(world, is_majority_left=False)
        restart_all(world)
    # What is left of the events is plain work, without faults; a replica that is alone has few an hour.
    world.run(world.now + REST_MS, events)


def settle_down(world: World) -> bool:
    """Faults end; wherever a majority with its data is up, everything must come to rest. False where none is."""
    stop_faults(world)
    rest = choose_resting(world)
    for host in world.hosts:
        if host.index in rest:
            world.crash(host)
            host.is_resting = True
        elif not host.up:
            world.start(host)
    # What the faults of before have still in store (the end of a pause, a crash that was decided) happens first.
    world.run(world.now + 1_600, liveness.NEVER_EVENTS)
    for host in world.hosts:
        if not host.up and not host.is_resting:
            world.start(host)
    if not finds_leader(world):
        return False
    liveness.check_progress(world)
    clients.check_logs(world, liveness.followers(world))
    liveness.check_stable(world)
    return True


def finds_leader(world: World) -> bool:
    """Whether all agree on a leader in time; False where that cannot be, since every majority lacks somebody or somebody's log.

    Kafka's quorums have this hole, too: voters whose disks are gone, or an added or removed voter that only a minority knows of. An
    operator has to restore a disk then.
    """
    try:
        liveness.check_leader(world)
    except Violation:
        resting = {host.id for host in world.hosts if not host.up}
        # Looked at when nothing moves any more: logs that were on their way at the begin have arrived.
        if is_electable(world, resting):
            raise
        world.counts["quorums that nobody can elect in"] += 1
        return False
    return True


def stop_faults(world: World) -> None:
    world.set_faults(False)
    for host in world.hosts:
        host.fuse_left = -1
        host.slow_until = 0
        host.hang_until, host.hang_fails = min(host.hang_until, world.now), False
        if host.writing is None:
            host.paused_until = min(host.paused_until, world.now + 50)
    for endpoint, host in world.moved.items():
        # Names are put right by the operators: whoever only knows an old address finds the replica there.
        world.by_endpoint.setdefault(endpoint, host)
    world.options.slow_disk_ms = 0


def choose_resting(world: World) -> set[int]:
    """Replicas that stay down, as many as any set of voters can bear; in half of the seeds none. Where voters are lost for good, as many as
    leave somebody who can be elected as the logs are now."""
    rest: set[int] = set()
    if world.chance() < 0.5:
        return rest
    hosts = list(world.hosts)
    world.random.shuffle(hosts)
    bears = is_electable_whatever_is_in_force if is_electable_whatever_is_in_force(world, set()) else is_electable
    for host in hosts:
        down = {host.id, *[world.hosts[index].id for index in rest]}
        if bears(world, down) and world.chance() < 0.6:
            rest.add(host.index)
    return rest


def restart_all(world: World) -> None:
    """Everything goes down at once and comes back from disk with all that was committed."""
    tip = world.history.tip
    for host in world.hosts:
        if host.up:
            world.crash(host)
    for host in world.hosts:
        if not host.is_resting:
            world.start(host)
    if not finds_leader(world):
        return
    leader = liveness.agreed_leader(world)
    if leader is None or not leader.log.holds(tip):
        raise Violation("L3 LeaderCompleteness", f"{leader and leader.name} leads after the restart and its log lacks {tip}")
    liveness.check_progress(world)
    clients.check_logs(world, liveness.followers(world))


CORE = Simulation("core", draw, build, play, EVENTS, BUGS)
run = CORE.run
