"""SASL as cores without I/O: the interfaces of the mechanisms of a client and a server, PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512.

With SCRAM both sides prove that they know the password, and never send it. The client checks the server's signature, so that a server that
does not know the password is found out, and takes only iteration counts in bounds: one that is too low would make a stolen proof cheap to
search, one that is too high would keep the client busy as long as the server likes. Names and passwords are taken as they are, as Kafka
does, not prepared by RFC 4013.

Source: RFC 4422, RFC 4616, RFC 5802, RFC 7677; KIP-84; org.apache.kafka.common.security.plain.internals.PlainSaslServer,
org.apache.kafka.common.security.scram.internals.ScramSaslClient, ScramSaslServer, ScramFormatter."""

from __future__ import annotations

import binascii
import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from os import urandom
from typing import Final, NamedTuple, Protocol

from metashell.net.scram_credentials import HASHES, ITERATIONS_MIN, MADE_HERE, Pretence, ScramCredential, make_credential

PLAIN: Final = "PLAIN"


class SaslError(Exception):
    """A failed exchange: one line for the server's operator, which never holds a secret."""


class RefusedError(SaslError):
    """The same, in words that the peer may see."""


class SaslClient(Protocol):
    """The client's side of one mechanism, for one exchange."""

    mechanism: str

    def first(self) -> bytes:
        """Return the first token to send."""

    def next(self, challenge: bytes) -> bytes | None:
        """Return the answer to what the server sent, None when the exchange has succeeded. Errors: SaslError."""


class SaslServer(Protocol):
    """The server's side of one mechanism, for one exchange."""

    mechanism: str
    principal: str
    """The client's principal (`User:alice`); empty until the exchange has succeeded."""
    is_token_authenticated: bool
    """True for a client that showed a delegation token: then `principal` is the token's owner."""
    lifetime_ms: int | None
    """The milliseconds for which its credential stays valid; None for ever."""

    def next(self, token: bytes) -> bytes:
        """Return the answer to a token; `principal` is set when it was the last. Errors: SaslError, RefusedError."""


class TokenCredential(NamedTuple):
    """A delegation token that is valid: its owner (`User:alice`), the credential of its HMAC, and how long it stays valid."""

    owner: str
    credential: ScramCredential
    lifetime_ms: int


class Credentials(Protocol):
    """The users that a server knows. Each login looks here, so a user that was removed cannot log in any more."""

    def plain(self, username: str) -> str | None:
        """Return the password for PLAIN, None where there is no such user."""

    def scram(self, mechanism: str, username: str) -> ScramCredential | None:
        """Return the credential for SCRAM-SHA-256 or SCRAM-SHA-512, None where there is no such user."""

    def token(self, mechanism: str, token_id: str) -> TokenCredential | None:
        """Return the delegation token of that id, None where there is none that is still valid."""

    def pretend(self, mechanism: str, username: str, *, is_token: bool) -> ScramCredential:
        """Return what is shown for a name that is not known, as for one that is."""


INVALID_PLAIN: Final = "Authentication failed: Invalid username or password"


class PlainClient:
    """Sends name and password: only for connections that nobody else can read."""

    mechanism = PLAIN

    def __init__(self, username: str, password: str) -> None:
        self._token = f"\0{username}\0{password}".encode("utf-8", "surrogateescape")

    def first(self) -> bytes:
        """Return name and password."""
        return self._token

    def next(self, challenge: bytes) -> bytes | None:
        """Return None, as the server has nothing to say but yes. Errors: SaslError for a challenge."""
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
        # The password of an unknown name is compared too, and its refusal has the same words, so that nobody learns which names there are.
        same = hmac.compare_digest(password, (expected or "").encode("utf-8", "surrogateescape"))
        if expected is None or not same:
            raise RefusedError(INVALID_PLAIN)
        # Checked last: only a client that has the password gets another answer.
        if authorization not in (b"", name):
            raise RefusedError("Authentication failed: Client requested an authorization id that is different from username")
        self.principal = f"User:{username}"
        return b""


