"""The times of a classic member: when it sends its next heartbeat, and when it has waited too long for an answer or for its application.

Source: org.apache.kafka.clients.consumer.internals.Heartbeat.
"""

from __future__ import annotations

from metashell.groups.members.settings import MemberSettings


class Heartbeats:
    """Units: ms. They count only while `is_on`: from a joined group's answer until the next join is sent."""

    def __init__(self, settings: MemberSettings) -> None:
        self._settings = settings
        self.is_on = False
        self.is_in_flight = False
        self._due_ms = 0
        self._session_ms = 0
        self._poll_ms = 0

    def switch_on(self, now_ms: int) -> None:
        """Begin anew, unless they run already."""
        if not self.is_on:
            self.is_on = True
            self.is_in_flight = False
            self._due_ms = now_ms + self._settings.heartbeat_interval_ms
            self._session_ms = now_ms + self._settings.session_timeout_ms
            self._poll_ms = now_ms + self._settings.max_poll_interval_ms

    def switch_off(self) -> None:
        self.is_on = False

    def polled(self, now_ms: int) -> None:
        self._poll_ms = now_ms + self._settings.max_poll_interval_ms

    def sent(self, now_ms: int) -> None:
        self.is_in_flight = True
        self._due_ms = now_ms + self._settings.heartbeat_interval_ms

    def received(self, now_ms: int) -> None:
        self.is_in_flight = False
        self._session_ms = now_ms + self._settings.session_timeout_ms

    def failed(self, now_ms: int) -> None:
        self.is_in_flight = False
        self._due_ms = now_ms + self._settings.retry_backoff_ms

    def is_due(self, now_ms: int) -> bool:
        return not self.is_in_flight and now_ms >= self._due_ms

    def has_session_expired(self, now_ms: int) -> bool:
        return now_ms >= self._session_ms

    def has_poll_expired(self, now_ms: int) -> bool:
        return now_ms >= self._poll_ms

    def next_due_ms(self, has_coordinator: bool) -> int | None:
        """When one of these times comes; without a coordinator there is nothing to wait for but the application."""
        if not self.is_on:
            return None
        if not has_coordinator:
            return self._poll_ms
        return min(self._session_ms, self._poll_ms, *(() if self.is_in_flight else (self._due_ms,)))
