"""Requests to the coordinator, the records and answers it decides on, and its timers.

A `Decision` has the records of one batch, the answers, and the effects that others have to perform. `Place` says where a record lies in the
log. `Timers` has one timer for each key and runs them in the order in which they are due.

Source: org.apache.kafka.coordinator.common.runtime.CoordinatorTimer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from metashell.common.errors import MetashellError


class Producer(NamedTuple):
    """Who wrote a batch that belongs to a transaction."""

    id: int
    epoch: int


class CreateTopics(NamedTuple):
    """Internal topics that a streams group needs: name -> (partitions, replication factor, configs)."""

    topics: dict[str, tuple[int, int, tuple[tuple[str, str], ...]]]


class InitializeShareState(NamedTuple):
    """Share partitions whose state the share coordinator has to begin: topic id -> partitions."""

    group_id: str
    partitions: dict[bytes, tuple[int, ...]]


class DeleteShareState(NamedTuple):
    """Share partitions whose state the share coordinator has to delete: topic id -> partitions."""

    group_id: str
    partitions: dict[bytes, tuple[int, ...]]


Effect = CreateTopics | InitializeShareState | DeleteShareState


@dataclass(slots=True)
class Decision:
    """Records of one atomic batch, in order, and what is answered once they are written.

    Shape: `producer` for a transactional batch. `marker` ends that producer's transaction: True commits, False aborts; it has no records.
    `replays` is False where the coordinator's state is already what the records say: a classic group knows more than its record, which
    would replace it. `dropped` are tickets of earlier requests that are never answered. `request` is what was decided. `on_failure` gives
    what happens instead when the batch could not be written, by error code and time; without it the request is answered with the error,
    and the other answers stay.
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
    """Why a request, or one part of it, is refused: an error code and the message that a client shows."""

    def __init__(self, code: int, message: str | None = None) -> None:
        super().__init__(message or "")
        self.code = code
        self.message = message


class Request(NamedTuple):
    """One request of a client. Shape: `ticket` is the driver's, and names the request in answers; `body` is the request object of codec."""

    ticket: int
    api_key: int
    version: int
    body: Any
    client_id: str = ""
    client_host: str = "/127.0.0.1"


class Answer(NamedTuple):
    """The response object that belongs to a ticket."""

    ticket: int
    body: Any


class Record(NamedTuple):
    """Shape: `type` is the record type (key's first int16); `key` and `value` are objects of codec's family `offsets`; without a value it
    is a tombstone. `version` is the value's.
    """

    type: int
    key: Any
    value: Any = None
    version: int = 0


class Place(NamedTuple):
    """Where a record lies. `producer_id` is -1 outside of transactions. Units: `timestamp_ms` since the epoch."""

    offset: int
    timestamp_ms: int = -1
    producer_id: int = -1


class Finding(NamedTuple):
    """What is wrong with a log, by its place. `kind` is one word in capitals, as OWNERSHIP_OVERLAP.

    `group_id` is None for a record that names no group.
    """

    kind: str
    group_id: str | None
    text: str
    place: Place


Action = Callable[[int], Decision]
"""`now_ms -> what it came to`."""
TimerKey = tuple[str, ...]
"""What kind of timer, the group, and the member where it has one."""


class Due(NamedTuple):
    """A timer that was taken."""

    key: TimerKey
    action: Action


class _Timer:
    """Shape: `queued_ms` is when the heap brings it up, which is never later than `due_ms`."""

    __slots__ = ("action", "due_ms", "number", "queued_ms")

    def __init__(self, due_ms: int, number: int, action: Action) -> None:
        self.due_ms = due_ms
        self.queued_ms = due_ms
        self.number = number
        self.action = action


class Timers:
    """One timer for each key: to schedule it again replaces it.

    A session's timer is put off with each heartbeat and hardly ever runs: its place in the heap is mended when it comes up.
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
        """Put a timer off, with what it does; whether there was one."""
        known = self._timers.get(key)
        if known is not None:
            self.schedule(key, due_ms, known.action)
        return known is not None

    def redirect(self, key: TimerKey, action: Action) -> None:
        """Change what a timer does, not when. Errors: KeyError."""
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
        """When `pop` has something to give, None for never."""
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
        """Take the timer that was due first, None where none is due. Of equal times the one that was scheduled first."""
        due_ms = self.next_due_ms()
        if due_ms is None or due_ms > now_ms:
            return None
        key = heappop(self._heap)[2]
        return Due(key, self._timers.pop(key).action)
