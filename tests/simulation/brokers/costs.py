"""What it costs and buys that brokers fence themselves, as KIP-343 wanted: the same failures with Kafka of today and with a lease.

Each failure happens to the same cluster, with Kafka's default times and the same seeds; only `lease_ms` differs. Four clients write and
read six partitions, each every 200 ms. All figures are of the simulated clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

from tests.simulation.brokers.broker import Broker
from tests.simulation.brokers.cluster import Cluster, links_of
from tests.simulation.brokers.options import Options

LEASE_MS: Final = 6_000
"""Below the session (9 s) by more than a deposed controller can go on answering (`lease_ms` in docs/seeds.md)."""
SEEDS: Final = range(1, 4)
FAILURE_MS: Final = 20_000
AFTER_MS: Final = 12_000


def options_of(seed: int, lease_ms: int) -> Options:
    """Kafka's defaults, and a cluster without other faults."""
    return Options(
        seed=seed,
        lease_ms=lease_ms,
        partitions=3,
        session_timeout_ms=9_000,
        heartbeat_interval_ms=2_000,
        lag_ms=30_000,
        request_timeout_ms=2_000,
        rebalance_s=300,
        fetch_every=60,
        produce_every=200,
        acks_all_part=0.5,
    )


def leader_alone(cluster: Cluster, victim: Broker, what: str) -> None:
    cluster.world.cut(links_of(cluster, victim, what), FAILURE_MS)


def cut_from_controllers(cluster: Cluster, victim: Broker) -> None:
    """A leader is cut off from the controllers."""
    leader_alone(cluster, victim, "controllers")


def cut_from_controllers_and_brokers(cluster: Cluster, victim: Broker) -> None:
    """A leader is cut off from controllers and brokers, and not from clients."""
    leader_alone(cluster, victim, "controllers brokers")


def cut_from_all(cluster: Cluster, victim: Broker) -> None:
    """A leader is cut off from everybody."""
    leader_alone(cluster, victim, "all")


def cut_from_controllers_for_a_moment(cluster: Cluster, victim: Broker) -> None:
    """A leader is cut off from the controllers for 7 s, less than a session."""
    cluster.world.cut(links_of(cluster, victim, "controllers"), 7_000)


def stands_still(cluster: Cluster, victim: Broker) -> None:
    """A leader stands still for 12 s."""
    victim.paused_until = cluster.world.now + 12_000


def dies(cluster: Cluster, victim: Broker) -> None:
    """A leader dies, and is back after 20 s."""
    victim.die(power=False)
    cluster.world.at(FAILURE_MS, victim.come_back)


def leaves(cluster: Cluster, victim: Broker) -> None:
    """A leader is shut down in order, and is back after some seconds."""
    victim.leave()


def no_controller(cluster: Cluster, victim: Broker) -> None:
    """No controller leads for 20 s."""
    cluster.quorum.depose()
    cluster.world.at(FAILURE_MS, cluster.elect_controller)


def another_controller(cluster: Cluster, victim: Broker) -> None:
    """Another controller leads after 2 s."""
    cluster.quorum.depose()
    cluster.world.at(2_000, cluster.elect_controller)


FAILURES: Final[tuple[Callable[[Cluster, Broker], None], ...]] = (
    cut_from_controllers,
    cut_from_controllers_and_brokers,
    cut_from_all,
    cut_from_controllers_for_a_moment,
    stands_still,
    dies,
    leaves,
    another_controller,
    no_controller,
)


class Cost(NamedTuple):
    """One row: a failure, with a lease or without.

    Units: seconds are summed over partitions and divided by the seeds; the counts are of all seeds.
    """

    failure: str
    lease_ms: int
    unwritable_s: float
    unreadable_s: float
    stale_reads: int
    stale_writes: int
    lost_writes: int
    lost_acks_all: int


def measure(failure: Callable[[Cluster, Broker], None], lease_ms: int) -> Cost:
    """Let a failure happen in every seed. Errors: Violation, where a rule is broken by it."""
    counts: Counter[str] = Counter()
    unwritable = unreadable = 0
    for seed in SEEDS:
        cluster = Cluster(options_of(seed, lease_ms))
        cluster.begin()
        world = cluster.world
        world.run(10_000)
        partition = cluster.quorum.image.topics.by_name["t0"].partitions[0]
        world.counts.clear()
        cluster.times.forget()
        failure(cluster, cluster.brokers[partition.leader])
        world.run(world.now + FAILURE_MS + AFTER_MS)
        cluster.stop_writing()
        world.run(world.now + 35_000)
        cluster.checks.at_rest()
        if world.violation is not None:
            raise world.violation
        counts += world.counts
        unwritable += cluster.times.unwritable_ms
        unreadable += cluster.times.unreadable_ms
    seconds = 1_000 * len(SEEDS)
    return Cost(
        (failure.__doc__ or "").rstrip("."),
        lease_ms,
        round(unwritable / seconds, 1),
        round(unreadable / seconds, 1),
        counts["stale reads"],
        counts["stale writes"],
        counts["acks=1 writes that were lost"],
        counts["acks=all writes that were lost"],
    )


HEAD: Final = ("failure", "brokers", "not writable", "not readable", "stale reads", "stale writes", "lost, acks=1", "lost, acks=all")


def rows() -> list[Cost]:
    return [measure(failure, lease_ms) for failure in FAILURES for lease_ms in (0, LEASE_MS)]


def table(costs: list[Cost]) -> str:
    """The rows as a table of Markdown."""
    lines = ["| " + " | ".join(HEAD) + " |", "| --- | --- |" + " ---: |" * (len(HEAD) - 2)]
    for cost in costs:
        brokers = f"lease of {cost.lease_ms // 1_000} s" if cost.lease_ms else "today's"
        failure = "" if cost.lease_ms else cost.failure
        figures = (f"{cost.unwritable_s} s", f"{cost.unreadable_s} s", *map(str, cost[4:]))
        lines.append(f"| {failure} | {brokers} | " + " | ".join(figures) + " |")
    return "\n".join(lines) + "\n"
