"""What repeats in the timeline of a group, and the cause that fits: one replacement is a restart, eight within half a minute are not.

A series needs at least `TIMES_MIN` events of one kind, of one member (its instance, or its client id and host) or of one partition; many
members with one trouble are one series. Its text says what repeats and which causes fit. It comes with what it rests on (records by offset,
arithmetic with timeouts that the records have) and with what the log cannot show. A cause is excluded only by arithmetic: a member that
stayed 4 s did not exceed a poll interval of 300 s; one whose partitions were committed 5 s before its end hardly did. A restart, a rolling
restart of many members, an autoscaler and a slow rebalance repeat nothing of one member, and give no series.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median
from typing import Any, Final, NamedTuple

from metashell.common.forms import counted
from metashell.common.values import duration_text, time_text
from metashell.groups.log.timeline_events import SESSION_ENDED, Cause, Membership, Moment, Replacement, Timeline, listed
from metashell.groups.notes import LogLine, ServerLog

Ends = Mapping[tuple[str, Moment], LogLine]
TIMES_MIN: Final = 3
APART_MAX_MS: Final = 10 * 60 * 1000
"""Replacements of one static member that are further apart are restarts of their own. A container that fails starts again after 5 min."""
RAPID_MAX_MS: Final = 2 * 60 * 1000
RAPID_TIMES_MIN: Final = 5
_REGULAR_PART: Final = 0.75
_REGULAR_WITHIN: Final = 0.25
_TICK_MS: Final = 2000
"""What a regular stay may differ by at least: others answer a rebalance at their next heartbeat, and poll at their own pace."""
_EARLY_MS: Final = 1000
"""A poll interval may begin this long before the record of the assignment."""
_POLLS_MAX: Final = 4
"""A member may poll in time once or twice before its interval runs out, but hardly more often, time and again."""
_OFFSETS_SHOWN: Final = 4
_ALIKE_MAX: Final = 3
"""More members with one trouble are one series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Events of a group that repeat. `kind` is one word for programs; `count` counts the events, at `moments`.

    `rests_on` and `cannot_show` are sentences; `details` are JSON values.
    """

    kind: str
    text: str
    count: int
    moments: tuple[Moment, ...]
    rests_on: tuple[str, ...]
    cannot_show: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def as_object(self, group_id: str) -> dict[str, Any]:
        return {
            "type": "series",
            "group": group_id,
            "series": self.kind,
            "count": self.count,
            "offset": self.moments[0].offset,
            "timestamp": self.moments[0].ms,
            "until": self.moments[-1].ms,
            "offsets": [moment.offset for moment in self.moments],
            "text": self.text,
            "rests_on": list(self.rests_on),
            "cannot_show": self.cannot_show,
            "details": dict(self.details),
        }


def find_series(timeline: Timeline, log: ServerLog | None = None) -> list[Series]:
    """Return what repeats in a group, the most frequent first; a broker's log says how members ended."""
    found = [
        *_replaced(timeline),
        *_returns(timeline, {} if log is None else ends_of(timeline, log)),
        *_topics(timeline),
        *_changed_topics(timeline),
        *_unfinished(timeline),
        *_set_back(timeline),
        *_unasked(timeline),
    ]
    return sorted(found, key=lambda series: -series.count)


# ---- static members that are replaced


def _replaced(timeline: Timeline) -> Iterator[Series]:
    by_instance: dict[str, list[Replacement]] = {}
    for one in timeline.replacements:
        by_instance.setdefault(one.instance_id, []).append(one)
    for instance, all_of in by_instance.items():
        for run in _runs(all_of):
            if len(run) >= TIMES_MIN:
                yield _replaced_series(timeline, instance, run)


def _runs(replacements: Sequence[Replacement]) -> Iterator[list[Replacement]]:
    run: list[Replacement] = []
    for one in replacements:
        if run and one.moment.ms - run[-1].moment.ms > APART_MAX_MS:
            yield run
            run = []
        run.append(one)
    yield run


