"""The timeline of a group: events in order, and rebalances with their causes and delays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from metashell.common.values import duration_text
from metashell.groups.view import Parts, parts_text


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
    """A cause of a rebalance, as far as records show it. `kind` is one word for programs."""

    kind: str
    text: str
    moment: Moment
    member_id: str | None = None


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
    ended: Moment | None = None


def delay_text(delay: Delay, now_ms: int) -> str:
    """Say who waited for whom, and how long."""
    until = now_ms if delay.until is None else delay.until.ms
    still = "still " if delay.until is None else ""
    waiting = f", for which {listed(delay.waiting)} waited" if delay.waiting else ""
    return f"{delay.member_id} {still}had to give up {parts_text(delay.partitions)} for {duration_text(until - delay.since.ms)}{waiting}"


def listed(names: Iterable[str], most: int = 5) -> str:
    """Return `a, b and 3 more`."""
    known = list(names)
    if len(known) <= most + 1:
        return ", ".join(known)
    return f"{', '.join(known[:most])} and {len(known) - most} more"
