"""The timeline of a group of the newer protocols: its epochs, and how each member reached its target.

Consumer, share and streams groups leave the same kinds of records under different types: the group's epoch, a member, the target of the
whole group and of a member, and a member's current assignment. `ROLES` has the role of each type.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from metashell.codec.coordinator import CONSUMER_STATES, STREAMS_STATES
from metashell.common.forms import counted
from metashell.common.values import duration_text
from metashell.groups.decision import Record
from metashell.groups.log.timeline_events import Cause, Delay, Membership, Moment, Rebalance, Timeline, TimelineEvent, listed
from metashell.groups.topics import Topics
from metashell.groups.view import parts_of, parts_text, topic_text

Role = Literal["group", "member", "target-epoch", "target", "current", "regex", "topology", "share-state"]
OwnedPartition = tuple[str, int]
Owned = frozenset[OwnedPartition]

ROLES: Final[dict[int, tuple[str, Role]]] = {
    3: ("consumer", "group"),
    5: ("consumer", "member"),
    6: ("consumer", "target-epoch"),
    7: ("consumer", "target"),
    8: ("consumer", "current"),
    16: ("consumer", "regex"),
    10: ("share", "member"),
    11: ("share", "group"),
    12: ("share", "target-epoch"),
    13: ("share", "target"),
    14: ("share", "current"),
    15: ("share", "share-state"),
    17: ("streams", "group"),
    19: ("streams", "member"),
    20: ("streams", "target-epoch"),
    21: ("streams", "target"),
    22: ("streams", "current"),
    23: ("streams", "topology"),
}
"""Record type -> kind of group, and the role of the record in it."""
_STABLE, _REVOKING, _WAITING = "STABLE", "UNREVOKED", "UNRELEASED"
_AWAY_EPOCH: Final = -2
_NEVER: Final = Moment(-1, -1)


@dataclass(slots=True)
class _Member:
    value: Any = None
    target: Owned = frozenset()
    assigned: Owned = frozenset()
    revoking: Owned = frozenset()
    epoch: int = 0
    state: str = ""
    since: Moment = _NEVER
    delay: tuple[Rebalance, int] | None = None
    """The delay that this member causes: its rebalance, and its index there."""


@dataclass(slots=True)
class ModernTimelineBuilder:
    """Adds to a timeline what records of the newer protocols show. It gets them in order."""

    timeline: Timeline
    topics: Topics
    kind: str = ""
    epoch: int | None = None
    hash: int = 0
    has_hash: bool = False
    """Whether any epoch had a hash of topics. Without topics the hash is 0 too."""
    assignment_epoch: int = -1
    members: dict[str, _Member] = field(default_factory=dict)
    causes: list[Cause] = field(default_factory=list)
    changes: list[Cause] = field(default_factory=list)
    """Changes of members that may or may not have raised the epoch."""
    open: Rebalance | None = None
    expressions: dict[str, frozenset[str]] = field(default_factory=dict)
    before: dict[str, Owned] = field(default_factory=dict)
    """The targets of members when the rebalance began."""
    owners: dict[OwnedPartition, str] = field(default_factory=dict)
    """The last member with each partition in its target, since the group was last empty."""
    instances: dict[str, str] = field(default_factory=dict)
    """Static members: instance id -> member id."""
    has_gap: bool = False
    """Whether the log has lost records since the previous epoch."""
    ready: Owned = frozenset()
    """The partitions of a share group that have share state."""
    becomes_classic: bool = False
    """Whether the current batch makes this group a classic one."""
    carried: frozenset[str] = frozenset()
    """Members that an upgrade or downgrade in the current batch carries over: they neither join nor leave."""

    def add(self, record: Record, moment: Moment) -> None:
        """Add what a record shows."""
        self.kind, role = ROLES[record.type]
        match role:
            case "group":
                self._group(record.value, moment)
            case "member":
                self._member(record.key.member_id, record.value, moment)
            case "target-epoch":
                self._target_epoch(record.value, moment)
            case "target" if record.value is not None:
                self._at(record.key.member_id).target = self._owned(record.value)
            case "target":
                if (member := self.members.get(record.key.member_id)) is not None:
                    member.target = frozenset()
            case "current":
                self._current(record.key.member_id, record.value, moment)
            case "regex":
                self._regex(record, moment)
            case "topology":
                self._topology(record.value, moment)
            case "share-state":
                self._share_state(record.value, moment)

    # ---- the group

    def _group(self, value: Any, moment: Moment) -> None:
        if value is None:
            if self.becomes_classic:
                self._event(moment, "downgraded", f"the {'' if self.carried else 'empty '}group became a classic group")
            else:
                self._event(moment, "deleted", "the group was deleted: by DeleteGroups, or since it was empty and its offsets expired")
            self.epoch, self.hash, self.has_hash, self.assignment_epoch = None, 0, False, -1
            self.members.clear()
            self.owners.clear()
            if not self.carried:
                self.causes.clear()
            self._close(None)
            return
        before, self.epoch = self.epoch, value.epoch
        hash, self.hash = self.hash, getattr(value, "metadata_hash", 0)
        if before is not None and value.epoch == before:
            self._event(moment, "rewritten", "the group's epoch was written again")
            return
        if not self.causes and before is not None and not self.has_gap and hash != self.hash:
            text = "topics that it subscribes to changed: one was created or deleted, grew, or has replicas in other racks"
            if not self.has_hash:
                text = "a topic that it subscribes to was created, or a broker before 4.1 wrote the last epoch, without a hash of topics"
            self.causes.append(Cause("topics", text, moment))
        if not self.causes:
            self.causes += self.changes or [self._cause_unknown(before, moment)]
        self.changes.clear()
        self.has_hash |= self.hash != 0
        self._open(value.epoch, moment, 0 if before is None else value.epoch - before - 1)

    def causes_of_downgrade(self, moment: Moment) -> tuple[Cause, ...]:
        """Return the causes of a downgrade: the members that left in its batch."""
        causes, self.causes = tuple(self.causes), []
        return (*causes, Cause("downgraded", "the group was a consumer group, in which only classic members are left", moment))

    def _cause_unknown(self, before: int | None, moment: Moment) -> Cause:
        if self.carried:
            return Cause("upgraded", f"the group was a classic group of {listed(map(self.timeline.label, sorted(self.carried)))}", moment)
        if before is None:
            return Cause("first", "the first epoch that the log still has", moment)
        if self.has_gap:
            return Cause("unknown", "the log does not say: it has lost records before this one", moment)
        return Cause("unknown", "no record says why the epoch rose", moment)

    def _open(self, epoch: int, moment: Moment, missing: int) -> None:
        self._close(epoch)
        causes, self.causes = tuple(self.causes), []
        count = self._member_count()
        self.open = Rebalance(kind=self.kind, epoch=epoch, began=causes[0].moment, causes=causes, members=count, missing=missing)
        self.open.has_gap, self.has_gap = self.has_gap, False
        if not count:
            self.open.settled = moment
            self.owners.clear()
        self.before = {id: member.target for id, member in self.members.items()}
        self.timeline.rebalances.append(self.open)
        self._event(moment, "epoch", f"epoch {epoch}: {listed([cause.text for cause in causes], 3)}")

    def _close(self, superseded_by: int | None) -> None:
        if self.open is not None and self.open.settled is None:
            self.open.superseded_by = superseded_by
            self.open.has_gap |= self.has_gap
        self.open = None

    def _target_epoch(self, value: Any, moment: Moment) -> None:
        if value is None:
            self.assignment_epoch = -1
            return
        self.assignment_epoch = value.assignment_epoch
        moved = self._count_moved() if self.kind != "share" else 0
        assigned = len({partition for member in self.members.values() for partition in member.target})
        if self.open is not None and self.open.epoch == value.assignment_epoch:
            self.open.members, self.open.assigned = self._member_count(), assigned
            self.open.moved = moved
        targets = {id: member.target for id, member in self.members.items() if member.target != self.before.get(id, frozenset())}
        size = f"{counted(assigned, 'partition')} for {counted(self._member_count(), 'member')}"
        text = f"target of epoch {value.assignment_epoch}: {size}, {moved} moved"
        details = {"targets": {id: {topic: list(numbers) for topic, numbers in parts_of(target)} for id, target in targets.items()}}
        self._event(moment, "target", text, details=details)
        self._look_settled(moment)

    def _count_moved(self) -> int:
        """Count partitions whose target member is another than the last one."""
        moved = 0
        for id, member in self.members.items():
            for partition in member.target:
                moved += self.owners.get(partition, id) != id
                self.owners[partition] = id
        return moved

    # ---- members

    def _at(self, id: str) -> _Member:
        return self.members.setdefault(id, _Member())

    def _member_count(self) -> int:
        """Count members, including those whose metadata records the log has lost."""
        return len(self.members)

    def _member(self, id: str, value: Any, moment: Moment) -> None:
        member = self.members.get(id)
        if value is None:
            if id not in self.carried and (member is None or member.value is None):
                self._cause(
                    "left", f"{self.timeline.label(id)} left, timed out or was replaced (the log has lost its earlier records)", moment, id
                )
            elif member is not None:
                self._gone(id, member, moment)
            self.members.pop(id, None)
            return
        old = None if member is None else member.value
        self._at(id).value = value
        if old is None and id not in self.carried:
            self.timeline.join(
                Membership(
                    member_id=id,
                    client_id=value.client_id,
                    host=value.client_host,
                    instance_id=getattr(value, "instance_id", None),
                    joined=moment,
                    rebalance_timeout_ms=getattr(value, "rebalance_timeout_ms", -1),
                )
            )
        if (instance := getattr(value, "instance_id", None)) is not None:
            previous = self.instances.get(instance, id)
            self.instances[instance] = id
            for partition in [partition for partition, owner in self.owners.items() if owner == previous != id]:
                self.owners[partition] = id
        if old is None and id in self.carried:
            self._event(moment, "carried", f"{self.timeline.label(id)} is in it as before, by the classic protocol", id)
        elif old is None:
            self._cause("joined", f"{self.timeline.label(id)} joined", moment, id)
        elif changes := _changes(old, value):
            is_other = _subscription(old) != _subscription(value)
            text = f"{self.timeline.label(id)}: {listed(changes)}"
            if is_other:
                before, now = (frozenset(getattr(one, "subscribed_topic_names", None) or ()) for one in (old, value))
                self._cause("subscription", text, moment, id, tuple(sorted(now - before)))
            else:
                self.changes.append(Cause("member", text, moment, id))
                self._event(moment, "member", text, id)

    def _gone(self, id: str, member: _Member, moment: Moment) -> None:
        if id in self.carried:
            return
        self.timeline.leave(id, moment)
        text = f"{self.timeline.label(id)} left or timed out (records do not tell which)"
        timeout = getattr(member.value, "rebalance_timeout_ms", -1)
        if member.state.startswith(_REVOKING) and 0 < timeout <= moment.ms - member.since.ms:
            told = f"{duration_text(moment.ms - member.since.ms)} after it was told to give up {parts_text(parts_of(member.revoking))}"
            text = f"{self.timeline.label(id)} was removed {told}: its rebalance timeout of {duration_text(timeout)} was over"
            self._cause("fenced", text, moment, id)
        elif member.epoch == _AWAY_EPOCH:
            self._cause("left", f"{self.timeline.label(id)} did not come back, or was replaced by its next start", moment, id)
        else:
            self._cause("left", text, moment, id)

    def _current(self, id: str, value: Any, moment: Moment) -> None:
        if value is None and id not in self.members:
            return
        member = self._at(id)
        was_revoking = member.revoking
        if value is None:
            self._end_delay(member, moment)
            member.assigned = frozenset()
            if member.value is None:
                member.revoking = frozenset()
            return
        state = (STREAMS_STATES if self.kind == "streams" else CONSUMER_STATES).get(getattr(value, "state", 0), "UNKNOWN")
        assigned, revoking = self._owned(value), self._revoking(value)
        if was_revoking and not revoking & was_revoking:
            self._end_delay(member, moment)
        if state != member.state or revoking != was_revoking:
            member.since = moment
        gained, lost = assigned - member.assigned, member.assigned - assigned - revoking
        member.assigned, member.revoking, member.epoch, member.state = assigned, revoking, value.member_epoch, state
        if revoking and revoking != was_revoking:
            self._begin_delay(id, member, moment)
        self._add_current(id, member, gained, lost, moment)
        self._look_settled(moment)

    def _add_current(self, id: str, member: _Member, gained: Owned, lost: Owned, moment: Moment) -> None:
        name = self.timeline.label(id)
        if member.epoch == _AWAY_EPOCH:
            self._event(moment, "away", f"{name} went away and is expected back: its partitions are kept for it", id)
            return
        words = [f"has {parts_text(parts_of(member.assigned)) or 'nothing'}"]
        if gained:
            words.append(f"gained {parts_text(parts_of(gained))}")
        if lost:
            words.append(f"gave up {parts_text(parts_of(lost))}")
        if member.revoking:
            words.append(f"has to give up {parts_text(parts_of(member.revoking))}")
        if member.state.startswith(_WAITING):
            words.append(f"waits for {parts_text(parts_of(member.target - member.assigned)) or 'partitions'}")
        kind = "arrived" if member.state.startswith(_STABLE) else "revoking" if member.revoking else "waiting"
        rebalance = self.open
        if (
            kind == "arrived"
            and rebalance is not None
            and member.epoch == rebalance.epoch
            and all(id != other for other, _ in rebalance.arrived)
        ):
            rebalance.arrived.append((id, moment))
        self._event(moment, kind, f"{name} at epoch {member.epoch} {', '.join(words)}", id, {"state": member.state})

    def _begin_delay(self, id: str, member: _Member, moment: Moment) -> None:
        self._end_delay(member, moment)
        if self.open is not None:
            member.delay = (self.open, len(self.open.delays))
            self.open.delays.append(Delay(id, moment, None, parts_of(member.revoking), self._waiting_for(id, member.revoking)))

    def _end_delay(self, member: _Member, until: Moment | None) -> None:
        if member.delay is None:
            return
        rebalance, index = member.delay
        delay = rebalance.delays[index]
        waiting = dict.fromkeys((*delay.waiting, *self._waiting_for(delay.member_id, member.revoking)))
        rebalance.delays[index] = delay._replace(until=until, waiting=tuple(waiting))
        member.delay = None

    def _waiting_for(self, id: str, partitions: Owned) -> tuple[str, ...]:
        return tuple(other for other, member in self.members.items() if other != id and member.target & partitions)

    def _look_settled(self, moment: Moment) -> None:
        rebalance = self.open
        if rebalance is None or rebalance.settled is not None or self.assignment_epoch != rebalance.epoch:
            return
        present = [member for member in self.members.values() if member.epoch != _AWAY_EPOCH]
        if all(member.state.startswith(_STABLE) and member.epoch == rebalance.epoch for member in present):
            rebalance.settled = moment
            rebalance.has_gap |= self.has_gap
            self._event(moment, "settled", f"epoch {rebalance.epoch} settled after {duration_text(rebalance.took_ms or 0)}")

    def end(self) -> None:
        """Add the delays that are still open at the end of the log."""
        for member in self.members.values():
            self._end_delay(member, None)

    # ---- the rest

    def _regex(self, record: Record, moment: Moment) -> None:
        expression = record.key.regular_expression
        if record.value is None:
            self.expressions.pop(expression, None)
            self._event(moment, "regex", f"nobody subscribes to {expression} any more")
            return
        names = frozenset(record.value.topics)
        before, self.expressions[expression] = self.expressions.get(expression), names
        if names != before:
            text = f"{expression} stands for {listed(sorted(names)) or 'no topic'}"
            self._cause("regex", text, moment, topics=() if before is None else tuple(sorted(names - before)))

    def _topology(self, value: Any, moment: Moment) -> None:
        if value is not None:
            count = counted(len(value.subtopologies), "subtopology", "subtopologies")
            self._cause("topology", f"topology of epoch {value.epoch} with {count}", moment)

    def _share_state(self, value: Any, moment: Moment) -> None:
        """Note share state: members of a share group get a partition once its state exists."""
        topics = () if value is None else value.initialized_topics
        ready = frozenset((topic.topic_name, number) for topic in topics for number in topic.partitions)
        before, self.ready = self.ready, ready
        if ready - before:
            self._cause("share-state", f"the share state of {parts_text(parts_of(ready - before))} is ready", moment)

    def _cause(self, kind: str, text: str, moment: Moment, member_id: str | None = None, topics: tuple[str, ...] = ()) -> None:
        self.causes.append(Cause(kind, text, moment, member_id, topics))
        self._event(moment, kind, text, member_id)

    def _event(self, moment: Moment, kind: str, text: str, member_id: str | None = None, details: dict[str, Any] | None = None) -> None:
        self.timeline.events.append(
            TimelineEvent(moment=moment, kind=kind, text=text, epoch=self.epoch, member_id=member_id, details=details or {})
        )

    # ---- what records hold

    def _owned(self, value: Any) -> Owned:
        if self.kind == "streams":
            return frozenset(
                (*_tasks(value.active_tasks, ""), *_tasks(value.standby_tasks, " (standby)"), *_tasks(value.warmup_tasks, " (warm-up)"))
            )
        parts = value.topic_partitions if hasattr(value, "topic_partitions") else value.assigned_partitions
        return self._partitions(parts)

    def _revoking(self, value: Any) -> Owned:
        if self.kind == "streams":
            return frozenset(
                (
                    *_tasks(value.active_tasks_pending_revocation, ""),
                    *_tasks(value.standby_tasks_pending_revocation, " (standby)"),
                    *_tasks(value.warmup_tasks_pending_revocation, " (warm-up)"),
                )
            )
        return self._partitions(getattr(value, "partitions_pending_revocation", ()))

    def _partitions(self, parts: Iterable[Any]) -> Owned:
        return frozenset((topic_text(part.topic_id, self.topics), number) for part in parts for number in part.partitions)


def _tasks(tasks: Iterable[Any], mark: str) -> list[OwnedPartition]:
    return [(f"{task.subtopology_id}{mark}", number) for task in tasks for number in task.partitions]


def _subscription(value: Any) -> tuple[object, ...]:
    names = getattr(value, "subscribed_topic_names", None)
    return (
        None if names is None else frozenset(names),
        getattr(value, "subscribed_topic_regex", None) or None,
        getattr(value, "topology_epoch", None),
    )


_FIELDS: Final = (
    "subscribed_topic_regex",
    "server_assignor",
    "rack_id",
    "rebalance_timeout_ms",
    "client_id",
    "client_host",
    "topology_epoch",
    "process_id",
    "user_endpoint",
    "client_tags",
)
"""The fields of a member's metadata that may change during its life."""


def _changes(old: Any, new: Any) -> list[str]:
    before, now = (frozenset(getattr(value, "subscribed_topic_names", None) or ()) for value in (old, new))
    changes = [*(f"+{topic}" for topic in sorted(now - before)), *(f"-{topic}" for topic in sorted(before - now))]
    for name in _FIELDS:
        was, is_now = getattr(old, name, None), getattr(new, name, None)
        if was != is_now:
            is_text = isinstance(is_now, str | int | None) and isinstance(was, str | int | None)
            changes.append(f"{name.replace('_', ' ')} {f'is {is_now} (was {was})' if is_text else 'changed'}")
    if (getattr(old, "classic_member_metadata", None) is None) != (getattr(new, "classic_member_metadata", None) is None):
        changes.append("speaks another protocol now")
    return changes
