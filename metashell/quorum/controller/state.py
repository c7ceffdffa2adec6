"""Everything the controller knows: two views of the cluster, offsets, hints, and what dies with leadership.

`check_broker_epoch` refuses a request that does not come from the present life of a registered broker.
Source: org.apache.kafka.controller.ClusterControlManager.checkBrokerEpoch."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from immutables import Map

from metashell.codec import messages
from metashell.codec.error_codes import STALE_BROKER_EPOCH
from metashell.common.values import NO_LEADER
from metashell.metadata.checks.partitions import has_eligible, is_leaderless, is_reassigning, is_unpreferred
from metashell.metadata.image import (
    EMPTY_IMAGE,
    Acl,
    AclsImage,
    MetadataDelta,
    MetadataImage,
    PartitionRegistration,
    ReplayError,
    TopicImage,
    VoterSet,
)
from metashell.metadata.image.partitions import partition_from_record
from metashell.metadata.image.provenance import VersionedRecord
from metashell.metadata.image.settings import acl_of
from metashell.quorum.controller.authorizer import Authorizer
from metashell.quorum.controller.config_checks import PartitionRules, TopicDefaults
from metashell.quorum.controller.decision import PIECE, ApiError, Chance, Steps, finish_steps, metadata_level_of
from metashell.quorum.controller.hints import AclHints, Hints, PartitionKey
from metashell.quorum.controller.leader_state import Heartbeats, MutationQuotas
from metashell.quorum.controller.settings import Settings

STANDBY = -1
_REPLAY_PIECE = 256
"""Records that are folded in one piece; a batch of no more is folded at once."""
_SPECIAL_MIN = 10_000
"""Partitions that hints may name as special before they are looked at again."""


class View(NamedTuple):
    """The cluster at an offset.

    Shape: `registration_offsets` has the offset of each broker's registration record, from which on it is caught up;
    `before_transaction` is the view before the metadata transaction that is open, None without one.
    """

    image: MetadataImage = EMPTY_IMAGE
    registration_offsets: Map[int, int] = Map()
    before_transaction: View | None = None


class State:
    """The state machine of the metadata log on one node; `replay` and `commit` move it, decisions read it.

    Shape: `stable_offset` is the last offset that readers may see, for which answers wait; while a transaction is open it stands still.
    With `keeps_objects` partitions that changed stay objects, for whoever looks at them over and over.
    """

    def __init__(self, settings: Settings, chance: Chance, *, keeps_objects: bool = False) -> None:
        self._keeps_objects = keeps_objects
        self.settings = settings
        self.chance = chance
        self.tip = View()
        self.committed = View()
        self.committed_offset = -1
        self.stable_offset = -1
        self.next_write_offset = STANDBY
        self.claim_epoch = STANDBY
        self.leader_id = NO_LEADER
        self.wall_ms = 0
        self._hints = Hints()
        self._scan: Steps[None] | None = None
        self.heartbeats = Heartbeats(settings.session_timeout_ms)
        self.quotas = MutationQuotas(settings)
        self.topic_defaults = TopicDefaults(settings)
        self._rules = PartitionRules(settings, self.tip.image.configs)
        self.acl_hints = AclHints()
        self.authorizer = Authorizer(AclsImage(), self.acl_hints, frozenset(), allows_without_acl=False, is_configured=False)
        self._written: deque[tuple[int, View]] = deque()
        self._touched: list[tuple[str, bytes]] = []
        """The names and ids of topics that were made or removed since the hints were last dropped."""
        self._removed_acls: list[tuple[bytes, Acl]] = []

    @property
    def is_active(self) -> bool:
        return self.claim_epoch != STANDBY

    @property
    def image(self) -> MetadataImage:
        """The newest image, with what is not committed yet: decisions are made on it."""
        return self.tip.image

    @property
    def settled(self) -> View:
        """The tip without a transaction that is open: what is left of it when a new leader aborts that one."""
        return self.tip.before_transaction or self.tip

    @property
    def stable(self) -> MetadataImage:
        """The image that others may see: committed, and outside of any transaction."""
        return (self.committed.before_transaction or self.committed).image

    @property
    def rules(self) -> PartitionRules:
        """The rules for partitions of the configuration at the tip."""
        if self._rules.configs is not self.tip.image.configs:
            self._rules = PartitionRules(self.settings, self.tip.image.configs)
        return self._rules

    @property
    def level(self) -> int:
        """The metadata.version at the tip."""
        return metadata_level_of(self.tip.image)

    def load(self, image: MetadataImage, offset: int) -> Steps[None]:
        """Begin from a snapshot whose last contained offset is `offset`: brokers count as registered there."""
        yield from image.topics.make_maps()
        acl_hints = AclHints()
        yield from acl_hints.add_image(image.acls)
        self.tip = self.committed = View(image, Map(dict.fromkeys(image.cluster.brokers, offset)))
        self.committed_offset = self.stable_offset = offset
        self._written.clear()
        self._touched.clear()
        self._removed_acls.clear()
        self.acl_hints = acl_hints
        self._hints = Hints()
        self._scan = self._hints.add_image(image)

    def set_quorum(self, voters: VoterSet | None, kraft_version: int) -> None:
        """Take over the voters of raft's control records; they count at once, as in raft itself."""

        def with_quorum(view: View) -> View:
            features = view.image.features._replace(kraft_version=kraft_version)
            before = None if view.before_transaction is None else with_quorum(view.before_transaction)
            return view._replace(image=view.image._replace(voters=voters, features=features), before_transaction=before)

        self.committed = with_quorum(self.committed)
        self._written = deque((offset, with_quorum(view)) for offset, view in self._written)
        self.tip = self._written[-1][1] if self._written else self.committed

    def replay(self, records: Sequence[VersionedRecord], base_offset: int) -> Steps[None]:
        """Fold a batch of records into the tip, which changes when all of them are folded.

        Errors: ReplayError for a record that does not fit. The log and the state then disagree, and the process must stop.
        """
        view = self.tip
        for start in range(0, len(records), _REPLAY_PIECE):
            if start:
                yield
            piece = records[start : start + _REPLAY_PIECE] if len(records) > _REPLAY_PIECE else records
            view = yield from self._fold(view, piece, base_offset + start)
        last_offset = base_offset + len(records) - 1
        # Each batch's view waits for its commit, so that a lost leadership can go back to exactly what is committed.
        self.tip = view
        self._written.append((last_offset, view))
        if self.is_active:
            self.next_write_offset = last_offset + 1

    def _fold(self, view: View, records: Sequence[VersionedRecord], base_offset: int) -> Steps[View]:
        delta: MetadataDelta | None = None
        for offset, (record, _) in enumerate(records, base_offset):
            kind = type(record).__name__
            if kind in _TRANSACTION_RECORDS:
                if delta is not None:
                    view, delta = view._replace(image=delta.apply()), None
                view = _TRANSACTION_RECORDS[kind](view)
                continue
            if delta is None:
                delta = MetadataDelta(view.image, keeps_objects=self._keeps_objects)
            if kind == "RegisterBrokerRecord":
                view = view._replace(registration_offsets=view.registration_offsets.set(record.broker_id, offset))
            elif kind == "UnregisterBrokerRecord" and record.broker_id in view.registration_offsets:
                view = view._replace(registration_offsets=view.registration_offsets.delete(record.broker_id))
            self._hint(kind, record, delta)
            if kind == "ClearElrRecord" and not record.topic_name:
                yield from self._clear_all_elr(delta)
            else:
                delta.replay(record)
            if kind in _HEARTBEAT_RECORDS and self.is_active:
                self._follow_broker(kind, record)
        return view if delta is None else view._replace(image=delta.apply())

    def _clear_all_elr(self, delta: MetadataDelta) -> Steps[None]:
        """Apply a ClearElrRecord for all topics to the partitions that the hints name."""
        yield from self.make_hints()
        for number, (topic_id, partition_id) in enumerate(self._hints.eligible):
            if number % PIECE == PIECE - 1:
                yield
            delta.topics.clear_elr(topic_id, partition_id)

    def make_hints(self) -> Steps[None]:
        """Finish the hints of a loaded snapshot's partitions; records may be replayed meanwhile."""
        while self._scan is not None:
            try:
                next(self._scan)
            except StopIteration:
                self._scan = None
            else:
                yield

    def background(self) -> Steps[None] | None:
        """Return background work, None if there is none; it may be left at any step, and asked for again later."""
        if self._scan is not None:
            return self.make_hints()
        if self._hints.has_waste:
            return self._hints.reclaim()
        return self._sweep_hints() if self._hints.special_count > max(_SPECIAL_MIN, 2 * self._hints.swept) else None

    def _sweep_hints(self) -> Steps[None]:
        """Drop what the hints say of partitions that are no longer special."""
        hints = self._hints
        for named, is_meant in (
            (hints.leaderless, is_leaderless),
            (hints.unpreferred, is_unpreferred),
            (hints.reassigning, is_reassigning),
            (hints.eligible, has_eligible),
        ):
            for number, key in enumerate(tuple(named), 1):
                partition = self.partition(*key)
                if partition is None or not is_meant(partition):
                    self.drop_hints(named, (key,))
                if not number % PIECE:
                    yield
        hints.swept = hints.special_count

    @property
    def hints(self) -> Hints:
        """The hints; after a snapshot was loaded this ends a `make_hints` that has not ended."""
        if self._scan is not None:
            finish_steps(self.make_hints())
        return self._hints

    def _hint(self, kind: str, record: Any, delta: MetadataDelta) -> None:
        if kind == "RemoveTopicRecord":
            topic = delta.topics.topic(record.topic_id)
            if topic is not None:
                self._touched.append((topic.name, topic.id))
            return
        if kind == "AccessControlEntryRecord":
            self.acl_hints.add(record.id, acl_of(record))
            return
        if kind == "RemoveAccessControlEntryRecord":
            acl = delta.image.acls.by_id.get(record.id)
            if acl is not None:
                self._removed_acls.append((record.id, acl))
            return
        hints = self._hints
        if kind == "PartitionChangeRecord":
            hints.note_change(record)
        elif kind == "PartitionRecord":
            hints.add_replicas(record.topic_id, record.partition_id, record.replicas)
            if record.leader != next(iter(record.replicas), -1) or record.adding_replicas or record.removing_replicas:
                hints.note(record.topic_id, record.partition_id, partition_from_record(record))
        elif kind == "TopicRecord":
            hints.add_topic(record.name)
            # What is made and never committed, or in a transaction that is aborted, is gone again without a record.
            self._touched.append((record.name, record.topic_id))

    def _follow_broker(self, kind: str, record: Any) -> None:
        """Let the volatile state of a broker follow its registration."""
        broker_id = record.broker_id if kind not in ("FenceBrokerRecord", "UnfenceBrokerRecord") else record.id
        if kind == "UnregisterBrokerRecord":
            self.heartbeats.remove(broker_id)
        elif kind == "RegisterBrokerRecord":
            self.heartbeats.remove(broker_id)
            self.heartbeats.register(broker_id, record.fenced)
        elif kind == "BrokerRegistrationChangeRecord" and not record.fenced:
            self.heartbeats.forget_offset(broker_id)
        else:
            fenced = record.fenced == 1 if kind == "BrokerRegistrationChangeRecord" else kind == "FenceBrokerRecord"
            self.heartbeats.register(broker_id, fenced)

    def commit(self, offset: int) -> None:
        """Everything up to `offset` is committed by the quorum."""
        if offset <= self.committed_offset:
            return
        self.committed_offset = offset
        written = self._written
        while written and written[0][0] <= offset:
            self.committed = written.popleft()[1]
        # An open transaction may still be aborted. Readers see nothing behind its beginning until it has ended.
        if self.committed.before_transaction is None:
            self.stable_offset = offset
        if not written:
            self._drop_hints()

    def drop_hints(self, hints: dict[PartitionKey, None], wrong: Iterable[PartitionKey]) -> None:
        """Drop what the tip does not bear out, if no way leads back to a view that does."""
        if self.tip is self.committed and self.tip.before_transaction is None:
            for key in wrong:
                hints.pop(key, None)

    def _drop_hints(self) -> None:
        """Forget hints that no view bears out; only while committed view and tip are one and no transaction is open."""
        if self.tip.before_transaction is not None:
            return
        for id, acl in self._removed_acls:
            if id not in self.image.acls.by_id:
                self.acl_hints.forget(id, acl)
        self._removed_acls.clear()
        if self._scan is not None:
            return
        topics = self.image.topics
        for name, topic_id in self._touched:
            if name not in topics.by_name:
                self._hints.forget_topic(name)
            # A transaction that was aborted brings its topics back.
            if topic_id not in topics.by_id:
                self._hints.forget_partitions(topic_id)
        self._touched.clear()

    def renounce(self) -> None:
        """Give leadership up: drop everything that is not committed."""
        self.claim_epoch = self.next_write_offset = STANDBY
        # Whether the rest is committed after all, the next leader decides: it comes back as replayed records, or never.
        # Hints are not undone: they may name too much.
        self.tip = self.committed
        self._written.clear()
        self._drop_hints()
        self.heartbeats = Heartbeats(self.settings.session_timeout_ms)

    def partition(self, topic_id: bytes, partition_id: int) -> PartitionRegistration | None:
        """A partition at the tip, None where there is none."""
        topic = self.image.topics.by_id.get(topic_id)
        return None if topic is None else partition_of(topic, partition_id)