ITERATIONS_MAX: Final = 16 * 16384
"""Kafka's tools make credentials with at most 16384; sixteen times that leaves room for other servers and costs a fifth of a second."""
MESSAGE_MAX: Final = 16 * 1024
NONCE_SIZE: Final = 24

_INVALID_CREDENTIALS = "Invalid user credentials"
_NONCE = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64 = r"[A-Za-z0-9+/]+={0,2}"
_SERVER_FIRST = re.compile(rf"r=({_NONCE}),s=({_BASE64}),i=([0-9]{{1,9}})(?:,.*)?")
_SERVER_FINAL = re.compile(rf"(?:v=({_BASE64})|e=([^,]*))(?:,.*)?", re.DOTALL)
_CLIENT_FIRST = re.compile(rf"([ny],(?:a=([^,]*))?,)(n=([^,]*),r=({_NONCE})((?:,[A-Za-z]+=[^,]*)*))", re.DOTALL)
_CLIENT_FINAL = re.compile(rf"(c=({_BASE64}),r=({_NONCE})(?:,[A-Za-z]+=[^,]*)*),p=({_BASE64})", re.DOTALL)
_NAME = re.compile(r"(?:[^=,]|=2C|=3D)+", re.DOTALL)


class ScramClient:
    """The client's side of one exchange. `nonce` is only given by tests."""

    def __init__(self, mechanism: str, username: str, password: str, *, nonce: str = "") -> None:
        self.mechanism = mechanism
        self._hash = HASHES[mechanism]
        self._password = password.encode("utf-8", "surrogateescape")
        self._nonce = nonce or make_nonce()
        self._first_bare = f"n={escape_name(username)},r={self._nonce}"
        self._server_signature: bytes | None = None
        self._done = False

    def first(self) -> bytes:
        """Return the name and a nonce."""
        return f"n,,{self._first_bare}".encode("utf-8", "surrogateescape")

    def next(self, challenge: bytes) -> bytes | None:
        """Return the proof for the server's first message, None after its last. Errors: SaslError."""
        text = _text(challenge)
        if self._done:
            raise SaslError("the server goes on where SCRAM is over")
        if self._server_signature is None:
            return self._prove(text)
        self._check(text)
        self._done = True
        return None

    def _prove(self, server_first: str) -> bytes:
        match = _SERVER_FIRST.fullmatch(server_first)
        if match is None:
            self._check_no_error(server_first)
            raise SaslError("the server's first message is malformed")
        nonce, salt = match[1], _base64(match[2])
        iterations = int(match[3])
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise SaslError("the server's nonce does not begin with ours")
        if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
            raise SaslError(f"the server asks for {iterations} iterations, taken are {ITERATIONS_MIN} to {ITERATIONS_MAX}")
        # `biws` is `n,,` in base64, the header of our first message: no channel binding, which Kafka does not have.
        final_bare = f"c=biws,r={nonce}"
        signed = f"{self._first_bare},{server_first},{final_bare}".encode("utf-8", "surrogateescape")
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, salt, iterations)
        client_key = _hmac(self._hash, salted, b"Client Key")
        stored_key = hashlib.new(self._hash, client_key).digest()
        proof = _xor(client_key, _hmac(self._hash, stored_key, signed))
        # Made now, while the salted password is at hand: PBKDF2 is slow, and need not run again for the server's last message.
        self._server_signature = _hmac(self._hash, _hmac(self._hash, salted, b"Server Key"), signed)
        return f"{final_bare},p={b64encode(proof).decode()}".encode()

    def _check(self, server_final: str) -> None:
        assert self._server_signature is not None
        self._check_no_error(server_final)
        match = _SERVER_FINAL.fullmatch(server_final)
        if match is None or not match[1]:
            raise SaslError("the server's last message is malformed")
        if not hmac.compare_digest(_base64(match[1]), self._server_signature):
            raise SaslError("the server's signature is wrong: it does not know the password")

    @staticmethod
    def _check_no_error(text: str) -> None:
        match = _SERVER_FINAL.fullmatch(text)
        if match is not None and match[2] is not None:
            raise SaslError(f"the server says {match[2][:100]!r}")


