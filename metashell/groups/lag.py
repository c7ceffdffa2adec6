"""The lag of groups, judged: how far behind each partition is, in records and in time, and whether that gets better.

One look gives records; two looks at a live cluster give rates, and from the disk the times of commits and of records do. A rate is None
where nothing shows it, and no verdict is made of what is not known. `RULES` has the rule of each verdict, the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from metashell.common.forms import counted
from metashell.common.values import duration_text
from metashell.groups.view import Holder, OffsetRow

PAST_END, HELD, STOPPED, NO_MEMBERS, FALLING_BEHIND = "past-end", "held", "stopped", "no-members", "falling-behind"
STEADY, LAGGING, CATCHING_UP, UNKNOWN, ONLY_MARKERS, CAUGHT_UP = "steady", "lagging", "catching-up", "unknown", "only-markers", "caught-up"
RULES: Final = {
    PAST_END: "the commit is past the end of the log: records were lost, or the topic was made again",
    HELD: "an open transaction begins at the commit, so that consumers with isolation.level=read_committed can read nothing",
    STOPPED: "there is something to read, members own the partition, and no commit came within the time looked at (at least 10 s)",
    NO_MEMBERS: "there is something to read, and the group has no member",
    FALLING_BEHIND: "more records come than are committed, by more than 5 %",
    STEADY: "as many records come as are committed, within 5 %, and the lag stays",
    LAGGING: "there is something to read; nothing shows the rates, as with one look",
    CATCHING_UP: "more records are committed than come, by more than 5 %",
    UNKNOWN: "the end of the log or the commit is not known",
    ONLY_MARKERS: "there are only markers of transactions between the commit and the end: nothing to read",
    CAUGHT_UP: "all is committed",
}
"""Verdict -> its rule. The first that holds counts; `only-markers` and `caught-up` go before what needs something to read."""
STOPPED_MIN_MS: Final = 10_000
"""The least time without a commit that means anything: consumers commit every 5 s by default."""
_EQUAL_WITHIN: Final = 0.05
_ORDER: Final = {verdict: number for number, verdict in enumerate(RULES)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Records per second that come into a partition and that a group commits, and the time in which that was seen. None if not known."""

    rate_in: float | None = None
    rate_out: float | None = None
    seen_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """The lag of one partition (`row`), or of a whole group, then with `partitions` and no `row`. Units: ms, records per second.

    `behind_ms` is the age of the first record that is not committed, measured at the newest time at hand.
    """

    group_id: str
    verdict: str
    why: str
    lag: int | None
    readable_lag: int | None
    row: OffsetRow | None = None
    partitions: int = 1
    behind_ms: int | None = None
    rates: Rates = Rates()
    held_by: Holder | None = None

    @property
    def catch_up_ms(self) -> int | None:
        """The time until all is read if the rates stay; None if they are not known, or it is never."""
        into, out = self.rates.rate_in, self.rates.rate_out
        if into is None or out is None or self.readable_lag is None or out <= into:
            return None
        return round(1000 * self.readable_lag / (out - into))

    def as_object(self) -> dict[str, Any]:
        row = self.row
        return {
            "type": "lag",
            "group": self.group_id,
            "topic": None if row is None else row.topic,
            "partition": None if row is None else row.partition,
            "partitions": self.partitions,
            "offset": None if row is None or row.offset < 0 else row.offset,
            "log_end_offset": None if row is None else row.end_offset,
            "last_stable_offset": None if row is None else row.stable_offset,
            "lag": self.lag,
            "readable_lag": self.readable_lag,
            "behind_ms": self.behind_ms,
            "rate_in": self.rates.rate_in,
            "rate_out": self.rates.rate_out,
            "catch_up_ms": self.catch_up_ms,
            "verdict": self.verdict,
            "why": self.why,
            "held_by": None if self.held_by is None else self.held_by.as_object(),
            "member": None if row is None else row.member_id,
            "client": None if row is None else row.client_id,
        }


