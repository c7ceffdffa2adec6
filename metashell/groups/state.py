"""The coordinator's state: groups, committed offsets, open transactions and settings, and `Context`, which each decision gets.

`Group` is the interface of a group of any kind to the rest of the coordinator. Offsets of a transaction are pending until it ends.

Kafka keeps transactions in `__transaction_state`, behind a coordinator of its own. Here they are in memory, so that one coordinator can be
tested with producers. A new coordinator knows no transactions, and answers as Kafka does for an unknown transactional id.

Source: org.apache.kafka.coordinator.group.Group, GroupCoordinatorConfig (defaults of 4.4), GroupCoordinatorRecordHelpers, OffsetAndMetadata
and OffsetMetadataManager.replayEndTransactionMarker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple, Protocol

from metashell.codec import messages
from metashell.codec.error_codes import UNKNOWN_MEMBER_ID
from metashell.common.values import ZERO_UUID
from metashell.groups.decision import Decision, Finding, GroupError, Place, Record, Request, Timers
from metashell.groups.topics import KnownTopics, Topics
from metashell.groups.view import GroupDescription, GroupSummary


class Chance(Protocol):
    """The source of new ids."""

    def uuid(self) -> bytes:
        """Return 16 bytes for the id of a new member; the id shows them as java.util.UUID or as Kafka's Uuid."""
        ...

    def producer_id(self) -> int:
        """Return a producer id that was never used."""
        ...


class Context:
    """The parts of one coordinator."""

    def __init__(self, settings: Settings, chance: Chance, state: State) -> None:
        self.settings = settings
        self.chance = chance
        self.state = state
        self.timers = Timers()
        self.transactions = Transactions()
        self.new_topics_version = -1
        """The metadata version in which topics were last created."""
        self.can_describe: Callable[[str], bool] | None = None
        """Whether the sender of the request that is decided may see a topic; None where everybody sees all."""

    def group_setting(self, group_id: str, name: str, default: int) -> int:
        """Return a number from the group's own configs, else the broker's."""
        own = self.state.group_configs.get(group_id, {}).get(name)
        return default if own is None else int(own)


Handler = Callable[[Context, Request, int], Decision]
"""`(context, request, now_ms)`. The decision may lack the answer; a later decision then has it."""


