"""The coordinator of one partition of `__consumer_offsets`: it routes each request to the function that decides it.

`HANDLERS` has the function of each API; the `ON_...` tables have what runs after loading, before unloading, and when topics change.
Requests of the classic protocol are routed by the kind of their group, since consumer groups have classic members too. `Shard` is a
coordinator with its log in memory, which writes each decision at once.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorService and GroupMetadataManager."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple

from metashell.codec import codes
from metashell.codec.error_codes import (
    INCONSISTENT_GROUP_PROTOCOL,
    INVALID_GROUP_ID,
    INVALID_SESSION_TIMEOUT,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_SERVER_ERROR,
)
from metashell.common.errors import DecodeError, EncodeError
from metashell.groups.classic import Waiting, heartbeat_answer, join_error, leave_answer, sync_error
from metashell.groups.classic.join import join_classic_group, sync_classic_group
from metashell.groups.classic.rebalance import begin_sessions, end_waits, heartbeat_classic_group, identities, leave_classic_group
from metashell.groups.consumer.classic_member import (
    heartbeat_as_classic_member,
    join_as_classic_member,
    leave_as_classic_member,
    sync_as_classic_member,
)
from metashell.groups.consumer.heartbeat import handle_consumer_heartbeat
from metashell.groups.consumer.leave import begin_consumers, consumer_topics_changed
from metashell.groups.coordinator.group_admin import (
    delete_groups,
    describe_consumer_groups,
    describe_groups,
    describe_streams_groups,
    find_coordinator,
    list_groups,
)
from metashell.groups.coordinator.offset_commit import add_offsets, commit_offsets, end_txn, init_producer_id, txn_offset_commit
from metashell.groups.coordinator.offset_fetch import begin_expiry, delete_offsets, delete_topic_offsets, fetch_offsets
from metashell.groups.coordinator.replay import make_state, replay
from metashell.groups.decision import (
    Answer,
    Decision,
    Due,
    Effect,
    GroupError,
    Place,
    Producer,
    Record,
    Request,
    append_error_code,
    error_body,
    refuse_request,
)
from metashell.groups.state import Chance, Context, Handler, Settings, State, end_transaction
from metashell.groups.streams.heartbeat import handle_streams_heartbeat
from metashell.groups.streams.timeouts import start_streams_timers
from metashell.groups.topics import Topics

RETRY_BACKOFF_MS: Final = 500


class GroupCoordinator:
    """See the package. It begins with a state that was read from a log, or with an empty one.

    Errors of `decide`: KeyError for an API that is not the coordinator's.
    """

    def __init__(self, settings: Settings, chance: Chance, topics: Topics, state: State | None = None) -> None:
        self.context = Context(settings, chance, state or make_state())
        self.state.topics = topics

    @property
    def state(self) -> State:
        return self.context.state

    def decide(self, request: Request, now_ms: int) -> Decision:
        handler = HANDLERS[request.api_key]
        self.context.can_describe = request.can_describe
        try:
            decision = handler(self.context, request, now_ms)
        except GroupError as error:
            decision = Decision(answers=[refuse_request(request, error)])
        except DecodeError:
            decision = Decision(answers=[Answer(request.ticket, error_body(request, UNKNOWN_SERVER_ERROR))])
        if decision.request is None:
            decision.request = request
        return decision

    def next_due_ms(self) -> int | None:
        """Return when `run_due` has something to do, None for never."""
        return self.context.timers.next_due_ms()

    def run_due(self, now_ms: int) -> Decision | None:
        """Run the one timer that was due first. Returns None if none is due."""
        due = self.context.timers.pop(now_ms)
        if due is None:
            return None
        decision = due.action(now_ms)
        if decision.records:
            undo = decision.on_failure
            decision.on_failure = lambda code, at_ms: self._run_later(due, decision if undo is None else undo(code, at_ms), at_ms)
        return decision

    def _run_later(self, due: Due, decision: Decision, now_ms: int) -> Decision:
        """Schedule a timer's work again. A client retries its request, but nobody else retries a timer."""
        if due.key not in self.context.timers:
            self.context.timers.schedule(due.key, now_ms + RETRY_BACKOFF_MS, due.action)
        return Decision(answers=decision.answers)

    def replay(self, record: Record, place: Place) -> None:
        """Replay a record of the log, written by this coordinator or an earlier one."""
        replay(self.state, record, place)

    def replay_end_of_transaction(self, producer_id: int, is_committed: bool) -> None:
        """Replay the control record that ends a producer's transaction."""
        end_transaction(self.state, producer_id, is_committed)

    def loaded(self, now_ms: int) -> None:
        """Start timers. Every record of the log was replayed."""
        for begin in ON_LOADED:
            begin(self.context, now_ms)

    def unloaded(self, now_ms: int) -> list[Answer]:
        """Stop. Requests that still wait are answered with an error that makes clients find the coordinator again; timers end."""
        answers = [answer for end in ON_UNLOADED for answer in end(self.context, now_ms)]
        self.context.timers.clear()
        return answers

    def failed(self, decision: Decision, code: int, now_ms: int) -> Decision:
        """Return the decision that takes this one's place if its batch could not be written.

        Source: org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime; the error conversion of `error_answers`.
        """
        code = append_error_code(code)
        if decision.on_failure is not None:
            return decision.on_failure(code, now_ms)
        request = decision.request
        if request is None:
            return Decision(answers=decision.answers)
        own = Answer(request.ticket, error_body(request, code))
        return Decision(answers=[own if answer.ticket == request.ticket else answer for answer in decision.answers])

    def topics_changed(self, topics: Topics, changed: Collection[str], deleted: Collection[str], now_ms: int) -> Decision:
        """Replace the view of the metadata. `changed` names topics that are new or differ, `deleted` those that are gone."""
        old, self.state.topics = self.state.topics, topics
        return Decision([record for hear in ON_TOPICS for record in hear(self.context, old, topics, changed, deleted, now_ms)])


