"""Ranges over seeds: each seed's own answer lies within them, and the worst one is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.metadata.checks import Facts, Health, judge
from metashell.rehearse.outcome import Outcome, Trouble, finding_changes, rehearse_seeds
from metashell.rehearse.rehearsal import rehearse_change
from metashell.rehearse.render_text import range_lines
from metashell.rehearse.single_failures import find_single_failures
from metashell.rehearse.step_checks import check_contradictions
from metashell.rehearse.steps import Assumptions, CreateTopic, KillBroker, RestartBroker, Step, StepError
from tests.rehearse.random_clusters import images, steps_for
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


# ---- what health finds before and after the steps is what the rehearsal itself says of it

MIN_ISR = (("min.insync.replicas", "2"),)


def changes(outcome: Outcome) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    return {one.check.id: (one.names_begun, one.names_ended) for one in finding_changes(outcome)}


def test_what_begins_and_what_ends_is_named() -> None:
    image = small_image({1: None, 2: None, 3: None}, {"t": [partition(1, 2), partition(2)]}, fenced=(3,))
    found = changes(rehearse_change(image, [KillBroker(2)]))
    assert found["fenced"] == (("2",), ())
    assert found["leaderless"] == (("t/1",), ())
    assert "t/0" in found["under_replicated"][0]
    assert changes(rehearse_change(image, [RestartBroker(3)]))["fenced"] == ((), ("3",))


def test_where_nothing_changes_nothing_is_said() -> None:
    image = small_image({1: None, 2: None}, {"t": [partition(1, 2)]}, fenced=(2,))
    assert not changes(rehearse_change(image, []))


def test_min_isr_of_the_configuration_counts_here_as_there() -> None:
    image = small_image({1: None, 2: None, 3: None}, {"t": [partition(1, 2)]}, elr=False)
    outcome = rehearse_change(image, [KillBroker(2)], Assumptions(settings=MIN_ISR))
    assert changes(outcome)["under_min_isr"] == (("t/0",), ())
    assert outcome.verdict.tolls[Trouble.UNDER_MIN_ISR].at_end == 1
    assert "under_min_isr" not in changes(rehearse_change(image, [KillBroker(2)]))


@given(st.data())
def test_partitions_in_trouble_at_the_end_are_those_that_health_finds(data: st.DataObject) -> None:
    image = data.draw(images())
    steps = data.draw(steps_for(image))
    try:
        check_contradictions(image, steps)
        outcome = rehearse_change(image, steps)
    except StepError:
        return
    if not outcome.settled or any(gap.to_ms is None for gap in outcome.quorum_gaps):
        # Dead brokers that nobody fences are alive as far as the metadata says.
        return
    health = Health(outcome.after)
    offline = {health.partition_name(*found) for kind in ("leaderless", "offline") for found in health.partitions_of(kind)}
    under = {health.partition_name(*found) for found in health.partitions_of("under_min_isr")}
    last = {trouble: {f"{one.topic}/{one.partition}" for one in outcome.intervals_of(trouble) if one.to_ms is None} for trouble in Trouble}
    assert last[Trouble.OFFLINE] == offline
    assert last[Trouble.UNDER_MIN_ISR] == under - offline
    verdict = judge(Facts(health=health))
    assert bool(offline) == any(finding.check.id in ("leaderless", "offline") for finding in verdict.findings)


@given(images(), st.integers(1, 3))
def test_what_stands_now_is_what_health_counts(image: object, static: int) -> None:
    standing = find_single_failures(image, Assumptions(settings=(("min.insync.replicas", str(static)),)))  # type: ignore[arg-type]
    counts = Health(image, static_min_isr=static).counts()  # type: ignore[arg-type]
    assert standing.offline == counts["leaderless"] + counts["offline"]
    assert (standing.partitions, standing.under_min_isr) == (counts["partitions"], counts["under_min_isr"])


def test_of_very_many_only_the_numbers_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metashell.rehearse.outcome._NAMED_MAX", 1)
    image = small_image({1: None, 2: None, 3: None}, {"t": [partition(2, 1), partition(2, 3), partition(1, 3)]})
    [found] = [one for one in finding_changes(rehearse_change(image, [KillBroker(2)])) if one.check.id == "under_replicated"]
    assert (found.before, found.after, found.begun, found.ended, found.names_begun) == (0, 2, 2, 0, ())


def test_an_only_replica_that_comes_back_after_a_crash_has_lost_nothing() -> None:
    """Its disk is what it was; health says so too, though the metadata calls it an unclean election."""
    image = small_image({1: None, 2: None}, {"t": [partition(1)]})
    outcome = rehearse_change(image, [KillBroker(1), RestartBroker(1)])
    assert outcome.after.topics.by_name["t"].partitions[0].leader == 1
    assert outcome.after.topics.by_name["t"].partitions[0].leader_recovery_state == 1
    assert not outcome.verdict.tolls[Trouble.UNCLEAN].partitions
    assert "unclean" not in changes(outcome)