class ScramServer:
    """The server's side of one exchange.

    A name that is not known gets the same messages as a wrong password, with a salt that is always the same for that name (`Pretence`), so
    that nobody learns which names there are. `nonce` is only given by tests.
    """

    def __init__(self, mechanism: str, credentials: Credentials, *, nonce: str = "") -> None:
        self.mechanism = mechanism
        self.principal = ""
        self.is_token_authenticated = False
        self.lifetime_ms: int | None = None
        self._hash = HASHES[mechanism]
        self._credentials = credentials
        self._nonce = nonce or make_nonce()
        self._credential: ScramCredential | None = None
        self._owner = ""
        """The principal of the credential; empty for a name that is not known."""
        self._header = ""
        self._signed = ""

    def next(self, token: bytes) -> bytes:
        """Return the answer to the client's first or last message. Errors: SaslError, RefusedError."""
        text = _text(token)
        if self.principal:
            raise SaslError("the exchange is over")
        return self._challenge(text) if self._credential is None else self._verify(text, self._credential)

    def _challenge(self, client_first: str) -> bytes:
        match = _CLIENT_FIRST.fullmatch(client_first)
        if match is None:
            raise SaslError("Invalid SCRAM client first message")
        self._header, authorization, bare, name, client_nonce, extensions = match.groups()
        username = unescape_name(name)
        is_token = _is_token(extensions)
        # Made for every name, so that the time tells nothing either.
        pretended = self._credentials.pretend(self.mechanism, username, is_token=is_token)
        self._credential = self._find(username, is_token) or pretended
        if authorization and unescape_name(authorization) != username:
            raise RefusedError("Authentication failed: Client requested an authorization id that is different from username")
        self._nonce = client_nonce + self._nonce
        answer = f"r={self._nonce},s={b64encode(self._credential.salt).decode()},i={self._credential.iterations}"
        self._signed = f"{bare},{answer}"
        return answer.encode()

    def _find(self, username: str, is_token: bool) -> ScramCredential | None:
        if not is_token:
            found = self._credentials.scram(self.mechanism, username)
            self._owner = "" if found is None else f"User:{username}"
            return found
        token = self._credentials.token(self.mechanism, username)
        if token is None:
            return None
        self._owner, self.lifetime_ms, self.is_token_authenticated = token.owner, token.lifetime_ms, True
        return token.credential

    def _verify(self, client_final: str, credential: ScramCredential) -> bytes:
        match = _CLIENT_FINAL.fullmatch(client_final)
        if match is None:
            raise SaslError("Invalid SCRAM client final message")
        bare, binding, nonce, proof = match[1], _base64(match[2]), match[3], _base64(match[4])
        # The client repeats the header of its first message under its proof. One that somebody changed on the way shows here.
        if binding != self._header.encode() or not hmac.compare_digest(nonce.encode(), self._nonce.encode()):
            raise SaslError("Invalid nonce or channel binding in the client's final message")
        signed = f"{self._signed},{bare}".encode()
        signature = _hmac(self._hash, credential.stored_key, signed)
        if len(proof) != len(signature):
            raise SaslError(_INVALID_CREDENTIALS)
        # The proof is ClientKey xor signature, and the stored key is the hash of ClientKey: the server can check a proof, and cannot
        # make one. An unknown name runs through the same steps, and fails at the same line with the same words.
        stored_key = hashlib.new(self._hash, _xor(proof, signature)).digest()
        if not hmac.compare_digest(stored_key, credential.stored_key) or not self._owner:
            raise SaslError(_INVALID_CREDENTIALS)
        self.principal = self._owner
        return f"v={b64encode(_hmac(self._hash, credential.server_key, signed)).decode()}".encode()


