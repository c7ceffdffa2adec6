"""Groups to which anything may happen keep the rules, whatever the seed."""

from __future__ import annotations

import os
from random import SystemRandom

import pytest

from tests.quick import quick
from tests.simulation.groups.chaos import KINDS, run

SEEDS = 4
SOAK_SEEDS = 200


def seeds() -> list[int]:
    """The same few each time; many new ones where METASHELL_SOAK asks for them, from METASHELL_SEED where that is given."""
    if not os.environ.get("METASHELL_SOAK"):
        return list(range(SEEDS))
    first = int(os.environ.get("METASHELL_SEED") or SystemRandom().randrange(1 << 30))
    return list(range(first, first + SOAK_SEEDS))


@pytest.mark.parametrize("kind", quick(KINDS, 4))
def test_no_rule_is_broken_whatever_happens(kind: str) -> None:
    for seed in seeds():
        outcome = run(kind, seed)
        assert not outcome.violations, f"tests.simulation.groups.chaos.run({kind!r}, {seed}): {outcome.violations[0]}"


def test_the_same_seed_gives_the_same_outcome() -> None:
    assert run("cooperative", 3) == run("cooperative", 3)
