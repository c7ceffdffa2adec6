"""Sessions that end: logins that are good for a while, again on the same connection, and delegation tokens."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec.messages import DescribeClusterRequest, SaslAuthenticateRequest, SaslHandshakeRequest
from metashell.net.frames import FrameReader, decode_response, encode_request
from metashell.net.listener_options import Closed, Received
from metashell.net.sasl import (
    RefusedError,
    SaslClient,
    SaslError,
    ScramClient,
    ScramCredential,
    ScramServer,
    StaticCredentials,
    TokenCredential,
    make_credential,
    sasl_server_mechanisms,
)
from metashell.net.server_connection import ServerConnection
from tests.net.wires import PASSWORDS, RANGES, sasl_client, server_events, server_of

LIFETIME_MS = 10_000
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


class Clock:
    """Seconds, as a test sets them."""

    def __init__(self) -> None:
        self.now_s = 50.0

    def __call__(self) -> float:
        return self.now_s


class Tokens:
    """Alice's token `id`, whose password is `hmac`, and the users of a static configuration."""

    def __init__(self, lifetime_ms: int = LIFETIME_MS) -> None:
        self.lifetime_ms = lifetime_ms

    def plain(self, username: str) -> str | None:
        return None

    def scram(self, mechanism: str, username: str) -> ScramCredential | None:
        return make_credential(mechanism, "pw") if username == "bob" else None

    def token(self, mechanism: str, token_id: str) -> TokenCredential | None:
        return TokenCredential("User:alice", make_credential(mechanism, "hmac"), self.lifetime_ms) if token_id == "id" else None


class TokenClient(ScramClient):
    """A client that says that its name is a token's id."""

    def __init__(self, mechanism: str, token_id: str, password: str, extension: str = ",tokenauth=true") -> None:
        super().__init__(mechanism, token_id, password)
        self._first_bare += extension


@pytest.fixture
def clock() -> Clock:
    return Clock()


def limited(clock: Clock, session_ms: dict[str, int] | None = None) -> ServerConnection:
    users = StaticCredentials(PASSWORDS)
    of_all = dict.fromkeys(MECHANISMS, LIFETIME_MS) if session_ms is None else session_ms
    return server_of(RANGES, mechanisms=sasl_server_mechanisms(MECHANISMS, users), session_ms=of_all, clock=clock)


def ask(server: ServerConnection, message: Any, version: int) -> Any:
    """The answer to a request of the handshake."""
    server.receive_data(encode_request(message, version, 1, None))
    server_events(server)
    reader = FrameReader(1 << 20)
    reader.feed(server.take_output())
    data = reader.next_frame()
    assert data is not None
    key = 17 if isinstance(message, SaslHandshakeRequest) else 36
    return decode_response(data, key, version)[1]


def login(server: ServerConnection, client: SaslClient, version: int = 2) -> Any:
    """The last answer of a login: of the handshake if that is refused, else of the mechanism."""
    answer = ask(server, SaslHandshakeRequest(mechanism=client.mechanism), 1)
    token: bytes | None = client.first()
    while answer.error_code == 0 and token is not None:
        answer = ask(server, SaslAuthenticateRequest(auth_bytes=token), version)
        token = client.next(answer.auth_bytes) if answer.error_code == 0 and (answer.auth_bytes or version > 9) else None
    return answer


def requests(server: ServerConnection) -> list[Any]:
    """What becomes of a request, which gets no answer."""
    server.receive_data(encode_request(DescribeClusterRequest(), 1, 1, None))
    found = server_events(server)
    for event in found:
        if isinstance(event, Received):
            server.drop(event.request_id)
    return found


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_client_hears_how_long_its_login_is_good_and_is_closed_after_that(clock: Clock, mechanism: str) -> None:
    server = limited(clock)
    assert login(server, sasl_client(mechanism)).session_lifetime_ms == LIFETIME_MS
    clock.now_s += LIFETIME_MS / 1000 - 0.001
    assert isinstance(requests(server)[0], Received)
    clock.now_s += 0.001
    assert requests(server) == [Closed("the session is over, and the peer did not authenticate again")]
    assert server.terms.counters.sessions_expired == 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_second_login_on_the_same_connection_begins_the_time_anew(clock: Clock, mechanism: str) -> None:
    server = limited(clock)
    login(server, sasl_client(mechanism))
    for _ in range(3):
        clock.now_s += LIFETIME_MS / 1000 * 0.9
        assert login(server, sasl_client(mechanism)).session_lifetime_ms == LIFETIME_MS
        assert isinstance(requests(server)[0], Received)
    clock.now_s += LIFETIME_MS / 1000 + 5  # also after the end, as long as nothing else was asked
    assert login(server, sasl_client(mechanism)).error_code == 0
    assert isinstance(requests(server)[0], Received) and server.terms.counters.reauthenticated == 4


def test_a_login_without_an_end_takes_no_second_one(clock: Clock) -> None:
    server = limited(clock, {"SCRAM-SHA-256": LIFETIME_MS})
    assert login(server, sasl_client("PLAIN")).session_lifetime_ms == 0
    clock.now_s += 1e6
    assert login(server, sasl_client("PLAIN")).error_code == 34
    assert isinstance(requests(server)[0], Received)


