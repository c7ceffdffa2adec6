"""The core of a connection that we accepted, against peers of every kind."""

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
from metashell.net.server_connection import ANONYMOUS, ServerConnection
from tests.net.wires import RANGES, sasl_server, server_events, server_of

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
