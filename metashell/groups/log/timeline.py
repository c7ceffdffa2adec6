"""The timeline of one group from the records of its log, and the parts of it that classic groups and commits give.

Each record of a classic group is a whole generation, written when its members have their assignments. Records have the decision and never
its reason: a member that left and one whose session ended leave the same records. Texts say so, and exclude no cause that they did not
check. They do show what follows from several records together, such as a member that was removed because its rebalance timeout was over;
`series` finds what repeats. Members are named by client id, host and instance."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

from metashell.codec.consumer_protocol import Partition, read_assignment, read_subscription
from metashell.common.errors import DecodeError
from metashell.common.forms import counted
from metashell.common.values import duration_text
from metashell.groups.decision import Record
from metashell.groups.log import COMMIT_TYPES, GROUP_METADATA, Decoder, UnknownTypeError
from metashell.groups.log.fold import RawRecord
from metashell.groups.log.timeline_events import (
    Cause,
    CommitTimelineBuilder,
    Membership,
    Moment,
    Rebalance,
    Replacement,
    Timeline,
    TimelineEvent,
    listed,
)
from metashell.groups.log.timeline_modern import ROLES, ModernTimelineBuilder
from metashell.groups.state import OFFSET_COMMIT
from metashell.groups.topics import NotedTopics, Topics
from metashell.groups.view import parts_of, parts_text


def build_timeline(group_id: str, raw_records: Iterable[RawRecord], topics: Topics, decoder: Decoder) -> Timeline:
    """Return the events and rebalances of a group. A record that does not decode is an event too. Shape: records in log order."""
    timeline = Timeline(group_id)
    names = NotedTopics(topics)
    builder = _TimelineBuilder(timeline, names)
    for _, batch in groupby(raw_records, key=lambda raw: raw.batch):
        decoded: list[tuple[Record, RawRecord]] = []
        for raw in batch:
            timeline.ended = Moment(raw.offset, raw.timestamp_ms)
            try:
                decoded.append((decoder.record(raw.key, raw.value), raw))
            except UnknownTypeError as error:
                timeline.events.append(TimelineEvent(moment=timeline.ended, kind="unknown", text=str(error)))
            except DecodeError as error:
                timeline.events.append(TimelineEvent(moment=timeline.ended, kind="unreadable", text=str(error)))
        for record, _ in decoded:
            # Brokers since 4.1 write the topic's id too (version 4).
            if record.type == OFFSET_COMMIT and record.value is not None and any(id := getattr(record.value, "topic_id", b"")):
                names.note(id, record.key.topic)
        builder.add(decoded)
    builder.end()
    return timeline


class _TimelineBuilder:
    def __init__(self, timeline: Timeline, topics: Topics) -> None:
        self.timeline = timeline
        self.classic = ClassicTimelineBuilder(timeline)
        self.modern = ModernTimelineBuilder(timeline, topics)
        self.commits = CommitTimelineBuilder(timeline)

    def add(self, batch: list[tuple[Record, RawRecord]]) -> None:
        values = [record.value for record, _ in batch if record.type == GROUP_METADATA and record.value is not None]
        kinds = {ROLES[record.type][0] for record, _ in batch if record.type in ROLES and record.value is not None}
        is_ended = any(record.type in ROLES and ROLES[record.type][1] == "group" and record.value is None for record, _ in batch)
        kept = {member.member_id for value in values for member in value.members}
        self.modern.becomes_classic = is_ended and bool(values)
        self.modern.carried = self.classic.member_ids if kinds else frozenset(kept) if is_ended else frozenset()
        removed: list[tuple[Record, RawRecord]] = []
        if any(raw.after_gap for _, raw in batch):
            self.classic.has_gap = self.modern.has_gap = True
        for record, raw in batch:
            moment = Moment(raw.offset, raw.timestamp_ms)
            if record.type in COMMIT_TYPES:
                if record.value is None:
                    removed.append((record, raw))
                else:
                    self.commits.add(record, moment, raw.outcome)
                    partition = (record.key.topic, record.key.partition)
                    self.timeline.commit(self.modern.owners.get(partition) or self.classic.owners.get(partition), moment)
            elif record.type == GROUP_METADATA and record.value is None:
                if kinds:
                    kind = sorted(kinds)[0]
                    self.classic.end(moment, kind="upgraded", text=f"the group became a {kind} group")
                else:
                    self.classic.end(moment)
            elif record.type == GROUP_METADATA:
                self.classic.add(record.value, moment, self.modern.causes_of_downgrade(moment) if is_ended and kept else ())
            elif record.type in ROLES:
                self.modern.add(record, moment)
        if removed:
            first = Moment(removed[0][1].offset, removed[0][1].timestamp_ms)
            self.commits.removed([(record.key.topic, record.key.partition) for record, _ in removed], first)

    def end(self) -> None:
        self.modern.end()
        self.commits.end()


_CONSUMER = "consumer"
_COOPERATIVE = "cooperative"


class _Member(NamedTuple):
    """A member of a generation. `topics` and `assigned` are None if their blob does not decode, or is of a protocol that we do not read."""

    instance_id: str | None
    client_id: str
    host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    subscription: bytes
    topics: frozenset[str] | None
    assigned: frozenset[Partition] | None


class _Generation(NamedTuple):
    number: int
    protocol: str | None
    leader: str | None
    members: dict[str, _Member]


class ClassicTimelineBuilder:
    """Adds to a timeline what the values of type 2 (GroupMetadataValue) show. It gets them in order."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._before: _Generation | None = None
        self._freed: frozenset[Partition] | None = None
        """Partitions without an owner in the last generation because cooperative members gave them up; None if not known."""
        self.owners: dict[Partition, str] = {}
        """The last owner of each partition since the group was last empty."""
        self._replaced: list[Replacement] = []
        """Static members that were replaced since the last generation began."""
        self.has_gap = False
        """Whether the log has lost records since the previous generation."""

    def end(
        self,
        moment: Moment,
        *,
        kind: str = "deleted",
        text: str = "the group was deleted: by DeleteGroups, or since it was empty and its offsets expired",
    ) -> None:
        """Add the end of the group: its tombstone, or the text of what else the batch with the tombstone shows."""
        if self._before is not None:
            self._timeline.events.append(TimelineEvent(moment=moment, kind=kind, text=text, epoch=self._before.number))
            if kind == "deleted":
                for id in self._before.members:
                    self._timeline.leave(id, moment, is_alone=False)
        self._before = None
        self._freed = None
        self.owners.clear()

    @property
    def member_ids(self) -> frozenset[str]:
        """The members of the last generation."""
        return frozenset(()) if self._before is None else frozenset(self._before.members)

    def add(self, value: Any, moment: Moment, causes: tuple[Cause, ...] = ()) -> None:
        """Add what a value shows, compared with the previous one; `causes` are known for a group that was of another kind before."""
        now = _generation(value)
        before, self._before = self._before, now
        self._follow_members(before, now, moment)
        if before is None:
            self._begin(now, value, moment, causes)
        elif now.number == before.number:
            self._same_generation(before, now, moment)
        elif not now.members:
            self._event(moment, "empty", f"generation {now.number}: the last members left or timed out: {self._names(before)}", now)
            self._freed = None
            self.owners.clear()
            self._replaced.clear()
        else:
            self._rebalance(before, now, value, moment)
        self.has_gap = False

    def _follow_members(self, before: _Generation | None, now: _Generation, moment: Moment) -> None:
        gone = [] if before is None else [id for id in before.members if id not in now.members]
        for id in gone:
            self._timeline.leave(id, moment, is_alone=len(gone) == 1)
        for id, member in now.members.items():
            if before is None or id not in before.members:
                self._timeline.join(
                    Membership(
                        member_id=id,
                        client_id=member.client_id,
                        host=member.host,
                        instance_id=member.instance_id,
                        joined=moment,
                        session_timeout_ms=member.session_timeout_ms,
                        rebalance_timeout_ms=member.rebalance_timeout_ms,
                    )
                )

    def _begin(self, now: _Generation, value: Any, moment: Moment, causes: tuple[Cause, ...]) -> None:
        self._count_moved(now)
        if causes:
            self._add_rebalance(now, value, moment, causes, moved=0)
        elif now.members:
            text = f"generation {now.number} is the first that the log still has" if now.number > 1 else "the group formed"
            cause = Cause("first" if now.number > 1 else "formed", f"{text}: {self._names(now)}", moment)
            self._add_rebalance(now, value, moment, (cause,), moved=0)
        elif now.number == 0:
            self._event(moment, "created", "the group was created: a first member asked to join, or its offsets were committed", now)
        else:
            self._event(moment, "empty", f"generation {now.number} is empty, and the first that the log still has", now)

    def _same_generation(self, before: _Generation, now: _Generation, moment: Moment) -> None:
        replaced = _replaced(before, now)
        for old, new in replaced.items():
            self._rename(old, new)
            self._replace(before, now, old, new, moment)
            text = f"{self._timeline.label(new)} came as {new} (it was {old}), and nobody had seen it leave; its assignment stays"
            self._event(moment, "static-return", text, now, new)
        if not replaced and now != before:
            self._event(moment, "rewritten", "the generation was written again", now)

    def _replace(self, before: _Generation, now: _Generation, old: str, new: str, moment: Moment) -> None:
        member = now.members[new]
        assert member.instance_id is not None, "only static members are replaced"
        found = Replacement(member.instance_id, moment, old, new, before.leader == old, now.number)
        self._replaced.append(found)
        self._timeline.replacements.append(found)

    def _rebalance(self, before: _Generation, now: _Generation, value: Any, moment: Moment) -> None:
        causes = tuple(self._causes(before, now, moment))
        for old, new in _replaced(before, now).items():
            self._rename(old, new)
            self._replace(before, now, old, new, moment)
        self._replaced.clear()
        missing = max(now.number - before.number - 1, 0)
        self._add_rebalance(now, value, moment, causes, moved=self._count_moved(now), missing=missing)
        is_cooperative = (now.protocol or "").startswith(_COOPERATIVE)
        had, has = _held(before), _held(now)
        self._freed = frozenset() if not is_cooperative else None if had is None or has is None else had - has

    def _rename(self, old: str, new: str) -> None:
        for partition, id in self.owners.items():
            if id == old:
                self.owners[partition] = new

    def _count_moved(self, now: _Generation) -> int:
        """Count partitions that went from one member to another, in one round or, in a cooperative rebalance, in two.

        `owners` outlives a generation because of the second case: a owns p0 in generation 4, nobody in 5, b in 6. Compared with 5 only, p0
        would be new in 6.
        """
        moved = 0
        for id, member in now.members.items():
            for partition in member.assigned or ():
                moved += self.owners.get(partition, id) != id
                self.owners[partition] = id
        return moved

    def _causes(self, before: _Generation, now: _Generation, moment: Moment) -> list[Cause]:
        causes = []
        replaced = _replaced(before, now)
        joined = [id for id in now.members if id not in before.members and id not in replaced.values()]
        left = [id for id in before.members if id not in now.members and id not in replaced]
        for id in joined:
            causes.append(Cause("joined", f"{self._timeline.label(id)} joined", moment, id))
        for id in left:
            causes.append(Cause("left", f"{self._timeline.label(id)} left or timed out (records do not tell which)", moment, id))
        for old, new in replaced.items():
            text = f"{self._timeline.label(new)} came as {new} (it was {old}), and nobody had seen it leave"
            causes.append(Cause("static-return", text, moment, new))
        if before.protocol is not None and now.protocol != before.protocol:
            causes.append(Cause("protocol", f"the assignor is {now.protocol}, and was {before.protocol}", moment))
        causes += self._resubscribed(before, now, moment)
        if not causes:
            causes += self._after_replacements(moment) or [self._quiet_cause(before, now, moment)]
        return causes

    def _quiet_cause(self, before: _Generation, now: _Generation, moment: Moment) -> Cause:
        """Infer from the assignments why a generation began with the same members and subscriptions as before."""
        had, has = _held(before), _held(now)
        if had is None or has is None:
            text = "the records show no change of members or subscriptions; assignments do not decode, so it is not known what moved"
            return Cause("asked", text, moment)
        is_cooperative = (now.protocol or "").startswith(_COOPERATIVE)
        freed, new, gone = self._freed, has - had, had - has
        if given := new & (freed or frozenset()):
            text = f"second round of the cooperative rebalance: {parts_text(parts_of(given))} had been given up and now have owners"
            return Cause("follow-up", text, moment)
        if new and is_cooperative and freed is None:
            text = (
                f"{parts_text(parts_of(new))} had no owner before: this may be the second round of a cooperative rebalance "
                "whose first round the log does not have, or a topic was created or grew"
            )
            return Cause("follow-up", text, moment)
        if new:
            text = f"{parts_text(parts_of(new))} had no owner before: the leader may have seen that a topic was created or grew"
            appeared = {topic for topic, _ in new} - {topic for topic, _ in had}
            return Cause("topics", text, moment, topics=tuple(sorted(appeared)))
        if gone and not is_cooperative:
            text = f"{parts_text(parts_of(gone))} have no owner any more: the leader may have seen that a topic was deleted"
            return Cause("topics", text, moment)
        text = (
            "the records show no change of members, subscriptions or assignor: a member asked for it (a leader that saw topics or racks "
            "change, a member that had lost its place and joined under its old id, an application); a broker's log has the reason"
        )
        return Cause("asked", text, moment)

    def _after_replacements(self, moment: Moment) -> list[Cause]:
        """Return that static members were replaced since the last generation: their joins or those of whom they fenced follow."""
        causes = []
        for one in self._replaced[-1:]:
            leader = ", the leader," if one.was_leader else ""
            after = duration_text(moment.ms - one.moment.ms)
            text = (
                f"{one.instance_id}{leader} was replaced {after} before (offset {one.moment.offset}), and whoever joins anew may ask for it"
            )
            causes.append(Cause("static-return", text, one.moment, one.member_id))
        return causes

    def _add_rebalance(
        self, now: _Generation, value: Any, moment: Moment, causes: tuple[Cause, ...], *, moved: int, missing: int = 0
    ) -> None:
        since = value.current_state_timestamp
        sync_ms = moment.ms - since if 0 < since <= moment.ms else None
        assigned = sum(len(member.assigned or ()) for member in now.members.values())
        self._timeline.rebalances.append(
            Rebalance(
                kind="classic",
                epoch=now.number,
                began=moment,
                causes=causes,
                settled=moment,
                members=len(now.members),
                moved=moved,
                assigned=assigned,
                missing=missing,
                sync_ms=sync_ms,
                has_gap=self.has_gap,
            )
        )
        gap = (
            f" ({missing} generations before it left no record: they never got their assignments, or were compacted away)"
            if missing
            else ""
        )
        size = f"{counted(len(now.members), 'member')} with {counted(assigned, 'partition')}"
        text = f"generation {now.number} of {size} by {now.protocol}{gap}: "
        details = {
            "protocol": now.protocol,
            "leader": now.leader,
            "assignments": {
                id: None if member.assigned is None else {topic: list(numbers) for topic, numbers in parts_of(member.assigned)}
                for id, member in now.members.items()
            },
        }
        self._event(moment, "generation", text + listed([cause.text for cause in causes], 3), now, None, details)
        unreadable = [id for id, member in now.members.items() if member.assigned is None]
        if unreadable and value.protocol_type == _CONSUMER:
            self._event(moment, "unreadable", f"the assignments of {listed(map(self._timeline.label, unreadable))} do not decode", now)

    def _resubscribed(self, before: _Generation, now: _Generation, moment: Moment) -> list[Cause]:
        causes = []
        for id, member in now.members.items():
            old = before.members.get(id)
            if old is None or old.topics is None or member.topics is None or old.topics == member.topics:
                continue
            added = sorted(member.topics - old.topics)
            changes = [*(f"+{topic}" for topic in added), *(f"-{topic}" for topic in sorted(old.topics - member.topics))]
            text = f"{self._timeline.label(id)} subscribes to other topics: {listed(changes)}"
            causes.append(Cause("subscription", text, moment, id, tuple(added)))
        return causes

    def _names(self, generation: _Generation) -> str:
        return listed([self._timeline.label(id) for id in generation.members])

    def _event(
        self, moment: Moment, kind: str, text: str, now: _Generation, member_id: str | None = None, details: dict[str, Any] | None = None
    ) -> None:
        self._timeline.events.append(
            TimelineEvent(moment=moment, kind=kind, text=text, epoch=now.number, member_id=member_id, details=details or {})
        )


