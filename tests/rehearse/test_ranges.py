"""Ranges over seeds: each seed's own answer lies within them, and the worst one is shown."""

from __future__ import annotations

from metashell.rehearse.outcome import Outcome, Trouble, rehearse_seeds
from metashell.rehearse.rehearsal import rehearse_change
from metashell.rehearse.render_text import range_lines
from metashell.rehearse.steps import Assumptions, CreateTopic, KillBroker, Step
from tests.rehearse.small_images import partition, small_image

SEEDS = 8
IMAGE = small_image(dict.fromkeys((1, 2, 3, 4)), {"t": [partition(1, 2), partition(2, 3)]})


def outcome_of(steps: list[Step], count: int) -> Outcome:
    return rehearse_seeds(lambda assumed: rehearse_change(IMAGE, steps, assumed), Assumptions(seed=5), count)


def test_each_seed_lies_within_the_ranges_which_are_no_wider_than_needed() -> None:
    steps: list[Step] = [CreateTopic("new", partitions=3, replication_factor=1), KillBroker(1)]
    alone = [rehearse_change(IMAGE, steps, Assumptions(seed=seed)) for seed in range(5, 5 + SEEDS)]
    found = {(one.what, one.broker): (one.low, one.high) for one in outcome_of(steps, SEEDS).ranges}
    offline = [one.verdict.tolls[Trouble.OFFLINE].partitions for one in alone]
    assert found["offline_partitions", -1] == (min(offline), max(offline))
    # Where a new partition is put is chance: with this image some seeds lose one with broker 1, and others none.
    assert min(offline) < max(offline)
    times = [one.verdict.tolls[Trouble.FAILOVER].longest_ms or 0 for one in alone]
    assert found["failover_longest_ms", -1] == (min(times), max(times))
    for broker in (1, 2, 3, 4):
        leaders = [next(one.after.leaders for one in each.brokers if one.broker == broker and one.after) for each in alone]
        assert found["leaders", broker] == (min(leaders), max(leaders))


def test_the_worst_seed_is_shown() -> None:
    steps: list[Step] = [CreateTopic("new", partitions=3, replication_factor=1), KillBroker(1)]
    outcome = outcome_of(steps, SEEDS)
    worst = next(one.high for one in outcome.ranges if one.what == "offline_partitions")
    assert outcome.verdict.tolls[Trouble.OFFLINE].partitions == worst
    assert outcome.verdict.status == 1
    lines = list(range_lines(outcome))
    assert lines[0] == f"8 seeds were tried; this is the worst of them, seed {outcome.assumptions.seed}. What differs:"
    assert any((line.startswith("offline longest") and line.endswith("0 ms to the end")) or "the end" in line for line in lines[1:])


def test_one_seed_has_no_ranges_to_tell_of() -> None:
    assert not list(range_lines(outcome_of([KillBroker(1)], 1)))


def test_what_is_no_chance_is_alike_with_every_seed() -> None:
    lines = list(range_lines(outcome_of([], 3)))
    assert lines == ["3 seeds were tried; this is the worst of them, seed 5, and all come to the same"]
