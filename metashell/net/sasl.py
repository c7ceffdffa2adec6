"""SASL exchanges as cores without I/O: what a client's or a server's mechanism says next.

Source: RFC 4422, RFC 4616 (PLAIN).
"""

from __future__ import annotations

from typing import Protocol


class SaslError(Exception):
    """Why an exchange failed, in one line; it never holds a secret."""


class SaslClient(Protocol):
    """The client's side of one mechanism, for one exchange."""

    mechanism: str

    def first(self) -> bytes:
        """The first token to send."""

    def next(self, challenge: bytes) -> bytes | None:
        """The answer to what the server sent, None when the exchange has succeeded. Errors: SaslError."""


class SaslServer(Protocol):
    """The server's side of one mechanism, for one exchange."""

    mechanism: str
    principal: str
    """Who the client is; empty until the exchange has succeeded."""

    def next(self, token: bytes) -> bytes:
        """The answer to a token; `principal` is set when it was the last. Errors: SaslError."""
