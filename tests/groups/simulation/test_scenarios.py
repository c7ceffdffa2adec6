"""Every scenario keeps every rule with every strategy, and costs what its protocol implies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from metashell.groups.simulation import STRATEGIES, Outcome, Plan
from metashell.groups.simulation.scenarios import SCENARIOS, bounce, simulate
from metashell.groups.simulation.world import Steps, World, slot_name

COMPARED = ("eager", "cooperative", "consumer")


def plan(strategy: str, **more: int) -> Plan:
    return replace(Plan(strategy=STRATEGIES[strategy], members=4, partitions=24), **more)


def played(strategy: str, scenario: str, **more: int) -> Outcome:
    outcome = simulate(plan(strategy, **more), SCENARIOS[scenario])
    assert not outcome.violations
    return outcome


@pytest.mark.parametrize(
    ("scenario", "strategy"),
    [(name, strategy) for name, scenario in SCENARIOS.items() for strategy in scenario.strategies or COMPARED],
)
def test_every_rule_holds(scenario: str, strategy: str) -> None:
    outcome = played(strategy, scenario)
    assert outcome.settled_ms is not None
    assert sum(count for _, count in outcome.final) == {"more-partitions": 30, "topic-deleted": 18}.get(scenario, 24)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_survives_a_rolling_restart(strategy: str) -> None:
    assert played(strategy, "bounce").figures.rounds > 0


def test_a_deleted_topic_holds_up_classic_members_only() -> None:
    """Real consumers of 4.4.0, max.poll.interval.ms 60 s: classic ones try the last commit again all that time."""
    slow, quick = (played(name, "topic-deleted").settled_ms for name in ("eager", "consumer"))
    assert slow is not None and quick is not None
    assert quick < 12_000 < 60_000 < slow


# ---- what the seeds argue


def test_cooperative_members_keep_what_does_not_move() -> None:
    """KIP-429: one join at 30 members."""
    eager, cooperative = (played(name, "join", members=30, partitions=310).figures for name in ("eager-sticky", "cooperative"))
    assert (eager.rounds, cooperative.rounds) == (1, 2)
    assert eager.moved == cooperative.moved == 10
    assert (eager.given_back, cooperative.given_back) == (300, 0)
    assert eager.unowned_partition_ms > 5 * cooperative.unowned_partition_ms


def test_a_consumer_group_waits_for_the_one_that_has_to_give() -> None:
    """KIP-848: while one member is slow, the others go on; in the classic protocol all wait for it."""
    eager, cooperative, consumer = (played(name, "slow-member").figures for name in COMPARED)
    assert eager.unowned_partition_ms > 10 * 30_000 > cooperative.unowned_partition_ms > 3 * consumer.unowned_partition_ms


def test_a_cold_start_is_one_generation_and_a_late_member_makes_another() -> None:
    """The delay of the first rebalance is extended once: two times 3 s for members that come within it."""
    cold = played("eager", "cold-start", members=3)
    assert [one.member_count for one in cold.rounds] == [3]
    assert 6_000 <= cold.rounds[0].at_ms < 6_200
    assert [one.member_count for one in played("eager", "late-join", members=3).rounds] == [2, 3]


@pytest.mark.parametrize("strategy", COMPARED)
def test_a_static_member_that_restarts_within_its_session_costs_no_rebalance(strategy: str) -> None:
    figures = played(strategy, "static-bounce").figures
    assert (figures.rounds, figures.moved) == (0, 0)
    assert played(strategy, "bounce").figures.moved > 0


def test_of_two_processes_with_one_instance_id_one_is_fenced() -> None:
    outcome = played("cooperative", "twin")
    assert len(outcome.failures) == 1
    assert len(outcome.final) == 4


def test_a_dead_leader_holds_everybody_up_until_its_session_ends() -> None:
    outcome = played("eager", "leader-crash")
    assert 40_000 < outcome.figures.gap_max_ms < 50_000


def test_the_coordinator_gives_up_who_does_not_revoke_in_time() -> None:
    """The rebalance timer of a consumer group fences the slow one, and its partitions go to others."""
    figures = played("consumer", "stuck-member").figures
    assert figures.lost > 0
    assert figures.zombies > 0


def test_while_members_keep_joining_an_eager_group_has_no_peace() -> None:
    figures = played("eager", "storm").figures
    assert figures.rounds >= 10
    assert figures.given_back > 100


@pytest.mark.parametrize("strategy", COMPARED)
def test_more_members_than_partitions_are_without_work_and_that_is_no_negative_time(strategy: str) -> None:
    figures = played(strategy, "storm", partitions=8).figures
    assert figures.idle_member_ms > 0


def test_a_process_that_was_away_too_long_commits_nothing() -> None:
    figures = played("eager", "pause").figures
    assert figures.zombies > 0
    assert figures.refused_commits > 0


# ---- upgrades


def test_two_bounces_lead_from_eager_to_cooperative() -> None:
    world = World(plan("eager"))
    world.run("upgrade", SCENARIOS["to-cooperative"].steps)
    assert not world.watch.violations
    assert all(client.is_incremental for client in world.live)


def test_one_bounce_with_the_new_assignor_alone_fails() -> None:
    outcome = played("eager", "to-cooperative-at-once")
    assert len(outcome.failures) == 1
    assert len(outcome.final) == 3


@pytest.mark.parametrize("before", ["eager", "cooperative"])
def test_one_bounce_leads_to_the_consumer_protocol_and_one_back(before: str) -> None:
    kinds = []

    def there_and_back(world: World) -> Steps:
        for strategy in (STRATEGIES["consumer"], STRATEGIES[before]):
            yield from bounce(world, strategy)
            kinds.append(world.is_consumer_group)

    world = World(plan(before))
    world.run("there and back", there_and_back)
    assert not world.watch.violations
    assert kinds == [True, False]


@pytest.mark.parametrize("seed", range(6))
def test_streams_goes_from_version_3_to_11_in_any_order_of_members(seed: int) -> None:
    """Nobody uses 11 before everybody can read it: the first bounce ends at what all know, the last member of it lets all go up."""
    world = World(replace(plan("streams-2.0", members=3), seed=seed))
    order = world.chance.sample(range(3), 3)
    used: list[set[int]] = []

    def steps(world: World) -> Steps:
        for release in ("stream:3.9:2.0", "stream:3.9"):
            for number in order:
                client = world.clients[slot_name(number)]
                client.leave()
                yield 5_000
                world.start(client.slot, STRATEGIES["streams"]._replace(assignors=(release,)))
                yield 5_000
                yield None
                used.append({client.member.strategies[0].used for client in world.live})

    world.run("order", steps)
    assert not world.watch.violations
    assert used == [{3}, {3}, {11}, {11}, {11}, {11}]


# ---- holes of Kafka, which a real one has too


def test_an_upgrade_within_a_rebalance_gives_partitions_to_two_members() -> None:
    """A hole of Kafka's online upgrade, which a real 4.3.1 has too: what members own is taken to be what the group gave them last, and a
    round that was broken off has cleared that. The records are right by themselves, but members have not given up what others get."""

    def steps(world: World) -> Steps:
        group = world.node.coordinator.state.groups["group"]
        world.start("more")
        while group.state_name() != "CompletingRebalance":
            yield 1
        # The leader's assignment does not come, and the next one that joins breaks the round off.
        for client in world.live:
            client.pause(world.clock.now_ms + 10_000)
        world.start("another")
        while group.state_name() != "PreparingRebalance":
            yield 1
        world.start("modern", STRATEGIES["consumer"])
        yield 0

    world = World(replace(plan("cooperative"), latency_ms=(5, 9)))
    outcome = world.run("upgrade", steps)
    assert {violation.rule for violation in outcome.violations} == {"owners"}


def test_a_static_leader_does_not_see_what_grew_while_it_was_away() -> None:
    """The coordinator says that the assignment stands (KIP-814), and the leader takes the topics that it sees now for those it was made
    from: nobody reads the new partitions before the next rebalance."""

    def steps(world: World) -> Steps:
        leader = next(client for client in world.live if getattr(client.member, "is_leader", False))
        world.kill(leader)
        yield 1_000
        world.set_topic("topic-1", 12)
        yield 5_000
        world.start(leader.slot)
        yield 0

    world = World(replace(plan("eager", patience_ms=200_000), is_static=True))
    outcome = world.run("static leader", steps)
    assert [violation.rule for violation in outcome.violations] == ["settles"]
    assert len(world.watch.ledger.without) == 6


# ---- the simulation itself


def test_a_seed_gives_the_same_outcome_again_and_another_one_another() -> None:
    first, again, other = (simulate(plan("cooperative", seed=seed), SCENARIOS["bounce"]) for seed in (1, 1, 2))
    assert first == again
    assert first != other
