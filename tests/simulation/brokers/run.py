"""One seed from its first event to its last: brokers come, things fail, everything heals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.brokers import mended
from tests.simulation.brokers.cluster import Cluster
from tests.simulation.brokers.options import RUN_MS, Options, draw
from tests.simulation.brokers.planted import BUGS
from tests.simulation.brokers.world import World
from tests.simulation.harness import Simulation

if TYPE_CHECKING:
    from tests.simulation.trace import Trace


def build(options: Options, trace: Trace | None = None) -> World:
    """A world in which everything is about to start."""
    return Cluster(options, trace).world


def play(world: World, events: int) -> None:
    """All phases."""
    cluster = world.cluster
    cluster.begin()
    cluster.trouble()
    world.run(RUN_MS)
    cluster.heal()
    # Whoever was let go comes back late; then sessions of former lives end, and everybody catches up.
    world.run(world.now + 4 * cluster.options.session_timeout_ms + 6 * cluster.options.down_ms)
    for broker in cluster.brokers.values():
        broker.come_back()
    world.run(world.now + 6 * cluster.options.session_timeout_ms)
    cluster.stop_writing()
    world.run(world.now + 2 * cluster.options.session_timeout_ms + 2 * cluster.options.lag_ms)
    cluster.checks.at_rest()
    if world.violation is not None:
        raise world.violation


BROKERS = Simulation("brokers", draw, build, play, 0, BUGS, lambda world: mended.mends())
run = BROKERS.run
