"""The production path keeps every rule, in a handful of seeds; `make soak` goes on from a random one. A seed is a run, to the last byte."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.planted import patched
from tests.simulation.production.options import PROFILES, draw
from tests.simulation.production.planted import BUGS, SLOW_DISK, Planted
from tests.simulation.production.run import EVENTS, run
from tests.simulation.run import Result
from tests.simulation.trace import Trace

ROOT = Path(__file__).resolve().parents[3]
QUICK = range(2)
SEEDS = 12
SLOW_DISK_SEEDS = 4
CORE_RAISED = "an exception left the server"


def check(seed: int, events: int = EVENTS) -> Result:
    result = run(seed, events=events)
    assert result.violation is None, f"python -m tests.simulation {seed} --production --trace  # {result.violation}"
    assert result.events >= events
    return result


@pytest.mark.parametrize("seed", QUICK)
def test_every_rule_holds_in_a_few_short_runs_of_the_server(seed: int) -> None:
    check(seed, 1_500)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 2 + SEEDS))
def test_every_rule_holds_on_the_production_path(seed: int) -> None:
    assert check(seed).counts["acknowledged"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SLOW_DISK_SEEDS))
def test_nothing_is_lost_when_a_disk_hangs_the_leader_ends_and_the_power_fails(seed: int) -> None:
    result = run(seed, profile=SLOW_DISK)
    assert result.violation is None, f"python -m tests.simulation {seed} --production --profile '{SLOW_DISK}'  # {result.violation}"
    assert result.counts["losses of power"]


def digest(seed: int) -> str:
    trace = Trace()
    run(seed, events=1_000, trace=trace)
    return trace.digest


@pytest.mark.slow
def test_a_seed_replays_exactly() -> None:
    assert digest(3) == digest(3) != digest(4)


@pytest.mark.slow
def test_a_seed_replays_exactly_under_another_order_of_hashes() -> None:
    digests = set()
    for order in ("1", "2"):
        code = "from tests.simulation.production.test_production import digest; print(*map(digest, range(5, 11)))"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": order}, capture_output=True, text=True, check=True)
        digests.add(done.stdout)
    assert len(digests) == 1


def first_found(bug: Planted) -> Result | None:
    """The first of the seeds from 0 on in which a rule is broken."""
    for seed in range(bug.seeds):
        options = draw(seed, bug.profile)
        for name, value in bug.special.items():
            setattr(options, name, value)
        result = run(seed, options=options)
        if result.violation is not None:
            return result
    return None


@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_of_the_server_is_found(name: str) -> None:
    bug = BUGS[name]
    with patched(bug.make()):
        result = first_found(bug)
    assert result is not None and result.violation is not None
    assert result.violation.rule != CORE_RAISED, result.violation


@pytest.mark.parametrize("seed", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_nobody_goes_on_behind_a_committed_record_that_cannot_be_decoded(seed: int) -> None:
    options = draw(seed, "")
    options.undecodable_every = 1_000
    result = run(seed, options=options)
    assert result.violation is None
    assert result.counts["stopped by a record"] >= options.voters // 2


def test_each_profile_is_drawn_and_a_profile_can_be_asked_for() -> None:
    assert {draw(seed).profile for seed in range(100)} == set(PROFILES)
    assert draw(0, SLOW_DISK).profile == SLOW_DISK
