"""What only the server on its simulated disk shows: power that fails while a disk hangs, and records that nobody can decode."""

from __future__ import annotations

import pytest

from tests.quick import quick
from tests.simulation.production.options import PROFILES, SLOW_DISK, draw
from tests.simulation.production.run import run


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_lost_when_a_disk_hangs_the_leader_ends_and_the_power_fails(seed: int) -> None:
    result = run(seed, profile=SLOW_DISK)
    assert result.violation is None, f"python -m tests.simulation {seed} --production --profile '{SLOW_DISK}'  # {result.violation}"
    assert result.counts["losses of power"]


@pytest.mark.parametrize("seed", quick((4, 1)))
def test_nobody_goes_on_behind_a_committed_record_that_cannot_be_decoded(seed: int) -> None:
    options = draw(seed, "").having({"undecodable_every": 1_000})
    voters = options.voters
    result = run(seed, options=options)
    assert result.violation is None
    assert result.counts["stopped by a record"] >= voters // 2


def test_each_profile_is_drawn_and_a_profile_can_be_asked_for() -> None:
    assert {draw(seed).profile for seed in range(100)} == set(PROFILES)
    assert draw(0, SLOW_DISK).profile == SLOW_DISK
