"""The checkers bite: every planted bug is found by the first of the seeds from 0 on in which it shows, by a rule that it breaks."""

from __future__ import annotations

import pytest

from tests.simulation.planted import BUGS, planted
from tests.simulation.run import run

SEEDS = 400
CORE_RAISED = "an exception left the core"


@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found(name: str) -> None:
    with planted(name):
        violation = next((found for found in map(violation_of, range(SEEDS)) if found is not None), None)
    assert violation is not None
    assert violation.rule != CORE_RAISED, violation


def violation_of(seed: int):
    return run(seed).violation


def test_no_bug_stays_behind() -> None:
    for name, make in BUGS.items():
        before = [getattr(owner, attribute) for owner, attribute, _ in make()]
        with planted(name):
            during = [getattr(owner, attribute) for owner, attribute, _ in make()]
        after = [getattr(owner, attribute) for owner, attribute, _ in make()]
        assert before == after != during
