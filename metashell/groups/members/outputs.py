"""What comes out of a member: requests to send, callbacks of its application, and its end."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from metashell.codec.blobs.consumer_protocol import Partition

Event = Literal["revoked", "assigned", "lost"]


class Send(NamedTuple):
    """A request for the coordinator. `ticket` names it when its answer is handed in; it is unique for this member only.

    Requests of one member travel on one connection, which a broker serves in order: an answer that waits holds back the next.
    """

    ticket: int
    api_key: int
    version: int
    body: Any


class Callback(NamedTuple):
    """The application is called with partitions, sorted. The member goes on when `called_back` says that the call has returned."""

    event: Event
    partitions: tuple[Partition, ...]


class Failed(NamedTuple):
    """The application's poll throws: the member is dead. `code` is the error code, UNKNOWN_SERVER_ERROR for what has none."""

    code: int
    message: str


class Closed(NamedTuple):
    """Close has returned."""


Output = Send | Callback | Failed | Closed
