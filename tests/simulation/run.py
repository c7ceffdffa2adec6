"""One seed from its first event to its last: faults, healing, a restart of everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.simulation import faults
from tests.simulation.checkers import liveness
from tests.simulation.faults import is_gone, voter_sets
from tests.simulation.history import Key
from tests.simulation.options import Options, draw
from tests.simulation.quorum import build
from tests.simulation.violation import Violation
from tests.simulation.world import World, restart

if TYPE_CHECKING:
    from tests.simulation.trace import Trace

EVENTS = 4_000
"""The least that a run has."""
FAULTY_PART = 0.65
PHASE_MS = 600_000
REST_MS = 20 * PHASE_MS


@dataclass(slots=True)
class Result:
    """What a run came to; `violation` is None where all rules held."""

    seed: int
    events: int
    ms: int
    counts: Counter[str]
    violation: Violation | None
    options: Options


def run(
    seed: int, *, without: Iterable[str] = (), events: int = EVENTS, trace: Trace | None = None, options: Options | None = None
) -> Result:
    """Run a seed. `without` names options that are to have their plain value; what a rule finds ends the run."""
    options = (options or draw(seed)).without(without)
    world = build(options, trace)
    violation = None
    try:
        play(world, events)
    except Violation as found:
        violation = found
    except (AssertionError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        if trace is not None and trace.is_verbose:
            raise
        violation = Violation("an exception left the core", f"{error.__class__.__name__}: {error}{place(error)}")
    finally:
        world.close()
    if trace is not None:
        trace.end(world, violation)
    return Result(seed, world.events, world.now, world.counts, violation, options)


def place(error: BaseException) -> str:
    """Where an error was raised."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return "" if step is None else f" ({step.tb_frame.f_code.co_filename.rpartition('/')[2]}:{step.tb_lineno})"


def play(world: World, events: int) -> None:
    """All phases."""
    for host in world.hosts:
        world.push(int(world.chance() * 300), restart, host, host.life)
    world.work.begin()
    faults.begin(world)
    world.run(PHASE_MS, int(events * FAULTY_PART))
    if settle_down(world):
        shape = world.chance()
        if shape < 0.35:
            liveness.check_isolated_leader(world)
        elif shape < 0.6:
            liveness.check_healed_follower(world)
        restart_all(world)
    # What is left of the events is plain work, without faults; a replica that is alone has few an hour.
    world.run(world.now + REST_MS, events)


def settle_down(world: World) -> bool:
    """Faults end; with a majority of every set of voters up and connected, everything must come to rest. False where no majority can."""
    stop_faults(world)
    if not is_electable(world, set()):
        # Kafka's quorums have this hole, too (`is_gone`): an operator has to restore a disk.
        world.counts["removals that nobody can finish"] += 1
        return False
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
    liveness.check_leader(world)
    liveness.check_progress(world)
    liveness.check_stable(world)
    return True


def is_electable(world: World, down: set[int]) -> bool:
    """Whether a majority of every set that may be in force is up and may stand, with the replicas of those ids down."""

    def is_lost(voters: frozenset[Key]) -> bool:
        return sum(is_gone(world, key) or key[0] in down for key in voters) > (len(voters) - 1) // 2

    return not any(is_lost(voters) for voters in voter_sets(world))


def stop_faults(world: World) -> None:
    world.set_faults(False)
    for host in world.hosts:
        host.fuse_left = -1
        host.slow_until = 0
        if host.writing is None:
            host.paused_until = min(host.paused_until, world.now + 50)
    for endpoint, host in world.moved.items():
        # Names are put right by the operators: whoever only knows an old address finds the replica there.
        world.by_endpoint.setdefault(endpoint, host)
    world.options.slow_disk_ms = 0


def choose_resting(world: World) -> set[int]:
    """Replicas that stay down, as many as any set of voters can bear; in half of the seeds none."""
    rest: set[int] = set()
    if world.chance() < 0.5:
        return rest
    hosts = list(world.hosts)
    world.random.shuffle(hosts)
    for host in hosts:
        down = {host.id, *[world.hosts[index].id for index in rest]}
        if is_electable(world, down) and world.chance() < 0.6:
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
    leader = liveness.check_leader(world)
    if not leader.log.holds(tip):
        raise Violation("L3 LeaderCompleteness", f"{leader.name} leads after the restart and its log lacks {tip}")
    liveness.check_progress(world)
