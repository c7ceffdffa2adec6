"""What comes of the same steps with several seeds: chance draws when brokers send heartbeats, and where new replicas go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf

from metashell.rehearse.outcome import Outcome, Range, Trouble
from metashell.rehearse.steps import Assumptions

_Key = tuple[str, int]


def rehearse_seeds(run: Callable[[Assumptions], Outcome], assumptions: Assumptions, count: int) -> Outcome:
    """The worst outcome of `count` seeds, the first of them that of the assumptions, with the ranges over all of them."""
    worst: Outcome | None = None
    values: dict[_Key, list[float]] = {}
    for seed in range(assumptions.seed, assumptions.seed + count):
        outcome = run(replace(assumptions, seed=seed))
        for key, value in _measures(outcome):
            values.setdefault(key, []).append(value)
        if worst is None or _gravity(outcome) > _gravity(worst):
            worst = outcome
    assert worst is not None, "at least one seed"
    ranges = tuple(_range(key, found, count) for key, found in values.items())
    return replace(worst, ranges=ranges, seeds=count) if count > 1 else worst


def _range(key: _Key, found: list[float], count: int) -> Range:
    # What one seed has and another has not is there zero times.
    low, high = min(found) if len(found) == count else 0, max(found)
    return Range(*key, *(None if value == inf else int(value) for value in (low, high)))


def _measures(outcome: Outcome) -> Iterator[tuple[_Key, float]]:
    for trouble, toll in outcome.verdict.tolls.items():
        yield (f"{trouble.value}_partitions", -1), toll.partitions
        if trouble is not Trouble.UNCLEAN:
            yield (f"{trouble.value}_longest_ms", -1), inf if toll.longest_ms is None else toll.longest_ms
            yield (f"{trouble.value}_at_end", -1), toll.at_end
    yield ("records", -1), outcome.record_count
    for loads in outcome.brokers:
        if loads.after is not None:
            yield ("leaders", loads.broker), loads.after.leaders
            yield ("replicas", loads.broker), loads.after.replicas


def _gravity(outcome: Outcome) -> tuple[float, ...]:
    """The worse an outcome, the greater: first the status, then what goes offline or loses records, for how many and how long."""
    tolls = outcome.verdict.tolls
    offline, unclean, under = (tolls[trouble] for trouble in (Trouble.OFFLINE, Trouble.UNCLEAN, Trouble.UNDER_MIN_ISR))
    longest = inf if offline.longest_ms is None else offline.longest_ms
    return outcome.verdict.status, unclean.partitions, offline.at_end, offline.partitions, longest, under.at_end, under.partitions
