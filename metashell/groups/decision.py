"""Requests to the coordinator, the records and answers it decides on, and its timers.

A `Decision` holds the records of one batch, the answers, and the effects that the driver performs. `Place` is a record's position in the
log. `Timers` keeps one timer for each key and returns them in the order in which they are due.

Source: org.apache.kafka.coordinator.common.runtime.CoordinatorTimer.

The answer to a request that is refused as a whole, or whose decision could not be written, is `metashell.codec.error_answers`'.
Source: org.apache.kafka.coordinator.group.GroupMetadataManager.appendGroupMetadataErrorToResponseError."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Any, Final, NamedTuple

from metashell.codec import messages
from metashell.codec.codes import FIND_COORDINATOR
from metashell.codec.dispatch import REQUESTS
from metashell.codec.error_answers import error_answer
from metashell.codec.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    INVALID_FETCH_SIZE,
    KAFKA_STORAGE_ERROR,
    MESSAGE_TOO_LARGE,
    NETWORK_EXCEPTION,
    NOT_COORDINATOR,
    NOT_ENOUGH_REPLICAS,
    NOT_LEADER_OR_FOLLOWER,
    RECORD_LIST_TOO_LARGE,
    REQUEST_TIMED_OUT,
    UNKNOWN_SERVER_ERROR,
    UNKNOWN_TOPIC_OR_PARTITION,
    error_message,
)
from metashell.common.errors import MetashellError


class Producer(NamedTuple):
    """The producer of a transactional batch."""

    id: int
    epoch: int


class CreateTopics(NamedTuple):
    """Internal topics that a streams group needs: name -> (partitions, replication factor, configs)."""

    topics: dict[str, tuple[int, int, tuple[tuple[str, str], ...]]]


Effect = CreateTopics


@dataclass(slots=True)
class Decision:
    """Records of one atomic batch, in order, and the answers to send once they are written.

    Shape: `producer` is set for a transactional batch. `marker` ends that producer's transaction: True commits, False aborts; such a
    decision has no records. `replays` is False if the coordinator's state already includes the records: a classic group knows more than
    its record, and replaying the record would replace it. `dropped` are the tickets of earlier requests that are never answered. `request`
    is the request that was decided. `on_failure(code, now_ms)` returns the decision that takes this one's place if the batch could not be
    written; without it the request is answered with the error, and the other answers stay.
    """

    records: list[Record] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    producer: Producer | None = None
    marker: bool | None = None
    replays: bool = True
    dropped: list[int] = field(default_factory=list)
    request: Request | None = None
    on_failure: Callable[[int, int], Decision] | None = None


class GroupError(MetashellError):
    """Refuses a request, or one part of it, with an error code and a message for the client."""

    def __init__(self, code: int, message: str | None = None) -> None:
        super().__init__(message or "")
        self.code = code
        self.message = message


class Request(NamedTuple):
    """One request of a client. Shape: `ticket` is the driver's name for the request in answers; `body` is the request object of codec.

    `can_describe` says of a topic whether the client may see it; None where everybody sees all.
    """

    ticket: int
    api_key: int
    version: int
    body: Any
    client_id: str = ""
    client_host: str = "/127.0.0.1"
    can_describe: Callable[[str], bool] | None = None


class Answer(NamedTuple):
    """The response object for a ticket."""

    ticket: int
    body: Any


class Record(NamedTuple):
    """A record of `__consumer_offsets`.

    Shape: `type` is the record type, the first int16 of the key. `key` and `value` are objects of codec's family `offsets`; a tombstone
    has no value. `version` is the value's.
    """

    type: int
    key: Any
    value: Any = None
    version: int = 0


class GroupRecords(NamedTuple):
    """The records that consumer, share and streams groups have alike; all but `word` are record types.

    Shape: a record without value is a tombstone. `word` begins the names of the keys, as in ConsumerGroupMetadataKey.
    """

    word: str
    group: int
    member: int
    target: int
    target_member: int
    current: int

    def of_group(self, group_id: str, value: Any = None) -> Record:
        return Record(self.group, self._key("Metadata")(group_id=group_id), value)

    def of_member(self, group_id: str, member_id: str, value: Any = None) -> Record:
        return Record(self.member, self._key("MemberMetadata")(group_id=group_id, member_id=member_id), value)

    def of_target(self, group_id: str, value: Any = None) -> Record:
        return Record(self.target, self._key("TargetAssignmentMetadata")(group_id=group_id), value)

    def of_target_member(self, group_id: str, member_id: str, value: Any = None) -> Record:
        return Record(self.target_member, self._key("TargetAssignmentMember")(group_id=group_id, member_id=member_id), value)

    def of_current(self, group_id: str, member_id: str, value: Any = None) -> Record:
        return Record(self.current, self._key("CurrentMemberAssignment")(group_id=group_id, member_id=member_id), value)

    def member_tombstones(self, group_id: str, member_id: str) -> list[Record]:
        """Return the records that remove a member, in Kafka's order. Replay relies on it."""
        return [self.of_current(group_id, member_id), self.of_target_member(group_id, member_id), self.of_member(group_id, member_id)]

    def group_tombstones(self, group_id: str, member_ids: Iterable[str], more: Iterable[Record] = ()) -> list[Record]:
        """Return the records that remove a group, in Kafka's order. `more` come before that of the group itself."""
        ids = list(member_ids)
        return [
            *(self.of_current(group_id, id) for id in ids),
            *(self.of_target_member(group_id, id) for id in ids),
            self.of_target(group_id),
            *(self.of_member(group_id, id) for id in ids),
            *more,
            self.of_group(group_id),
        ]

    def _key(self, name: str) -> Any:
        return getattr(messages, f"{self.word}Group{name}Key")


