"""Simulated groups: events a second with all checkers, for each strategy and at several sizes.

Goal: 50 000 events a second. An event is a message, a timer, a poll or a callback; `metashell simulate rebalance` does the same.
"""

from __future__ import annotations

import time

from metashell.groups.simulation import STRATEGIES, Plan
from metashell.groups.simulation.scenarios import SCENARIOS, simulate

GOAL = 50_000
RUNS = (
    ("bounce", 20, 60),
    ("no-poll", 100, 300),
    ("join", 100, 1_000),
)
"""Scenario, members, partitions."""
BEST_OF = 3


def main() -> int:
    slowest = None
    for scenario, members, partitions in RUNS:
        for name in ("eager", "cooperative", "consumer"):
            plan = Plan(strategy=STRATEGIES[name], members=members, partitions=partitions)
            rates = []
            for _ in range(BEST_OF):
                # Of the processor, as others may work here too.
                begin = time.process_time()
                outcome = simulate(plan, SCENARIOS[scenario])
                rates.append(outcome.events / (time.process_time() - begin))
                assert not outcome.violations
            rate = max(rates)
            slowest = rate if slowest is None else min(slowest, rate)
            print(f"{scenario:<10} {members:>4} members {partitions:>5} partitions  {name:<12} {outcome.events:>7} events {rate:>9,.0f}/s")
    print(f"the slowest is at {(slowest or 0) / GOAL:.0%} of {GOAL:,}/s")
    return 0
