"""PLAIN, both sides.
SCRAM against the examples of the RFCs, and against servers and clients that cheat."""

from __future__ import annotations

from base64 import b64decode, b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.disk.bootstrap import parse_scram
from metashell.net.sasl import (
    HASHES,
    ITERATIONS_MAX,
    MESSAGE_MAX,
    PlainClient,
    PlainServer,
    SaslError,
    ScramClient,
    ScramCredential,
    ScramServer,
    StaticCredentials,
    escape_name,
    sasl_server_mechanisms,
    unescape_name,
)
from metashell.net.scram_credentials import Pretence, make_credential

USERS = StaticCredentials({"alice": "alice-secret", "пользователь": "пароль"})


def test_a_client_sends_name_and_password_once() -> None:
    client = PlainClient("пользователь", "пароль")
    server = PlainServer(USERS)
    assert client.next(server.next(client.first())) is None
    assert server.principal == "User:пользователь"
    with pytest.raises(SaslError, match="over"):
        client.next(b"more")


@pytest.mark.parametrize("token", [b"alice\0alice\0alice-secret", b"\0alice\0alice-secret"])
def test_the_authorization_id_may_be_the_name(token: bytes) -> None:
    server = PlainServer(USERS)
    assert server.next(token) == b""
    assert server.principal == "User:alice"


@pytest.mark.parametrize(
    ("token", "told"),
    [
        (b"\0alice\0wrong", "Invalid username or password"),
        (b"\0nobody\0", "password not specified"),
        (b"\0nobody\0alice-secret", "Invalid username or password"),
        (b"\0\xff\0alice-secret", "Invalid username or password"),
        (b"\0alice\0\xff", "Invalid username or password"),
        (b"\0\0alice-secret", "username not specified"),
        (b"bob\0alice\0alice-secret", "authorization id"),
        (b"", "expected 3 tokens, got 1"),
        (b"\0" * 100, "expected 3 tokens"),
    ],
)
def test_anything_else_is_refused(token: bytes, told: str) -> None:
    server = PlainServer(USERS)
    with pytest.raises(SaslError, match=told):
        server.next(token)
    assert server.principal == ""


def test_only_mechanisms_that_are_known_can_be_offered() -> None:
    assert set(sasl_server_mechanisms(["PLAIN", "SCRAM-SHA-512"], USERS)) == {"PLAIN", "SCRAM-SHA-512"}
    with pytest.raises(KeyError):
        sasl_server_mechanisms(["GSSAPI"], USERS)


def test_users_of_scram_may_be_others_than_those_of_plain() -> None:
    both = StaticCredentials({"carol": "c"}, USERS)
    assert both.plain("carol") == "c" and both.scram("SCRAM-SHA-256", "carol") is None
    assert both.plain("alice") is None and both.scram("SCRAM-SHA-256", "alice") is not None


# RFC 7677, section 3.
NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CLIENT_FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
CLIENT_FINAL = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


class OneUser:
    """A user whose password is `pencil`."""

    def __init__(self, name: str = "user", password: str = "pencil", iterations: int = 4096) -> None:
        self.name = name
        self.password = password
        self.iterations = iterations

    def plain(self, username: str) -> str | None:
        return self.password if username == self.name else None

    def scram(self, mechanism: str, username: str) -> ScramCredential | None:
        if username != self.name:
            return None
        return make_credential(mechanism, self.password, salt=SALT, iterations=self.iterations)

    def pretend(self, mechanism: str, username: str, *, is_token: bool) -> ScramCredential:
        return Pretence(lambda mechanism: [], [self.password]).credential(mechanism, username)


def example_client() -> ScramClient:
    return ScramClient("SCRAM-SHA-256", "user", "pencil", nonce=NONCE)


def example_server() -> ScramServer:
    return ScramServer("SCRAM-SHA-256", OneUser(), nonce=SERVER_NONCE)


def test_a_client_says_what_the_rfc_says() -> None:
    client = example_client()
    assert client.first() == CLIENT_FIRST
    assert client.next(SERVER_FIRST) == CLIENT_FINAL
    assert client.next(SERVER_FINAL) is None


def test_a_server_says_what_the_rfc_says() -> None:
    server = example_server()
    assert server.next(CLIENT_FIRST) == SERVER_FIRST
    assert server.principal == ""
    assert server.next(CLIENT_FINAL) == SERVER_FINAL
    assert server.principal == "User:user"


@pytest.mark.parametrize("mechanism", HASHES)
def test_a_credential_is_that_of_kafka_storage(mechanism: str) -> None:
    salt = b64encode(SALT).decode()
    record = parse_scram(f"{mechanism}=[name=user,password=pencil,salt={salt},iterations=8192]", lambda: b"")
    made = make_credential(mechanism, "pencil", salt=SALT, iterations=8192)
    assert made == ScramCredential(record.salt, record.stored_key, record.server_key, record.iterations)


@pytest.mark.parametrize("mechanism", HASHES)
@given(name=st.text(min_size=1).filter(lambda text: text.isprintable()), password=st.text(min_size=1).filter(str.isprintable))
def test_any_name_and_password_come_through(mechanism: str, name: str, password: str) -> None:
    client = ScramClient(mechanism, name, password)
    server = ScramServer(mechanism, OneUser(name, password))
    proof = client.next(server.next(client.first()))
    assert proof is not None
    assert client.next(server.next(proof)) is None
    assert server.principal == f"User:{name}"


