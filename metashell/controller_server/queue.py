"""The line in which everything waits that reads or changes the controller: one event at a time, long ones in slices.

Order: what the log says (commits, loads, leaders), then periodic tasks that are due, then requests, round robin over the connections that
have any. An event is a function that gives nothing, or a generator that is run in slices; between two slices no other event runs.
This module imports asyncio, so it is itself imported inside functions.
Source: org.apache.kafka.queue.KafkaEventQueue, org.apache.kafka.controller.QuorumController.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable

Steps = Generator[None, None, None]
Event = Callable[[], Steps | None]
"""What is done when its turn comes; a generator gives up its turn of the loop wherever it yields, if its slice is over."""


class EventQueue:
    """See the module."""

    def control(self, event: Event, *, first: bool = False) -> None:
        """An event of the log or of leadership: before all requests; `first` before all others of its kind, too."""
        raise NotImplementedError

    def request(self, connection: Hashable, event: Event, *, deadline_ms: int | None = None, expired: Event | None = None) -> None:
        """A request of a connection; where its deadline passes before its turn comes, `expired` is run in its place."""
        raise NotImplementedError

    def forget(self, connection: Hashable) -> None:
        """A connection is closed: its requests that did not begin are dropped."""
        raise NotImplementedError

    def close(self) -> None:
        """Nothing begins from now on."""
        raise NotImplementedError
