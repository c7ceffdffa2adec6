"""The checkers of a simulation: they see every callback, batch, answer and record, and report broken rules.

They never walk the whole group at each event: owners change with callbacks, assignments are checked once a round, commits when they are
accepted. A classic group's assignment is in its record (type 2), once a generation. In a consumer group the target's record (6) ends a
round, and each member's current assignment (8) is what it may own; other records are ignored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from metashell.codec.codes import CONSUMER_GROUP_HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT
from metashell.codec.consumer_protocol import read_assignment, read_subscription
from metashell.codec.error_codes import FENCED_INSTANCE_ID, FENCED_MEMBER_EPOCH, ILLEGAL_GENERATION, NONE, UNKNOWN_MEMBER_ID
from metashell.common.errors import DecodeError
from metashell.groups.classic.group import ClassicGroup
from metashell.groups.consumer.group import ConsumerGroup
from metashell.groups.coordinator.coordinator import Written
from metashell.groups.decision import GroupError, Record
from metashell.groups.members import Callback, Send
from metashell.groups.simulation import RULES, Mark, Round, Violation
from metashell.groups.simulation.client import Client, PartitionKey
from metashell.groups.simulation.ledger import Ledger, Report
from metashell.groups.simulation.node import Clock, Connection, Peer
from metashell.groups.state import CommitClaim, Group, State
from metashell.groups.topics import Topics

VIOLATIONS_MAX: Final = 100
_GONE: Final = {
    "classic": frozenset({UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION}),
    "consumer": frozenset({UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, FENCED_MEMBER_EPOCH}),
}
"""The errors of commits from removed members, by kind of group. STALE_MEMBER_EPOCH is not one: a current member may be an epoch behind."""
_SETTLED: Final = ("Stable", "Empty")


class Checkers:
    """See the module. Shape: `groups` are the current coordinator's; scenarios in which members fail set `expects_failures`."""

    def __init__(self, clock: Clock, group_id: str, topics: Topics) -> None:
        self._clock = clock
        self._group_id = group_id
        self._given: dict[Client, int] = {}
        self._committed: dict[PartitionKey, int] = {}
        self._violations_left = 0
        self.groups: Mapping[str, Group] = {}
        self.begin_ms = 0
        self.violations: list[Violation] = []
        self.marks: list[Mark] = []
        self.expects_failures = False
        self.gone: Callable[[], None] = lambda: None
        """Called when a process has ended by itself."""
        self.failures: list[str] = []
        self.ledger = Ledger(self.report, self.has)
        self.records = GroupRecords(self.report, topics)

    # ---- queries

    @property
    def changed_ms(self) -> int:
        """The time of the last change in the group."""
        return max(self.ledger.changed_ms, self.records.changed_ms)

    def has(self, client: Client) -> bool:
        """Return whether the coordinator still has a client: it was not expired, fenced or replaced, and missed no generation."""
        group = self.groups.get(self._group_id)
        if group is None:
            return False
        given = self._given.get(client, -1)
        if client.is_modern and given < 0:
            return False  # It has left, perhaps as a static member that will return.
        claim = CommitClaim(client.member.member_id, client.instance_id, given)
        try:
            group.check_commit(claim)
        except GroupError as error:
            return error.code not in _GONE[group.type]
        return True

    # ---- events

    def report(self, rule: str, text: str) -> None:
        assert rule in RULES
        if len(self.violations) < VIOLATIONS_MAX:
            self.violations.append(Violation(rule, self._clock.now_ms - self.begin_ms, text))

    def mark(self, text: str) -> None:
        """Note a step of the scenario."""
        self.marks.append(Mark(self._clock.now_ms - self.begin_ms, text))
        self.records.cause()

    def begin(self) -> None:
        """Start counting here."""
        self.begin_ms = self._clock.now_ms
        self.ledger.begin(self.begin_ms)
        self.records.begin()
        self.marks.clear()

    def called(self, client: Client, callback: Callback) -> None:
        if callback.event != "assigned":
            if callback.event == "revoked" and client.is_incremental and not client.is_leaving:
                self._check_keeps(client, callback.partitions)
            self.ledger.giving_up(client, callback.partitions, self._clock.now_ms)
            return
        for topic, partition in callback.partitions:
            if not client.wants(topic):
                self.report("subscribed", f"{client.slot} is assigned {topic}-{partition} and is not subscribed to the topic")
        self.ledger.assigned(client, callback.partitions, self._clock.now_ms)

    def _check_keeps(self, client: Client, partitions: tuple[PartitionKey, ...]) -> None:
        given = self.records.given.get(client.member.member_id)
        if given is None:
            return
        kept = [partition for partition in partitions if partition in given and client.wants(partition[0])]
        if kept:
            first = f"{kept[0][0]}-{kept[0][1]}"
            self.report("keeps", f"{client.slot} revokes {first}{f' and {len(kept) - 1} more' if kept[1:] else ''} and is to keep it")

    def returned(self, client: Client, callback: Callback) -> None:
        self.ledger.released(client, callback.partitions, callback.event, self._clock.now_ms)

    def failed(self, client: Client, code: int, message: str) -> None:
        self.ledger.died(client, self._clock.now_ms)
        self.failures.append(f"{client.slot}: {message}")
        self.mark(f"{client.slot} fails: {message}")
        self.gone()
        if not self.expects_failures:
            self.report("members", f"{client.slot} fails with error {code}: {message}")

    def closed(self, client: Client) -> None:
        self.ledger.died(client, self._clock.now_ms)
        self.gone()

    def started_at(self, client: Client, partition: PartitionKey, offset: int) -> None:
        self.ledger.started_at(client, partition, offset)

    # ---- events of the coordinator

    def written(self, batch: Written, connection: Connection | None, sent: Send | None) -> None:
        kinds = self.records.kinds
        if connection is not None and sent is not None and sent.api_key == OFFSET_COMMIT:
            self._check_commits(batch.records, connection.peer, sent.body.member_id)
            return
        for record in batch.records:
            if record.type in kinds:
                kinds[record.type](record, self._clock.now_ms)

    def _check_commits(self, records: tuple[Record, ...], peer: Peer, member_id: str) -> None:
        """Check accepted offsets: the member is the current or last owner of the partitions, and the offsets do not go back."""
        group = self.groups.get(self._group_id)
        if isinstance(group, ClassicGroup | ConsumerGroup) and member_id not in group.members:
            self.report("commits", f"offsets are accepted from {peer.client_id}, which is no member")
        newest, committed = self.ledger.newest, self._committed
        for record in records:
            key = record.key
            partition = (key.topic, key.partition)
            offset = record.value.offset
            owner = newest.get(partition)
            if owner is not peer:
                self._report_commit(partition, offset, peer, owner)
            if offset < committed.get(partition, 0):
                text = f"{key.topic}-{key.partition} goes back from {committed[partition]} to {offset}"
                self.report("offsets", f"the committed offset of {text}")
            committed[partition] = offset

    def _report_commit(self, partition: PartitionKey, offset: int, peer: Peer, owner: Client | None) -> None:
        whose = "nobody has owned it" if owner is None else f"{owner.slot} {'owns' if partition in self.ledger.owner else 'owned'} it"
        self.report("commits", f"offset {offset} of {partition[0]}-{partition[1]} is accepted from {peer.client_id} while {whose}")

    def answering(self, connection: Connection, sent: Send, body: Any) -> None:
        """Remember the last generation that a member got; commits are checked against it."""
        if sent.api_key in (JOIN_GROUP, CONSUMER_GROUP_HEARTBEAT):
            if body.error_code == NONE:
                peer = connection.peer
                assert isinstance(peer, Client)
                self._given[peer] = body.generation_id if sent.api_key == JOIN_GROUP else body.member_epoch
        elif sent.api_key == OFFSET_COMMIT and any(one.error_code for topic in body.topics for one in topic.partitions):
            self.ledger.figures.refused_commits += 1

    def replaced(self, old: State, new: State, *, is_whole: bool) -> None:
        """Check a new coordinator after it has read the log: if no batch was lost, it has the old one's state."""
        self.groups = new.groups
        if not is_whole:
            self._committed.clear()
            return
        if old.offsets != new.offsets:
            self.report("failover", "committed offsets differ after the log was read again")
        for group_id in old.groups | new.groups:
            before, after = old.groups.get(group_id), new.groups.get(group_id)
            if before is not None and before.type == "classic" and before.state_name() not in _SETTLED:
                continue  # Its record is of the last generation; a rebalance in progress is not in the log.
            shown = [None if group is None else group.description(old.topics).as_object() for group in (before, after)]
            if shown[0] != shown[1]:
                self.report("failover", f"group {group_id} differs after the log was read again")


FREE_ROUNDS_MAX: Final = 2
"""The most consecutive rounds without a new member, a new topic or a step of the scenario. A cooperative group needs one for partitions
that were revoked."""
_GROUP, _MEMBER, _TARGET, _CURRENT = 2, 5, 6, 8
_CONSUMER_PROTOCOL: Final = "consumer"


class GroupRecords:
    """Shape: `given` has the partitions that each member may own by its newest record; `topics` is the coordinator's view."""

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
        """Start counting rounds here."""
        self.rounds.clear()
        self.round_count = 0

    def cause(self) -> None:
        """Note an event that may cause rebalances."""
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
        """Check that every partition goes to one member."""
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
            # It may return before the next round under the same id.
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
        """Check that no partition which a member has, or still has to give up, belongs to another member (KIP-848)."""
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
        """Return partitions of existing topics, by name."""
        named: list[PartitionKey] = []
        for one in listed:
            topic = self.topics.with_id(one.topic_id)
            if topic is not None:
                named += [(topic.name, partition) for partition in one.partitions]
        return tuple(named)

    # ---- rounds

    def _round(self, now_ms: int, epoch: int, given: dict[str, frozenset[PartitionKey]]) -> None:
        """Note an assignment of the group."""
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