def _replaced_series(timeline: Timeline, instance: str, run: list[Replacement]) -> Series:
    moments = tuple(one.moment for one in run)
    rests = [f"{_records(moments)}: each has another member id under {instance}, and no record or generation between shows that one left"]
    cause = "two processes use this group.instance.id, or one ends and starts over and over"
    cannot = "which of both, nor from where they come: records keep client id and host of the first start. Of two processes, one logs "
    cannot += "FENCED_INSTANCE_ID each time"
    replaced_at = frozenset(moments)
    caused = sorted(
        {
            rebalance.epoch
            for rebalance in timeline.rebalances
            for cause in rebalance.causes
            if cause.kind == "static-return" and cause.moment in replaced_at
        }
    )
    if caused:
        rests.append(f"generations that follow a replacement and no other change: {', '.join(map(str, caused))}")
    text = f"{instance} was replaced {counted(len(run), 'time')} in {_span(moments)} by members that nobody saw leave: {cause}"
    details = {"instance": instance, "generations": caused}
    return Series(kind="replaced", text=text, count=len(run), moments=moments, rests_on=tuple(rests), cannot_show=cannot, details=details)


# ---- members that leave and return


def _returns(timeline: Timeline, ends: Ends) -> Iterator[Series]:
    replaced = {one.old_id for one in timeline.replacements}
    by_who: dict[str, list[Membership]] = {}
    for one in timeline.memberships:
        by_who.setdefault(one.who, []).append(one)
    restarted = {who for who, stays in by_who.items() if sum(one.left is not None for one in stays) >= TIMES_MIN}
    found = []
    for who, stays in by_who.items():
        # One member that starts over while others stay is told from restarts of all.
        is_only = len(by_who) > 1 and not restarted - {who}
        if who and (series := _returns_of(who, stays, replaced, ends, is_only=is_only)) is not None:
            found.append(series)
    # Where nearly all members end in turn, long after a poll interval could have run out, somebody restarts them.
    late = sum(one.is_late for one in found)
    if late > 1 and 4 * late >= 3 * len(by_who):
        found = [one for one in found if not one.is_late]
    for kind in ("poll-interval", "returns"):
        alike = [one for one in found if one.series.kind == kind]
        if len(alike) <= _ALIKE_MAX:
            yield from (one.series for one in alike)
        else:
            yield _together([one.series for one in alike], alike[0].cause)


class _Returns(NamedTuple):
    """The series of one member. `is_late`: its stays are much longer than its poll interval, and no commit says more."""

    series: Series
    cause: str
    is_late: bool


def _together(found: Sequence[Series], cause: str) -> Series:
    """Return the series of many members as one."""
    count = sum(one.count for one in found)
    usual = sorted(length for one in found for length in one.details["stays_ms"])
    members = [one.details["member"] for one in found]
    stays = f"{duration_text(usual[0])} to {duration_text(usual[-1])} after joining"
    text = f"{len(found)} members left {count} times and returned, {stays}: {cause} ({listed(members)})"
    moments = tuple(sorted(moment for one in found for moment in one.moments))
    details = {**found[0].details, "member": None, "members": members, "joined": sum(one.details["joined"] for one in found)}
    return replace(found[0], text=text, count=count, moments=moments, details={**details, "stays_ms": usual})


def _returns_of(who: str, stays: list[Membership], replaced: Set[str], ends: Ends, *, is_only: bool) -> _Returns | None:
    ended = [one for one in stays if one.left is not None and one.member_id not in replaced]
    # A last stay that nothing follows may be the end of a process that had no trouble.
    last_joined = max((one.joined for one in stays), key=lambda moment: moment.ms)
    followed = [one for one in ended if one.left is not None and one.left.ms <= last_joined.ms and one.joined != last_joined]
    alone = [one for one in followed if one.is_alone]
    if len(alone) >= TIMES_MIN:
        return _returns_series(who, stays, [one for one in ended if one.is_alone], alone, ends, is_only=is_only)
    # Members that are gone in one generation may have ended together. Where each stay fits its poll interval, they are all too slow.
    poll_ms = max(one.rebalance_timeout_ms for one in stays)
    fits = [one for one in followed if poll_ms - _EARLY_MS <= _length(one) <= 2 * poll_ms and not _is_too_fresh(one, poll_ms)]
    if poll_ms > 0 and len(fits) >= max(TIMES_MIN, _REGULAR_PART * len(followed)):
        return _returns_series(who, stays, ended, followed, ends, is_only=is_only)
    return None


