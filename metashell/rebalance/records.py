"""What the records of a group say of its assignments, as they are written: rounds, and rules that hold for every one of them.

A classic group's assignment is in its one record (type 2), once a generation. In a consumer group the target's record (6) ends a round, and
each member's current assignment (8) is what it may own. Other records are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from metashell.codec.blobs.consumer_protocol import read_assignment, read_subscription
from metashell.errors import DecodeError
from metashell.rebalance.client import PartitionKey
from metashell.rebalance.ledger import Report
from metashell.rebalance.outcome import Round

if TYPE_CHECKING:
    from metashell.groups.record import Record
    from metashell.groups.topics import Topics

FREE_ROUNDS_MAX: Final = 2
"""Rounds in a row without another member, another topic or a step of the scenario: a cooperative group needs one to hand over what was
revoked."""
_GROUP, _MEMBER, _TARGET, _CURRENT = 2, 5, 6, 8
_CONSUMER_PROTOCOL: Final = "consumer"


class GroupRecords:
    """Shape: `given` has what each member may own by the newest record that says so; `topics` is the coordinator's view."""

    def __init__(self, report: Report, topics: Topics) -> None:
        self._report = report
        self._holder: dict[PartitionKey, str] = {}
        self._held: dict[str, tuple[PartitionKey, ...]] = {}
        self._generation = -1
        self._members: frozenset[str] = frozenset()
        self._known: dict[str, None] = {}
        self._subscribed: dict[str, frozenset[str]] = {}
        self._before: dict[PartitionKey, str] = {}
        self._free = 0
        self._targets: dict[str, tuple[PartitionKey, ...]] = {}
        self.topics = topics
        self.given: dict[str, frozenset[PartitionKey]] = {}
        self.rounds: list[Round] = []
        self.round_count = 0
        self.changed_ms = 0
        self.kinds: dict[int, Callable[[Record, int], None]] = {
            _GROUP: self._classic,
            _MEMBER: self._member,
            7: self._target,
            _TARGET: self._assigned,
            _CURRENT: self._current,
        }

    def begin(self) -> None:
        """Count rounds from here on."""
        self.rounds.clear()
        self.round_count = 0

    def cause(self) -> None:
        """Something happened that may cause rebalances."""
        self._free = 0

    # ---- classic groups

    def _classic(self, record: Record, now_ms: int) -> None:
        value = record.value
        if value is None:
            self.given.clear()
            self._generation = -1
            return
        if value.protocol_type != _CONSUMER_PROTOCOL or (value.generation == self._generation and not value.members):
            return
        self.given = {member.member_id: self._classic_member(member, value.generation) for member in value.members}
        if value.generation == self._generation:
            return
        self._generation = value.generation
        self._check_once(self.given, f"generation {value.generation}")
        if value.members:
            self._round(now_ms, value.generation, self.given)

    def _classic_member(self, member: Any, generation: int) -> frozenset[PartitionKey]:
        try:
            given = read_assignment(member.assignment).partitions if member.assignment else ()
            subscribed = frozenset(read_subscription(member.subscription).topics)
        except DecodeError as error:
            self._report("records", f"generation {generation}: {member.member_id}: {error}")
            return frozenset()
        self._check_subscribed(member.member_id, given, subscribed)
        return frozenset(given)

    def _check_once(self, given: dict[str, frozenset[PartitionKey]], when: str) -> None:
        """Every partition goes to one member."""
        if len(set[PartitionKey]().union(*given.values())) == sum(map(len, given.values())):
            return
        seen: dict[PartitionKey, str] = {}
        for member_id, partitions in given.items():
            for partition in partitions:
                other = seen.setdefault(partition, member_id)
                if other != member_id:
                    self._report("records", f"{when} gives {partition[0]}-{partition[1]} to {other} and {member_id}")

    def _check_subscribed(self, member_id: str, given: Iterable[PartitionKey], subscribed: frozenset[str]) -> None:
        for topic, partition in given:
            if topic not in subscribed:
                self._report("subscribed", f"{member_id} is given {topic}-{partition} and is not subscribed to the topic")

    # ---- consumer groups

    def _member(self, record: Record, now_ms: int) -> None:
        if record.value is None:
            self._known.pop(record.key.member_id, None)
            self._subscribed.pop(record.key.member_id, None)
            # It may be back before the next round, and be the same by its id.
            self.cause()
        else:
            self._known[record.key.member_id] = None
            if not record.value.subscribed_topic_regex:
                self._subscribed[record.key.member_id] = frozenset(record.value.subscribed_topic_names)

    def _target(self, record: Record, now_ms: int) -> None:
        if record.value is None:
            self._targets.pop(record.key.member_id, None)
        else:
            self._targets[record.key.member_id] = self._named(record.value.topic_partitions)

    def _assigned(self, record: Record, now_ms: int) -> None:
        if record.value is None:
            self._targets.clear()
            return
        if record.value.assignment_epoch <= 0 or not self._known:
            return
        targets = {member_id: frozenset(given) for member_id, given in self._targets.items()}
        when = f"target of epoch {record.value.assignment_epoch}"
        self._check_once(targets, when)
        for member_id, given in targets.items():
            if member_id in self._subscribed:
                self._check_subscribed(member_id, given, self._subscribed[member_id])
        self._round(now_ms, record.value.assignment_epoch, targets)

    def _current(self, record: Record, now_ms: int) -> None:
        """What a member has and has to give up is no other member's: E1 of groups.md 10.5."""
        member_id = record.key.member_id
        for partition in self._held.pop(member_id, ()):
            if self._holder.get(partition) == member_id:
                del self._holder[partition]
        self.changed_ms = now_ms
        if record.value is None:
            self.given.pop(member_id, None)
            return
        assigned = self._named(record.value.assigned_partitions)
        self.given[member_id] = frozenset(assigned)
        held = self._held[member_id] = assigned + self._named(record.value.partitions_pending_revocation)
        for partition in held:
            other = self._holder.setdefault(partition, member_id)
            if other != member_id:
                self._report("records", f"{partition[0]}-{partition[1]} is assigned to {member_id} while {other} has not given it up")

    def _named(self, listed: Any) -> tuple[PartitionKey, ...]:
        """Partitions of topics that are there, with the names of their topics."""
        named: list[PartitionKey] = []
        for one in listed:
            topic = self.topics.with_id(one.topic_id)
            if topic is not None:
                named += [(topic.name, partition) for partition in one.partitions]
        return tuple(named)

    # ---- rounds

    def _round(self, now_ms: int, epoch: int, given: dict[str, frozenset[PartitionKey]]) -> None:
        """The group came to an assignment."""
        members = frozenset(given) if not self._known else frozenset(self._known)
        if members == self._members:
            self._free += 1
            if self._free == FREE_ROUNDS_MAX + 1:
                self._report("rounds", f"round {epoch} is the {self._free}rd in a row that nothing has caused")
        else:
            self._free = 0
        self._members = members
        owners = {partition: member_id for member_id, partitions in given.items() for partition in partitions}
        moved = sum(self._before.get(partition, owner) != owner for partition, owner in owners.items())
        self._before.update(owners)
        self.rounds.append(Round(now_ms, epoch, len(members), moved))
        self.round_count += 1
        self.changed_ms = now_ms
