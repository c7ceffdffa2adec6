"""Seeds in which every rule holds: a handful in `make check`, 2 000 in `make test`; `make soak` goes on from a random one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.run import EVENTS, run
from tests.simulation.trace import Trace

QUICK = range(8)
SEEDS = 2_000
PIECE = 50
ROOT = Path(__file__).resolve().parents[2]


def check(seed: int, events: int = EVENTS) -> None:
    result = run(seed, events=events)
    assert result.violation is None, f"python -m tests.simulation {seed} --trace  # {result.violation}"
    assert result.events >= events


@pytest.mark.parametrize("seed", QUICK)
def test_every_rule_holds_in_a_few_short_runs(seed: int) -> None:
    check(seed, 1_500)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, SEEDS, PIECE))
def test_every_rule_holds_through_faults_healing_and_a_restart_of_all(first: int) -> None:
    for seed in range(first, first + PIECE):
        check(seed)


def digest(seed: int) -> str:
    trace = Trace()
    run(seed, events=1_200, trace=trace)
    return trace.digest


def test_a_seed_replays_exactly() -> None:
    assert digest(3) == digest(3) != digest(4)


@pytest.mark.slow
def test_a_seed_replays_exactly_under_another_order_of_hashes() -> None:
    digests = set()
    for order in ("1", "2"):
        code = "from tests.simulation.test_simulation import digest; print(digest(5), digest(6), digest(7))"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": order}, capture_output=True, text=True, check=True)
        digests.add(done.stdout)
    assert len(digests) == 1