def _returns_series(
    who: str, stays: list[Membership], ended: list[Membership], followed: list[Membership], ends: Ends, *, is_only: bool
) -> _Returns | None:
    lengths = [_length(one) for one in followed]
    usual = median(lengths)
    regular = [length for length in lengths if abs(length - usual) <= max(_TICK_MS, _REGULAR_WITHIN * usual)]
    is_regular = len(regular) >= max(TIMES_MIN, _REGULAR_PART * len(lengths))
    poll_ms, session_ms = max(one.rebalance_timeout_ms for one in stays), max(one.session_timeout_ms for one in stays)
    first, last = stays[0].joined, ended[-1].left
    assert last is not None
    is_one_at_a_time = all(before.left is not None and before.left.ms <= now.joined.ms for before, now in pairwise(stays))
    # A limit that a stay exceeds much is not what ends it.
    fits = [length for length in lengths if poll_ms - _EARLY_MS <= length <= _POLLS_MAX * poll_ms]
    fresh = [one for one in followed if _is_too_fresh(one, poll_ms)]
    fits_poll = poll_ms > 0 and len(fits) >= max(TIMES_MIN, _REGULAR_PART * len(lengths)) and (is_one_at_a_time or is_regular)
    fits_poll = fits_poll and len(fresh) < _REGULAR_PART * len(followed)
    regular = fits if fits_poll else regular
    is_regular = is_regular or fits_poll
    if not fits_poll and not (is_one_at_a_time and (is_regular or len(followed) >= RAPID_TIMES_MIN)):
        return None
    is_steady = is_only and is_regular and len(followed) > TIMES_MIN
    if not fits_poll and last.ms - first.ms > (APART_MAX_MS if is_steady else RAPID_MAX_MS) * len(followed):
        return None
    shown = _range(regular) if is_regular else ""
    rests = [f"the generations or epochs that first lack it: {_records([one.left for one in ended if one.left is not None])}"]
    if fits_poll:
        cause = "a poll interval that runs out"
        rests.append(
            f"its stays of {shown} are longer than its rebalance timeout of {duration_text(poll_ms)}, which is max.poll.interval.ms of "
            "most clients: it can run out within such a stay, and the member returns when it polls again"
        )
    else:
        cause = "it ends and starts over and over, or its session ends"
        if 0 < max(lengths) + _EARLY_MS < poll_ms:
            rests.append(
                f"not a poll interval that runs out: that is {duration_text(poll_ms)} (its rebalance timeout), and no stay was longer than "
                f"{duration_text(round(max(lengths)))}"
            )
        elif fresh:
            rests.append(
                f"its partitions were committed until {_range([_silent_ms(one) for one in fresh])} before it was gone: a poll interval of "
                f"{duration_text(poll_ms)} (its rebalance timeout) runs out so only in a member that commits without polling"
            )
        if session_ms > 0:
            lasted = "all stays are at least as long" if min(lengths) + _EARLY_MS >= session_ms else "some stays are shorter"
            rests.append(f"its session timeout is {duration_text(session_ms)}: {lasted}")
    known = [ends[key] for one in ended if one.left is not None and (key := (one.member_id, one.left)) in ends]
    for said in dict.fromkeys(line.text for line in known):
        lines = [line for line in known if line.text == said]
        rests.append(f"the broker logged {counted(len(lines), 'time')}: {said} ({lines[-1].place}, {lines[-1].time})")
    if not fits_poll and known and all(line.text == SESSION_ENDED for line in known):
        cause = "its session ends each time: it dies, is paused or is cut off, and starts again"
    rhythm = f"each {_about(shown, usual)} after joining" if is_regular else f"{duration_text(round(usual))} after joining as a rule"
    text = f"{who} joined {counted(len(stays), 'time')} and left {len(ended)}, {rhythm}: {cause}"
    series = Series(
        kind="poll-interval" if fits_poll else "returns",
        text=text,
        count=len(ended),
        moments=tuple(one.left for one in ended if one.left is not None),
        rests_on=tuple(rests),
        cannot_show="how long it waited before each join"
        if known
        else "whether it left or its session ended, and how long it waited before each join (--server-log FILE shows both)",
        details={
            "member": who,
            "joined": len(stays),
            "stays_ms": lengths,
            "rebalance_timeout_ms": poll_ms if poll_ms > 0 else None,
            "session_timeout_ms": session_ms if session_ms > 0 else None,
        },
    )
    is_late = fits_poll and usual > 2 * poll_ms and any(one.committed is None for one in followed)
    return _Returns(series, cause, is_late)


def _silent_ms(one: Membership) -> int:
    """Return the time from the last commit for a partition of the member to its end."""
    assert one.left is not None and one.committed is not None
    return one.left.ms - one.committed.ms


