"""The timeline of a group: events in order, and rebalances with their causes and delays.

Of the commits it has how many count, what was set back or removed, and what transactions undid or hold back.

`ServerLog` is what a broker's own log (server.log) says about a group: why a rebalance began, how a member left, which member ids were
never used.

The log of groups has decisions, the server log has reasons. Lines are found by the group's id and the words that brokers of 2.4 to 4.4
write, whatever layout of log4j surrounds them. Times are shown as they are written, since they name no zone: lines are matched to records
by generation and member id, never by time. Anyone may write such a file, so its text is shown as a quotation, with its line number.
Source: kafka.coordinator.group.GroupCoordinator; org.apache.kafka.coordinator.group.GroupMetadataManager."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from metashell.codec.consumer_protocol import Partition
from metashell.common.forms import counted
from metashell.common.values import duration_text
from metashell.groups.decision import Record
from metashell.groups.log.fold import ABORTED, COMMITTED, OPEN
from metashell.groups.notes import LogLine, ServerLog
from metashell.groups.view import Parts, parts_of, parts_text


class Moment(NamedTuple):
    """A record's offset and time. Units: ms."""

    offset: int
    ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEvent:
    """An event of a group. `kind` is one word for programs; `epoch` is a generation or group epoch, if the event has one."""

    moment: Moment
    kind: str
    text: str
    epoch: int | None = None
    member_id: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def as_object(self, group_id: str) -> dict[str, Any]:
        return {
            "type": "event",
            "group": group_id,
            "offset": self.moment.offset,
            "timestamp": self.moment.ms,
            "event": self.kind,
            "epoch": self.epoch,
            "member": self.member_id,
            "text": self.text,
            "details": dict(self.details),
        }


class Cause(NamedTuple):
    """A cause of a rebalance, as far as records show it. `kind` is one word for programs; `topics` are those that appeared."""

    kind: str
    text: str
    moment: Moment
    member_id: str | None = None
    topics: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Membership:
    """A member's time in the group, from the record that first has it to the one that no longer does; `left` is None at the log's end.

    `rebalance_timeout_ms` is max.poll.interval.ms of Java's, librdkafka's and kafka-python's consumers. A timeout is -1 where the records
    do not have it. `is_alone`: its end was the end of no other member. `committed` is the last commit for one of its partitions.
    """

    member_id: str
    client_id: str
    host: str
    instance_id: str | None
    joined: Moment
    left: Moment | None = None
    is_alone: bool = True
    committed: Moment | None = None
    session_timeout_ms: int = -1
    rebalance_timeout_ms: int = -1

    @property
    def who(self) -> str:
        """The name that its next start has too: its group.instance.id, or client id and host."""
        return client_text(self.client_id, self.host) if self.instance_id is None else self.instance_id


class Replacement(NamedTuple):
    """A static member that came under another member id while the one before was in the group; nobody had seen that one leave.

    Its record keeps the client id and host of the first start, whoever comes. Source: ClassicGroup.replaceStaticMember.
    """

    instance_id: str
    moment: Moment
    old_id: str
    member_id: str
    was_leader: bool
    generation: int