class Committed(NamedTuple):
    """A committed offset. `record_offset` is the offset of its record in the log. Units: ms."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expire_ms: int
    topic_id: bytes
    record_offset: int


PartitionKey = tuple[str, int]
"""Topic and partition."""


FINDINGS_MAX: Final = 1_000


class State:
    """The content of the log, and nothing else. `make_simple` makes the classic group of a commit whose group does not exist.

    Shape: `offsets` by group, then by topic and partition; `pending` by group, then producer, then topic and partition. A group id may
    be in `offsets` and not in `groups`: compaction may have left the group's tombstone behind its offsets.
    """

    def __init__(self, make_simple: Callable[[str], Group]) -> None:
        self.groups: dict[str, Group] = {}
        self.offsets: dict[str, dict[PartitionKey, Committed]] = {}
        self.pending: dict[str, dict[int, dict[PartitionKey, Committed]]] = {}
        self.pending_groups: dict[int, set[str]] = {}
        """The groups with pending offsets, by producer."""
        self.topics: Topics = KnownTopics()
        self.findings: list[Finding] = []
        """The first `FINDINGS_MAX`; `finding_counts` counts all of them, by kind."""
        self.finding_counts: Counter[str] = Counter()
        self.group_configs: dict[str, dict[str, Any]] = {}
        """Configs of resource type GROUP, by group."""
        self.make_simple = make_simple

    def find_other_kind(self, group: Group, kind: str, place: Place) -> None:
        """Note a record of one kind of group in a group of another kind."""
        self.find("WRONG_GROUP_TYPE", group.group_id, f"a record of a {kind} group, but the group is of type {group.type}", place)

    def find(self, kind: str, group_id: str | None, text: str, place: Place) -> None:
        """Note a problem in the log."""
        self.finding_counts[kind] += 1
        if len(self.findings) < FINDINGS_MAX:
            self.findings.append(Finding(kind, group_id, text, place))


class CommitClaim(NamedTuple):
    """The identity that a commit or fetch of offsets claims. `epoch` is a generation in classic groups; -1 and "" claim nothing."""

    member_id: str = ""
    instance_id: str | None = None
    epoch: int = -1
    is_transactional: bool = False
    version: int = 9
    """The version of the OffsetCommit request."""


class Group(ABC):
    """A group of one kind. All methods here except `committed` only read."""

    type: ClassVar[str]
    """`classic`, `consumer`, `share` or `streams`, as ListGroups names it."""
    group_id: str
    is_expiring: ClassVar[bool] = True
    """Whether the group is deleted once it is empty and has no offsets."""

    def unknown_member(self, member_id: str) -> GroupError:
        """Return the error for a member id that is not in the group."""
        return GroupError(UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}.")

    @abstractmethod
    def state_name(self) -> str:
        """The state as ListGroups shows it."""

    @property
    @abstractmethod
    def protocol_type(self) -> str:
        """`consumer`, `connect` and the like; "" for a classic group that has none."""

    @property
    @abstractmethod
    def is_empty(self) -> bool: ...

    @abstractmethod
    def check_commit(self, claim: CommitClaim, topic: str | None = None, topic_id: bytes = b"", partition: int = -1) -> None:
        """Errors: GroupError for a commit that is refused; with a topic, for that partition only, since a member may be behind there."""

    def looks_at_partitions(self, claim: CommitClaim) -> bool:
        """Return whether an accepted commit is also checked for each partition: it may claim an old member epoch (KIP-1251)."""
        return True

    def committed(self, member_id: str, timers: Timers, now_ms: int) -> None:
        """Note that a member's commit was accepted. In a classic group it renews the member's session."""
        return None

    @abstractmethod
    def check_fetch(self, claim: CommitClaim) -> None:
        """Errors: GroupError for a fetch of offsets that is refused."""

    @abstractmethod
    def check_delete(self) -> None:
        """Errors: GroupError for a group that DeleteGroups may not delete."""

    @abstractmethod
    def check_delete_offsets(self) -> None:
        """Errors: GroupError for a group whose offsets OffsetDelete may not touch at all."""

    @abstractmethod
    def is_subscribed(self, topic: str) -> bool:
        """Return whether the group reads this topic, which protects its offsets from expiry and OffsetDelete."""

    @abstractmethod
    def expiry_base_ms(self, commit_ms: int) -> int | None:
        """Return when the retention of an offset committed at `commit_ms` begins; None if it cannot expire while the group is as it is."""

    @abstractmethod
    def tombstones(self) -> list[Record]:
        """Return the records that delete the group, in Kafka's order, without those of its offsets."""

    def summary(self) -> GroupSummary:
        """Return the group as a row of a list, without offsets. Each kind adds its epoch and number of members."""
        return GroupSummary(group_id=self.group_id, kind=self.type, state=self.state_name(), protocol_type=self.protocol_type)

    def description(self, topics: Topics) -> GroupDescription:
        """Return the group with its members. Never raises, whatever a blob or record holds."""
        return GroupDescription(summary=self.summary())


NO_LIMIT: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class KindSettings:
    """The settings that consumer and streams groups each have. Units: ms."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    max_size: int = NO_LIMIT
    assignment_interval_ms: int = 1_000
    is_assignor_offloaded: bool = True
    assignors: tuple[str, ...] = ("uniform", "range")
    initial_rebalance_delay_ms: int = 0
    standby_replicas: int = 0
    task_offset_interval_ms: int = 60_000
    acceptable_recovery_lag: int = 10_000


@dataclass(frozen=True, slots=True)
class Settings:
    """Units: ms and bytes."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = NO_LIMIT
    new_member_join_timeout_ms: int = 300_000
    migration_policy: str = "bidirectional"
    consumer: KindSettings = KindSettings()
    streams: KindSettings = KindSettings(assignors=("sticky",), initial_rebalance_delay_ms=3_000)
    regex_refresh_interval_ms: int = 10_000
    regex_refresh_max_ms: int = 600_000
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_ms: int = 10_080 * 60_000
    offsets_retention_check_interval_ms: int = 600_000
    partitions: int = 50
    node_id: int = 1
    host: str = "localhost"
    port: int = 9092
    """The coordinator's address, for FindCoordinator."""
    has_transactions: bool = False
    """Whether FindCoordinator names this node for transactions too: their state is in memory only."""


EXPIRATION_MS: Final = 7 * 86_400_000
"""Kafka's default of transactional.id.expiration.ms."""
_CHECK_MS: Final = 3_600_000


@dataclass(slots=True)
class Transaction:
    """The current transaction of a transactional id.

    Shape: `groups` is empty if none is open; `is_committed` is how the last one ended, None before the first. Units: `used_ms`.
    """

    producer_id: int
    epoch: int
    groups: set[str] = field(default_factory=set)
    is_open: bool = False
    is_committed: bool | None = None
    used_ms: int = 0


