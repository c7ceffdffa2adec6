"""The checkers bite: every planted bug is found, by a rule that it breaks, and without it the same seed breaks none.

Its seed stands in `needed.tsv`. Seeds move when the code changes: then some others are tried, until
`python -m tests.simulation.needed --write` finds new ones.
"""

from __future__ import annotations

import pytest

from tests.quick import quick
from tests.seeds import shows
from tests.simulation.bugs import patched
from tests.simulation.harness import RAISED
from tests.simulation.needed import SEEDS_MAX, read
from tests.simulation.simulations import SIMULATIONS

ROWS = read()
IDS = [f"{row.simulation}-{row.bug}" for row in ROWS]
MORE_SEEDS = 40
OUTSIDE_RULES = {
    "controller": {"A2 AnswersHaveAnOrder", "L9 AcknowledgedSurvives"},
    "brokers": {
        *("D1 AcknowledgedSurvives", "D2 ReadsDoNotChange", "L1 LeaseEndsBeforeFencing", "P1 OneLeaderAnEpoch", "P2 OneWriterAnEpoch"),
        *("V1 EverybodyComesBack", "V2 EverythingIsLed", "V3 EverybodyCatchesUp"),
    },
}
"""What answers alone show, with nobody looking into the controllers."""


@shows("KIP-966/all-or-nothing")
@pytest.mark.parametrize(("name", "planted", "first"), quick([(row.simulation, row.bug, row.seed) for row in ROWS], 8), ids=IDS)
def test_a_planted_bug_is_found(name: str, planted: str, first: int) -> None:
    simulation = SIMULATIONS[name]
    bug = simulation.bugs[planted]
    results = (simulation.run_bug(bug, seed) for seed in (first, *range(MORE_SEEDS)))
    result = next((found for found in results if found.violation is not None and found.violation.rule != RAISED), None)
    assert result is not None and result.violation is not None
    if planted.endswith("outside"):
        assert result.violation.rule in OUTSIDE_RULES[name]
    assert simulation.holds_without(bug, result)


def test_each_bug_was_looked_for_and_is_found_from_random_starts() -> None:
    assert [(row.simulation, row.bug) for row in ROWS] == [(name, bug) for name, one in SIMULATIONS.items() for bug in one.bugs]
    assert [row for row in ROWS if row.needed > SEEDS_MAX] == []


@pytest.mark.parametrize("simulation", SIMULATIONS.values(), ids=lambda simulation: simulation.name)
def test_no_bug_stays_behind(simulation: object) -> None:
    for bug in simulation.bugs.values():  # type: ignore[attr-defined]
        before = [getattr(owner, attribute) for owner, attribute, _ in bug.make()]
        with patched(bug.make()):
            during = [getattr(owner, attribute) for owner, attribute, _ in bug.make()]
        after = [getattr(owner, attribute) for owner, attribute, _ in bug.make()]
        assert before == after != during
