"""What a seed decides before its first event."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from tests.simulation.plan import Plan


@dataclass(slots=True, kw_only=True)
class Options(Plan):
    """The cluster, its clients, and how much goes wrong.

    Shape: the defaults are a cluster without faults. `..._every` is the mean time between two faults of a kind, 0 for none.
    A hasty broker does not ask to be fenced while it starts.
    `lease_ms` is the time without an answered heartbeat after which a broker serves nobody, as KIP-343 wants it; 0 is Kafka of today, where
    brokers never fence themselves.
    Units: milliseconds of the simulated clock.
    """

    brokers: int = 4
    controllers: int = 3
    topics: int = 2
    partitions: int = 3
    replication: int = 3
    min_isr: int = 2
    has_elr: bool = True
    allows_unclean: bool = False
    producers: int = 2
    consumers: int = 2
    produce_every: int = 60
    acks_all_part: float = 0.7
    session_timeout_ms: int = 1_800
    heartbeat_interval_ms: int = 400
    lag_ms: int = 1_200
    fetch_every: int = 40
    request_timeout_ms: int = 700
    idle_ms: int = 500
    rebalance_s: int = 5
    lease_ms: int = 0
    latency_ms: int = 4
    slow_part: float = 0.0
    commit_ms: int = 6
    flush_every: int = 300
    cut_every: int = 0
    cut_ms: int = 2_500
    crash_every: int = 0
    power_part: float = 0.0
    down_ms: int = 2_000
    leave_every: int = 0
    pause_every: int = 0
    pause_ms: int = 2_500
    rest_every: int = 0
    failover_every: int = 0
    failover_ms: int = 600
    hasty_part: float = 0.0
    overload_part: float = 0.0
    operator_every: int = 0
    unregister_part: float = 0.0
    is_black_box: bool = False
    """Whether only what brokers and clients see is held against the rules, and nobody looks into the controllers."""


RUN_MS: Final = 25_000
"""How long faults happen in a run."""


def draw(seed: int, profile: str | None = None) -> Options:
    """The options of a seed: every kind of fault is in some seeds, and none in all; there are no profiles."""
    chance = Random(seed)

    def often(low: int, high: int, part: float = 0.7) -> int:
        drawn, wanted = chance.randrange(low, high), chance.random() < part
        return drawn if wanted else 0

    has_elr = chance.random() < 0.75
    return Options(
        seed=seed,
        brokers=chance.choice((3, 4, 4, 5)),
        partitions=chance.choice((1, 2, 4)),
        min_isr=chance.choice((1, 2, 2, 2, 3)),
        has_elr=has_elr,
        allows_unclean=chance.random() < 0.1,
        lease_ms=chance.choice((0, 0, 1_000, 1_200)),
        latency_ms=chance.choice((2, 5, 30)),
        slow_part=chance.choice((0.0, 0.0, 0.02)),
        cut_every=often(800, 4_000, 0.8),
        cut_ms=chance.choice((600, 2_500, 5_000)),
        crash_every=often(1_500, 8_000),
        power_part=chance.choice((0.0, 0.4, 0.8)) if has_elr else 0.0,
        down_ms=chance.choice((300, 2_000, 5_000)),
        leave_every=often(2_000, 8_000),
        pause_every=often(2_000, 8_000, 0.5),
        rest_every=often(2_500, 8_000, 0.5),
        failover_every=often(2_000, 9_000),
        failover_ms=chance.choice((100, 600, 2_500)),
        hasty_part=chance.choice((0.0, 0.2)),
        overload_part=chance.choice((0.0, 0.0, 0.05)),
        operator_every=often(1_000, 5_000, 0.6),
        unregister_part=chance.choice((0.0, 0.0, 0.2)),
    )
