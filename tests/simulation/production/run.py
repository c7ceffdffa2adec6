"""One seed of the production worlds from its first event to its last: faults, healing, a restart of everything, and what is left then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.checkers import liveness
from tests.simulation.faults import begin
from tests.simulation.harness import Simulation
from tests.simulation.production.clients import Clients
from tests.simulation.production.faults import KINDS
from tests.simulation.production.loop import system
from tests.simulation.production.options import ProductionOptions, draw
from tests.simulation.production.planted import BUGS
from tests.simulation.production.world import ProductionHost, ProductionWorld
from tests.simulation.quorum import fill, first_history
from tests.simulation.run import FAULTY_PART, PHASE_MS, settle_down, stop_faults
from tests.simulation.violation import Violation
from tests.simulation.world import restart

if TYPE_CHECKING:
    from tests.simulation.trace import Trace

EVENTS = 6_000
"""The least that a run has."""
RULE = "V9 MachinesCatchUp"


def build(options: ProductionOptions, trace: Trace | None = None) -> ProductionWorld:
    """A world in which all replicas are about to start."""
    world = ProductionWorld(options, first_history(options), trace)
    world.work = Clients(world)
    fill(world)
    return world


def play(world: ProductionWorld, events: int) -> None:
    """All phases."""
    for host in world.hosts:
        world.push(int(world.chance() * 300), restart, host, host.life)
    world.work.begin()
    begin(world, KINDS)
    world.run(PHASE_MS, int(events * FAULTY_PART))
    if world.is_undecodable:
        check_all_stopped(world)
        return
    wait_for_damaged(world)
    if settle_down(world):
        wait_for_machines(world)
        shape = world.chance()
        if shape < 0.35:
            liveness.check_isolated_leader(world)
        elif shape < 0.6:
            liveness.check_healed_follower(world)
        restart_all(world)
        world.work.check_alive()
        check_what_is_left(world)
    world.run(world.now + 20 * PHASE_MS, events)


def wait_for_damaged(world: ProductionWorld) -> None:
    """A replica that lost a part of its log gets it back from the others, and then has its vote again (V9)."""
    if not any(host.log.is_rotten for host in world.hosts):
        return
    stop_faults(world)
    for host in world.hosts:
        if host.process is None:
            world.start(host)
    liveness.wait(world, RULE, liveness.bound_ms(world), lambda: all(host.up for host in world.hosts), "that all have recovered")
    leader = liveness.check_leader(world)
    lost = [host.log.recovering for host in world.hosts if host.log.recovering is not None]
    if any(found.until_offset is None for found in lost):
        # Nothing tells how far that log went: only what a later leader wrote shows that all before is there.
        world.kill(leader, False)
    world.work.is_writing = True
    limit = 2 * liveness.bound_ms(world)
    liveness.wait(world, RULE, limit, lambda: not any(host.log.is_rotten for host in world.hosts), "that a damaged log is whole again")


def restart_all(world: ProductionWorld) -> None:
    """Everything goes down at once and comes back from disk with all that was committed."""
    tip = world.history.tip
    for host in world.hosts:
        world.crash(host)
    starting = [host for host in world.hosts if not host.is_resting]
    for host in starting:
        world.start(host)
    liveness.wait(world, RULE, liveness.bound_ms(world), lambda: all(host.up for host in starting), "that all have recovered")
    leader = liveness.check_leader(world)
    if not leader.log.holds(tip):
        raise Violation("L3 LeaderCompleteness", f"{leader.name} leads after the restart and its log lacks {tip}")
    liveness.check_progress(world)


def check_what_is_left(world: ProductionWorld) -> None:
    """Logs, images and clients agree on what is committed."""
    for host in wait_for_machines(world):
        assert host.process is not None
        image = host.process.machine.image
        world.images.check(host.name, image, host.process.machine.end, always=True)
        world.work.check_logs(host)
        world.work.check_image(host, image)


def wait_for_machines(world: ProductionWorld) -> list[ProductionHost]:
    """All applications that run are given everything, whatever they were woken for before (V9)."""
    world.work.is_writing = False
    running = [host for host in world.hosts if host.up]
    liveness.wait(world, RULE, liveness.bound_ms(world), lambda: all(map(is_caught_up, running)), "that all machines have everything")
    world.work.is_writing = True
    return running


def is_caught_up(host: ProductionHost) -> bool:
    return host.process is not None and host.process.machine.end == host.log.end_offset == host.high_watermark


def check_all_stopped(world: ProductionWorld) -> None:
    """Nobody goes on behind a committed record that cannot be decoded."""
    world.set_faults(False)
    world.run(world.now + liveness.bound_ms(world), 1 << 60)


PRODUCTION = Simulation("production", draw, build, play, EVENTS, BUGS, lambda world: system())
run = PRODUCTION.run
