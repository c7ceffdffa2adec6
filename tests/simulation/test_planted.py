"""The checkers bite: every planted bug is found by the first of the seeds from 0 on in which it shows, by a rule that it breaks.

What only faults that hang together bring to light is looked for among the seeds of one profile.
"""

from __future__ import annotations

import pytest

from tests.simulation.planted import BUGS, PROFILE_OF, planted
from tests.simulation.run import run

SEEDS = 400
CORE_RAISED = "an exception left the core"


@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found(name: str) -> None:
    with planted(name):
        profile = PROFILE_OF.get(name)
        violation = next((found for seed in range(SEEDS) if (found := run(seed, profile=profile).violation) is not None), None)
    assert violation is not None
    assert violation.rule != CORE_RAISED, violation


def test_no_bug_stays_behind() -> None:
    for name, make in BUGS.items():
        before = [getattr(owner, attribute) for owner, attribute, _ in make()]
        with planted(name):
            during = [getattr(owner, attribute) for owner, attribute, _ in make()]
        after = [getattr(owner, attribute) for owner, attribute, _ in make()]
        assert before == after != during
