"""Notes on a group: what its rebalance waits for, and how its partitions are spread over its members. Notes are no findings.

A note on a rebalance says since when and for whom it waits, as far as the description, the times of looks and a broker's log show it. A
note on an assignment says what is uneven (in total, or in one topic though the total is even), which partitions nobody owns, which members
have none, and which partitions are read in another rack than where a copy lies. Members are compared only with those of the same
subscription, and a group that rebalances is not judged. What the topics have is asked of `Topics`, which may know less than the cluster.

The lag of groups is judged by how far behind each partition is, in records and in time, and whether that gets better. One look gives
records; two looks at a live cluster give rates, and from the disk the times of commits and of records do. A rate is None where nothing
shows it, and no verdict is made of what is not known. `RULES` has the rule of each verdict, the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from metashell.common.forms import counted
from metashell.common.values import duration_text, time_text
from metashell.groups.topics import Topics
from metashell.groups.view import GroupDescription, Holder, MemberDescription, OffsetRow, parts_of, parts_text

WAITS, MAY_REBALANCE, SINCE, PENDING = "waits-for", "may-rebalance", "since", "pending-commits"
TOPIC_SKEW, TOTAL_SKEW, IDLE, NO_OWNER, OTHER_RACK = "topic-skew", "total-skew", "idle-members", "no-owner", "other-rack"
_SHOWN: Final = 3
_TOTAL_FIRST: Final = frozenset({"sticky", "cooperative-sticky", "uniform"})
"""Assignors that even out the total of partitions, not each topic."""
_JUDGED: Final = ("classic", "consumer")
_SETTLED: Final = "Stable"
Subscription = tuple[tuple[str, ...], str | None]


class LogLine(NamedTuple):
    """A line of a server log: its file and number, its time as written, and what it says."""

    file: str
    number: int
    time: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.file}, line {self.number}"


@dataclass(slots=True)
class ServerLog:
    """The lines of a broker's own log about one group; `log.timeline_events` reads them.

    Shape: `reasons` has by generation the last line that says why it began; `ends` by member id the lines on how it ended, which are
    several where a client keeps its id; `given` are member ids that were given to a client and not used since, with their lines;
    `preparing` is the line with which the rebalance began that the log shows no end of.
    """

    reasons: dict[int, LogLine] = field(default_factory=dict)
    ends: dict[str, list[LogLine]] = field(default_factory=dict)
    given: dict[str, LogLine] = field(default_factory=dict)
    preparing: LogLine | None = None
    joined: dict[str, LogLine] = field(default_factory=dict)
    """Members that joined since then."""

    @property
    def has_lines(self) -> bool:
        return bool(self.reasons or self.ends or self.given)


class Note(NamedTuple):
    """What is worth knowing about an assignment. `kind` is one word for programs."""

    kind: str
    text: str

    def as_object(self) -> dict[str, str]:
        return {"note": self.kind, "text": self.text}


def rebalance_notes(description: GroupDescription, *, is_live: bool, since: str = "", log: ServerLog | None = None) -> tuple[Note, ...]:
    """Return since when and for whom a group's rebalance waits.

    `since` is when a watch first saw this state, as text; `log` what a broker's log says. From the disk, a classic group may rebalance at
    any time: its records are written when a rebalance has ended.
    """
    summary = description.summary
    if not is_live and summary.kind == "classic":
        if not summary.members:
            return ()
        text = "a rebalance may be under way: records of a classic group are written when one has ended"
        return (Note(MAY_REBALANCE, text), *_logged(log))
    if summary.state in ("PreparingRebalance", "CompletingRebalance"):
        return tuple(_classic_waits(description, since, log))
    if summary.state in ("Assigning", "Reconciling", "NotReady"):
        return tuple(_modern_waits(description, since))
    return ()


def _classic_waits(description: GroupDescription, since: str, log: ServerLog | None) -> Iterator[Note]:
    seen = f"; first seen so {since}" if since else ""
    count = counted(len(description.members), "member")
    if description.summary.state == "CompletingRebalance":
        text = f"the rebalance waits for the leader's assignment, and for {count} to fetch theirs"
        yield Note(WAITS, f"{text}; brokers do not say since when{seen}")
        yield from _logged(log)
        return
    logged = list(_logged(log))
    if not logged:
        text = (
            f"the rebalance waits for those of {count} that have not joined again, or for a client that was given a member id and has not "
            "used it: brokers do not say which, nor since when (--server-log FILE does)"
        )
        yield Note(WAITS, f"{text}{seen}")
        return
    yield from logged
    joined = log.joined if log is not None else {}
    late = [member for member in description.members if member.member_id not in joined]
    if late:
        yield Note(WAITS, f"may wait for {_names(late)}: their joins are not in that log since{seen}")


def _logged(log: ServerLog | None) -> Iterator[Note]:
    """Yield what a broker's log says of a rebalance that it shows no end of."""
    if log is None or log.preparing is None:
        return
    begun = log.preparing
    yield Note(WAITS, f"a rebalance began at {begun.time} ({begun.place}) and has no end there: {begun.text}")
    for id, line in log.given.items():
        yield Note(WAITS, f"it waits for {id}: this member id was given at {line.time} ({line.place}) and is not used")