def partition_of(topic: TopicImage, partition_id: int) -> PartitionRegistration | None:
    """A partition of a topic, None where it has none of that number."""
    try:
        return topic.partitions[partition_id]
    except KeyError:
        return None


def _begin(view: View) -> View:
    if view.before_transaction is not None:
        raise ReplayError("a metadata transaction begins inside another")
    return view._replace(before_transaction=view)


def _end(view: View) -> View:
    if view.before_transaction is None:
        raise ReplayError("a metadata transaction ends that never began")
    return view._replace(before_transaction=None)


def _abort(view: View) -> View:
    if view.before_transaction is None:
        raise ReplayError("a metadata transaction is aborted that never began")
    return view.before_transaction


_TRANSACTION_RECORDS = {"BeginTransactionRecord": _begin, "EndTransactionRecord": _end, "AbortTransactionRecord": _abort}
_HEARTBEAT_RECORDS = {
    "RegisterBrokerRecord",
    "UnregisterBrokerRecord",
    "BrokerRegistrationChangeRecord",
    "FenceBrokerRecord",
    "UnfenceBrokerRecord",
}
NO_OP: VersionedRecord = (messages.NoOpRecord(), 0)


def check_broker_epoch(state: State, body: Any) -> None:
    """Errors: ApiError STALE_BROKER_EPOCH unless the request comes from the broker's registered life."""
    broker = state.image.cluster.brokers.get(body.broker_id)
    if broker is None:
        raise ApiError(STALE_BROKER_EPOCH, f"Expected broker epoch {body.broker_epoch}, but broker {body.broker_id} is not registered.")
    if broker.epoch != body.broker_epoch:
        raise ApiError(STALE_BROKER_EPOCH, f"Expected broker epoch {body.broker_epoch}, but got broker epoch {broker.epoch}")
