"""The cores of both sides against each other: every mechanism, every way to cut the bytes, every truncation."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec.messages import DescribeClusterRequest, DescribeClusterResponse
from metashell.net.api_versions import NodeIdentity
from metashell.net.client_connection import Answer, ClientConnection, Ready, State
from metashell.net.client_connection import Closed as ClientClosed
from metashell.net.frames import FrameReader, frame
from metashell.net.listener_options import Authenticated, Closed, Received
from metashell.net.sasl import SaslClient
from tests.net.wires import (
    MECHANISMS,
    PASSWORDS,
    RANGES,
    client_events,
    sasl_client,
    sasl_server,
    sasl_terms,
    server_events,
    server_of,
    talk,
)


def started(sasl: SaslClient | None = None, identity: NodeIdentity | None = None) -> ClientConnection:
    client = ClientConnection(sasl=sasl, client_id="test", identity=identity)
    client.start()
    return client


def test_without_sasl_the_handshake_is_one_exchange() -> None:
    client, server = started(), server_of(RANGES)
    of_client, of_server = talk(client, server)
    (ready,) = of_client
    assert isinstance(ready, Ready)
    assert {key: ready.versions[key] for key in RANGES} == {key: high for key, (_, high) in RANGES.items()}
    assert ready.features.supported == {"kraft.version": (0, 1)}
    assert of_server == [] and server.principal == "User:ANONYMOUS"


@pytest.mark.parametrize("mechanism", ["", *MECHANISMS])
def test_a_client_that_means_another_node_learns_it_once_it_may_ask(mechanism: str) -> None:
    def met(identity: NodeIdentity | None, meant: NodeIdentity | None) -> list[Any]:
        client = started(sasl_client(mechanism) if mechanism else None, meant)
        server = sasl_server(identity=identity) if mechanism else server_of(RANGES, identity=identity)
        return talk(client, server)[0]

    here, there = NodeIdentity("here", 1), NodeIdentity("there", 1)
    for identity, meant in ((here, here), (here, None), (None, there)):
        assert [type(event) for event in met(identity, meant)] == [Ready]
    for meant in (there, NodeIdentity("here", 2)):
        text = f"it is not node {meant.node_id} of cluster {meant.cluster_id}, but another one"
        assert met(here, meant) == [ClientClosed(text, is_another_node=True)]


def test_a_server_of_before_4_4_is_not_asked_twice() -> None:
    client = started(sasl_client("PLAIN"), NodeIdentity("here", 1))
    server = server_of({**RANGES, 18: (0, 4)}, identity=NodeIdentity("there", 1), **sasl_terms())
    assert [type(event) for event in talk(client, server)[0]] == [Ready]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("username", PASSWORDS)
def test_each_mechanism_tells_the_server_who_it_is(mechanism: str, username: str) -> None:
    client, server = started(sasl_client(mechanism, username, PASSWORDS[username])), sasl_server()
    of_client, of_server = talk(client, server)
    assert [type(event) for event in of_client] == [Ready]
    assert of_server == [Authenticated(f"User:{username}")]
    client.request(DescribeClusterRequest())
    _, (received,) = talk(client, server)
    server.respond(received.request_id, DescribeClusterResponse(cluster_id="c"))
    (answer,), _ = talk(client, server)
    assert isinstance(answer, Answer) and answer.message.cluster_id == "c"


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("username", ["alice", "nobody"])
def test_wrong_credentials_end_both_sides_with_one_line(mechanism: str, username: str) -> None:
    client, server = started(sasl_client(mechanism, username, "guessed")), sasl_server()
    (of_client,), (of_server,) = talk(client, server)
    assert isinstance(of_client, ClientClosed) and of_client.authentication_failed
    assert isinstance(of_server, Closed)
    for reason in (of_client.reason, of_server.reason):
        assert reason.startswith("authentication failed") and "\n" not in reason and "guessed" not in reason
    assert server.terms.counters.authentication_failures == 1
    # One cannot tell a name that is not known from a password that is wrong.
    assert of_server.reason.endswith(("Invalid username or password", "Invalid user credentials"))


def test_a_mechanism_that_is_not_enabled_names_the_others() -> None:
    client, server = started(sasl_client("SCRAM-SHA-512")), sasl_server(names=("PLAIN", "SCRAM-SHA-256"))
    (of_client,), (of_server,) = talk(client, server)
    assert of_client == ClientClosed("the peer does not take SCRAM-SHA-512, it offers PLAIN, SCRAM-SHA-256", True)
    assert isinstance(of_server, Closed)


def test_sasl_on_a_listener_without_it_is_refused_in_one_line() -> None:
    (of_client,), _ = talk(started(sasl_client("PLAIN")), server_of(RANGES))
    assert isinstance(of_client, ClientClosed) and of_client.authentication_failed
    assert of_client.reason == "the peer does not take PLAIN, it offers no SASL"


def script(mechanism: str | None) -> tuple[bytes, bytes]:
    """All that a client sends, and all that a server sends, up to the answer of one request."""
    client = started(sasl_client(mechanism) if mechanism else None)
    server = sasl_server() if mechanism else server_of(RANGES)
    sent: list[bytes] = []
    answered: list[bytes] = []
    while True:
        sent.append(client.take_output())
        server.receive_data(sent[-1])
        for event in server_events(server):
            if isinstance(event, Received):
                server.respond(event.request_id, DescribeClusterResponse(cluster_id="c"))
        answered.append(server.take_output())
        client.receive_data(answered[-1])
        for event in client_events(client):
            if isinstance(event, Ready):
                client.request(DescribeClusterRequest())
        if not sent[-1] and not answered[-1]:
            assert client.state is State.READY
            return b"".join(sent), b"".join(answered)


@pytest.mark.parametrize("mechanism", [None, "PLAIN"])
def test_a_server_takes_a_handshake_that_is_cut_anywhere(mechanism: str | None) -> None:
    sent, answered = script(mechanism)
    for cut in range(len(sent) + 1):
        server = sasl_server() if mechanism else server_of(RANGES)
        for part in (sent[:cut], sent[cut:]):
            server.receive_data(part)
            for event in server_events(server):
                if isinstance(event, Received):
                    server.respond(event.request_id, DescribeClusterResponse(cluster_id="c"))
        assert server.take_output() == answered and not server.closed


@pytest.mark.parametrize("mechanism", [None, *MECHANISMS])
def test_a_client_takes_answers_that_are_cut_anywhere(mechanism: str | None) -> None:
    answers = frames_of(script(mechanism)[1])
    step = 1 if mechanism in (None, "PLAIN") else 7  # SCRAM takes 2 ms each time
    for cut in range(0, sum(len(each) + 4 for each in answers), step):
        client = started(sasl_client(mechanism) if mechanism else None)
        client.take_output()
        events = []
        # SCRAM's answers depend on a nonce of the server: with those of the script, the client's own nonce is what it was.
        position = 0
        for each in map(frame, answers):
            middle = min(max(cut - position, 0), len(each))
            for part in (each[:middle], each[middle:]):
                client.receive_data(part)
                events += client_events(client)
                if client.can_send and not client.in_flight and len(events) == 1:
                    client.request(DescribeClusterRequest())
            position += len(each)
        assert [type(event) for event in events] == [Ready, Answer]


def frames_of(stream: bytes) -> list[bytes]:
    reader = FrameReader(len(stream))
    reader.feed(stream)
    return list(iter(reader.next_frame, None))


@pytest.mark.parametrize("mechanism", [None, "PLAIN"])
def test_requests_that_end_early_are_waited_for_and_then_closed(mechanism: str | None) -> None:
    sent, _ = script(mechanism)
    for end in range(len(sent)):
        server = sasl_server() if mechanism else server_of(RANGES)
        server.receive_data(sent[:end])
        assert not any(isinstance(event, Closed) for event in server_events(server))
        server.connection_lost()
        assert server_events(server) == [Closed("the peer closed the connection")]


@pytest.mark.parametrize("mechanism", [None, *MECHANISMS])
def test_answers_that_end_early_are_waited_for_and_then_closed(mechanism: str | None) -> None:
    _, answered = script(mechanism)
    for end in range(0, len(answered), 1 if mechanism in (None, "PLAIN") else 7):
        client = started(sasl_client(mechanism) if mechanism else None)
        reader = FrameReader(len(answered))
        reader.feed(answered[:end])
        for each in iter(reader.next_frame, None):
            client.receive_data(frame(each))
            if client.can_send and not client.in_flight:
                client.request(DescribeClusterRequest())
        client.receive_data(answered[end - reader.buffered_size : end])
        assert not any(isinstance(event, ClientClosed) for event in client_events(client))
        client.connection_lost()
        (last,) = client_events(client)
        assert isinstance(last, ClientClosed) and last.reason.startswith("the peer closed the connection")