def judge(row: OffsetRow, *, rates: Rates, has_members: bool | None, behind_ms: int | None = None, has_only_markers: bool = False) -> Lag:
    """Return the lag of one partition with its verdict; `has_members` is None where the group's members are not known."""
    verdict, why = _verdict(row, rates, has_members=has_members)
    if row.held_by is not None and verdict not in (HELD, PAST_END, CAUGHT_UP, UNKNOWN):
        why = f"{why}; {row.held_by.text(row.topic, row.partition)}"
    return Lag(
        group_id=row.group_id,
        verdict=verdict,
        why=why,
        lag=row.lag,
        readable_lag=row.readable_lag,
        row=row,
        behind_ms=behind_ms if row.lag else 0 if row.lag == 0 else None,
        rates=rates,
        held_by=row.held_by,
    )


def _verdict(row: OffsetRow, rates: Rates, *, has_members: bool | None) -> tuple[str, str]:
    lag, into, out = row.lag, rates.rate_in, rates.rate_out
    if lag is None:
        return UNKNOWN, "nothing is committed" if row.offset < 0 else "the end of its log is not known"
    if lag < 0:
        return PAST_END, f"committed {counted(-lag, 'record')} past the end"
    if lag == 0:
        return CAUGHT_UP, "all is committed"
    if row.has_only_markers and row.stable_offset == row.end_offset:
        return ONLY_MARKERS, "only markers of transactions lie behind the commit"
    if row.readable_lag == 0:
        holder = "" if row.held_by is None else f": {row.held_by.text(row.topic, row.partition)}"
        return HELD, f"of {counted(lag, 'record')} a read_committed consumer can read 0{holder}"
    if has_members is False:
        return NO_MEMBERS, "the group has no member"
    if out == 0 and rates.seen_ms is not None and rates.seen_ms >= STOPPED_MIN_MS:
        return STOPPED, f"no commit within {duration_text(rates.seen_ms)}"
    if into is None or out is None:
        return LAGGING, "rates are not known"
    seen = f"{rate_text(into)} records/s come, {rate_text(out)} are committed"
    if out > into * (1 + _EQUAL_WITHIN):
        return CATCHING_UP, seen
    if into > out * (1 + _EQUAL_WITHIN):
        return FALLING_BEHIND, seen
    return STEADY, seen


def rate_text(rate: float) -> str:
    """Return a rate with three digits, such as `0.25`, `12.5` or `3,100`."""
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def rates_between(before: OffsetRow | None, now: OffsetRow, passed_ms: int) -> Rates:
    """Return the rates between two looks. A commit that was set back, and a partition that was made again, give none."""
    if before is None or passed_ms <= 0 or before.offset < 0 or now.offset < 0:
        return Rates()
    seconds = passed_ms / 1000
    into = None if before.end_offset is None or now.end_offset is None else (now.end_offset - before.end_offset) / seconds
    out = (now.offset - before.offset) / seconds
    return Rates(rate_in=None if into is None or into < 0 else into, rate_out=None if out < 0 else out, seen_ms=passed_ms)


def lag_of_group(group_id: str, found: Sequence[Lag]) -> Lag:
    """Return the lag of a whole group: sums, and the verdict of its worst partition."""
    worst = min(found, key=_rank)
    alike = sum(one.verdict == worst.verdict for one in found)
    row = worst.row
    place = "" if row is None else f"{row.topic}-{row.partition}"
    more = f", and {alike - 1} more" if alike > 1 else ""
    return Lag(
        group_id=group_id,
        verdict=worst.verdict,
        why=f"{place}{more}: {worst.why}",
        lag=_sum(one.lag for one in found),
        readable_lag=_sum(one.readable_lag for one in found),
        partitions=len(found),
        behind_ms=max((one.behind_ms for one in found if one.behind_ms is not None), default=None),
        rates=Rates(rate_in=_sum_of_rates(one.rates.rate_in for one in found), rate_out=_sum_of_rates(one.rates.rate_out for one in found)),
        held_by=worst.held_by,
    )


def worst_first(found: Iterable[Lag]) -> list[Lag]:
    """Return lags ordered by verdict, the worst first, and by records."""
    return sorted(found, key=_rank)


def _rank(one: Lag) -> tuple[int, int, str, str, int]:
    topic, partition = ("", 0) if one.row is None else (one.row.topic, one.row.partition)
    return _ORDER[one.verdict], -(one.lag or 0), one.group_id, topic, partition


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(max(number, 0) for number in known) if known else None


def _sum_of_rates(rates: Iterable[float | None]) -> float | None:
    found = list(rates)
    return None if None in found else sum(rate for rate in found if rate is not None)