def pending_notes(rows: Iterable[OffsetRow], transactional_ids: Mapping[int, str]) -> list[Note]:
    """Return which open transactions hold commits of a group back, one note for each producer; rows of committed offsets say nothing."""
    by_producer: dict[int, list[OffsetRow]] = {}
    for row in rows:
        if row.pending_producer is not None:
            by_producer.setdefault(row.pending_producer, []).append(row)
    made = []
    for producer, held in sorted(by_producer.items()):
        name = transactional_ids.get(producer, "")
        since = min((row.commit_ms for row in held if row.commit_ms is not None), default=None)
        places = ", ".join(f"{row.topic}:{row.partition} to {row.offset}" for row in held[:_SHOWN])
        more = f" and {len(held) - _SHOWN} more" if len(held) > _SHOWN else ""
        text = (
            f"producer {producer}{f' ({name})' if name else ''} holds {counted(len(held), 'commit')} of {held[0].group_id} in an open "
            f"transaction{'' if since is None else f' since {time_text(since)}'}: {places}{more}; consumers with "
            "isolation.level=read_committed that start there wait (UNSTABLE_OFFSET_COMMIT)"
        )
        made.append(Note(PENDING, text))
    return made


def _modern_waits(description: GroupDescription, since: str) -> Iterator[Note]:
    epoch, seen = description.summary.epoch, f" (first seen so {since})" if since else ""
    for member in description.members:
        if member.target is None:
            continue
        has = {(topic, number) for topic, numbers in member.assigned for number in numbers}
        wants = {(topic, number) for topic, numbers in member.target for number in numbers}
        if left := sorted(has - wants):
            yield Note(WAITS, f"the rebalance waits for {_names([member])} to give up {parts_text(parts_of(left))}{seen}")
        elif member.epoch is not None and epoch is not None and 0 <= member.epoch < epoch:
            yield Note(WAITS, f"{_names([member])} is at epoch {member.epoch} of {epoch}, and has not asked for its partitions yet{seen}")


def since_note(description: GroupDescription, *, epoch: int, ms: int, place: str) -> Note:
    """Return since when a live group is as it is, from the newest record of its generation or epoch."""
    summary = description.summary
    if summary.kind != "classic":
        # A newer epoch than the answer's began while it was asked.
        what = "has been so since" if summary.epoch == epoch else "may have been so since"
        return Note(SINCE, f"epoch {epoch} {what} {time_text(ms)} ({place})")
    if summary.state in ("PreparingRebalance", "CompletingRebalance"):
        return Note(SINCE, f"the rebalance began after {time_text(ms)}, when generation {epoch} was written ({place})")
    return Note(SINCE, f"generation {epoch} was written at {time_text(ms)} ({place})")


def assignment_notes(description: GroupDescription, topics: Topics) -> tuple[Note, ...]:
    """Return the notes on a group's assignment; none for a group that rebalances, or of a kind whose partitions have several owners."""
    summary = description.summary
    if summary.kind not in _JUDGED or summary.state != _SETTLED or (summary.kind == "classic" and summary.protocol_type != "consumer"):
        return ()
    members = description.members
    if any(member.target is not None and member.target != member.assigned for member in members):
        return ()
    topics_of = _subscriptions(members)
    return (
        *_total(members),
        *_by_topic(description, topics_of),
        *_without_owner(members, topics_of, topics),
        *_other_rack(description, topics_of, topics),
    )


def _subscriptions(members: Iterable[MemberDescription]) -> dict[str, frozenset[str]]:
    """Return the topics that each member may get, by member id: those that it names, and those that members with its pattern have."""
    by_regex: dict[str, set[str]] = {}
    for member in members:
        if member.regex is not None:
            by_regex.setdefault(member.regex, set()).update(topic for topic, _ in member.assigned)
    return {member.member_id: frozenset(member.topics) | frozenset(by_regex.get(member.regex or "", ())) for member in members}


def _sizes(members: Iterable[MemberDescription]) -> dict[str, int]:
    return {member.member_id: sum(len(numbers) for _, numbers in member.assigned) for member in members}


