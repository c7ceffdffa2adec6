"""The checkers of a simulation: they hear of every callback, batch and answer, and say which rule did not hold.

Nothing here looks at the whole group at each event: owners change with callbacks, assignments are looked at once a round, commits as they
are accepted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from metashell.codec.api_keys import CONSUMER_GROUP_HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT
from metashell.codec.error_codes import (
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    ILLEGAL_GENERATION,
    NONE,
    UNKNOWN_MEMBER_ID,
)
from metashell.groups.classic.group import ClassicGroup
from metashell.groups.consumer.group import ConsumerGroup
from metashell.groups.decision import GroupError
from metashell.groups.group import CommitClaim
from metashell.rebalance.client import Client, PartitionKey
from metashell.rebalance.ledger import Ledger
from metashell.rebalance.outcome import RULES, Mark, Violation
from metashell.rebalance.records import GroupRecords

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from metashell.groups.coordinator.shard import Written
    from metashell.groups.group import Group
    from metashell.groups.members.outputs import Callback, Send
    from metashell.groups.record import Record
    from metashell.groups.state import State
    from metashell.groups.topics import Topics
    from metashell.rebalance.clock import Clock
    from metashell.rebalance.network import Connection, Peer

VIOLATIONS_MAX: Final = 100
_GONE: Final = {
    "classic": frozenset({UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION}),
    "consumer": frozenset({UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, FENCED_MEMBER_EPOCH}),
}
"""By the kind of the group: why a commit is refused to a member that was given up. That a member of a consumer group is an epoch behind
says nothing."""
_SETTLED: Final = ("Stable", "Empty")


class Watch:
    """See the module. Shape: `groups` are the coordinator's now, `expects_failures` is set by scenarios in which members fail."""

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
        """What is called when a process has ended by itself."""
        self.failures: list[str] = []
        self.ledger = Ledger(self.report, self.has)
        self.records = GroupRecords(self.report, topics)

    # ---- what is asked

    @property
    def changed_ms(self) -> int:
        """When something last changed in the group."""
        return max(self.ledger.changed_ms, self.records.changed_ms)

    def has(self, client: Client) -> bool:
        """Whether the coordinator still has a client: not one that was expired, fenced or replaced, nor one that missed a generation."""
        group = self.groups.get(self._group_id)
        if group is None:
            return False
        given = self._given.get(client, -1)
        if client.is_modern and given < 0:
            return False  # It has left, be it only for a while.
        claim = CommitClaim(client.member.member_id, client.instance_id, given)
        try:
            group.check_commit(claim)
        except GroupError as error:
            return error.code not in _GONE[group.type]
        return True

    # ---- what happens

    def report(self, rule: str, text: str) -> None:
        assert rule in RULES
        if len(self.violations) < VIOLATIONS_MAX:
            self.violations.append(Violation(rule, self._clock.now_ms - self.begin_ms, text))

    def mark(self, text: str) -> None:
        """A step of the scenario."""
        self.marks.append(Mark(self._clock.now_ms - self.begin_ms, text))
        self.records.cause()

    def begin(self) -> None:
        """Count from here on."""
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

    # ---- what the coordinator does

    def written(self, batch: Written, connection: Connection | None, sent: Send | None) -> None:
        kinds = self.records.kinds
        if connection is not None and sent is not None and sent.api_key == OFFSET_COMMIT:
            self._check_commits(batch.records, connection.peer, sent.body.member_id)
            return
        for record in batch.records:
            if record.type in kinds:
                kinds[record.type](record, self._clock.now_ms)

    def _check_commits(self, records: tuple[Record, ...], peer: Peer, member_id: str) -> None:
        """Offsets were accepted: from a member, which owns the partitions or was the newest to own them, and not behind those before."""
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
        """Remember which generation a member was given last: by that one it is judged."""
        if sent.api_key in (JOIN_GROUP, CONSUMER_GROUP_HEARTBEAT):
            if body.error_code == NONE:
                peer = connection.peer
                assert isinstance(peer, Client)
                self._given[peer] = body.generation_id if sent.api_key == JOIN_GROUP else body.member_epoch
        elif sent.api_key == OFFSET_COMMIT and any(one.error_code for topic in body.topics for one in topic.partitions):
            self.ledger.figures.refused_commits += 1

    def replaced(self, old: State, new: State, *, is_whole: bool) -> None:
        """A new coordinator has read the log; where nothing was lost it knows what the old one knew."""
        self.groups = new.groups
        if not is_whole:
            self._committed.clear()
            return
        if old.offsets != new.offsets:
            self.report("failover", "committed offsets differ after the log was read again")
        for group_id in old.groups | new.groups:
            before, after = old.groups.get(group_id), new.groups.get(group_id)
            if before is not None and before.type == "classic" and before.state_name() not in _SETTLED:
                continue  # Its record is of the last generation, and what is under way is not in the log.
            shown = [None if group is None else group.description(old.topics).as_object() for group in (before, after)]
            if shown[0] != shown[1]:
                self.report("failover", f"group {group_id} differs after the log was read again")
