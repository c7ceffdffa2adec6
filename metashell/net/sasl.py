"""SASL exchanges as cores without I/O: what a client's or a server's mechanism says next. Here the interfaces, and PLAIN.

Source: RFC 4422, RFC 4616 (PLAIN); org.apache.kafka.common.security.plain.internals.PlainSaslServer.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, Protocol

PLAIN: Final = "PLAIN"
INVALID_PLAIN: Final = "Invalid username or password"


class SaslError(Exception):
    """Why an exchange failed, in one line that never holds a secret."""


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
    """Who the client is (`User:alice`); empty until the exchange has succeeded."""

    def next(self, token: bytes) -> bytes:
        """The answer to a token; `principal` is set when it was the last. Errors: SaslError, whose text the peer may see."""


class ScramCredential(NamedTuple):
    """What a server keeps of a password: enough to check a proof, and to prove itself, but not to log in elsewhere."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class Credentials(Protocol):
    """What a server knows of its users."""

    def plain(self, username: str) -> str | None:
        """The password for PLAIN, None where there is no such user."""

    def scram(self, mechanism: str, username: str) -> ScramCredential | None:
        """The credential for SCRAM-SHA-256 or SCRAM-SHA-512, None where there is no such user."""


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


class StaticCredentials:
    """Users with their passwords, in memory: those of a JAAS configuration, or of a test.

    With `scram`, its users are those of SCRAM, and the passwords are only for PLAIN, as on a Kafka listener.
    """

    def __init__(self, passwords: Mapping[str, str], scram: Credentials | None = None) -> None:
        self._passwords = dict(passwords)
        self._others = scram
        self._made: dict[tuple[str, str], ScramCredential] = {}

    def plain(self, username: str) -> str | None:
        """See Credentials."""
        return self._passwords.get(username)

    def scram(self, mechanism: str, username: str) -> ScramCredential | None:
        """See Credentials. A credential is made from the password when it is first asked for."""
        if self._others is not None:
            return self._others.scram(mechanism, username)
        from metashell.net.scram import make_credential

        password = self._passwords.get(username)
        if password is None:
            return None
        key = mechanism, username
        if key not in self._made:
            self._made[key] = make_credential(mechanism, password)
        return self._made[key]


def server_mechanisms(names: Iterable[str], credentials: Credentials) -> dict[str, Callable[[], SaslServer]]:
    """What a listener needs to offer these mechanisms.

    Errors: KeyError for a mechanism that is not PLAIN or SCRAM.
    """
    from metashell.net.scram import HASHES, ScramServer

    def maker(name: str) -> Callable[[], SaslServer]:
        if name == PLAIN:
            return lambda: PlainServer(credentials)
        if name not in HASHES:
            raise KeyError(name)
        return lambda: ScramServer(name, credentials)

    return {name: maker(name) for name in names}
