"""The core of a connection that we opened, against peers that answer wrongly."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from metashell.codec.messages import (
    ApiVersionsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    MetadataRequest,
    SaslAuthenticateResponse,
    SaslHandshakeResponse,
    VoteRequest,
)
from metashell.common.errors import EncodeError
from metashell.net.client_connection import SASL_ROUNDS_MAX, TEXT_MAX, Answer, ClientConnection, Closed, Ready, State, UnsupportedApiError
from metashell.net.frames import FrameReader, RequestHeader, decode_request, encode_response, frame
from tests.net.wires import client_events, sasl_client, server_of, talk

VERSIONS = {3: (0, 12), 17: (0, 1), 18: (0, 5), 36: (0, 2), 60: (0, 1)}


def requests_of(client: ClientConnection) -> list[tuple[RequestHeader, Any]]:
    reader = FrameReader(1 << 20)
    reader.feed(client.take_output())
    return [decode_request(each) for each in iter(reader.next_frame, None)]


def answer(client: ClientConnection, message: Any) -> list[Any]:
    """Answer the one request that the client has sent; what happened."""
    ((header, _),) = requests_of(client)
    client.receive_data(encode_response(header.api_key, header.api_version, header.correlation_id, message))
    return client_events(client)


def versions_answer(ranges: dict[int, tuple[int, int]], error_code: int = 0) -> Any:
    entries = tuple(ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in ranges.items())
    return ApiVersionsResponse(error_code=error_code, api_keys=entries)


def started(mechanism: str = "", **options: Any) -> ClientConnection:
    client = ClientConnection(sasl=sasl_client(mechanism) if mechanism else None, **options)
    client.start()
    return client


def ready(**options: Any) -> ClientConnection:
    client = started(**options)
    assert [type(event) for event in answer(client, versions_answer(VERSIONS))] == [Ready]
    return client


def the_end(client: ClientConnection) -> Closed:
    (event,) = client_events(client)
    assert isinstance(event, Closed) and "\n" not in event.reason
    assert client.take_output() == b"" and client.state is State.CLOSED
    return event


@pytest.mark.parametrize("newest", [0, 1, 2, 3, 4])
def test_an_older_server_is_asked_again_in_a_version_that_it_knows(newest: int) -> None:
    client = started()
    ((header, _),) = requests_of(client)
    assert header.api_version == 5
    refusal = versions_answer({18: (0, newest)}, error_code=35)
    client.receive_data(encode_response(18, 0, header.correlation_id, refusal))
    ((again, _),) = requests_of(client)
    assert again.api_version == newest
    client.receive_data(encode_response(18, newest, again.correlation_id, versions_answer(VERSIONS)))
    assert [type(event) for event in client_events(client)] == [Ready]


def test_a_server_of_kafka_zero_ten_names_no_range_and_is_asked_in_version_zero() -> None:
    client = started()
    assert answer_in_version_zero(client, versions_answer({}, error_code=35)) == []
    ((header, _),) = requests_of(client)
    assert header.api_version == 0


def answer_in_version_zero(client: ClientConnection, message: Any) -> list[Any]:
    ((header, _),) = requests_of(client)
    client.receive_data(encode_response(18, 0, header.correlation_id, message))
    return client_events(client)


def test_a_server_that_refuses_every_version_is_left() -> None:
    client = started()
    asked = 0
    while client.state is State.VERSIONS:
        asked += 1
        answer_in_version_zero(client, versions_answer({18: (0, 5)}, error_code=35))
    assert asked == 6


def test_another_error_of_api_versions_is_the_end() -> None:
    client = started()
    (event,) = answer(client, versions_answer({}, error_code=42))
    assert event == Closed("ApiVersions version 5 was answered with INVALID_REQUEST (42)")


def test_requests_are_answered_in_their_order_and_in_the_version_that_was_agreed() -> None:
    client = ready()
    first, second = client.request(DescribeClusterRequest()), client.request(MetadataRequest(), version=7)
    sent = requests_of(client)
    assert [header.api_version for header, _ in sent] == [1, 7]
    assert client.in_flight == 2
    client.receive_data(encode_response(60, 1, first, DescribeClusterResponse(cluster_id="x")))
    (event,) = client_events(client)
    assert isinstance(event, Answer) and (event.correlation_id, event.message.cluster_id) == (first, "x")
    client.receive_data(encode_response(60, 1, first, DescribeClusterResponse()))
    assert the_end(client).reason == f"the peer answered request {first}, the oldest open one is {second}"


def test_an_answer_to_nothing_is_the_end() -> None:
    client = ready()
    client.receive_data(frame(b"\0\0\0\0"))
    assert the_end(client).reason == "the peer sent an answer to no request"


@pytest.mark.parametrize("junk", [b"", b"\0", b"\0\0\0\1\0\x7f\xff\xff\xff"])
def test_a_malformed_answer_is_the_end(junk: bytes) -> None:
    client = ready()
    number = client.request(DescribeClusterRequest())
    client.receive_data(frame(junk.replace(b"\0\0\0\1", struct.pack(">i", number))))
    assert "malformed" in the_end(client).reason


def test_an_api_that_the_peer_lacks_is_named_and_nothing_is_sent() -> None:
    client = ready()
    client.take_output()
    with pytest.raises(UnsupportedApiError, match="api key 52: the peer does not have it, known here: 0 to 2"):
        client.request(VoteRequest())
    with pytest.raises(EncodeError):
        client.request(DescribeClusterRequest(endpoint_type="no"))  # type: ignore[arg-type]
    assert client.take_output() == b"" and client.in_flight == 0


def test_no_more_requests_than_allowed_are_under_way() -> None:
    client = ready(in_flight_max=2)
    first = client.request(DescribeClusterRequest())
    client.request(DescribeClusterRequest())
    assert not client.can_send
    client.receive_data(encode_response(60, 1, first, DescribeClusterResponse()))
    assert client.can_send


def test_frames_are_bounded_before_and_after_the_handshake() -> None:
    client = started(frame_limit=1 << 20)
    client.receive_data(struct.pack(">i", 512 * 1024 + 1))
    assert "a frame of 524289 bytes" in the_end(client).reason
    client = ready(frame_limit=1 << 20)
    client.receive_data(struct.pack(">i", (1 << 20) + 1))
    assert the_end(client).reason == "the peer sent a frame of 1048577 bytes, the limit is 1048576"


def test_a_peer_that_is_no_kafka_gets_a_hint() -> None:
    client = started()
    client.receive_data(b"HTTP/1.1 400 Bad Request\r\n")
    assert "is it a Kafka listener" in the_end(client).reason
    client = started()
    client.receive_data(b"\x15\x03\x03\0\x02\x02\x50")
    assert "security.protocol" in the_end(client).reason


def test_texts_of_a_peer_are_told_without_what_a_terminal_obeys_and_not_at_any_length() -> None:
    client = started("PLAIN")
    answer(client, versions_answer(VERSIONS))
    answer(client, SaslHandshakeResponse(mechanisms=("PLAIN",)))
    (event,) = answer(client, SaslAuthenticateResponse(error_code=58, error_message="no\n\x1b[2J" + "x" * 10000))
    assert event.authentication_failed
    assert "\n" not in event.reason and "\x1b" not in event.reason and "\\x1b[2J" in event.reason
    assert len(event.reason) < TEXT_MAX + 100


@pytest.mark.parametrize("count", [1, 400])
def test_mechanisms_that_a_peer_offers_are_told_in_bounds(count: int) -> None:
    client = started("PLAIN")
    answer(client, versions_answer(VERSIONS))
    (event,) = answer(client, SaslHandshakeResponse(error_code=33, mechanisms=("GSSAPI\n",) * count))
    assert event.reason.startswith("the peer does not take PLAIN, it offers GSSAPI\\n") and len(event.reason) < 200


def test_a_server_that_asks_for_ever_is_left() -> None:
    class Patient:
        mechanism = "PLAIN"

        def first(self) -> bytes:
            return b"?"

        def next(self, challenge: bytes) -> bytes | None:
            return b"?"

    client = ClientConnection(sasl=Patient())
    client.start()
    answer(client, versions_answer(VERSIONS))
    answer(client, SaslHandshakeResponse(mechanisms=("PLAIN",)))
    rounds = 0
    while client.state is State.SASL:
        rounds += 1
        answer(client, SaslAuthenticateResponse(auth_bytes=b"!"))
    assert rounds == SASL_ROUNDS_MAX


def test_the_lifetime_of_a_session_is_kept() -> None:
    client = started("PLAIN")
    answer(client, versions_answer(VERSIONS))
    answer(client, SaslHandshakeResponse(mechanisms=("PLAIN",)))
    (event,) = answer(client, SaslAuthenticateResponse(session_lifetime_ms=90_000))
    assert isinstance(event, Ready) and client.session_lifetime_ms == 90_000


def test_a_closed_connection_is_silent() -> None:
    client = ready()
    client.close("enough")
    assert the_end(client) == Closed("enough")
    client.receive_data(frame(b"more"))
    client.connection_lost()
    client.close("again")
    assert client_events(client) == []


def test_ranges_can_be_narrower_than_what_schemas_have() -> None:
    client = ClientConnection(ranges={60: (0, 0)})
    client.start()
    (event,), _ = talk(client, server_of({3: (0, 9), 60: (0, 1)}))
    assert isinstance(event, Ready)
    assert event.versions == {17: 1, 18: 5, 36: 2, 60: 0}
