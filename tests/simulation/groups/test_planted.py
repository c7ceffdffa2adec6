"""Each planted bug is found by the rule that it breaks, and without it the rule holds."""

from __future__ import annotations

import pytest

from metashell.groups.simulation import RULES
from tests.simulation.bugs import patched
from tests.simulation.groups.planted import BUGS, Bug, rules_broken


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: f"{bug.rule}: {bug.plant.__name__}, {bug.strategy}, {bug.scenario}")
def test_a_planted_bug_is_found(bug: Bug) -> None:
    assert not list(rules_broken(bug))
    with patched(bug.plant()):
        assert bug.rule in rules_broken(bug)


def test_every_rule_is_broken_by_a_bug() -> None:
    # That a member fails is what the machines of members say; no checker has to find it.
    assert {bug.rule for bug in BUGS} == RULES.keys() - {"members"}
