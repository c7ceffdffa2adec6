"""A scenario from a seed: members come, go, die, stop and are slow, connections break, topics change, the coordinator moves and crashes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from metashell.groups.simulation import STRATEGIES, Outcome, Plan, StrategyConfig
from metashell.groups.simulation.world import Steps, World

MEMBERS_MAX = 9
KINDS = {
    **{name: (strategy,) for name, strategy in STRATEGIES.items()},
    # Members of several kinds in one group, all of which can live together.
    "upgrading": (STRATEGIES["eager"]._replace(assignors=("cooperative-sticky", "range")), STRATEGIES["cooperative"]),
    "mixed": (STRATEGIES["cooperative"], STRATEGIES["consumer"]),
    "mixed-eager": (STRATEGIES["eager"], STRATEGIES["consumer"]),
}
"""By name: the strategies that members have, the first of all at the beginning."""


def run(kind: str, seed: int, steps: int = 25) -> Outcome:
    """Play one seed."""
    chance = Random(f"{kind} {seed}")
    plan = Plan(
        strategy=KINDS[kind][0],
        members=chance.randint(1, 5),
        partitions=chance.randint(1, 24),
        topics=chance.randint(1, 3),
        seed=seed,
        is_static=chance.random() < 0.25,
        max_poll_interval_ms=chance.choice((20_000, 60_000)),
        session_timeout_ms=chance.choice((10_000, 45_000)),
        callback_ms=chance.choice((0, 20, 1_000)),
        away_ms=chance.choice((100, 2_000, 15_000)),
        latency_ms=chance.choice(((1, 1), (1, 4), (1, 80))),
        patience_ms=600_000,
    )
    world = World(plan)
    # A static member that is started twice fences the other; nothing else may fail.
    world.watch.expects_failures = plan.is_static
    return world.run(f"{kind} seed {seed}", lambda world: _steps(world, chance, KINDS[kind], steps))


def _steps(world: World, chance: Random, strategies: tuple[StrategyConfig, ...], count: int) -> Steps:
    for _ in range(count):
        deed = chance.choice(DEEDS) if world.live else _come_back
        world.mark(deed.__name__.strip("_"))
        deed(world, chance, strategies)
        yield chance.choice((0, 50, 700, 3_000, 8_000, 30_000))
    for client in world.live:
        client.revoke_ms = world.plan.callback_ms
    if world.plan.is_static:
        # A static leader of ours that comes back takes the topics that it sees for those of its assignment, as we read KIP-814: what grew
        # while it was away waits for a rebalance (`test_a_static_leader_does_not_see_what_grew_while_it_was_away`). No real client was
        # watched at this.
        yield world.plan.metadata_ms
        for client in world.live:
            client.enforce_rebalance("new partitions")


def _join(world: World, chance: Random, strategies: tuple[StrategyConfig, ...]) -> None:
    if len(world.live) < MEMBERS_MAX:
        world.start(f"member-{len(world.clients) + 1}", _strategy(world, chance, strategies))


def _strategy(world: World, chance: Random, strategies: tuple[StrategyConfig, ...]) -> StrategyConfig:
    """How the next member does it. An upgrade within a rebalance of a classic group takes what members own for what the group gave them
    last, and so gives partitions to two of them, as in Kafka: `test_an_upgrade_within_a_rebalance`.
    """
    strategy = chance.choice(strategies)
    return strategy if not strategy.is_consumer or world.is_consumer_group or world.is_settled else strategies[0]


def _leave(world: World, chance: Random, strategies: tuple[StrategyConfig, ...]) -> None:
    if len(world.live) > 1:
        chance.choice(world.live).leave()


def _die(world: World, chance: Random, strategies: tuple[StrategyConfig, ...]) -> None:
    if len(world.live) > 1:
        world.kill(chance.choice(world.live))


def _come_back(world: World, chance: Random, strategies: tuple[StrategyConfig, ...]) -> None:
    gone = [slot for slot, client in world.clients.items() if not client.is_alive]
    if gone and len(world.live) < MEMBERS_MAX:
        world.start(chance.choice(gone), _strategy(world, chance, strategies))


def _pause(world: World, chance: Random, strategies: tuple[StrategyConfig, ...]) -> None:
    chance.choice(world.live).pause(world.clock.now_ms + chance.choice((500, 5_000, 70_000)))


def _stall(world: World, chance: Random, strategies: tuple[StrategyConfig, ...]) -> None:
    chance.choice(world.live).stall(world.clock.now_ms + chance.choice((500, 5_000, 100_000)))


def _slow_down(world: World, chance: Random, strategies: tuple[StrategyConfig, ...]) -> None:
    chance.choice(world.live).revoke_ms = chance.choice((500, 5_000, 90_000))


def _lose_connection(world: World, chance: Random, strategies: tuple[StrategyConfig, ...]) -> None:
    chance.choice(world.live).lose_connection()


def _grow_topic(world: World, chance: Random, strategies: tuple[StrategyConfig, ...]) -> None:
    world.set_topic("topic-1", world.plan.topic_sizes()["topic-1"] + chance.randint(1, 3) + 3 * len(world.watch.marks))


def _rejoin(world: World, chance: Random, strategies: tuple[StrategyConfig, ...]) -> None:
    chance.choice(world.live).enforce_rebalance("chaos")


def _move(world: World, chance: Random, strategies: tuple[StrategyConfig, ...]) -> None:
    world.move_coordinator(chance.choice((10, 1_000)), chance.choice((0, 500)))


def _crash(world: World, chance: Random, strategies: tuple[StrategyConfig, ...]) -> None:
    world.crash_coordinator(chance.choice((10, 4_000)), chance.choice((0, 500)))


DEEDS: tuple[Callable[[World, Random, tuple[StrategyConfig, ...]], None], ...] = (
    *(_join, _join, _leave, _die, _come_back, _come_back),
    *(_pause, _stall, _slow_down, _lose_connection, _lose_connection),
    *(_grow_topic, _rejoin, _move, _crash),
)