def _is_token(extensions: str) -> bool:
    """Return whether the name is a delegation token's id, as KIP-48 says; other extensions are ignored, as by Kafka."""
    pairs = (each.partition("=") for each in extensions.split(","))
    return any(name == "tokenauth" and value.lower() == "true" for name, _, value in pairs)


def make_nonce() -> str:
    """Return random printable text without commas."""
    return b64encode(urandom(NONCE_SIZE), b"-_").decode()


def escape_name(name: str) -> str:
    """Return a name as RFC 5802 writes it, without comma or equals sign."""
    # The equals sign first: else that of a fresh `=2C` would be escaped again.
    return name.replace("=", "=3D").replace(",", "=2C")


def unescape_name(text: str) -> str:
    """Return the name that `escape_name` wrote. Errors: SaslError."""
    if not _NAME.fullmatch(text):
        raise SaslError("Invalid username in the client's first message")
    # The equals sign last: else `=3D2C`, which is the name `=2C`, would become a comma.
    return text.replace("=2C", ",").replace("=3D", "=")


def _text(data: bytes) -> str:
    if len(data) > MESSAGE_MAX:
        raise SaslError(f"a SCRAM message of {len(data)} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise SaslError("a SCRAM message is not UTF-8") from None


def _base64(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise SaslError("a SCRAM message holds malformed base64") from None


def _hmac(algorithm: str, key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, algorithm)


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


class StaticCredentials:
    """Users with their passwords, in memory: those of a JAAS configuration, or of a test.

    With `scram`, its users and tokens are those of SCRAM, and the passwords are only for PLAIN, as on a Kafka listener.
    """

    def __init__(self, passwords: Mapping[str, str], scram: Credentials | None = None) -> None:
        self._passwords = dict(passwords)
        self._others = scram
        self._made: dict[tuple[str, str], ScramCredential] = {}
        self._pretence = Pretence(lambda mechanism: (MADE_HERE,), passwords.values())

    def plain(self, username: str) -> str | None:
        """See Credentials."""
        return self._passwords.get(username)

    def scram(self, mechanism: str, username: str) -> ScramCredential | None:
        """See Credentials. The credentials of a mechanism are made from the passwords at its first use and kept.

        They are slow to make, and a known name has to show the same salt at each login, as quickly as an unknown one does.
        """
        if self._others is not None:
            return self._others.scram(mechanism, username)
        for name, password in self._passwords.items():
            if (mechanism, name) not in self._made:
                self._made[mechanism, name] = make_credential(mechanism, password)
        return self._made.get((mechanism, username))

    def token(self, mechanism: str, token_id: str) -> TokenCredential | None:
        """See Credentials."""
        return None if self._others is None else self._others.token(mechanism, token_id)

    def pretend(self, mechanism: str, username: str, *, is_token: bool) -> ScramCredential:
        """See Credentials."""
        if self._others is not None:
            return self._others.pretend(mechanism, username, is_token=is_token)
        return self._pretence.credential(mechanism, username)


def sasl_server_mechanisms(names: Iterable[str], credentials: Credentials) -> dict[str, Callable[[], SaslServer]]:
    """Return the makers of the server's side of each of these mechanisms.

    Errors: KeyError for a mechanism that is not PLAIN or SCRAM.
    """

    # A function, so that each lambda has a `name` of its own; in the comprehension they would all see the last one.
    def maker(name: str) -> Callable[[], SaslServer]:
        if name == PLAIN:
            return lambda: PlainServer(credentials)
        if name not in HASHES:
            raise KeyError(name)
        return lambda: ScramServer(name, credentials)

    return {name: maker(name) for name in names}