class Written(NamedTuple):
    """An appended batch. Shape: `marker` is None unless the batch ends a transaction; such a batch has no records.

    `partition` is that of `__consumer_offsets`.
    """

    base_offset: int
    timestamp_ms: int
    records: tuple[Record, ...]
    producer: Producer | None = None
    marker: bool | None = None
    partition: int = 0


Append = Callable[[Written], Sequence[Written]]
"""Appends a batch to a log, and returns it with its offset: several of them if the log has several partitions."""


class Shard:
    """A coordinator with its log: that of `append`, else `written` in memory, which has every batch, oldest first.

    Shape: `effects` gathers the effects that others must perform, and `dropped` the tickets that are never answered; the caller empties
    both. Errors: those of `append`; the coordinator knows more than its log then, and decides no more.
    """

    def __init__(
        self, coordinator: GroupCoordinator, written: Iterable[Written] = (), now_ms: int = 0, *, append: Append | None = None
    ) -> None:
        self.coordinator = coordinator
        self.written: list[Written] = []
        self.effects: list[Effect] = []
        self.dropped: list[int] = []
        self.end_offset = 0
        self._append = append or self._keep
        for batch in written:
            self._write(batch, replays=True)
        coordinator.loaded(now_ms)

    def submit(self, request: Request, now_ms: int) -> list[Answer]:
        """Decide a request and write its records. Returns the answers to this request and to others that waited."""
        return self._perform(self.coordinator.decide(request, now_ms), now_ms)

    def run_due(self, now_ms: int) -> list[Answer]:
        """Run every timer that is due, each at its own time, including timers that these schedule up to now."""
        answers: list[Answer] = []
        at_ms = -1
        while (due_ms := self.coordinator.next_due_ms()) is not None and due_ms <= now_ms:
            at_ms = max(at_ms, due_ms)
            decision = self.coordinator.run_due(at_ms)
            assert decision is not None
            answers += self._perform(decision, at_ms)
        return answers

    def topics_changed(self, topics: Topics, changed: Collection[str], deleted: Collection[str], now_ms: int) -> list[Answer]:
        return self._perform(self.coordinator.topics_changed(topics, changed, deleted, now_ms), now_ms)

    def _perform(self, decision: Decision, now_ms: int) -> list[Answer]:
        if decision.records or decision.marker is not None:
            batch = Written(self.end_offset, now_ms, tuple(decision.records), decision.producer, decision.marker)
            try:
                self._write(batch, replays=decision.replays)
            except EncodeError:
                decision = self.coordinator.failed(decision, UNKNOWN_SERVER_ERROR, now_ms)
        self.dropped += decision.dropped
        self.effects += decision.effects
        return decision.answers

    def _keep(self, batch: Written) -> Sequence[Written]:
        self.written.append(batch)
        self.end_offset = batch.base_offset + (len(batch.records) or 1)
        return (batch,)

    def _write(self, batch: Written, *, replays: bool) -> None:
        for part in self._append(batch):
            producer_id = -1 if part.producer is None else part.producer.id
            for offset, record in enumerate(part.records if replays else (), part.base_offset):
                self.coordinator.replay(record, Place(offset, part.timestamp_ms, producer_id))
        if batch.marker is not None and batch.producer is not None:
            self.coordinator.replay_end_of_transaction(batch.producer.id, batch.marker)


# Handlers for members that speak the classic protocol, by the kind of their group: a consumer group may have such members (KIP-848).
JOINS: Final[dict[str, Handler]] = {"classic": join_classic_group, "consumer": join_as_classic_member}
SYNCS: Final[dict[str, Handler]] = {"classic": sync_classic_group, "consumer": sync_as_classic_member}
HEARTBEATS: Final[dict[str, Handler]] = {"classic": heartbeat_classic_group, "consumer": heartbeat_as_classic_member}
LEAVES: Final[dict[str, Handler]] = {"classic": leave_classic_group, "consumer": leave_as_classic_member}
_YIELDING = ("consumer", "streams")
"""Kinds of groups that, while empty, become classic when a classic member joins."""


