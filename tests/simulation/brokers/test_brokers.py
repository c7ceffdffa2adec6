"""Brokers, clients and controllers keep every rule in a handful of seeds, and the checkers bite; `make soak` goes on from a random seed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.quick import quick
from tests.seeds import shows
from tests.simulation.brokers.handful import SEEDS, check
from tests.simulation.brokers.options import Options, draw
from tests.simulation.brokers.planted import BUGS, Planted
from tests.simulation.brokers.run import RAISED, run
from tests.simulation.planted import patched
from tests.simulation.trace import Trace

ROOT = Path(__file__).resolve().parents[3]


def test_every_rule_holds_in_one_seed() -> None:
    check(SEEDS[0])


@pytest.mark.slow
@shows(
    "KIP-631/fencing",
    "KIP-631/leader-epochs",
    "KIP-631/alter-isr",
    "KIP-631/lease",
    "KIP-343/self-fencing",
    "KIP-966/all-or-nothing",
    "KIP-966/elr",
)
def test_every_rule_holds_while_brokers_die_links_are_cut_and_controllers_change() -> None:
    counts: Counter[str] = Counter()
    for seed in SEEDS:
        counts += check(seed).counts
    for what in (
        "acknowledged with acks=all",
        "crashes",
        "cuts",
        "failovers",
        "truncations",
        "stale reads",
        "acks=1 writes that were lost",
    ):
        assert counts[what], what


def digest(seed: int) -> str:
    trace = Trace()
    run(seed, trace=trace, run_ms=8_000)
    return trace.digest


@pytest.mark.slow
def test_a_seed_replays_exactly_also_under_another_order_of_hashes() -> None:
    code = "from tests.simulation.brokers.test_brokers import digest; print(digest(3))"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    elsewhere = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert digest(3) == elsewhere.stdout.strip() != digest(4)


def options_of(seed: int, bug: Planted) -> Options:
    return replace(draw(seed), **bug.special)  # type: ignore[arg-type]


@shows("KIP-966/all-or-nothing")
@pytest.mark.parametrize("name", quick(BUGS, 6))
def test_a_planted_bug_is_found(name: str) -> None:
    """The seed that is written down finds it; `python -m tests.simulation.brokers.search` looks for another when it no longer does."""
    bug = BUGS[name]
    with patched(bug.make()):
        result = run(bug.seed, options=options_of(bug.seed, bug), is_black_box=bug.shows_outside)
    assert result.violation is not None and result.violation.rule != RAISED, result.violation
    assert run(bug.seed, options=options_of(bug.seed, bug), stop_ms=result.ms + 1_000).violation is None
