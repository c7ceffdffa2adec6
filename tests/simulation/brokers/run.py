"""One seed from its first event to its last: brokers come, things fail, everything heals."""

from __future__ import annotations

from collections.abc import Iterable

from tests.simulation.brokers import mended
from tests.simulation.brokers.cluster import Cluster
from tests.simulation.brokers.options import RUN_MS, Options, draw
from tests.simulation.planted import patched
from tests.simulation.run import Result, place
from tests.simulation.trace import Trace
from tests.simulation.violation import Violation

RAISED = "an exception left the core"


def run(
    seed: int,
    *,
    options: Options | None = None,
    without: Iterable[str] = (),
    events: int = 0,
    profile: str | None = None,
    trace: Trace | None = None,
    is_black_box: bool = False,
    run_ms: int = RUN_MS,
    stop_ms: int = 0,
) -> Result[Options]:
    """Run a seed; what a rule finds ends it. `is_black_box`: nobody looks into the controllers; `stop_ms` ends it early.

    `events` and `profile` are those of the other simulations; here a run goes by time, and there are no profiles.
    """
    options = (options or draw(seed)).without(without)
    cluster = Cluster(options, trace)
    cluster.checks.is_black_box = is_black_box
    world = cluster.world
    try:
        if stop_ms:
            world.at(stop_ms, _stop)
        with patched(mended.mends()):
            play(cluster, run_ms)
    except _Stopped:
        pass
    except Violation:
        pass
    except (AssertionError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        if trace is not None and trace.is_verbose:
            raise
        world.violation = Violation(RAISED, f"{error.__class__.__name__}: {error}{place(error)}")
    if trace is not None:
        trace.end(world, world.violation)  # type: ignore[arg-type]
    return Result(seed, world.events, world.now, world.counts, world.violation, options)


class _Stopped(Exception):
    """The run has gone on for long enough."""


def _stop() -> None:
    raise _Stopped


def play(cluster: Cluster, run_ms: int) -> None:
    """All phases."""
    world = cluster.world
    cluster.begin()
    cluster.trouble()
    world.run(run_ms)
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