class Place(NamedTuple):
    """A record's position in the log. `producer_id` is -1 outside of transactions. Units: `timestamp_ms` since the Unix epoch."""

    offset: int
    timestamp_ms: int = -1
    producer_id: int = -1


class Finding(NamedTuple):
    """A problem in a log, with its place. `kind` is one word in capitals, as OWNERSHIP_OVERLAP.

    `group_id` is None for a record that names no group.
    """

    kind: str
    group_id: str | None
    text: str
    place: Place


Action = Callable[[int], Decision]
"""`now_ms -> decision`: the work of a timer."""
TimerKey = tuple[str, ...]
"""The kind of timer, the group, and the member if the timer is a member's."""


class Due(NamedTuple):
    """A timer that is due."""

    key: TimerKey
    action: Action


class _Timer:
    """Shape: `queued_ms` is the timer's time in the heap, never later than `due_ms`."""

    __slots__ = ("action", "due_ms", "number", "queued_ms")

    def __init__(self, due_ms: int, number: int, action: Action) -> None:
        self.due_ms = due_ms
        self.queued_ms = due_ms
        self.number = number
        self.action = action


class Timers:
    """One timer for each key: scheduling a key again replaces its timer.

    Why not a plain heap: each heartbeat postpones a session's timer, and almost none of these timers ever runs. So `schedule` leaves the
    heap entry of a postponed timer where it is, and `next_due_ms` moves it when it comes to the top. A session of 45 s with a heartbeat
    every 3 s costs one heap operation instead of 15. An entry whose timer was replaced or cancelled is skipped at the top; when more than
    half of the heap is such entries, it is rebuilt.
    """

    def __init__(self) -> None:
        self._timers: dict[TimerKey, _Timer] = {}
        self._heap: list[tuple[int, int, TimerKey, _Timer]] = []
        self._count = 0

    def schedule(self, key: TimerKey, due_ms: int, action: Action) -> None:
        self._count += 1
        known = self._timers.get(key)
        if known is not None and known.queued_ms <= due_ms:
            known.due_ms, known.number, known.action = due_ms, self._count, action
            return
        timer = self._timers[key] = _Timer(due_ms, self._count, action)
        heappush(self._heap, (due_ms, timer.number, key, timer))
        if len(self._heap) > 64 + 2 * len(self._timers):
            self._heap = [(timer.queued_ms, timer.number, key, timer) for key, timer in self._timers.items()]
            heapify(self._heap)

    def restart(self, key: TimerKey, due_ms: int) -> bool:
        """Change when a timer is due and keep its action. Returns whether there was one."""
        known = self._timers.get(key)
        if known is not None:
            self.schedule(key, due_ms, known.action)
        return known is not None

    def redirect(self, key: TimerKey, action: Action) -> None:
        """Change the action of a timer and keep its time. Errors: KeyError."""
        self._timers[key].action = action

    def cancel(self, key: TimerKey) -> None:
        self._timers.pop(key, None)

    def __iter__(self) -> Iterator[TimerKey]:
        return iter(self._timers)

    def __contains__(self, key: TimerKey) -> bool:
        return key in self._timers

    def clear(self) -> None:
        self._timers.clear()
        self._heap.clear()

    def next_due_ms(self) -> int | None:
        """Return when the first timer is due, None if there is none."""
        while self._heap:
            queued_ms, number, key, timer = self._heap[0]
            if self._timers.get(key) is not timer:
                heappop(self._heap)
            elif number == timer.number and queued_ms == timer.due_ms:
                return queued_ms
            else:
                heappop(self._heap)
                timer.queued_ms = timer.due_ms
                heappush(self._heap, (timer.due_ms, timer.number, key, timer))
        return None

    def pop(self, now_ms: int) -> Due | None:
        """Remove and return the timer that was due first, None if none is due. Of equal times, the one that was scheduled first."""
        due_ms = self.next_due_ms()
        if due_ms is None or due_ms > now_ms:
            return None
        key = heappop(self._heap)[2]
        return Due(key, self._timers.pop(key).action)


