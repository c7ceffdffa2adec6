"""Verdicts on the lag of groups: each rule, rates between looks, and whole groups."""

from __future__ import annotations

from dataclasses import replace

import pytest

from metashell.groups.notes import RULES, STOPPED_MIN_MS, Lag, Rates, judge, lag_of_group, rates_between, worst_first
from metashell.groups.view import Holder, OffsetRow

UNKNOWN_RATES = Rates()
HOLDER = Holder(1000, 0, 4, 1_795_738_993_332, "hung-1", "ONGOING")


def row(
    offset: int = 10, end: int | None = 100, stable: int | None = None, *, topic: str = "t", held_by: Holder | None = None
) -> OffsetRow:
    return OffsetRow(
        group_id="g",
        topic=topic,
        partition=0,
        offset=offset,
        end_offset=end,
        stable_offset=end if stable is None else stable,
        held_by=held_by,
    )


def verdict(one: OffsetRow, rates: Rates = UNKNOWN_RATES, *, has_members: bool | None = True) -> str:
    return judge(one, rates=rates, has_members=has_members).verdict


@pytest.mark.parametrize(
    ("one", "rates", "expected"),
    [
        (row(end=None), Rates(), "unknown"),
        (row(offset=-1), Rates(), "unknown"),
        (row(offset=101), Rates(), "past-end"),
        (row(offset=100), Rates(), "caught-up"),
        (row(offset=4, stable=4, held_by=HOLDER), Rates(rate_in=1.0, rate_out=0.0, seen_ms=60_000), "held"),
        (row(), Rates(), "lagging"),
        (row(), Rates(rate_in=1.0, rate_out=0.0, seen_ms=STOPPED_MIN_MS), "stopped"),
        (row(), Rates(rate_in=1.0, rate_out=0.0, seen_ms=STOPPED_MIN_MS - 1), "falling-behind"),
        (row(), Rates(rate_in=1.0, rate_out=1.04, seen_ms=1), "steady"),
        (row(), Rates(rate_in=1.0, rate_out=1.06, seen_ms=1), "catching-up"),
        (row(), Rates(rate_in=1.06, rate_out=1.0, seen_ms=1), "falling-behind"),
    ],
)
def test_each_verdict_follows_its_rule(one: OffsetRow, rates: Rates, expected: str) -> None:
    assert verdict(one, rates) == expected
    assert expected in RULES


def test_a_group_without_members_and_markers_behind_a_commit_are_told_apart() -> None:
    assert verdict(row(), has_members=False) == "no-members"
    markers = replace(row(offset=99), has_only_markers=True)
    assert (verdict(markers, has_members=False), markers.lag, markers.readable_lag) == ("only-markers", 1, 0)
    held = replace(markers, end_offset=200, held_by=HOLDER)
    assert (verdict(held), held.lag, held.readable_lag) == ("held", 101, 0)
    assert verdict(row(offset=99), has_members=None) == "lagging"


def test_who_holds_a_partition_is_said_also_where_some_of_it_can_be_read() -> None:
    held = judge(row(offset=4, stable=4, held_by=HOLDER), rates=Rates(), has_members=True)
    holds = "producer 1000 (hung-1), epoch 0 holds t-0 open from offset 4 since 2026-11-27T00:23:13.332Z"
    assert (held.lag, held.readable_lag) == (96, 0)
    assert held.why == f"of 96 records a read_committed consumer can read 0: {holds}"
    partly = judge(row(offset=1, stable=4, held_by=HOLDER), rates=Rates(), has_members=True)
    assert (partly.verdict, partly.readable_lag) == ("lagging", 3)
    assert partly.why == f"rates are not known; {holds}"


def test_rates_are_those_between_two_looks_and_none_where_something_went_back() -> None:
    before, now = row(), row(offset=30, end=200)
    assert rates_between(before, now, 10_000) == Rates(rate_in=10.0, rate_out=2.0, seen_ms=10_000)
    assert rates_between(None, now, 10_000) == Rates() == rates_between(before, now, 0)
    assert rates_between(now, before, 10_000) == Rates(rate_in=None, rate_out=None, seen_ms=10_000)
    assert rates_between(replace(before, offset=-1), now, 10_000) == Rates()


def test_the_time_to_catch_up_follows_from_the_readable_lag_and_the_rates() -> None:
    one = judge(row(stable=60), rates=Rates(rate_in=5.0, rate_out=10.0, seen_ms=10_000), has_members=True)
    assert one.catch_up_ms == 10_000
    assert judge(row(), rates=Rates(rate_in=5.0, rate_out=5.0), has_members=True).catch_up_ms is None


def test_a_group_has_the_verdict_of_its_worst_partition_and_the_sums_of_all() -> None:
    def one(topic: str, offset: int, rates: Rates = UNKNOWN_RATES) -> Lag:
        return judge(row(offset, topic=topic), rates=rates, has_members=True, behind_ms=1000 * offset)

    lags = [
        one("a", 100),
        one("b", 20, Rates(rate_in=1.0, rate_out=0.0, seen_ms=60_000)),
        one("c", 10, Rates(rate_in=1.0, rate_out=0.0, seen_ms=60_000)),
        one("d", 110),
    ]
    whole = lag_of_group("g", lags[:3])
    assert (whole.verdict, whole.lag, whole.readable_lag, whole.partitions, whole.behind_ms) == ("stopped", 170, 170, 3, 20_000)
    assert whole.why == "c-0, and 1 more: no commit within 1 min" and whole.rates.rate_out is None
    assert [one.row.topic for one in worst_first(lags) if one.row is not None] == ["d", "c", "b", "a"]
