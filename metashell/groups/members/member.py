"""The base of members of both protocols: requests and answers, callbacks, finding the coordinator, and offsets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import Any, Final

from metashell.codec import error_codes
from metashell.codec.codes import FIND_COORDINATOR
from metashell.codec.consumer_protocol import Partition
from metashell.codec.error_codes import error_message
from metashell.codec.messages import FindCoordinatorRequest
from metashell.groups.members import (
    Callback,
    Closed,
    CommitIdentity,
    Event,
    Failed,
    MemberSettings,
    Output,
    Send,
    commit_error,
    commit_request,
    fetch_request,
    fetched,
)
from metashell.groups.topics import KnownTopics, Topics

Handler = Callable[[Any, int], None]
"""`(body, now_ms)`: handles an answer; its body is None if the connection was lost."""

RETRIABLE: Final = frozenset(
    {
        error_codes.UNKNOWN_TOPIC_OR_PARTITION,
        error_codes.REQUEST_TIMED_OUT,
        error_codes.NETWORK_EXCEPTION,
        error_codes.COORDINATOR_LOAD_IN_PROGRESS,
        error_codes.COORDINATOR_NOT_AVAILABLE,
        error_codes.NOT_COORDINATOR,
        error_codes.UNSTABLE_OFFSET_COMMIT,
    }
)
_MOVED: Final = frozenset({error_codes.NETWORK_EXCEPTION, error_codes.COORDINATOR_NOT_AVAILABLE, error_codes.NOT_COORDINATOR})
"""Errors after which the coordinator is looked up again."""
_CLOSING_MS: Final = 30_000


class MemberMachine(ABC):
    """One member of a group. Every input returns its outputs, in order.

    Shape: `owned` are the partitions that the application may read, `positions` their next offsets: the driver raises them, the member
    commits them. `topics` is this client's view of the metadata; the driver sets it when an update would have reached the client.
    """

    generation: int
    """The generation, or the member's epoch."""
    member_id: str

    def __init__(self, settings: MemberSettings) -> None:
        self.settings = settings
        self.member_id = settings.member_id
        self.generation = -1
        self.owned: frozenset[Partition] = frozenset()
        self.positions: dict[Partition, int] = {}
        self.failure: Failed | None = None
        self.is_closed = False
        self._topics: Topics = KnownTopics()
        self._has_new_topics = True
        self._outputs: list[Output] = []
        self._ticket = 0
        self._pending: dict[int, Handler] = {}
        self._then: Callable[[int], None] | None = None
        self._is_coordinator_known = not settings.finds_coordinator
        self._is_looking = False
        self._look_ms = 0
        self._fetching: set[Partition] = set()
        self._fetch_ms = 0
        self._polled_ms = 0
        self._commit_due_ms = 0
        self._closing = ""
        self._close_until_ms = 0
        self._close_again_ms = 0

    # ---- inputs

    @property
    def topics(self) -> Topics:
        return self._topics

    @topics.setter
    def topics(self, topics: Topics) -> None:
        self._topics = topics
        self._has_new_topics = True

    @abstractmethod
    def subscribe(self, topics: Collection[str], now_ms: int) -> list[Output]:
        """Replace the subscription by these topics, from the next poll on."""

    @abstractmethod
    def subscribe_pattern(self, pattern: str, now_ms: int) -> list[Output]:
        """Subscribe to all topics that match the whole of a regular expression."""

    def poll(self, now_ms: int) -> list[Output]:
        """The application polls. It cannot while a callback runs, and such a poll is ignored."""
        if self._then is None and not self.is_over:
            self._poll(now_ms)
        return self._taken(now_ms)

    def answered(self, ticket: int, body: Any, now_ms: int) -> list[Output]:
        """Handle an answer. One that nobody waits for is dropped."""
        handler = self._pending.pop(ticket, None)
        if handler is not None:
            handler(body, now_ms)
        return self._taken(now_ms)

    def unanswered(self, ticket: int, now_ms: int) -> list[Output]:
        """Note that the connection was lost or the request timed out."""
        return self.answered(ticket, None, now_ms)

    def called_back(self, now_ms: int) -> list[Output]:
        """Continue after the last callback has returned."""
        then, self._then = self._then, None
        if then is not None and not self.is_over:
            then(now_ms)
            if not self.is_called and not self.is_over:
                self._go_on(now_ms)
        return self._taken(now_ms)

    @abstractmethod
    def run_due(self, now_ms: int) -> list[Output]:
        """Do the work of the background thread: heartbeats, and leaving if the application has not polled for max.poll.interval.ms."""

    @abstractmethod
    def enforce_rebalance(self, reason: str, now_ms: int) -> list[Output]:
        """Do the consumer's enforceRebalance."""

    def close(self, now_ms: int) -> list[Output]:
        """Commit, revoke and leave; `Closed` is the last output. A static member of the classic protocol only falls silent."""
        if not self._closing and not self.is_closed:
            self._closing, self._close_until_ms = "commit", now_ms + _CLOSING_MS
            if self.failure is not None:
                self._end()
            elif self._then is None:
                self._close_on(now_ms)
        return self._taken(now_ms)

    # ---- queries

    @property
    def is_over(self) -> bool:
        return self.is_closed or self.failure is not None

    @property
    def is_called(self) -> bool:
        """Return whether a callback is running."""
        return self._then is not None

    @property
    @abstractmethod
    def giving_up(self) -> frozenset[Partition]:
        """Owned partitions whose records are no longer delivered, because their last commit is in progress."""

    @abstractmethod
    def next_due_ms(self) -> int | None:
        """Return when `run_due` has something to do, None for never."""

    @abstractmethod
    def next_poll_ms(self) -> int | None:
        """Return when a healthy application polls next; 0 for at once, None while it cannot or need not."""

    # ---- hooks for the two protocols

    @abstractmethod
    def _poll(self, now_ms: int) -> None: ...

    @abstractmethod
    def _go_on(self, now_ms: int) -> None:
        """Continue the poll or close in which a callback ran."""

    @abstractmethod
    def _claim(self) -> CommitIdentity:
        """The identity in commits and fetches of offsets."""

    @abstractmethod
    def _loses_what_it_owns(self) -> bool:
        """Return whether a closing member loses its partitions, instead of revoking them."""

    @abstractmethod
    def _depart(self, now_ms: int) -> None:
        """Do the last step of closing: leave the group if the coordinator must know, and end."""

    def _close_on(self, now_ms: int) -> None:
        if self._closing in ("commit", "again"):
            wants = self.settings.auto_commit and self._is_coordinator_known and now_ms < self._close_until_ms
            self._closing = "committing"
            if wants and self._commit(self._closing_commit):
                return
            self._closing = "callback"
        if self._closing == "callback":
            self._closing = "leave"
            if self.owned:
                self._call("lost" if self._loses_what_it_owns() else "revoked", self.owned, lambda _: self._own(()))
                return
        if self._closing == "leave":
            self._closing = "leaving"
            self._depart(now_ms)

    def _closing_commit(self, code: int, now_ms: int) -> None:
        if code in RETRIABLE and now_ms < self._close_until_ms and self._is_coordinator_known:
            self._closing, self._close_again_ms = "again", now_ms + self.settings.retry_backoff_ms
        else:
            self._closing = "callback"
            self._close_on(now_ms)

    @abstractmethod
    def _settled(self, now_ms: int) -> None:
        """Do the immediate work after an input."""

    def _taken(self, now_ms: int) -> list[Output]:
        self._settled(now_ms)
        outputs, self._outputs = self._outputs, []
        return outputs

    def _send(self, api_key: int, version: int, body: Any, handler: Handler) -> None:
        self._ticket += 1
        self._pending[self._ticket] = handler
        self._outputs.append(Send(self._ticket, api_key, version, body))

    def _call(self, event: Event, partitions: Collection[Partition], then: Callable[[int], None]) -> None:
        assert self._then is None
        self._then = then
        self._outputs.append(Callback(event, tuple(sorted(partitions))))

    def _fail(self, code: int, message: str | None = None) -> None:
        self.failure = Failed(code, message or error_message(code))
        self._outputs.append(self.failure)
        self._pending.clear()

    def _end(self) -> None:
        self.is_closed = True
        self._pending.clear()
        self._outputs.append(Closed())

    def _own(self, partitions: Collection[Partition]) -> None:
        self.owned = frozenset(partitions)
        self.positions = {partition: position for partition, position in self.positions.items() if partition in self.owned}
        self._fetching &= self.owned

    def _heard(self, code: int) -> None:
        """Forget the coordinator if an answer's error code says that it has moved."""
        if code in _MOVED and self.settings.finds_coordinator:
            self._is_coordinator_known = False

    def _look(self, now_ms: int) -> None:
        """Look up the coordinator if it is not known and no lookup is running."""
        if self._is_coordinator_known or self._is_looking or now_ms < self._look_ms:
            return
        self._is_looking = True
        body = FindCoordinatorRequest(key_type=0, coordinator_keys=(self.settings.group_id,))
        self._send(FIND_COORDINATOR, 6, body, self._found)

    def _found(self, body: Any, now_ms: int) -> None:
        self._is_looking = False
        code = error_codes.NETWORK_EXCEPTION if body is None else body.coordinators[0].error_code
        if code == error_codes.NONE:
            self._is_coordinator_known = True
        elif code in RETRIABLE:
            self._look_ms = now_ms + self.settings.retry_backoff_ms
        else:
            self._fail(code)

    # ---- offsets

    def _commit(self, then: Callable[[int, int], None]) -> bool:
        """Commit all positions; `then(code, now_ms)` gets the first error. Returns False if there is nothing to commit, or no group."""
        if not self.positions or not self._may_commit():
            return False
        claim = self._claim()
        body = commit_request(claim, self.positions, self._topics)

        def handle(body: Any, now_ms: int) -> None:
            code = error_codes.NETWORK_EXCEPTION if body is None else commit_error(body)
            self._heard(code)
            self._committed(code, claim)
            then(code, now_ms)

        self._send(*body, handle)
        return True

    @abstractmethod
    def _may_commit(self) -> bool:
        """Return whether the member is in a state in which the coordinator could accept a commit."""

    @abstractmethod
    def _committed(self, code: int, claim: CommitIdentity) -> None:
        """React to the error of a commit that concerns the membership."""

    def _commit_when_due(self, now_ms: int) -> None:
        if not self.settings.auto_commit or now_ms < self._commit_due_ms:
            return
        self._commit_due_ms = now_ms + self.settings.auto_commit_interval_ms
        self._commit(self._committed_in_passing)

    def _committed_in_passing(self, code: int, now_ms: int) -> None:
        if code in RETRIABLE:
            self._commit_due_ms = now_ms + self.settings.retry_backoff_ms

    def _lacks_positions(self) -> bool:
        """Return whether the position of an owned partition is neither known nor being fetched."""
        return len(self.positions) + len(self._fetching) < len(self.owned)

    def _fetch_positions(self, now_ms: int) -> None:
        """Fetch the committed offsets of new partitions."""
        if now_ms < self._fetch_ms or not self._lacks_positions():
            return
        wanted = {partition for partition in self.owned if partition not in self.positions and partition not in self._fetching}
        self._fetching |= wanted

        def handle(body: Any, now_ms: int) -> None:
            self._fetching -= wanted
            code, found = (error_codes.NETWORK_EXCEPTION, {}) if body is None else fetched(body, self._topics)
            self._heard(code)
            for partition in wanted & self.owned & found.keys():
                self.positions.setdefault(partition, found[partition] if found[partition] >= 0 else self.settings.first_offset)
            if code != error_codes.NONE:
                self._fetch_ms = now_ms + self.settings.retry_backoff_ms

        self._send(*fetch_request(self._claim(), sorted(wanted), self._topics), handle)
