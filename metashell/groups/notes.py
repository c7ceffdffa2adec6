"""Notes on a group: what its rebalance waits for, and how its partitions are spread over its members. Notes are no findings.

A note on a rebalance says since when and for whom it waits, as far as the description, the times of looks and a broker's log show it. A
note on an assignment says what is uneven (in total, or in one topic though the total is even), which partitions nobody owns, which members
have none, and which partitions are read in another rack than where a copy lies. Members are compared only with those of the same
subscription, and a group that rebalances is not judged. What the topics have is asked of `Topics`, which may know less than the cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from metashell.common.forms import counted
from metashell.common.values import time_text
from metashell.groups.server_log import ServerLog
from metashell.groups.topics import Topics
from metashell.groups.view import GroupDescription, MemberDescription, parts_of, parts_text

WAITS, MAY_REBALANCE, SINCE = "waits-for", "may-rebalance", "since"
TOPIC_SKEW, TOTAL_SKEW, IDLE, NO_OWNER, OTHER_RACK = "topic-skew", "total-skew", "idle-members", "no-owner", "other-rack"
_SHOWN: Final = 3
_TOTAL_FIRST: Final = frozenset({"sticky", "cooperative-sticky", "uniform"})
"""Assignors that even out the total of partitions, not each topic."""
_JUDGED: Final = ("classic", "consumer")
_SETTLED: Final = "Stable"
Subscription = tuple[tuple[str, ...], str | None]


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