def handle_join_group(context: Context, request: Request, now_ms: int) -> Decision:
    body, settings = request.body, context.settings
    waiting = Waiting.of(request)
    if not body.group_id:
        return Decision(answers=[join_error(waiting, INVALID_GROUP_ID, body.member_id)])
    if not settings.min_session_timeout_ms <= body.session_timeout_ms <= settings.max_session_timeout_ms:
        return Decision(answers=[join_error(waiting, INVALID_SESSION_TIMEOUT, body.member_id)])
    group = context.state.groups.get(body.group_id)
    kind = "classic" if group is None or (group.is_empty and group.type in _YIELDING) else group.type
    if kind not in JOINS:
        return Decision(answers=[join_error(waiting, INCONSISTENT_GROUP_PROTOCOL)])
    return JOINS[kind](context, request, now_ms)


def handle_sync_group(context: Context, request: Request, now_ms: int) -> Decision:
    body = request.body
    if request.version >= 5 and (body.protocol_type is None or body.protocol_name is None):
        return Decision(answers=[sync_error(request.ticket, INCONSISTENT_GROUP_PROTOCOL)])
    if not body.group_id:
        return Decision(answers=[sync_error(request.ticket, INVALID_GROUP_ID)])
    group = context.state.groups.get(body.group_id)
    if group is None or group.is_empty or group.type not in SYNCS:
        return Decision(answers=[sync_error(request.ticket, UNKNOWN_MEMBER_ID)])
    return SYNCS[group.type](context, request, now_ms)


def handle_heartbeat(context: Context, request: Request, now_ms: int) -> Decision:
    if not request.body.group_id:
        return Decision(answers=[heartbeat_answer(request.ticket, INVALID_GROUP_ID)])
    group = context.state.groups.get(request.body.group_id)
    if group is None or group.type not in HEARTBEATS:
        return Decision(answers=[heartbeat_answer(request.ticket, UNKNOWN_MEMBER_ID)])
    return HEARTBEATS[group.type](context, request, now_ms)


def handle_leave_group(context: Context, request: Request, now_ms: int) -> Decision:
    if not request.body.group_id:
        return Decision(answers=[leave_answer(request, (), INVALID_GROUP_ID)])
    group = context.state.groups.get(request.body.group_id)
    if group is None or group.type not in LEAVES:
        refused = [(member, UNKNOWN_MEMBER_ID) for member in identities(request)]
        return Decision(answers=[leave_answer(request, refused)])
    return LEAVES[group.type](context, request, now_ms)


OnLoaded = Callable[[Context, int], None]
OnUnloaded = Callable[[Context, int], list[Answer]]
OnTopics = Callable[[Context, Topics, Topics, Collection[str], Collection[str], int], list[Record]]

HANDLERS: dict[int, Handler] = {
    codes.JOIN_GROUP: handle_join_group,
    codes.HEARTBEAT: handle_heartbeat,
    codes.LEAVE_GROUP: handle_leave_group,
    codes.SYNC_GROUP: handle_sync_group,
    codes.CONSUMER_GROUP_HEARTBEAT: handle_consumer_heartbeat,
    codes.CONSUMER_GROUP_DESCRIBE: describe_consumer_groups,
    codes.DESCRIBE_GROUPS: describe_groups,
    codes.OFFSET_COMMIT: commit_offsets,
    codes.OFFSET_FETCH: fetch_offsets,
    codes.FIND_COORDINATOR: find_coordinator,
    codes.LIST_GROUPS: list_groups,
    codes.INIT_PRODUCER_ID: init_producer_id,
    codes.ADD_OFFSETS_TO_TXN: add_offsets,
    codes.END_TXN: end_txn,
    codes.TXN_OFFSET_COMMIT: txn_offset_commit,
    codes.DELETE_GROUPS: delete_groups,
    codes.OFFSET_DELETE: delete_offsets,
    codes.STREAMS_GROUP_HEARTBEAT: handle_streams_heartbeat,
    codes.STREAMS_GROUP_DESCRIBE: describe_streams_groups,
}
"""By api key. Share groups have none: nobody has messages here to share. A log that has such groups is read, and they can be deleted."""

ON_LOADED: tuple[OnLoaded, ...] = (begin_sessions, begin_consumers, start_streams_timers, begin_expiry)
"""Called when the log has been read to its end, with `(context, now_ms)`: they set timers."""

ON_UNLOADED: tuple[OnUnloaded, ...] = (end_waits,)
"""Called when the coordinator stops, with `(context, now_ms)`: they return answers to waiting requests."""

ON_TOPICS: tuple[OnTopics, ...] = (delete_topic_offsets, consumer_topics_changed)
"""Called for new metadata, with `(context, old, new, changed names, deleted names, now_ms)`: they return records of one batch."""
