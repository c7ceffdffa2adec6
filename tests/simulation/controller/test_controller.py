"""The controller keeps every rule as the state machine of its quorums, in a handful of seeds; `make soak` goes on from a random one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.seeds import shows
from tests.simulation.controller.options import ControllerOptions, draw
from tests.simulation.controller.planted import BUGS, Planted
from tests.simulation.controller.run import EVENTS, run
from tests.simulation.planted import patched
from tests.simulation.run import Result
from tests.simulation.trace import Trace

ROOT = Path(__file__).resolve().parents[3]
SEEDS = 10
CORE_RAISED = "an exception left the server"


def check(seed: int, events: int = EVENTS) -> Result:
    result = run(seed, events=events)
    assert result.violation is None, f"python -m tests.simulation {seed} --controller --trace  # {result.violation}"
    assert result.events >= events
    assert not result.counts["histories that were too long to check"]
    return result


def test_every_rule_holds_in_a_short_run_of_the_controller() -> None:
    assert check(0, 2_000).counts["answers"]


@shows("KIP-631/uncommitted", "KIP-631/failover", "KIP-631/snapshots")
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 1 + SEEDS))
def test_every_rule_holds_while_leaders_die_and_clients_write(seed: int) -> None:
    result = check(seed)
    assert result.counts["answers"] > 100
    assert result.counts["create topic: 0"] and result.counts["alter partition: 0"] and result.counts["leaders"] > 1


def digest(seed: int) -> str:
    trace = Trace()
    run(seed, events=2_000, trace=trace)
    return trace.digest


@pytest.mark.slow
def test_a_seed_replays_exactly() -> None:
    assert digest(3) == digest(3) != digest(4)


def first_found(bug: Planted, *, is_black_box: bool) -> Result | None:
    """The first of the seeds from 0 on in which a rule is broken."""
    for seed in range(bug.seeds):
        result = run(seed, options=options_of(seed, bug.special | {"is_black_box": is_black_box}))
        if result.violation is not None:
            return result
    return None


def options_of(seed: int, special: dict[str, object]) -> ControllerOptions:
    options = draw(seed)
    for name, value in special.items():
        setattr(options, name, value)
    return options


@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_of_the_controller_is_found(name: str) -> None:
    with patched(BUGS[name].make()):
        result = first_found(BUGS[name], is_black_box=False)
    assert result is not None and result.violation is not None
    assert result.violation.rule != CORE_RAISED, result.violation


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, bug in BUGS.items() if bug.shows_outside])
def test_what_clients_are_told_and_find_is_enough_to_find_a_bug(name: str) -> None:
    with patched(BUGS[name].make()):
        result = first_found(BUGS[name], is_black_box=True)
    assert result is not None and result.violation is not None
    assert result.violation.rule in ("A2 AnswersHaveAnOrder", "L9 AcknowledgedSurvives"), result.violation


@pytest.mark.slow
def test_a_seed_replays_exactly_under_another_order_of_hashes() -> None:
    digests = set()
    for order in ("1", "2"):
        code = "from tests.simulation.controller.test_controller import digest; print(*map(digest, range(4)))"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": order}, capture_output=True, text=True, check=True)
        digests.add(done.stdout)
    assert len(digests) == 1
