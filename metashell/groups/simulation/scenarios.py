"""Scenarios of a simulation: each does one thing to a group that has settled. `simulate` runs one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from metashell.groups.simulation import SCENARIO_SUMMARIES, STRATEGIES, Outcome, Plan, StrategyConfig
from metashell.groups.simulation.world import Steps, World, slot_name


def simulate(plan: Plan, scenario: Scenario) -> Outcome:
    """Run a scenario with its own settings on top of the plan's."""
    sets: dict[str, Any] = dict(scenario.sets)
    world = World(replace(plan, **sets))
    world.watch.expects_failures = scenario.expects_failures
    return world.run(scenario.name, scenario.steps, is_warm=scenario.is_warm)


class Scenario(NamedTuple):
    """A scenario. Shape: `strategies` are the initial ones if it changes them; `sets` are the fields of the plan that it needs."""

    name: str
    steps: Callable[[World], Steps]
    is_warm: bool = True
    strategies: tuple[str, ...] = ()
    sets: Mapping[str, int | bool] = MappingProxyType({})
    expects_failures: bool = False

    @property
    def summary(self) -> str:
        return SCENARIO_SUMMARIES[self.name]


# ---- members come and go


def _cold_start(world: World) -> Steps:
    world.mark(f"{world.plan.members} members start")
    yield from world.start_all(world.plan.members)


def _late_join(world: World) -> Steps:
    world.mark("all members but one start")
    yield from world.start_all(world.plan.members - 1)
    yield 10_000
    world.mark("the last member starts")
    world.start(slot_name(world.plan.members - 1))


def _join(world: World) -> Steps:
    world.mark("a member joins")
    world.start(slot_name(world.plan.members))
    yield 0