def _is_too_fresh(one: Membership, poll_ms: int) -> bool:
    """Return whether a commit of the member shows that it was at work within its last poll interval."""
    return one.committed is not None and _silent_ms(one) < poll_ms - _EARLY_MS


def _range(lengths: Sequence[float]) -> str:
    least, most = (duration_text(round(length)) for length in (min(lengths), max(lengths)))
    return least if least == most else f"{least} to {most}"


def _length(one: Membership) -> int:
    assert one.left is not None
    return one.left.ms - one.joined.ms


def _about(shown: str, usual: float) -> str:
    first, _, last = shown.partition(" to ")
    return duration_text(round(usual)) if first == last else shown


# ---- topics that appear


def _topics(timeline: Timeline) -> Iterator[Series]:
    appeared: dict[str, Moment] = {}
    by_topics = []
    for rebalance in timeline.rebalances[1:]:
        names = [topic for cause in rebalance.causes for topic in cause.topics]
        for topic in names:
            appeared.setdefault(topic, rebalance.began)
        if names:
            by_topics.append(rebalance)
    moments = tuple(dict.fromkeys(appeared.values()))
    if len(moments) < TIMES_MIN or 2 * len(by_topics) < len(timeline.rebalances):
        return
    rests = [f"{_records([one.began for one in by_topics])}: subscriptions or matches of a pattern that have a topic more"]
    if len(by_topics) > len(moments):
        rests.append(
            f"members see a topic at different times (metadata.max.age.ms), so that {counted(len(moments), 'change')} of topics cost "
            f"{len(by_topics)} rebalances"
        )
    others = len(timeline.rebalances) - 1 - len(by_topics)
    each = "each rebalance follows" if not others else f"{len(by_topics)} of {len(timeline.rebalances) - 1} rebalances follow"
    text = f"{each} a topic that appears: {listed(appeared)}, in {_span(moments)}"
    yield Series(
        kind="topics",
        text=text,
        count=len(by_topics),
        moments=tuple(one.began for one in by_topics),
        rests_on=tuple(rests),
        cannot_show="who creates the topics (metashell groups reads the group's log; the metadata log has when)",
        details={"topics": list(appeared), "rebalances": len(timeline.rebalances) - 1},
    )


def _changed_topics(timeline: Timeline) -> Iterator[Series]:
    """Find rebalances that follow changes of topics without a new name, such as partitions that are added time and again."""
    found = [one.began for one in timeline.rebalances[1:] if any(cause.kind == "topics" and not cause.topics for cause in one.causes)]
    if len(found) < TIMES_MIN or 2 * len(found) < len(timeline.rebalances):
        return
    others = len(timeline.rebalances) - 1 - len(found)
    each = "each rebalance follows" if not others else f"{len(found)} of {len(timeline.rebalances) - 1} rebalances follow"
    yield Series(
        kind="changed-topics",
        text=f"{each} a change of its topics that brings no new name, in {_span(found)}: partitions are added, or topics are deleted",
        count=len(found),
        moments=tuple(found),
        rests_on=(f"{_records(found)}: equal members and subscriptions, and other partitions or another hash of the topics",),
        cannot_show="who changes the topics (metashell groups reads the group's log; the metadata log has when)",
    )


# ---- generations without an end, offsets that go back, rebalances that somebody asks for


def _unfinished(timeline: Timeline) -> Iterator[Series]:
    without = [one for one in timeline.rebalances if one.kind == "classic" and one.missing and not one.has_gap]
    count = sum(one.missing for one in without)
    if count >= TIMES_MIN and count >= len(timeline.rebalances):
        moments = tuple(one.began for one in without)
        text = (
            f"{counted(count, 'generation')} left no record, beside {len(timeline.rebalances)} that did: they ended before their members "
            "had assignments"
        )
        rests = (f"the numbers of the generations at {_records(moments)}; no offset is missing between, so that compaction took none",)
        yield Series(
            kind="unfinished",
            text=text,
            count=count,
            moments=moments,
            rests_on=rests,
            cannot_show="why: a member that joined or left meanwhile, or a leader that did not assign in time (--server-log FILE)",
        )


