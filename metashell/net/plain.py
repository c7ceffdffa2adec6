"""PLAIN: name and password as they are. Source: RFC 4616; org.apache.kafka.common.security.plain.internals.PlainSaslServer."""

from __future__ import annotations

import hmac
from typing import Final

from metashell.net.sasl import PLAIN, Credentials, RefusedError, SaslError

INVALID_PLAIN: Final = "Authentication failed: Invalid username or password"


class PlainClient:
    """Sends name and password: only for connections that nobody else can read."""

    mechanism = PLAIN

    def __init__(self, username: str, password: str) -> None:
        self._token = f"\0{username}\0{password}".encode("utf-8", "surrogateescape")

    def first(self) -> bytes:
        """Name and password."""
        return self._token

    def next(self, challenge: bytes) -> bytes | None:
        """The server has nothing to say but yes."""
        if challenge:
            raise SaslError("the server goes on where PLAIN is over")
        return None


class PlainServer:
    """Checks name and password in a time that does not depend on how much of the password is right."""

    mechanism = PLAIN
    is_token_authenticated = False
    lifetime_ms: int | None = None

    def __init__(self, credentials: Credentials) -> None:
        self.principal = ""
        self._credentials = credentials

    def next(self, token: bytes) -> bytes:
        """Take the one token of the exchange."""
        parts = token.split(b"\0")
        if len(parts) != 3:
            raise RefusedError(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        authorization, name, password = parts
        if not name:
            raise RefusedError("Authentication failed: username not specified")
        if not password:
            raise RefusedError("Authentication failed: password not specified")
        try:
            username = name.decode("utf-8")
        except UnicodeDecodeError:
            raise RefusedError(INVALID_PLAIN) from None
        expected = self._credentials.plain(username)
        same = hmac.compare_digest(password, (expected or "").encode("utf-8", "surrogateescape"))
        if expected is None or not same:
            raise RefusedError(INVALID_PLAIN)
        if authorization not in (b"", name):
            raise RefusedError("Authentication failed: Client requested an authorization id that is different from username")
        self.principal = f"User:{username}"
        return b""
