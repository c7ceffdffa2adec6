"""A request as the controller decides about it, and who sent it."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

ANONYMOUS: Final = "User:ANONYMOUS"


class Request(NamedTuple):
    """One request of a client.

    Shape: `body` is the request object of codec; `principal` is `Type:Name`. A forwarded request is one that a broker handed on in
    an envelope, with its own client's principal. Units: `received_ms` is when it arrived, on the clock that decisions are given.
    """

    api_key: int
    version: int
    body: Any
    principal: str = ANONYMOUS
    client_id: str = ""
    host: str = "127.0.0.1"
    received_ms: int = 0
    is_forwarded: bool = False
    is_token_authenticated: bool = False
    security_protocol: int = 0
    listener: str = "CONTROLLER"

    def is_late(self, timeout_ms: int, now_ms: int) -> bool:
        """Whether the client no longer waits; a timeout of 0 is over at once."""
        return self.received_ms + timeout_ms <= now_ms