def _set_back(timeline: Timeline) -> Iterator[Series]:
    by_partition: dict[tuple[str, int], list[Moment]] = {}
    for event in timeline.events:
        if event.kind == "set-back":
            by_partition.setdefault((event.details["topic"], event.details["partition"]), []).append(event.moment)
    often = {partition: moments for partition, moments in by_partition.items() if len(moments) >= TIMES_MIN}
    if often:
        moments = tuple(sorted(moment for found in often.values() for moment in found))
        names = listed(f"{topic}:{number}" for topic, number in often)
        text = (
            f"offsets of {names} were set back {len(moments)} times in {_span(moments)}: several consumers commit for one partition, or "
            "somebody resets"
        )
        yield Series(
            kind="set-back",
            text=text,
            count=len(moments),
            moments=moments,
            rests_on=(f"commits below the one before: {_records(moments)}",),
            cannot_show="who committed: records of commits name no member",
        )


def _unasked(timeline: Timeline) -> Iterator[Series]:
    found = [one.began for one in timeline.rebalances if all(cause.kind == "asked" for cause in one.causes)]
    if len(found) < TIMES_MIN or 2 * len(found) < len(timeline.rebalances):
        return
    apart = [now.ms - before.ms for before, now in pairwise(found)]
    usual = median(apart)
    is_regular = all(abs(one - usual) <= max(_TICK_MS, _REGULAR_WITHIN * usual) for one in apart)
    pace = f", {duration_text(round(usual))} apart" if is_regular else f" in {_span(found)}"
    yield Series(
        kind="asked",
        text=f"{len(found)} of {len(timeline.rebalances)} rebalances show no change of members, subscriptions or assignor{pace}",
        count=len(found),
        moments=tuple(found),
        rests_on=(f"{_records(found)}: equal members, subscriptions and assignor",),
        cannot_show="who asked: a leader that refreshes its metadata (metadata.max.age.ms, 5 min by default), an application, or a member "
        "that had lost its place (--server-log FILE has the reason)",
    )


# ---- the broker's log


def ends_of(timeline: Timeline, log: ServerLog) -> dict[tuple[str, Moment], LogLine]:
    """Return how members ended, by member id and the moment of the record that no longer has it. The newest ends are matched first."""
    found = {}
    left: dict[str, list[Moment]] = {}
    for one in timeline.memberships:
        if one.left is not None:
            left.setdefault(one.member_id, []).append(one.left)
    for id, moments in left.items():
        for moment, line in zip(reversed(moments), reversed(log.ends.get(id, ())), strict=False):
            found[id, moment] = line
    return found


def add_reasons(timeline: Timeline, log: ServerLog) -> None:
    """Add to each cause what the server log says of it: how a member ended, and why a generation began."""
    ends = ends_of(timeline, log)
    for rebalance in timeline.rebalances:
        rebalance.causes = tuple(_with_end(cause, timeline, ends) for cause in rebalance.causes)
        reason = log.reasons.get(rebalance.epoch) if rebalance.kind == "classic" else None
        if reason is not None and not (_is_plain(reason.text) and any(cause.kind in ("joined", "left") for cause in rebalance.causes)):
            text = f"the broker logged: {reason.text} ({reason.place}, {reason.time})"
            rebalance.causes = (*rebalance.causes, Cause("server-log", text, rebalance.began))


def _is_plain(reason: str) -> bool:
    """Return whether a reason says only that a member joined or left, which the records show too."""
    is_told = "client reason: " in reason and not reason.endswith("client reason: not provided")
    return not is_told and reason.startswith(("Adding new member", "removing member", "explicit `LeaveGroup`"))


def _with_end(cause: Cause, timeline: Timeline, ends: Mapping[tuple[str, Moment], LogLine]) -> Cause:
    end = None if cause.kind != "left" or cause.member_id is None else ends.get((cause.member_id, cause.moment))
    if end is None or cause.member_id is None:
        return cause
    return cause._replace(text=f"{timeline.label(cause.member_id)} is gone: {end.text} ({end.place}, {end.time})")


# ---- words


def _span(moments: Sequence[Moment]) -> str:
    return f"{duration_text(moments[-1].ms - moments[0].ms)} ({time_text(moments[0].ms)} to {time_text(moments[-1].ms)})"


def _records(moments: Sequence[Moment]) -> str:
    offsets = list(dict.fromkeys(str(moment.offset) for moment in moments))
    return f"offset{'s' if len(offsets) > 1 else ''} {listed(offsets, _OFFSETS_SHOWN)}"