class Transactions:
    """Transactions by transactional id."""

    def __init__(self) -> None:
        self.by_id: dict[str, Transaction] = {}
        self._looked_ms = 0

    def forget(self, now_ms: int) -> None:
        """Forget ids that have expired and have no open transaction. Looks at most once an hour."""
        if now_ms - self._looked_ms < _CHECK_MS:
            return
        self._looked_ms = now_ms
        for id in [id for id, known in self.by_id.items() if not known.is_open and known.used_ms + EXPIRATION_MS <= now_ms]:
            del self.by_id[id]


def add_pending(state: State, group_id: str, producer_id: int, key: PartitionKey, committed: Committed) -> None:
    """Add an offset that is pending until its producer's transaction ends."""
    state.pending.setdefault(group_id, {}).setdefault(producer_id, {})[key] = committed
    state.pending_groups.setdefault(producer_id, set()).add(group_id)


def drop_pending(state: State, group_id: str, key: PartitionKey) -> None:
    """Drop a partition's pending offsets of all open transactions."""
    by_producer = state.pending.get(group_id, {})
    for producer_id in [producer_id for producer_id, pending in by_producer.items() if key in pending]:
        del by_producer[producer_id][key]
        if not by_producer[producer_id]:
            _pop_pending(state, group_id, producer_id)


def end_transaction(state: State, producer_id: int, is_committed: bool, is_here: Callable[[str], bool] = lambda group_id: True) -> None:
    """Commit or drop a producer's pending offsets in the groups that `is_here` accepts: a marker ends a transaction in its partition only.

    The later record wins, not the later decision. A transaction writes offset 5 for a partition at log offset 10, the consumer commits 7
    at log offset 11, and the commit marker follows at 12: 7 stays, as Kafka has it.
    """
    for group_id in filter(is_here, sorted(state.pending_groups.get(producer_id, ()))):
        pending = _pop_pending(state, group_id, producer_id)
        if is_committed:
            offsets = state.offsets.setdefault(group_id, {})
            for key, committed in pending.items():
                known = offsets.get(key)
                if known is None or known.record_offset < committed.record_offset:
                    offsets[key] = committed


def _pop_pending(state: State, group_id: str, producer_id: int) -> dict[PartitionKey, Committed]:
    """Remove and return a producer's pending offsets of one group."""
    pending = state.pending[group_id].pop(producer_id)
    if not state.pending[group_id]:
        del state.pending[group_id]
    groups = state.pending_groups[producer_id]
    groups.discard(group_id)
    if not groups:
        del state.pending_groups[producer_id]
    return pending


def is_pending(state: State, group_id: str, key: PartitionKey) -> bool:
    """Return whether an open transaction has a pending offset for this partition."""
    return any(key in pending for pending in state.pending.get(group_id, {}).values())


def pending_keys(state: State, group_id: str) -> set[PartitionKey]:
    """Return the partitions for which open transactions have pending offsets."""
    return {key for pending in state.pending.get(group_id, {}).values() for key in pending}


LEGACY_OFFSET_COMMIT: Final = 0
OFFSET_COMMIT: Final = 1
WITH_EXPIRY: Final = 1
"""The only version of OffsetCommitValue that has an expire timestamp."""
NEWEST: Final = 4


def commit_record(group_id: str, topic: str, partition: int, committed: Committed) -> Record:
    """Return the record of an offset.

    A commit with its own retention (OffsetCommit up to version 4) is written as version 1, which has neither leader epoch nor topic id. The
    object is stripped of both too: otherwise the coordinator would know more than the log, until it is restarted.
    """
    if committed.expire_ms >= 0:
        committed = committed._replace(leader_epoch=-1, topic_id=ZERO_UUID)
    value = messages.OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_ms,
        expire_timestamp=committed.expire_ms,
        topic_id=committed.topic_id,
    )
    return Record(OFFSET_COMMIT, _key(group_id, topic, partition), value, NEWEST if committed.expire_ms < 0 else WITH_EXPIRY)


def commit_tombstone(group_id: str, topic: str, partition: int) -> Record:
    """Return the record that deletes an offset."""
    return Record(OFFSET_COMMIT, _key(group_id, topic, partition))


def committed_of(record: Record, record_offset: int) -> Committed:
    """Return the offset in a record's value, of either record type."""
    value = record.value
    if record.type == LEGACY_OFFSET_COMMIT:
        return Committed(value.offset, -1, value.metadata, value.commit_timestamp, -1, ZERO_UUID, record_offset)
    return Committed(
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        value.expire_timestamp,
        value.topic_id,
        record_offset,
    )


def _key(group_id: str, topic: str, partition: int) -> messages.OffsetCommitKey:
    return messages.OffsetCommitKey(group=group_id, topic=topic, partition=partition)