class Delay(NamedTuple):
    """A member that others waited for: it had to give up `partitions`, from `since` to `until`; None if it still has them.

    `waiting` are the members whose targets include some of them.
    """

    member_id: str
    since: Moment
    until: Moment | None
    partitions: Parts
    waiting: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Rebalance:
    """One epoch's rebalance. `began` is its first record, `settled` its last; None while a member has not reached its target.

    `arrived` lists members with the moment at which each reached its target, in order. `superseded_by` is the epoch that began before this
    one had settled. `moved` counts partitions that went from one member to another, `assigned` all that members have. `missing` counts
    epochs before it that left no record. `sync_ms` is the time that a classic group's leader took to assign. `has_gap`: the log has lost
    records around it.
    """

    kind: str
    epoch: int
    began: Moment
    causes: tuple[Cause, ...] = ()
    settled: Moment | None = None
    superseded_by: int | None = None
    members: int = 0
    moved: int = 0
    assigned: int = 0
    missing: int = 0
    sync_ms: int | None = None
    has_gap: bool = False
    delays: list[Delay] = field(default_factory=list)
    arrived: list[tuple[str, Moment]] = field(default_factory=list)

    @property
    def took_ms(self) -> int | None:
        """The time from its first to its last record, None if it has not settled."""
        return None if self.settled is None else max(self.settled.ms - self.began.ms, 0)

    def as_object(self, group_id: str) -> dict[str, Any]:
        return {
            "type": "rebalance",
            "group": group_id,
            "group_type": self.kind,
            "epoch": self.epoch,
            "offset": self.began.offset,
            "timestamp": self.began.ms,
            "settled_offset": None if self.settled is None else self.settled.offset,
            "settled_at": None if self.settled is None else self.settled.ms,
            "took_ms": self.took_ms,
            "sync_ms": self.sync_ms,
            "superseded_by": self.superseded_by,
            "missing_epochs": self.missing,
            "incomplete": self.has_gap,
            "members": self.members,
            "partitions": self.assigned,
            "moved": self.moved,
            "causes": [
                {
                    "cause": cause.kind,
                    "member": cause.member_id,
                    "offset": cause.moment.offset,
                    "timestamp": cause.moment.ms,
                    "text": cause.text,
                }
                for cause in self.causes
            ],
            "delays": [
                {
                    "member": delay.member_id,
                    "partitions": {topic: list(numbers) for topic, numbers in delay.partitions},
                    "since": delay.since.ms,
                    "until": None if delay.until is None else delay.until.ms,
                    "waiting": list(delay.waiting),
                }
                for delay in self.delays
            ],
            "arrived": [{"member": member, "offset": moment.offset, "timestamp": moment.ms} for member, moment in self.arrived],
        }


@dataclass(slots=True)
class Timeline:
    """Events and rebalances of a group, both in order. `ended` is the moment of the group's last record, None without records."""

    group_id: str
    events: list[TimelineEvent] = field(default_factory=list)
    rebalances: list[Rebalance] = field(default_factory=list)
    memberships: list[Membership] = field(default_factory=list)
    replacements: list[Replacement] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    ended: Moment | None = None
    _present: dict[str, Membership] = field(default_factory=dict)
    _clients: Counter[str] = field(default_factory=Counter)
    """How many members are present with each client id and host."""

    def join(self, membership: Membership) -> None:
        """Add that a member is in the group from now on."""
        id = membership.member_id
        self.leave(id, membership.joined)
        client = client_text(membership.client_id, membership.host)
        # Two members at once may have one client id and one host; the end of the id tells them apart.
        text = f"{client}#{id[-4:]}" if self._clients[client] and client else client or id
        self._clients[client] += 1
        self.labels[id] = text if membership.instance_id is None else f"{membership.instance_id} (static member, {text})"
        self.memberships.append(membership)
        self._present[id] = membership

    def leave(self, id: str, moment: Moment, *, is_alone: bool = True) -> None:
        """Add that a member is in the group no longer."""
        if (membership := self._present.pop(id, None)) is not None:
            membership.left, membership.is_alone = moment, is_alone
            self._clients[client_text(membership.client_id, membership.host)] -= 1

    def commit(self, id: str | None, moment: Moment) -> None:
        """Add that a partition of a member, if it is in the group, was committed."""
        if id is not None and (membership := self._present.get(id)) is not None:
            membership.committed = moment

    def label(self, id: str) -> str:
        """Return a member's client id, host and instance as text, also after it has left; its id if the log does not have them."""
        return self.labels.get(id, id)


def client_text(client_id: str, host: str) -> str:
    """Return `orders-app@10.0.0.7`; brokers write hosts with a slash before."""
    host = host.removeprefix("/")
    return f"{client_id}@{host}" if host else client_id