def test_logins_are_taken_once_a_second_at_most(clock: Clock) -> None:
    server = limited(clock)
    login(server, sasl_client("PLAIN"))
    assert login(server, sasl_client("PLAIN")).error_code == 0
    clock.now_s += 0.9
    assert login(server, sasl_client("PLAIN")).error_code == 34
    clock.now_s += 0.1
    assert login(server, sasl_client("PLAIN")).error_code == 0


@pytest.mark.parametrize(
    ("client", "told"),
    [
        (sasl_client("PLAIN", "alice", "wrong"), "Authentication failed: Invalid username or password"),
        (sasl_client("PLAIN", "bob,=", "pässword"), "Cannot change principals during re-authentication from User.alice: User.bob,="),
    ],
)
def test_a_second_login_that_fails_ends_the_connection(clock: Clock, client: SaslClient, told: str) -> None:
    server = limited(clock)
    login(server, sasl_client("PLAIN"))
    clock.now_s += 2
    answer = login(server, client)
    assert (answer.error_code, answer.error_message) == (58, told)
    assert server.closed


def test_a_second_login_by_another_mechanism_is_no_login(clock: Clock) -> None:
    server = limited(clock)
    login(server, sasl_client("PLAIN"))
    clock.now_s += 2
    assert ask(server, SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1).error_code == 0
    server.receive_data(encode_request(SaslAuthenticateRequest(auth_bytes=sasl_client("SCRAM-SHA-256").first()), 2, 1, None))
    assert server_events(server) == [Closed("the peer authenticates again by SCRAM-SHA-256 after PLAIN", authentication_failed=True)]
    assert server.take_output() == b""


def test_nothing_else_is_asked_between_the_rounds_of_a_second_login(clock: Clock) -> None:
    server = limited(clock)
    login(server, sasl_client("SCRAM-SHA-256"))
    assert ask(server, SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1).error_code == 0
    (closed,) = requests(server)
    assert isinstance(closed, Closed)


@pytest.mark.parametrize("mechanism", MECHANISMS[1:])
def test_the_owner_of_a_token_logs_in_with_it(clock: Clock, mechanism: str) -> None:
    made = sasl_server_mechanisms([mechanism], Tokens())
    server = server_of(RANGES, mechanisms=made, clock=clock)
    client = TokenClient(mechanism, "id", "hmac")
    assert login(server, client).session_lifetime_ms == LIFETIME_MS
    assert (server.principal, server.is_token_authenticated) == ("User:alice", True)
    clock.now_s += LIFETIME_MS / 1000
    assert isinstance(requests(server)[0], Closed)


def test_the_shorter_of_token_and_session_counts(clock: Clock) -> None:
    made = sasl_server_mechanisms(["SCRAM-SHA-256"], Tokens())
    server = server_of(RANGES, mechanisms=made, clock=clock, session_ms={"SCRAM-SHA-256": 700})
    assert login(server, TokenClient("SCRAM-SHA-256", "id", "hmac")).session_lifetime_ms == 700
    server = server_of(RANGES, mechanisms=made, clock=clock, session_ms={"SCRAM-SHA-256": 70_000})
    assert login(server, TokenClient("SCRAM-SHA-256", "id", "hmac"), version=0).session_lifetime_ms == 0
    clock.now_s += LIFETIME_MS / 1000
    assert isinstance(requests(server)[0], Closed)


@pytest.mark.parametrize(
    ("name", "password", "extension"),
    [
        ("id", "other", ",tokenauth=true"),
        ("other", "hmac", ",tokenauth=true"),
        ("id", "hmac", ""),
        ("id", "hmac", ",tokenauth=false"),
        ("bob", "pw", ",tokenauth=true"),
    ],
)
def test_a_token_that_is_not_there_or_not_said_to_be_one_is_refused_like_a_wrong_password(name: str, password: str, extension: str) -> None:
    server = server_of(RANGES, mechanisms=sasl_server_mechanisms(["SCRAM-SHA-512"], Tokens()))
    answer = login(server, TokenClient("SCRAM-SHA-512", name, password, extension))
    told = "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512"
    assert (answer.error_code, answer.error_message) == (58, told)
    assert server.closed and not server.principal


def test_other_extensions_are_ignored_as_by_kafka() -> None:
    server = server_of(RANGES, mechanisms=sasl_server_mechanisms(["SCRAM-SHA-256"], Tokens()))
    assert login(server, TokenClient("SCRAM-SHA-256", "bob", "pw", ",other=1")).error_code == 0
    assert (server.principal, server.is_token_authenticated) == ("User:bob", False)


def test_what_a_peer_may_know_of_its_failure_is_a_refusal() -> None:
    server = ScramServer("SCRAM-SHA-256", Tokens())
    with pytest.raises(RefusedError, match="authorization id"):
        server.next(b"n,a=carol,n=bob,r=abc")
    with pytest.raises(SaslError) as caught:
        ScramServer("SCRAM-SHA-256", Tokens()).next(b"\xff")
    assert not isinstance(caught.value, RefusedError)