def _held(generation: _Generation) -> frozenset[Partition] | None:
    """Return the partitions of all members together; None if an assignment does not decode."""
    if any(member.assigned is None for member in generation.members.values()):
        return None
    return frozenset(partition for member in generation.members.values() for partition in member.assigned or ())


def _generation(value: Any) -> _Generation:
    return _Generation(
        value.generation,
        value.protocol,
        value.leader,
        {member.member_id: _member(value.protocol_type, member) for member in value.members},
    )


def _member(protocol_type: str, member: Any) -> _Member:
    topics: frozenset[str] | None = None
    assigned: frozenset[Partition] | None = None
    if protocol_type == _CONSUMER:
        try:
            topics = frozenset(read_subscription(member.subscription).topics)
        except DecodeError:
            topics = None
        try:
            assigned = frozenset(read_assignment(member.assignment).partitions)
        except DecodeError:
            assigned = None
    return _Member(
        member.group_instance_id,
        member.client_id,
        member.client_host,
        member.session_timeout,
        member.rebalance_timeout,
        member.subscription,
        topics,
        assigned,
    )


def _replaced(before: _Generation, now: _Generation) -> dict[str, str]:
    """Return static members that have another id now: old id -> new."""
    by_instance = {member.instance_id: id for id, member in now.members.items() if member.instance_id is not None}
    return {
        id: by_instance[member.instance_id]
        for id, member in before.members.items()
        if member.instance_id in by_instance and by_instance[member.instance_id] != id
    }