def delay_text(delay: Delay, timeline: Timeline, now_ms: int) -> str:
    """Say who waited for whom, and how long."""
    until = now_ms if delay.until is None else delay.until.ms
    still = "still " if delay.until is None else ""
    waiting = f", for which {listed(map(timeline.label, delay.waiting))} waited" if delay.waiting else ""
    who, length = timeline.label(delay.member_id), duration_text(until - delay.since.ms)
    return f"{who} {still}had to give up {parts_text(delay.partitions)} for {length}{waiting}"


def listed(names: Iterable[str], most: int = 5) -> str:
    """Return `a, b and 3 more`."""
    known = list(names)
    if len(known) <= most + 1:
        return ", ".join(known)
    return f"{', '.join(known[:most])} and {len(known) - most} more"


_UNDONE = {ABORTED: "that a transaction aborted", OPEN: "in a transaction that is still open"}


def _places(commits: list[tuple[Partition, int]]) -> str:
    return listed([f"{topic}:{partition} to {offset}" for (topic, partition), offset in commits], 3)


class CommitTimelineBuilder:
    """Adds commits to a timeline. All commits between two other events are one event."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._newest: dict[Partition, tuple[int, Moment]] = {}
        self._count = 0
        self._undone: dict[str, list[tuple[Partition, int]]] = {ABORTED: [], OPEN: []}
        self._partitions: set[Partition] = set()
        self._first = self._last = Moment(-1, -1)
        self._event_count = 0

    def add(self, record: Record, moment: Moment, outcome: str) -> None:
        """Count a commit by the outcome of its transaction. One below its partition's newest is an event of its own if it counts."""
        if len(self._timeline.events) != self._event_count:
            self._flush()
        partition = (record.key.topic, record.key.partition)
        if outcome != COMMITTED:
            if not self._count and not any(self._undone.values()):
                self._first = self._last = moment
            self._undone[outcome].append((partition, record.value.offset))
            return
        if not self._count:
            self._first = moment
        self._count += 1
        self._last = moment
        self._partitions.add(partition)
        known = self._newest.get(partition)
        self._newest[partition] = (record.value.offset, moment)
        if known is not None and record.value.offset < known[0]:
            self._flush()
            text = f"{partition[0]}:{partition[1]} was set back from {known[0]} to {record.value.offset}"
            details = {"topic": partition[0], "partition": partition[1], "from": known[0], "to": record.value.offset}
            self._add_event(TimelineEvent(moment=moment, kind="set-back", text=text, details=details))

    def removed(self, partitions: list[Partition], moment: Moment) -> None:
        """Add that one batch deleted the offsets of these partitions."""
        self._flush()
        ages = [moment.ms - self._newest.pop(partition)[1].ms for partition in partitions if partition in self._newest]
        age = f", committed {duration_text(min(ages))} before" if ages else ""
        text = (
            f"offsets of {parts_text(parts_of(partitions))} were removed{age}: expired, deleted by somebody, or with their topic or group"
        )
        details = {"partitions": len(partitions), "age_ms": min(ages, default=None)}
        self._add_event(TimelineEvent(moment=moment, kind="offsets-removed", text=text, details=details))

    def end(self) -> None:
        """Add what is left at the end of the log."""
        self._flush()

    def _flush(self) -> None:
        undone = [
            f"{counted(len(found), 'commit')} {_UNDONE[outcome]}: {_places(found)}" for outcome, found in self._undone.items() if found
        ]
        if self._count or undone:
            within = f" within {duration_text(self._last.ms - self._first.ms)}" if self._count > 1 else ""
            which = f" of {parts_text(parts_of(self._partitions))}{within}"
            if undone and len(self._partitions) == 1:
                which += f", the newest to {self._newest[next(iter(self._partitions))][0]}"
            done = [f"{counted(self._count, 'commit')}{which}"] if self._count else []
            text = "; ".join([*done, *undone])
            details = {"commits": self._count, "last_offset": self._last.offset, "last_timestamp": self._last.ms}
            details |= {outcome: len(found) for outcome, found in self._undone.items()}
            # The commits precede the event that ends their run.
            self._timeline.events.insert(self._event_count, TimelineEvent(moment=self._first, kind="commits", text=text, details=details))
        self._count = 0
        self._undone = {ABORTED: [], OPEN: []}
        self._partitions = set()
        self._event_count = len(self._timeline.events)

    def _add_event(self, event: TimelineEvent) -> None:
        self._timeline.events.append(event)
        self._event_count = len(self._timeline.events)


