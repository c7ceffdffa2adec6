"""PLAIN: name and password as they are. Source: RFC 4616; org.apache.kafka.common.security.plain.internals.PlainSaslServer."""

from __future__ import annotations

import hmac
from typing import Final

from metashell.net.sasl import PLAIN, Credentials, SaslError

INVALID_PLAIN: Final = "Invalid username or password"


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

    def __init__(self, credentials: Credentials) -> None:
        self.principal = ""
        self._credentials = credentials

    def next(self, token: bytes) -> bytes:
        """Take the one token of the exchange."""
        parts = token.split(b"\0")
        if len(parts) != 3:
            raise SaslError(f"Invalid SASL/PLAIN response: expected 3 tokens, got {min(len(parts), 9)}")
        authorization, name, password = parts
        try:
            username = name.decode("utf-8")
        except UnicodeDecodeError:
            raise SaslError(INVALID_PLAIN) from None
        if not name or not password:
            raise SaslError("Invalid SASL/PLAIN response: the username or the password is empty")
        expected = self._credentials.plain(username)
        same = hmac.compare_digest(password, (expected or "").encode("utf-8", "surrogateescape"))
        if expected is None or not same:
            raise SaslError(INVALID_PLAIN)
        if authorization not in (b"", name):
            raise SaslError("Client requested an authorization id that is different from username")
        self.principal = f"User:{username}"
        return b""