def _total(members: Sequence[MemberDescription]) -> Iterator[Note]:
    alike: dict[Subscription, list[MemberDescription]] = {}
    for member in members:
        alike.setdefault((tuple(sorted(member.topics)), member.regex), []).append(member)
    for some in alike.values():
        sizes = _sizes(some)
        count, most, least = sum(sizes.values()), max(sizes.values()), min(sizes.values())
        idle = [member for member in some if not sizes[member.member_id]]
        if idle and count:
            fewer = f": there are {counted(count, 'partition')} for {counted(len(some), 'member')}" if count < len(some) else ""
            yield Note(IDLE, f"{len(idle)} of {counted(len(some), 'member')} have no partition: {_names(idle)}{fewer}")
        if most - least > 1:
            high = [member for member in some if sizes[member.member_id] == most]
            low = [member for member in some if sizes[member.member_id] == least]
            text = f"uneven in total: {_names(high)} has {most}, {_names(low)} {least or 'none'} ({_fair(count, len(some))} each is even)"
            yield Note(TOTAL_SKEW, text)


def _by_topic(description: GroupDescription, topics_of: Mapping[str, frozenset[str]]) -> Iterator[Note]:
    """Note topics whose partitions are uneven over members that are even in total."""
    members = description.members
    sizes = _sizes(members)
    if len(set(topics_of.values())) > 1 or not sizes or max(sizes.values()) - min(sizes.values()) > 1:
        return
    found = []
    for topic in sorted({topic for member in members for topic, _ in member.assigned}):
        counts = {member.member_id: len(dict(member.assigned).get(topic, ())) for member in members}
        if max(counts.values()) - min(counts.values()) > 1:
            found.append((max(counts.values()) - min(counts.values()), topic, counts))
    if not found:
        return
    found.sort(key=lambda one: (-one[0], one[1]))
    words = []
    for _, topic, counts in found[:_SHOWN]:
        most, least = max(counts.values()), min(counts.values())
        high = [member for member in members if counts[member.member_id] == most]
        low = [member for member in members if counts[member.member_id] == least]
        fair = _fair(sum(counts.values()), len(members))
        words.append(f"of {topic} {_names(high)} has {most} and {_names(low)} {least or 'none'} ({fair} each is even)")
    more = f"; {len(found) - _SHOWN} more topics" if len(found) > _SHOWN else ""
    each = _fair(sum(sizes.values()), len(members))
    usual = f"; {description.assignor} evens out the total, not each topic" if description.assignor in _TOTAL_FIRST else ""
    yield Note(TOPIC_SKEW, f"even in total ({each} each), uneven by topic: {'; '.join(words)}{more}{usual}")


def _without_owner(members: Sequence[MemberDescription], topics_of: Mapping[str, frozenset[str]], topics: Topics) -> Iterator[Note]:
    owned = {(topic, number) for member in members for topic, numbers in member.assigned for number in numbers}
    wanted = sorted(frozenset().union(*topics_of.values())) if topics_of else []
    missing = []
    for name in wanted:
        topic = topics.named(name)
        if topic is not None:
            missing += [(name, number) for number in range(topic.partition_count) if (name, number) not in owned]
    if missing and members:
        yield Note(NO_OWNER, f"{counted(len(missing), 'partition')} of its topics without an owner: {parts_text(parts_of(missing))}")


def _other_rack(description: GroupDescription, topics_of: Mapping[str, frozenset[str]], topics: Topics) -> Iterator[Note]:
    """Note partitions that a member reads from another rack, while a member that may have them is in a rack with a replica."""
    racked = [member for member in description.members if member.rack]
    far, count = [], 0
    for member in racked:
        for name, numbers in member.assigned:
            topic = topics.named(name)
            if topic is None:
                continue
            for number in numbers:
                racks = topic.racks[number] if number < topic.partition_count else ()
                count += bool(racks)
                near = any(other.rack in racks and name in topics_of[other.member_id] for other in racked)
                if racks and member.rack not in racks and near:
                    far.append((name, number))
    if far:
        text = (
            f"{len(far)} of {counted(count, 'partition')} are read in another rack than their replicas', though members in those racks "
            f"could: {parts_text(parts_of(far))}"
        )
        by = f"; the assignor ({description.assignor}) may not look at racks" if description.assignor else ""
        yield Note(OTHER_RACK, text + by)


def _fair(count: int, members: int) -> str:
    low, rest = divmod(count, members)
    return f"{low} to {low + 1}" if rest else str(low)


def _names(members: Sequence[MemberDescription]) -> str:
    names = [member.instance_id or member.client_id or member.member_id for member in members]
    if len(set(names)) < len(names):
        names = [member.member_id for member in members]
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


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