LINE_MAX: Final = 4096
SESSION_ENDED: Final = "its session ended"


_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]?\d*")
_PREPARING: Final = re.compile(
    r"Preparing to rebalance group \S.* in state \w+ with old generation (\d+).*?\(reason: (.*?)\)\.?(?: \(kafka|\s*\(org|\s*$)"
)
_STABILIZED: Final = re.compile(r"Stabilized group \S.* generation (\d+)")
_FAILED: Final = re.compile(r"Member (\S+) in group \S.* has failed, removing")
_LEFT: Final = re.compile(
    r"Member (?:MemberMetadata\(memberId=)?([^\s,]+).* has left group.*?(?:client reason: (.*?))?(?: \((?:kafka|org)\.|$)"
)
_FENCED: Final = re.compile(r"Member (\S+) fenced from the group because (.*?)\.?(?: \(org\.|$)")
_GONE: Final = re.compile(r"Member (\S+) (?:left|leaves) the (?:consumer|streams|share) group")
_GIVEN: Final = re.compile(r"Created a new member id (\S+) ")
_USED: Final = re.compile(r"Pending dynamic member with id (\S+) joins group")
_REPLACED: Final = re.compile(r"Replacing previously mapped member (\S+) with this groupInstanceId")
_EMPTIED: Final = re.compile(r"Group \S.* with generation (\d+) is now empty")
_EXPIRED: Final = re.compile(r"Pending member (\S+) in group \S.* has been removed")


def read_server_log(name: str, lines: Iterable[str], group_id: str, found: ServerLog | None = None) -> ServerLog:
    """Return what the lines of the server log `name` say about a group, added to `found`."""
    found = ServerLog() if found is None else found
    named = re.compile(rf"\b[Gg]roup(?:Id)? {re.escape(group_id)}(?=[\s\],]|$)")
    for number, line in enumerate(lines, start=1):
        if group_id in line and named.search(line[:LINE_MAX]):
            _add(found, name, number, line[:LINE_MAX].rstrip())
    return found


def _add(found: ServerLog, file: str, number: int, line: str) -> None:
    match_time = _TIME.search(line)
    time = "" if match_time is None else match_time.group()

    def said(text: str) -> LogLine:
        return LogLine(file, number, time, text)

    def ended(id: str, text: str) -> None:
        found.ends.setdefault(id, []).append(said(text))

    if match := _PREPARING.search(line):
        found.reasons[int(match[1]) + 1] = found.preparing = said(match[2])
        found.joined.clear()
    elif _STABILIZED.search(line) or _EMPTIED.search(line):
        found.preparing = None
        found.joined.clear()
    elif match := _FAILED.search(line):
        ended(match[1], SESSION_ENDED)
        found.given.pop(match[1], None)
    elif match := _FENCED.search(line):
        ended(match[1], SESSION_ENDED if "session expired" in match[2] else f"fenced, because {match[2]}")
    elif match := _GONE.search(line):
        ended(match[1], "it left")
    elif match := _LEFT.search(line):
        reason = match[2] or ""
        ended(match[1], "it left" + (f": {reason}" if reason not in ("", "not provided") else ""))
    elif match := _REPLACED.search(line):
        ended(match[1], "another member took its group.instance.id")
    elif match := _GIVEN.search(line):
        found.given[match[1]] = said("given a member id")
    elif match := _USED.search(line):
        found.given.pop(match[1], None)
        found.joined[match[1]] = said("joined")
    elif match := _EXPIRED.search(line):
        found.given.pop(match[1], None)
