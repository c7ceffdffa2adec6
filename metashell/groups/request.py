"""A request to the coordinator, and what answers it."""

from __future__ import annotations

from typing import Any, NamedTuple


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
