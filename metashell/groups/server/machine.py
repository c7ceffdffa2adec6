"""The loop that drives the coordinator of a group server: requests, timers, answers, and the flushes of its log.

This module imports asyncio, so it is itself imported inside functions."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Collection
from itertools import count
from typing import Any, NamedTuple

from metashell.codec.codes import FIND_COORDINATOR
from metashell.codec.error_codes import COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
from metashell.disk.segmented_log import Cleaning
from metashell.groups.coordinator.coordinator import GroupCoordinator, Shard
from metashell.groups.decision import Answer, Effect, Request, error_body
from metashell.groups.log.compacted_log import CompactedLog
from metashell.groups.log.group_log import GroupFlush, GroupLog
from metashell.groups.server import ClientRequest, Rights, coordinator_request
from metashell.groups.state import Chance, Settings
from metashell.groups.topics import Topics


class ClientIdentity(NamedTuple):
    """The client that sent a request, as an envelope names it. Shape: `principal` is `User:alice`, `host` the address as ACLs name it."""

    principal: str
    host: str
    client_id: str
    is_token_authenticated: bool


def client_of(request: ClientRequest) -> ClientIdentity:
    """Return the client that sent a request."""
    return ClientIdentity(request.principal, request.host, request.client_id, request.is_token_authenticated)


ClockMs = Callable[[], int]
"""Returns Unix milliseconds."""
SendAnswer = Callable[[ClientRequest, Any], None]


class SystemChance:
    """Ids from the system's random source. Producer ids are counted from the time in us, so that no process gives one that the log has."""

    def __init__(self) -> None:
        self._producer_ids = count(time.time_ns() // 1000)

    def uuid(self) -> bytes:
        return os.urandom(16)

    def producer_id(self) -> int:
        return next(self._producer_ids)


class Held(NamedTuple):
    """The outcome of a decision, until its records are durable: answers, tickets without an answer, effects, and the client that asked."""

    answers: list[Answer]
    dropped: list[int]
    effects: list[Effect]
    client: ClientIdentity | None


class GroupMachine:
    """Drives one shard, which has every group. `perform` gets the effects for others, and the client whose request has them.

    With a log, whatever is decided leaves when all that was written before it is durable, also answers that only read: a client never sees
    what a crash could take back. One sync runs at a time, and the decisions that are made meanwhile share the next one. When the log ends,
    because a write failed, the coordinator ends too: every request is refused, and clients look for another one.
    """

    def __init__(
        self,
        settings: Settings,
        topics: Topics,
        clock: ClockMs,
        chance: Chance,
        send: SendAnswer,
        perform: Callable[[Effect, ClientIdentity | None], None],
        log: GroupLog | None = None,
        on_event: Callable[[str], None] = lambda line: None,
    ) -> None:
        coordinator = GroupCoordinator(settings, chance, topics, None if log is None else log.state)
        self.shard = Shard(coordinator, now_ms=clock(), append=None if log is None else log.append)
        self.failure: OSError | None = None
        """The error that ended the log."""
        self._clock = clock
        self._send = send
        self._perform = perform
        self._log = log
        self._on_event = on_event
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, ClientRequest] = {}
        self._of_connections: dict[int, int] = {}
        """The ticket of the waiting request, by connection."""
        self._tickets = 0
        self._client: ClientIdentity | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due_ms = 0
        self._is_closed = False
        self._held: list[Held] = []
        self._flushing: asyncio.Future[None] | None = None
        self._cleaning: asyncio.Future[None] | None = None
        self._is_flush_planned = False
        self._schedule_timer()

    @property
    def waiting(self) -> int:
        """The number of unanswered requests."""
        return len(self._waiting)

    def submit(self, request: ClientRequest, rights: Rights | None = None) -> None:
        """Let the coordinator decide a request. `rights` are those of its sender, None where everybody may do everything."""
        self._tickets += 1
        asked = coordinator_request(request, self._tickets, rights)
        if self.failure is not None:
            return self._send(request, _lost_answer(asked))
        self._waiting[self._tickets] = request
        self._of_connections[request.connection_id] = self._tickets
        self._client = client_of(request)
        self._decide(lambda: self.shard.submit(asked, self._clock()))
        self._client = None

    def forget(self, connection_id: int) -> None:
        """Forget a closed connection and its waiting request. Its member stays in the group until its session ends."""
        ticket = self._of_connections.get(connection_id)
        if ticket is not None:
            self._pop_waiting(ticket)

    def topics_changed(self, topics: Topics, changed: Collection[str], deleted: Collection[str]) -> None:
        """Give the coordinator a new view of the topics."""
        self._decide(lambda: self.shard.topics_changed(topics, changed, deleted, self._clock()))

    async def close(self) -> None:
        """Stop timers, and answer waiting requests with NOT_COORDINATOR, once all that was decided is durable."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._decide(lambda: self.shard.coordinator.unloaded(self._clock()))
        while (work := self._flushing or self._cleaning) is not None:
            await asyncio.wait([work])
            await asyncio.sleep(0)
        log = self._log
        if log is not None and self.failure is None:
            try:
                await self._loop.run_in_executor(None, log.close)
            except OSError as error:
                self._fail(error)
        if log is not None and self.failure is not None:
            log.abandon()
        for outcome in self._held:
            self._release(outcome)
        self._held.clear()
        self._waiting.clear()
        self._of_connections.clear()

    # ---- decisions

    def _decide(self, decide: Callable[[], list[Answer]]) -> None:
        if self.failure is not None:
            return
        log = self._log
        try:
            answers = decide()
            if log is not None and not log.is_synced:
                # Nothing waits for the disk, so no thread has to.
                log.flush()
                self._clean()
        except OSError as error:
            return self._fail(error)
        shard = self.shard
        outcome = Held(answers, shard.dropped, shard.effects, self._client)
        shard.dropped, shard.effects = [], []
        if log is None or (not self._held and log.is_flushed):
            self._release(outcome)
        else:
            self._held.append(outcome)
            self._flush_soon()
        self._schedule_timer()

    def _release(self, outcome: Held) -> None:
        for answer in outcome.answers:
            request = self._pop_waiting(answer.ticket)
            if request is not None:
                self._send(request, answer.body)
        # As in Kafka, these requests are never answered: their clients time out.
        for ticket in outcome.dropped:
            self._pop_waiting(ticket)
        for effect in outcome.effects:
            self._perform(effect, outcome.client)

    def _pop_waiting(self, ticket: int) -> ClientRequest | None:
        request = self._waiting.pop(ticket, None)
        if request is not None:
            del self._of_connections[request.connection_id]
        return request

    # ---- the log

    def _flush_soon(self) -> None:
        """Flush at the end of this turn of the loop, so that all the requests that it reads share one sync."""
        if self._flushing is None and not self._is_flush_planned:
            self._is_flush_planned = True
            self._loop.call_soon(self._begin_flush)

    def _begin_flush(self) -> None:
        self._is_flush_planned = False
        log = self._log
        if log is None or self._flushing is not None or self.failure is not None or not self._held:
            return
        count = len(self._held)
        try:
            flush = log.begin_flush()
        except OSError as error:
            return self._fail(error)
        self._flushing = self._loop.run_in_executor(None, flush.sync)
        self._flushing.add_done_callback(lambda done: self._flushed(done, flush, count))

    def _flushed(self, done: asyncio.Future[None], flush: GroupFlush, count: int) -> None:
        self._flushing = None
        log = self._log
        assert log is not None, "only a log is flushed"
        try:
            done.result()
            log.finish_flush(flush)
            self._clean()
        except OSError as error:
            return self._fail(error)
        released, self._held = self._held[:count], self._held[count:]
        for outcome in released:
            self._release(outcome)
        if self._held:
            self._flush_soon()

    def _clean(self) -> None:
        """Begin a cleaning, if one is due. Errors: OSError."""
        if self._log is None or self._cleaning is not None or self._is_closed:
            return
        found = self._log.take_cleaning(self._clock())
        if found is not None:
            log, cleaning = found
            self._cleaning = self._loop.run_in_executor(None, cleaning.carry_out)
            self._cleaning.add_done_callback(lambda done: self._cleaned(log, cleaning))

    def _cleaned(self, log: CompactedLog, cleaning: Cleaning) -> None:
        self._cleaning = None
        try:
            log.finish_cleaning(cleaning)
        except OSError as error:
            self._fail(cleaning.failure or error)

    def _fail(self, error: OSError) -> None:
        """End, because the log has ended: what is in memory may never be in it."""
        if self.failure is not None:
            return
        self.failure = error
        assert self._log is not None, "only a log fails"
        place = error.filename or self._log.log_directory
        self._on_event(f"groups: {place}: {error.strerror or error}; groups are served no more until this process is started again")
        if self._timer is not None:
            self._timer.cancel()
        self._held.clear()
        for ticket, request in list(self._waiting.items()):
            self._pop_waiting(ticket)
            self._send(request, _lost_answer(coordinator_request(request, ticket)))

    # ---- timers

    def _schedule_timer(self) -> None:
        """Schedule a wake-up for the next timer. An earlier wake-up is not cancelled: it schedules the next one."""
        due_ms = self.shard.coordinator.next_due_ms()
        if due_ms is None or self._is_closed or (self._timer is not None and self._timer_due_ms <= due_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due_ms = due_ms
        self._timer = self._loop.call_later(max(0, due_ms - self._clock()) / 1000, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self.run_due(self._clock())

    def run_due(self, now_ms: int) -> None:
        """Run the timers that are due."""
        self._decide(lambda: self.shard.run_due(now_ms))


def _lost_answer(request: Request) -> Any:
    """Return the answer of a coordinator that has lost its log: as of a broker whose log directory is offline."""
    return error_body(request, COORDINATOR_NOT_AVAILABLE if request.api_key == FIND_COORDINATOR else NOT_COORDINATOR)