def _scale_out(world: World) -> Steps:
    more = max(world.plan.members // 2, 1)
    world.mark(f"{more} members join")
    yield from world.start_all(more, world.plan.members)


def _scale_in(world: World) -> Steps:
    fewer = world.live[::2]
    world.mark(f"{len(fewer)} members leave")
    for client in fewer:
        client.leave()
        yield world.plan.join_gap_ms


def _leave(world: World) -> Steps:
    client = world.live[-1]
    world.mark(f"{client.slot} leaves")
    client.leave()
    yield 0


def _crash(world: World) -> Steps:
    client = world.live[-1]
    world.mark(f"{client.slot} dies")
    world.kill(client)
    yield 0


def _leader_crash(world: World) -> Steps:
    """The leader dies between its join and its sync, so that all members wait for its assignment."""
    world.mark("a member joins")
    world.start(slot_name(world.plan.members))
    leader = next((client for client in world.live if getattr(client.member, "is_leader", False)), world.live[0])
    for _ in range(2_000):
        yield 2
        if getattr(leader.member, "state", "") in ("COMPLETING_REBALANCE", "JOINING"):
            break
    world.mark(f"{leader.slot} dies while the others wait for it")
    world.kill(leader)


def _bounce(world: World) -> Steps:
    """A rolling restart, one member at a time, the next when the group has settled."""
    yield from bounce(world)


def bounce(world: World, strategy: StrategyConfig | None = None) -> Steps:
    """Restart every member, with a new strategy if one is given."""
    for client in world.live:
        world.mark(f"{client.slot} restarts")
        client.leave()
        yield world.plan.away_ms
        world.kill(client)
        world.start(client.slot, strategy)
        # By then it has joined, so that the group does not look settled without it.
        yield 1_000
        yield None


def _restart_all(world: World) -> Steps:
    clients = world.live
    world.mark("all members stop")
    for client in clients:
        client.leave()
    yield world.plan.away_ms
    world.mark("all members start")
    for client in clients:
        world.kill(client)
        world.start(client.slot)
        yield world.plan.join_gap_ms


def _storm(world: World) -> Steps:
    """A member joins every two seconds. The group settles only after the last one."""
    for number in range(20):
        world.mark("a member joins")
        world.start(slot_name(world.plan.members + number))
        yield 2_000


# ---- members that are slow or silent


def _slow(world: World) -> Steps:
    """While a member joins, the first one that must revoke partitions takes long."""
    slow = [30_000]
    for client in world.live:
        client.slow = slow
    world.mark("a member joins; the first one that lets go of partitions needs 30 s for it")
    world.start(slot_name(world.plan.members))
    yield 0


def _stuck(world: World) -> Steps:
    """One member takes longer than its rebalance timeout."""
    client = world.live[0]
    client.revoke_ms = world.plan.max_poll_interval_ms + 30_000
    world.mark(f"{client.slot} needs longer than its rebalance timeout for a revocation; a member joins")
    world.start(slot_name(world.plan.members))
    yield world.plan.max_poll_interval_ms + 1_000
    client.revoke_ms = world.plan.callback_ms
    yield 30_000


def _stall(world: World) -> Steps:
    """The application of one member does not poll for longer than max.poll.interval.ms."""
    client = world.live[0]
    away_ms = world.plan.max_poll_interval_ms + 20_000
    world.mark(f"{client.slot} does not poll for {away_ms // 1000} s")
    client.stall(world.clock.now_ms + away_ms)
    yield away_ms
    world.mark(f"{client.slot} polls again")


def _pause(world: World) -> Steps:
    """The process of one member pauses for longer than its session, and then continues."""
    client = world.live[0]
    away_ms = world.plan.session_timeout_ms + 15_000
    world.mark(f"{client.slot} stops for {away_ms // 1000} s")
    client.pause(world.clock.now_ms + away_ms)
    yield away_ms
    world.mark(f"{client.slot} goes on")


def _twin(world: World) -> Steps:
    """A second process starts with the instance id of a running one."""
    before = world.live[0]
    world.mark(f"a second process starts as {before.slot}")
    world.start(before.slot)
    yield 60_000


# ---- topics


def _more_partitions(world: World) -> Steps:
    name, count = next(iter(world.plan.topic_sizes().items()))
    world.mark(f"{name} gets {count} partitions more")
    world.set_topic(name, 2 * count)
    yield 0


def _topic_deleted(world: World) -> Steps:
    name = next(iter(world.plan.topic_sizes()))
    world.mark(f"{name} is deleted")
    world.delete_topic(name)
    yield 0


# ---- the coordinator


def _failover(world: World) -> Steps:
    world.mark("the coordinator moves")
    world.move_coordinator(1_000, 500)
    yield 30_000
    world.mark("a member joins, and the coordinator moves")
    world.start(slot_name(world.plan.members))
    yield 1_500
    world.move_coordinator(1_000, 500)
    yield 0


def _coordinator_crash(world: World) -> Steps:
    world.mark("the coordinator's broker dies")
    world.crash_coordinator(4_000, 500)
    yield 30_000
    world.mark("a member joins, and the coordinator's broker dies")
    world.start(slot_name(world.plan.members))
    yield 1_500
    world.crash_coordinator(4_000, 500)
    yield 0


def _bad_network(world: World) -> Steps:
    """Connections break at random for two minutes, in which a member joins and one leaves."""
    for number in range(60):
        if number == 10:
            world.mark("a member joins")
            world.start(slot_name(world.plan.members))
        elif number == 30:
            world.mark(f"{world.live[1].slot} leaves")
            world.live[1].leave()
        live = world.live
        live[int(world.chance.random() * len(live))].lose_connection()
        yield 2_000


# ---- from one protocol to another


def _to_cooperative(world: World) -> Steps:
    """The two bounces of KIP-429: first both assignors, then only the cooperative one."""
    both = STRATEGIES["eager"]._replace(assignors=("cooperative-sticky", "range"))
    world.mark("first bounce: cooperative-sticky and range")
    yield from bounce(world, both)
    world.mark("second bounce: cooperative-sticky only")
    yield from bounce(world, STRATEGIES["cooperative"])


def _to_cooperative_at_once(world: World) -> Steps:
    """The one bounce that KIP-429 forbids: members without a common assignor."""
    client = world.live[0]
    world.mark(f"{client.slot} restarts with cooperative-sticky only")
    client.leave()
    yield world.plan.away_ms
    world.start(client.slot, STRATEGIES["cooperative"])
    yield 10_000


def _to_consumer(world: World) -> Steps:
    """From the classic protocol to the consumer protocol, by one bounce (KIP-848)."""
    yield from bounce(world, STRATEGIES["consumer"])


def _to_classic(world: World) -> Steps:
    """From the consumer protocol to the classic protocol, by one bounce."""
    yield from bounce(world, STRATEGIES["cooperative"])


def _streams_upgrade(world: World) -> Steps:
    """Version probing: new members send versions that old ones understand, and raise them after the last bounce (KIP-268)."""
    world.mark("first bounce: release 3.9 with upgrade.from=2.0")
    yield from bounce(world, STRATEGIES["streams"]._replace(assignors=("stream:3.9:2.0",)))
    world.mark("second bounce: release 3.9")
    yield from bounce(world, STRATEGIES["streams"]._replace(assignors=("stream:3.9",)))


_SHORT: Final = MappingProxyType({"max_poll_interval_ms": 60_000})
_STATIC: Final = MappingProxyType({"is_static": True})
SCENARIOS: Final = {
    one.name: one
    for one in (
        Scenario("cold-start", _cold_start, is_warm=False),
        Scenario("late-join", _late_join, is_warm=False),
        Scenario("join", _join),
        Scenario("leave", _leave),
        Scenario("scale-out", _scale_out),
        Scenario("scale-in", _scale_in),
        Scenario("crash", _crash),
        Scenario("leader-crash", _leader_crash, sets=_SHORT),
        Scenario("bounce", _bounce),
        Scenario("static-bounce", _bounce, sets=_STATIC),
        Scenario("restart-all", _restart_all),
        Scenario("storm", _storm),
        Scenario("slow-member", _slow),
        Scenario("stuck-member", _stuck, sets=_SHORT),
        Scenario("no-poll", _stall, sets=_SHORT),
        Scenario("pause", _pause),
        Scenario("twin", _twin, sets=_STATIC, expects_failures=True),
        Scenario("more-partitions", _more_partitions),
        Scenario("topic-deleted", _topic_deleted, sets=_SHORT),
        Scenario("failover", _failover),
        Scenario("coordinator-crash", _coordinator_crash),
        Scenario("bad-network", _bad_network),
        Scenario("to-cooperative", _to_cooperative, strategies=("eager",)),
        Scenario("to-cooperative-at-once", _to_cooperative_at_once, strategies=("eager",), expects_failures=True),
        Scenario("to-consumer", _to_consumer, strategies=("eager", "cooperative")),
        Scenario("to-classic", _to_classic, strategies=("consumer",)),
        Scenario("streams-upgrade", _streams_upgrade, strategies=("streams-2.0",)),
    )
}
assert list(SCENARIOS) == list(SCENARIO_SUMMARIES)
