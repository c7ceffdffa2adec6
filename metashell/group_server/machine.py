"""Drives a group coordinator on the running loop: requests in, answers out, timers when they are due.

This module imports asyncio, so it is itself imported inside functions.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection
from itertools import count
from typing import Any

from metashell.groups.context import Chance
from metashell.groups.coordinator.coordinator import GroupCoordinator
from metashell.groups.coordinator.shard import Shard
from metashell.groups.decision import Effect
from metashell.groups.request import Answer, Request
from metashell.groups.settings import Settings
from metashell.groups.topics import Topics
from metashell.net.accepted_connection import ServerRequest

Clock = Callable[[], int]
"""Unix ms."""
Send = Callable[[ServerRequest, Any], None]


class SystemChance:
    """Ids from the system's source of chance; those of producers are counted."""

    def __init__(self) -> None:
        self._producer_ids = count()

    def uuid(self) -> bytes:
        return os.urandom(16)

    def producer_id(self) -> int:
        return next(self._producer_ids)


def asked_of(request: ServerRequest, ticket: int) -> Request:
    """A request of a listener as the coordinator wants it."""
    header = request.header
    return Request(ticket, header.api_key, header.api_version, request.message, request.client_id, f"/{request.host}")


class GroupMachine:
    """One shard, which has every group. `perform` gets what the coordinator wants others to do."""

    def __init__(
        self, settings: Settings, topics: Topics, clock: Clock, chance: Chance, send: Send, perform: Callable[[Effect], None]
    ) -> None:
        self.shard = Shard(GroupCoordinator(settings, chance, topics), now_ms=clock())
        self._clock = clock
        self._send = send
        self._perform = perform
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, ServerRequest] = {}
        self._of_connections: dict[int, int] = {}
        """The ticket of the one request that waits, by connection."""
        self._tickets = 0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due_ms = 0
        self._is_closed = False
        self._wind()

    @property
    def waiting(self) -> int:
        """Requests that are not answered so far."""
        return len(self._waiting)

    def take(self, request: ServerRequest) -> None:
        """Have the coordinator decide a request."""
        self._tickets += 1
        self._waiting[self._tickets] = request
        self._of_connections[request.connection_id] = self._tickets
        self._done(self.shard.submit(asked_of(request, self._tickets), self._clock()))

    def forget(self, connection_id: int) -> None:
        """A connection is over: nobody waits for an answer to what was asked on it. What its member is in its group does not change."""
        ticket = self._of_connections.get(connection_id)
        if ticket is not None:
            self._take_out(ticket)

    def topics_changed(self, topics: Topics, changed: Collection[str], deleted: Collection[str]) -> None:
        """Tell the coordinator of another view of the topics."""
        self._done(self.shard.topics_changed(topics, changed, deleted, self._clock()))

    def close(self) -> None:
        """Run no more timers; who waits is told to look for the coordinator elsewhere."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._done(self.shard.coordinator.unloaded(self._clock()))
        self._waiting.clear()
        self._of_connections.clear()

    def _done(self, answers: list[Answer]) -> None:
        for answer in answers:
            request = self._take_out(answer.ticket)
            if request is not None:
                self._send(request, answer.body)
        # Their connections stay silent, as with Kafka, until the clients give up.
        dropped, self.shard.dropped = self.shard.dropped, []
        for ticket in dropped:
            self._take_out(ticket)
        effects, self.shard.effects = self.shard.effects, []
        for effect in effects:
            self._perform(effect)
        self._wind()

    def _take_out(self, ticket: int) -> ServerRequest | None:
        request = self._waiting.pop(ticket, None)
        if request is not None:
            del self._of_connections[request.connection_id]
        return request

    def _wind(self) -> None:
        """Have the loop come back when the next timer is due. A bell that rings too early is left: it winds itself anew."""
        due_ms = self.shard.coordinator.next_due_ms()
        if due_ms is None or self._is_closed or (self._timer is not None and self._timer_due_ms <= due_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due_ms = due_ms
        self._timer = self._loop.call_later(max(0, due_ms - self._clock()) / 1000, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self.run_due(self._clock())

    def run_due(self, now_ms: int) -> None:
        """Run what is due by then."""
        self._done(self.shard.run_due(now_ms))
