"""SASL exchanges as cores without I/O: the interfaces of a client's and a server's mechanism. `plain` and `scram` fulfil them.

Source: RFC 4422.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

PLAIN: Final = "PLAIN"


class SaslError(Exception):
    """Why an exchange failed, in one line that never holds a secret. It is for the server's operator."""


class RefusedError(SaslError):
    """The same, in words that the peer may see."""


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
    is_token_authenticated: bool
    """Whether it showed a delegation token: then `principal` is the token's owner."""
    lifetime_ms: int | None
    """How long what it showed is valid; None for ever."""

    def next(self, token: bytes) -> bytes:
        """The answer to a token; `principal` is set when it was the last. Errors: SaslError, RefusedError."""


class ScramCredential(NamedTuple):
    """What a server keeps of a password: enough to check a proof, and to prove itself, but not to log in elsewhere."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class TokenCredential(NamedTuple):
    """A delegation token that is valid: its owner (`User:alice`), the credential of its HMAC, and how long it stays valid."""

    owner: str
    credential: ScramCredential
    lifetime_ms: int


class Credentials(Protocol):
    """What a server knows of its users. It is asked at each login, so that a user that is gone cannot log in any more."""

    def plain(self, username: str) -> str | None:
        """The password for PLAIN, None where there is no such user."""

    def scram(self, mechanism: str, username: str) -> ScramCredential | None:
        """The credential for SCRAM-SHA-256 or SCRAM-SHA-512, None where there is no such user."""

    def token(self, mechanism: str, token_id: str) -> TokenCredential | None:
        """The delegation token of that id, None where there is none that is still valid."""
