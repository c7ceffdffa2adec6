"""The core of a connection that we accepted, against peers of every kind.
Sessions that end: logins that are good for a while, again on the same connection, and delegation tokens."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from metashell.codec.messages import (
    ApiVersionsRequest,
    DescribeClusterRequest,
    DescribeClusterResponse,
    MetadataRequest,
    MetadataResponse,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from metashell.common.errors import EncodeError
from metashell.net.frames import FrameReader, decode_response, encode_request, frame
from metashell.net.listener_options import Authenticated, Closed, ConnectionLimits, Received
from metashell.net.sasl import (
    RefusedError,
    SaslClient,
    SaslError,
    ScramClient,
    ScramCredential,
    ScramServer,
    StaticCredentials,
    TokenCredential,
    sasl_server_mechanisms,
)
from metashell.net.scram_credentials import make_credential
from metashell.net.server_connection import ANONYMOUS, ServerConnection
from tests.net.wires import PASSWORDS, RANGES, sasl_client, sasl_server, server_events, server_of

SOFTWARE = {"client_software_name": "a", "client_software_version": "1"}


def ask(server: ServerConnection, message: Any, version: int, number: int = 1) -> list[Any]:
    server.receive_data(encode_request(message, version, number, "test"))
    return server_events(server)


def answers(server: ServerConnection, *expected: tuple[int, int]) -> list[tuple[int, Any]]:
    """What the server has sent, as answers to these APIs and versions."""
    reader = FrameReader(1 << 20)
    reader.feed(server.take_output())
    frames = list(iter(reader.next_frame, None))
    return [decode_response(data, key, version) for data, (key, version) in zip(frames, expected, strict=True)]


def plain(server: ServerConnection, password: str = "alice-secret") -> list[Any]:
    events = ask(server, SaslHandshakeRequest(mechanism="PLAIN"), 1)
    return events + ask(server, SaslAuthenticateRequest(auth_bytes=f"\0alice\0{password}".encode()), 2)


def test_answers_leave_in_the_order_of_their_requests() -> None:
    server = server_of(RANGES)
    numbers = [ask(server, DescribeClusterRequest(), 1, number)[0].request_id for number in (10, 11, 12)]
    server.respond(numbers[2], DescribeClusterResponse(cluster_id="12"))
    server.respond(numbers[1], DescribeClusterResponse(cluster_id="11"))
    assert server.take_output() == b"" and server.in_flight == 3 and server.output_size > 0
    server.respond(numbers[0], DescribeClusterResponse(cluster_id="10"))
    found = answers(server, (60, 1), (60, 1), (60, 1))
    assert [(number, message.cluster_id) for number, message in found] == [(10, "10"), (11, "11"), (12, "12")]
    assert (server.in_flight, server.output_size) == (0, 0)


def test_api_versions_waits_behind_a_parked_answer_too() -> None:
    server = server_of(RANGES)
    (parked,) = ask(server, DescribeClusterRequest(), 1, 1)
    assert ask(server, ApiVersionsRequest(**SOFTWARE), 4, 2) == []
    assert server.take_output() == b""
    server.respond(parked.request_id, DescribeClusterResponse())
    assert [number for number, _ in answers(server, (60, 1), (18, 4))] == [1, 2]


def test_a_request_without_an_answer_holds_back_nothing() -> None:
    server = server_of(RANGES)
    (first,), (second,) = ask(server, DescribeClusterRequest(), 1, 1), ask(server, DescribeClusterRequest(), 1, 2)
    server.respond(second.request_id, DescribeClusterResponse())
    server.drop(first.request_id)
    assert [number for number, _ in answers(server, (60, 1))] == [2]


def test_an_answer_that_does_not_fit_its_version_leaves_the_request_open() -> None:
    server = server_of(RANGES)
    (received,) = ask(server, MetadataRequest(), 1)
    with pytest.raises(EncodeError):
        server.respond(received.request_id, MetadataResponse(controller_id="one"))  # type: ignore[arg-type]
    server.respond(received.request_id, MetadataResponse())
    assert len(answers(server, (3, 1))) == 1


def test_only_the_first_answer_counts() -> None:
    server = server_of(RANGES)
    (received,) = ask(server, DescribeClusterRequest(), 1)
    for name in ("first", "second"):
        server.respond(received.request_id, DescribeClusterResponse(cluster_id=name))
    assert [message.cluster_id for _, message in answers(server, (60, 1))] == ["first"]


def test_too_many_requests_stop_the_reading_until_one_is_answered() -> None:
    server = server_of(RANGES, limits=ConnectionLimits(requests_max=2))
    server.receive_data(b"".join(encode_request(DescribeClusterRequest(), 1, number, None) for number in range(5)))
    first, second = server_events(server)
    assert not server.wants_read and server.held_size > 0
    server.respond(second.request_id, DescribeClusterResponse())
    assert server_events(server) == [] and not server.wants_read
    server.respond(first.request_id, DescribeClusterResponse())
    assert [event.header.correlation_id for event in server_events(server)] == [2, 3]


def test_the_end_of_a_peer_that_waits_is_looked_for_until_it_sends_more() -> None:
    server = server_of(RANGES, limits=ConnectionLimits(requests_max=1, notices_end=True))
    server.receive_data(encode_request(DescribeClusterRequest(), 1, 0, None))
    (first,) = server_events(server)
    assert not server.wants_read and server.waits_for_end
    server.receive_data(encode_request(DescribeClusterRequest(), 1, 1, None))
    assert server_events(server) == [] and not server.waits_for_end
    server.respond(first.request_id, DescribeClusterResponse())
    assert not server.waits_for_end, "the answer is to be sent first"
    assert [event.header.correlation_id for event in server_events(server)] == [1]


def test_requests_that_are_large_together_stop_the_reading() -> None:
    server = server_of(RANGES, limits=ConnectionLimits(requests_size_max=1000))
    large = MetadataRequest(topics=tuple(MetadataRequest.MetadataRequestTopic(name="x" * 100) for _ in range(6)))
    one = encode_request(large, 12, 1, None)
    server.receive_data(one * 4)
    first, second = server_events(server)
    assert not server.wants_read and server.held_size == 2 * first.size + 2 * len(one)
    server.respond(second.request_id, MetadataResponse())
    assert len(server_events(server)) == 1
    server.respond(first.request_id, MetadataResponse())
    assert len(server_events(server)) == 1
    server.take_output()
    assert server.held_size == 2 * first.size


def test_answers_that_nobody_takes_stop_the_reading() -> None:
    server = server_of(RANGES, limits=ConnectionLimits(output_max=1000))
    while server.wants_read:
        (received,) = ask(server, DescribeClusterRequest(), 1)
        server.respond(received.request_id, DescribeClusterResponse(cluster_id="x" * 90))
    assert 1000 <= server.output_size < 1200
    assert ask(server, DescribeClusterRequest(), 1) == []
    server.take_output()
    assert server.wants_read and len(server_events(server)) == 1


def test_peers_that_only_ask_for_versions_are_bounded_too() -> None:
    server = sasl_server(ConnectionLimits(unauthenticated_limit=2000))
    one = encode_request(ApiVersionsRequest(**SOFTWARE), 4, 1, None)
    server.receive_data(one * 1000)
    assert server_events(server) == []
    assert not server.wants_read and server.output_size < 2200


@pytest.mark.parametrize("version", [6, 99, 32767, -1])
def test_an_unknown_version_of_api_versions_is_answered_in_version_zero(version: int) -> None:
    server = sasl_server()
    server.receive_data(frame(struct.pack(">hhih", 18, version, 7, -1) + b"whatever comes then"))
    assert server_events(server) == []
    ((number, message),) = answers(server, (18, 0))
    assert (number, message.error_code) == (7, 35)
    assert [(entry.api_key, entry.min_version, entry.max_version) for entry in message.api_keys] == [(18, 0, 5)]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (encode_request(DescribeClusterRequest(), 1, 1, None), "before it was authenticated"),
        (encode_request(MetadataRequest(), 12, 1, None), "before it was authenticated"),
        (frame(struct.pack(">hhih", 999, 0, 1, -1)), "api key 999, which is not served here"),
        (frame(struct.pack(">hhih", 3, 99, 1, -1)), "version 99 of api key 3"),
        (frame(b""), "malformed"),
        (frame(b"\0\x12\0\4"), "malformed"),
        (encode_request(SaslAuthenticateRequest(auth_bytes=b"\0alice\0alice-secret"), 2, 1, None), "out of order"),
        (b"GET / HTTP/1.1\r\n\r\n", "a frame of 1195725856 bytes"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "a frame of 369295618 bytes"),
        (struct.pack(">i", 512 * 1024 + 1), "a frame of 524289 bytes"),
    ],
)
def test_anything_unexpected_before_authentication_closes(data: bytes, told: str) -> None:
    server = sasl_server()
    server.receive_data(data)
    (event,) = server_events(server)
    assert isinstance(event, Closed) and told in event.reason and "\n" not in event.reason
    assert server.closed and server.terms.counters.protocol_errors == 1
    # A correct login comes too late.
    assert plain(server) == []


def test_a_login_opens_the_listener_and_raises_its_bounds() -> None:
    server = sasl_server()
    assert plain(server) == [Authenticated("User:alice")]
    answers(server, (17, 1), (36, 2))
    (received,) = ask(server, DescribeClusterRequest(), 1)
    assert isinstance(received, Received) and (received.header.client_id, received.header.api_key) == ("test", 60)
    server.receive_data(struct.pack(">i", 512 * 1024 + 1))
    assert server_events(server) == [] and not server.closed
    assert server.terms.counters.authenticated == 1


def test_a_failed_login_is_answered_and_then_closed() -> None:
    server = sasl_server()
    (event,) = plain(server, "wrong")
    assert event == Closed("authentication failed: Invalid username or password", authentication_failed=True)
    (_, _), (_, message) = answers(server, (17, 1), (36, 2))
    assert (message.error_code, message.error_message) == (58, "Authentication failed: Invalid username or password")


def test_a_second_handshake_is_refused() -> None:
    server = sasl_server()
    ask(server, SaslHandshakeRequest(mechanism="PLAIN"), 1)
    (event,) = ask(server, SaslHandshakeRequest(mechanism="PLAIN"), 1)
    assert isinstance(event, Closed)
    assert [message.error_code for _, message in answers(server, (17, 1), (17, 1))] == [0, 34]


@pytest.mark.parametrize("make", [sasl_server, server_of], ids=["sasl", "no sasl"])
def test_sasl_of_a_peer_that_is_known_is_answered_with_an_error(make: Any) -> None:
    server = make()
    if not server.authenticated:
        plain(server)
        server.take_output()
    assert plain(server) == []
    assert [message.error_code for _, message in answers(server, (17, 1), (36, 2))] == [34, 34]
    assert not server.closed


@pytest.mark.parametrize(("password", "answered"), [("alice-secret", b"\0\0\0\0"), ("wrong", b"")])
def test_after_version_0_of_the_handshake_tokens_have_no_headers(password: str, answered: bytes) -> None:
    server = sasl_server()
    assert ask(server, SaslHandshakeRequest(mechanism="PLAIN"), 0) == []
    assert answers(server, (17, 0))[0][1].error_code == 0
    server.receive_data(frame(f"\0alice\0{password}".encode()))
    (event,) = server_events(server)
    assert server.take_output() == answered
    if answered:
        assert event == Authenticated("User:alice")
        assert len(ask(server, DescribeClusterRequest(), 1)) == 1
    else:
        assert isinstance(event, Closed) and event.authentication_failed


def test_without_sasl_everybody_is_anonymous_or_whom_the_certificate_names() -> None:
    assert server_of(RANGES).principal == ANONYMOUS
    assert server_of(RANGES, principal="User:CN=a").principal == "User:CN=a"
    assert sasl_server().principal == ""


def test_time_ends_what_is_idle_or_not_authenticated() -> None:
    server = server_of(RANGES)
    server.handshake_expired()
    assert server_events(server) == []
    server.idle_expired()
    assert server_events(server) == [Closed("idle for too long")]
    server = sasl_server()
    server.handshake_expired()
    server.handshake_expired()
    assert server_events(server) == [Closed("not authenticated in time")]
    assert (server.terms.counters.handshake_timeouts, server.terms.counters.idle_closed) == (1, 0)


def test_answers_to_a_connection_that_is_over_are_forgotten() -> None:
    server = server_of(RANGES)
    (received,) = ask(server, DescribeClusterRequest(), 1)
    server.connection_lost()
    assert server_events(server) == [Closed("the peer closed the connection")]
    server.respond(received.request_id, DescribeClusterResponse())
    assert (server.take_output(), server.in_flight, server.held_size, server.wants_read) == (b"", 0, 0, False)


def test_what_was_answered_before_the_end_is_still_sent() -> None:
    server = server_of(RANGES)
    (received,) = ask(server, DescribeClusterRequest(), 1)
    server.respond(received.request_id, DescribeClusterResponse())
    server.receive_data(frame(b""))
    (event,) = server_events(server)
    assert isinstance(event, Closed)
    assert len(answers(server, (60, 1))) == 1


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

    def pretend(self, mechanism: str, username: str, *, is_token: bool) -> ScramCredential:
        return make_credential(mechanism, "nobody knows")


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


def handshake_answer(server: ServerConnection, message: Any, version: int) -> Any:
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
    answer = handshake_answer(server, SaslHandshakeRequest(mechanism=client.mechanism), 1)
    token: bytes | None = client.first()
    while answer.error_code == 0 and token is not None:
        answer = handshake_answer(server, SaslAuthenticateRequest(auth_bytes=token), version)
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
    assert handshake_answer(server, SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1).error_code == 0
    server.receive_data(encode_request(SaslAuthenticateRequest(auth_bytes=sasl_client("SCRAM-SHA-256").first()), 2, 1, None))
    assert server_events(server) == [Closed("the peer authenticates again by SCRAM-SHA-256 after PLAIN", authentication_failed=True)]
    assert server.take_output() == b""


def test_nothing_else_is_asked_between_the_rounds_of_a_second_login(clock: Clock) -> None:
    server = limited(clock)
    login(server, sasl_client("SCRAM-SHA-256"))
    assert handshake_answer(server, SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1).error_code == 0
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
