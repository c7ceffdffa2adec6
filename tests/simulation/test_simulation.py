"""Fixed seeds in which every rule holds, of each simulation; `make soak` goes on from random ones. A seed is a run, to the last byte."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.quick import quick
from tests.seeds import shows
from tests.simulation.simulations import SIMULATIONS
from tests.simulation.trace import Trace

ROOT = Path(__file__).resolve().parents[2]
PIECES = [
    *(("core", first, 25) for first in range(0, 150, 25)),
    *(("production", first, 2) for first in (2, 4, 6)),
    ("controller", 1, 2),
    ("controller", 3, 2),
    ("groups", 0, 20),
]
"""Simulation, first seed and how many: what a piece runs takes some seconds."""
HAPPENS = {
    "core": ("commits", "crashes", "downloads", "leaders", "lost disks", "refused snapshots", "snapshots", "truncations"),
    "production": ("acknowledged", "kills", "leaders", "losses of power"),
    "controller": ("answers", "create topic: 0", "alter partition: 0", "registrations"),
    "groups": ("cleanings", "commits", "crashes", "interrupted openings", "restarts", "transactions"),
}
"""What comes to pass in each piece."""
DIGESTS = {
    "core": (1_200, range(5, 8)),
    "production": (1_000, range(5, 8)),
    "controller": (2_000, range(2)),
    "brokers": (0, range(3, 4)),
    "groups": (0, range(2)),
}
"""Events and seeds of the runs that are compared with those of another process."""


def check(name: str, seeds: Iterable[int], events: int = 0) -> Counter[str]:
    """Run seeds, in which every rule holds; what came to pass in them."""
    counts: Counter[str] = Counter()
    simulation = SIMULATIONS[name]
    for seed in seeds:
        result = simulation.run(seed, events=events)
        option = "" if name == "core" else f" --{name}"
        assert result.violation is None, f"python -m tests.simulation {seed}{option} --trace  # {result.violation}"
        assert result.events >= (events or simulation.events)
        counts += result.counts
    assert not counts["histories that were too long to check"]
    return counts


@pytest.mark.parametrize(
    ("name", "seed", "events"), [*(("core", seed, 1_500) for seed in range(8)), ("production", 0, 1_500), ("controller", 0, 2_000)]
)
def test_every_rule_holds_in_a_few_short_runs(name: str, seed: int, events: int) -> None:
    assert check(name, [seed], events)["leaders"]


@shows("KIP-631/uncommitted", "KIP-631/failover", "KIP-631/snapshots")
@pytest.mark.slow
@pytest.mark.parametrize(("name", "first", "count"), PIECES)
def test_every_rule_holds_through_faults_healing_and_a_restart_of_all(name: str, first: int, count: int) -> None:
    counts = check(name, range(first, first + count))
    assert [what for what in HAPPENS[name] if not counts[what]] == []


def digests(names: str) -> list[str]:
    found = []
    for name in names.split():
        events, seeds = DIGESTS[name]
        for seed in seeds:
            trace = Trace()
            SIMULATIONS[name].run(seed, events=events, trace=trace, until_ms=0 if events else 11_000)
            found.append(trace.digest)
    return found


@pytest.mark.parametrize("names", quick(("core", "production controller brokers groups")))
def test_a_seed_replays_exactly_also_under_another_order_of_hashes(names: str) -> None:
    code = f"from tests.simulation.test_simulation import digests; print(*digests({names!r}))"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    elsewhere = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    here = digests(names)
    assert elsewhere.stdout.split() == here and len(set(here)) == len(here)
