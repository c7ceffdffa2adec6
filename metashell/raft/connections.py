"""What is outstanding at each destination: one request at a time, and a pause after a failure.

A destination is a node id; bootstrap servers have -2, -3, ... An answer counts only while its correlation id is awaited, and all is
forgotten when the replica's state changes, so that a late answer cannot be counted in the wrong round.
Source: org.apache.kafka.raft.RequestManager.
"""

from __future__ import annotations

from typing import NewType

from metashell.raft.messages import Endpoint, Request

CorrelationId = NewType("CorrelationId", int)
"""Which request an answer belongs to; int32, and it wraps."""

NEVER = 1 << 62
"""A time that does not come."""

PAUSES_MAX = 64
"""Pauses that are remembered before those that are over are forgotten: ids of voters to be added are what a client says."""


class Awaited:
    """A request that was sent and not answered, or failed: `backing_off` until `since_ms` plus the pause."""

    __slots__ = ("backing_off", "correlation_id", "request", "since_ms")

    def __init__(self, correlation_id: CorrelationId, request: Request, since_ms: int) -> None:
        self.correlation_id = correlation_id
        self.request = request
        self.since_ms = since_ms
        self.backing_off = False


class Connections:
    """All destinations that are not simply ready.

    Units: ms. `bootstrap` are (destination, endpoint), asked in turn from a start that `first_bootstrap` names.
    """

    __slots__ = ("_bootstrap", "_next_bootstrap", "_next_correlation_id", "_retry_backoff_ms", "_timeout_ms", "entries")

    def __init__(self, request_timeout_ms: int, retry_backoff_ms: int, bootstrap: tuple[tuple[int, Endpoint], ...], first: int) -> None:
        self._timeout_ms = request_timeout_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._bootstrap = bootstrap
        self._next_bootstrap = first
        self._next_correlation_id = CorrelationId(0)
        self.entries: dict[int, Awaited] = {}

    @property
    def has_bootstrap(self) -> bool:
        return bool(self._bootstrap)

    def is_ready(self, destination: int, now_ms: int) -> bool:
        """Whether a request may be sent: nothing awaited (or for too long), and no pause."""
        return self.ready_at(destination, now_ms) <= now_ms

    def ready_at(self, destination: int, now_ms: int) -> int:
        """When a request may be sent, `now_ms` at the earliest."""
        entry = self.entries.get(destination)
        if entry is None:
            return now_ms
        return max(now_ms, entry.since_ms + (self._retry_backoff_ms if entry.backing_off else self._timeout_ms))

    def is_backing_off(self, destination: int, now_ms: int) -> bool:
        entry = self.entries.get(destination)
        return entry is not None and entry.backing_off and entry.since_ms + self._retry_backoff_ms > now_ms

    def has_timed_out(self, destination: int, now_ms: int) -> bool:
        """Whether a request is awaited for longer than the timeout."""
        entry = self.entries.get(destination)
        return entry is not None and not entry.backing_off and entry.since_ms + self._timeout_ms <= now_ms

    def has_in_flight(self, now_ms: int) -> bool:
        """Whether any destination has a request that may still be answered."""
        since_ms = now_ms - self._timeout_ms
        return any(not entry.backing_off and entry.since_ms > since_ms for entry in self.entries.values())

    def in_flight_until(self, now_ms: int) -> int:
        """When the first request that may still be answered times out, NEVER without one."""
        timeout_ms = self._timeout_ms
        times = [entry.since_ms + timeout_ms for entry in self.entries.values() if not entry.backing_off]
        return min([time for time in times if time > now_ms], default=NEVER)

    def sent(self, destination: int, request: Request, now_ms: int) -> CorrelationId:
        """Note that `request` leaves; returns its correlation id."""
        correlation_id = self._next_correlation_id
        self._next_correlation_id = CorrelationId((correlation_id + 1) & 0x7FFFFFFF)
        self.entries[destination] = Awaited(correlation_id, request, now_ms)
        return correlation_id

    def take_awaited(self, destination: int, correlation_id: CorrelationId) -> Request | None:
        """The request that an answer belongs to, None for a late or foreign answer; the destination stays as it was."""
        entry = self.entries.get(destination)
        if entry is None or entry.backing_off or entry.correlation_id != correlation_id:
            return None
        return entry.request

    def succeeded(self, destination: int) -> None:
        self.entries.pop(destination, None)

    def failed(self, destination: int, now_ms: int) -> None:
        entry = self.entries.get(destination)
        if entry is not None:
            entry.backing_off = True
            entry.since_ms = now_ms
            if len(self.entries) > PAUSES_MAX:
                since_ms = now_ms - self._retry_backoff_ms
                self.entries = {id: entry for id, entry in self.entries.items() if not entry.backing_off or entry.since_ms > since_ms}

    def give_up_late(self) -> None:
        """Await nothing any more, when all that is awaited has timed out: another request is about to take its place."""
        if self.entries:
            self.entries = {destination: entry for destination, entry in self.entries.items() if entry.backing_off}

    def reset(self) -> None:
        self.entries.clear()

    def ready_bootstrap(self, now_ms: int) -> tuple[int, Endpoint] | None:
        """The next bootstrap server that is ready, None where none is or where anything is in flight anywhere."""
        if self.has_in_flight(now_ms):
            return None
        self.give_up_late()
        count = len(self._bootstrap)
        for step in range(count):
            index = (self._next_bootstrap + step) % count
            if self.is_ready(self._bootstrap[index][0], now_ms):
                self._next_bootstrap = (index + 1) % count
                return self._bootstrap[index]
        return None

    def bootstrap_ready_at(self, now_ms: int) -> int:
        """When `ready_bootstrap` is worth asking again, NEVER without bootstrap servers."""
        if not self._bootstrap:
            return NEVER
        waiting = self.in_flight_until(now_ms) if self.has_in_flight(now_ms) else now_ms
        return max(waiting, min(self.ready_at(destination, now_ms) for destination, _ in self._bootstrap))