ALL_OPERATIONS: Final = 0b1101_0100_1000
"""The operations on a group that are authorized without ACLs: READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS and ALTER_CONFIGS."""
CLUSTER_OPERATIONS: Final = 0b1_1111_1010_0000
"""Those on a cluster: CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS and IDEMPOTENT_WRITE."""


def error_body(request: Request, code: int, message: str | None = None) -> Any:
    """Return the response object that refuses a request. `message` is null for APIs that have one and get none here."""
    if request.api_key == FIND_COORDINATOR and message is None:
        message = error_message(code)
    return error_answer(api_name(request.api_key), request.body, request.version, code, message)


def api_name(api_key: int) -> str:
    """Return an API's name, as `OffsetCommit`. Errors: KeyError."""
    return REQUESTS[api_key].removesuffix("Request")


def refuse_request(request: Request, error: GroupError) -> Answer:
    """Return the answer to a request that failed as a whole."""
    return Answer(request.ticket, error_body(request, error.code, error.message))


def fetch_error_group(group: Any, code: int) -> messages.OffsetFetchResponse.OffsetFetchResponseGroup:
    """Return the refusal of one group's offsets, for OffsetFetch from version 8 on."""
    return messages.OffsetFetchResponse.OffsetFetchResponseGroup(group_id=group.group_id, error_code=code)


def coordinator_error(key: str, code: int, message: str | None) -> messages.FindCoordinatorResponse.Coordinator:
    """Return the answer for a key without coordinator, for FindCoordinator from version 4 on."""
    return messages.FindCoordinatorResponse.Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=message)


_ANSWERED_AS: Final = {
    UNKNOWN_TOPIC_OR_PARTITION: COORDINATOR_NOT_AVAILABLE,
    NOT_ENOUGH_REPLICAS: COORDINATOR_NOT_AVAILABLE,
    REQUEST_TIMED_OUT: COORDINATOR_NOT_AVAILABLE,
    NOT_LEADER_OR_FOLLOWER: NOT_COORDINATOR,
    KAFKA_STORAGE_ERROR: NOT_COORDINATOR,
    MESSAGE_TOO_LARGE: UNKNOWN_SERVER_ERROR,
    RECORD_LIST_TOO_LARGE: UNKNOWN_SERVER_ERROR,
    INVALID_FETCH_SIZE: UNKNOWN_SERVER_ERROR,
    NETWORK_EXCEPTION: COORDINATOR_LOAD_IN_PROGRESS,
}


def append_error_code(code: int) -> int:
    """Return the error that the client gets if an append failed with `code`.

    The client sent no record and chose no topic: MESSAGE_TOO_LARGE would tell it nothing, COORDINATOR_NOT_AVAILABLE makes it retry.
    """
    return _ANSWERED_AS.get(code, code)