@given(st.text())
def test_an_escaped_name_holds_no_comma_and_comes_back(name: str) -> None:
    escaped = escape_name(name)
    assert "," not in escaped
    assert not name or unescape_name(escaped) == name


@pytest.mark.parametrize(
    ("challenge", "told"),
    [
        (b"r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "nonce does not begin with ours"),
        (SERVER_FIRST.replace(SERVER_NONCE.encode(), b""), "nonce does not begin with ours"),
        (SERVER_FIRST.replace(b"4096", b"4095"), "asks for 4095 iterations"),
        (SERVER_FIRST.replace(b"4096", b"1"), "asks for 1 iterations"),
        (SERVER_FIRST.replace(b"4096", str(ITERATIONS_MAX + 1).encode()), f"asks for {ITERATIONS_MAX + 1} iterations"),
        (SERVER_FIRST.replace(b"4096", b"9" * 5000), "malformed"),
        (SERVER_FIRST.replace(b"4096", b"-5"), "malformed"),
        (b"m=x," + SERVER_FIRST, "malformed"),
        (b"", "malformed"),
        (b"\xff", "not UTF-8"),
        (SERVER_FIRST.replace(b"s=W22Z", b"s=W=2Z"), "malformed"),
        (SERVER_FIRST.replace(b"gQ==", b"gQ="), "base64"),
        (b"e=unknown-user", "the server says 'unknown-user'"),
        (b"r=" + b"x" * MESSAGE_MAX, "bytes"),
    ],
)
def test_a_client_gives_no_proof_for_a_challenge_that_is_not_sound(challenge: bytes, told: str) -> None:
    client = example_client()
    client.first()
    with pytest.raises(SaslError, match=told):
        client.next(challenge)


@pytest.mark.parametrize(
    ("final", "told"),
    [
        (b"v=" + b64encode(bytes(32)), "does not know the password"),
        (b"v=" + b64encode(b64decode(SERVER_FINAL[2:])[:31]), "does not know the password"),
        (b"", "malformed"),
        (b"v=", "malformed"),
        (b"ok", "malformed"),
        (b"e=invalid-proof", "the server says 'invalid-proof'"),
    ],
)
def test_a_client_believes_no_server_without_the_right_signature(final: bytes, told: str) -> None:
    client = example_client()
    client.first()
    client.next(SERVER_FIRST)
    with pytest.raises(SaslError, match=told):
        client.next(final)


def test_a_server_that_goes_on_after_its_signature_is_not_followed() -> None:
    client = example_client()
    client.first()
    client.next(SERVER_FIRST)
    client.next(SERVER_FINAL)
    with pytest.raises(SaslError, match="over"):
        client.next(SERVER_FINAL)


@pytest.mark.parametrize(
    ("first", "told"),
    [
        (b"", "Invalid SCRAM client first message"),
        (b"p=tls-unique,,n=user,r=abc", "Invalid SCRAM client first message"),
        (b"n,,n=user", "Invalid SCRAM client first message"),
        (b"n,,m=x,n=user,r=abc", "Invalid SCRAM client first message"),
        (b"n,,n=us=er,r=abc", "Invalid username"),
        (b"n,,n=,r=abc", "Invalid username"),
        (b"n,a=other,n=user,r=abc", "authorization id"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_server_refuses_a_first_message_that_is_not_sound(first: bytes, told: str) -> None:
    with pytest.raises(SaslError, match=told):
        example_server().next(first)


@pytest.mark.parametrize(
    ("final", "told"),
    [
        (CLIENT_FINAL.replace(b"c=biws", b"c=eSws"), "channel binding"),
        (CLIENT_FINAL.replace(b"k0,p", b"k1,p"), "Invalid nonce"),
        (CLIENT_FINAL.replace(b"p=dHzb", b"p=eHzb"), "Invalid user credentials"),
        (CLIENT_FINAL.replace(b"dVQ=", b""), "base64|Invalid user credentials"),
        (b"", "Invalid SCRAM client final message"),
    ],
)
def test_a_server_refuses_a_proof_that_is_not_sound(final: bytes, told: str) -> None:
    server = example_server()
    server.next(CLIENT_FIRST)
    with pytest.raises(SaslError, match=told):
        server.next(final)
    assert server.principal == ""


def test_a_proof_cannot_be_given_twice() -> None:
    server = example_server()
    server.next(CLIENT_FIRST)
    server.next(CLIENT_FINAL)
    with pytest.raises(SaslError, match="over"):
        server.next(CLIENT_FINAL)
    # In another exchange the nonce is another.
    again = ScramServer("SCRAM-SHA-256", OneUser())
    again.next(CLIENT_FIRST)
    with pytest.raises(SaslError, match="Invalid nonce"):
        again.next(CLIENT_FINAL)


def test_a_name_that_is_not_known_gets_a_challenge_that_stays_the_same() -> None:
    def challenge(name: str) -> list[bytes]:
        return ScramServer("SCRAM-SHA-256", OneUser(), nonce="n").next(f"n,,n={name},r=abc".encode()).split(b",")

    assert challenge("nobody") == challenge("nobody")
    assert challenge("nobody") != challenge("no one")
    assert [part[:2] for part in challenge("nobody")] == [part[:2] for part in challenge("user")]
    assert challenge("nobody")[2] == challenge("user")[2]


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_no_bytes_make_either_side_raise_anything_else(one: bytes, two: bytes) -> None:
    for exchange in (example_client(), example_server()):
        for token in (one, two):
            try:
                exchange.next(token)
            except SaslError as error:
                assert "\n" not in str(error)
