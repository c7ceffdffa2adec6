"""Connections to peers: their versions, their failures, and what a newer request does to an older one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from metashell.codec.error_codes import BROKER_NOT_AVAILABLE, NETWORK_EXCEPTION, UNSUPPORTED_VERSION
from metashell.common.values import OffsetAndEpoch
from metashell.net.accepted_connection import ServerRequest
from metashell.net.listener import Listener, serve
from metashell.net.listener_options import ListenerOptions
from metashell.quorum.raft import messages as flat
from metashell.quorum.raft.ready import Send
from metashell.quorum.raft.wire import decode_request, encode_response
from metashell.quorum.server.links import LINKS_MAX, LinkOptions, Links
from tests.coroutines import eventually
from tests.net.certificates import Authority
from tests.quorum.raft.wire.generations import GENERATIONS

PRE_VOTE = flat.VoteRequest("c", 2, bytes(16), 5, 1, bytes(16), 4, 42, pre_vote=True)
VOTE = flat.VoteRequest("c", 2, bytes(16), 5, 1, bytes(16), 4, 42)
UPDATE = flat.UpdateRaftVoterRequest("c", 5, 1, bytes(16), {}, 0, 1)


class Heard:
    """What came back."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, int, Any]] = []

    def response(self, destination: int, correlation_id: int, response: flat.Response) -> None:
        self.answers.append((destination, correlation_id, response))

    def failed(self, destination: int, correlation_id: int, error_code: int) -> None:
        self.answers.append((destination, correlation_id, error_code))


@asynccontextmanager
async def linked(
    on_request: Callable[[ServerRequest], None], generation: str = "4.3", **options: Any
) -> AsyncIterator[tuple[Links, Heard, Listener]]:
    listener = await serve(on_request, ListenerOptions(ranges=GENERATIONS[generation]))
    heard = Heard()
    settings = {"client_id": "raft-client-1", "request_timeout_ms": 2000, **options}
    links = Links(LinkOptions(**settings), heard)
    try:
        yield links, heard, listener
    finally:
        await links.close()
        await listener.stop()


def send(links: Links, listener: Listener, correlation_id: int, message: flat.Request) -> None:
    links.send(Send(2, ("127.0.0.1", listener.port), correlation_id, message))


@pytest.mark.slow
async def test_destinations_that_nobody_asks_for_any_more_are_given_up() -> None:
    async with linked(grant) as (links, heard, listener):
        send(links, listener, 0, VOTE)
        await eventually(lambda: bool(heard.answers))
        for number in range(3 * LINKS_MAX):
            links.send(Send(100 + number, ("nul\0", 1), number, VOTE))
            await eventually(lambda number=number: len(heard.answers) == number + 2)
        assert all(error == BROKER_NOT_AVAILABLE for _, _, error in heard.answers[1:])
        assert len(links._links) <= LINKS_MAX
        await eventually(lambda: listener.counters.open == 0)


@pytest.mark.parametrize(
    ("asked", "size", "taken"),
    [
        (VOTE, 30_000, True),
        (VOTE, 70_000, False),
        (flat.FetchRequest("c", 1, bytes(16), 5, 0, 0, 0, 1000), 8 << 20, True),
        (flat.FetchRequest("c", 1, bytes(16), 5, 0, 0, 0, 1000), 9 << 20, False),
        (flat.FetchSnapshotRequest("c", 1, bytes(16), 5, OffsetAndEpoch(1, 1), 0, 100_000), 100_000, True),
        (flat.FetchSnapshotRequest("c", 1, bytes(16), 5, OffsetAndEpoch(1, 1), 0, 100_000), 200_000, False),
    ],
    ids=["vote", "large vote", "fetch", "large fetch", "page", "large page"],
)
async def test_only_what_was_asked_for_may_be_large(asked: flat.Request, size: int, taken: bool) -> None:
    def respond(request: ServerRequest) -> None:
        answer: flat.Response
        match asked:
            case flat.FetchRequest():
                answer = flat.FetchResponse(records=bytes(size))
            case flat.FetchSnapshotRequest():
                answer = flat.FetchSnapshotResponse(records=bytes(size))
            case _:
                answer = flat.VoteResponse(leader_id=1, leader_endpoint=("h" * size, 1))
        request.respond(encode_response(answer, request.header.api_version))

    async with linked(respond) as (links, heard, listener):
        send(links, listener, 0, asked)
        await eventually(lambda: bool(heard.answers))
        assert (heard.answers[0][2] == BROKER_NOT_AVAILABLE) is not taken
        # Another request is answered as if nothing had been.
        await eventually(lambda: links._links[2].task is None)
        send(links, listener, 1, asked)
        await eventually(lambda: len(heard.answers) == 2)
        assert (heard.answers[1][2] == BROKER_NOT_AVAILABLE) is not taken


def grant(request: ServerRequest) -> None:
    decoded = decode_request(request.header.api_key, request.header.api_version, request.message)
    assert isinstance(decoded, flat.VoteRequest)
    request.respond(encode_response(flat.VoteResponse(epoch=decoded.epoch, granted=True), request.header.api_version))


async def test_a_request_is_answered_in_the_version_that_both_know_over_one_connection() -> None:
    async with linked(grant) as (links, heard, listener):
        for correlation_id in (1, 2):
            send(links, listener, correlation_id, PRE_VOTE)
            await eventually(lambda count=correlation_id: len(heard.answers) == count)
        assert heard.answers == [(2, 1, flat.VoteResponse(epoch=5, granted=True)), (2, 2, flat.VoteResponse(epoch=5, granted=True))]
        assert (links.opened, links.answered, links.failures) == (1, 2, 0)


async def test_an_older_peer_is_not_asked_what_it_would_misread() -> None:
    async with linked(grant, "3.9") as (links, heard, listener):
        send(links, listener, 1, PRE_VOTE)
        await eventually(lambda: len(heard.answers) == 1)
        send(links, listener, 2, VOTE)
        await eventually(lambda: len(heard.answers) == 2)
        assert heard.answers == [(2, 1, UNSUPPORTED_VERSION), (2, 2, flat.VoteResponse(epoch=5, granted=True))]
        assert listener.counters.requests == 1


async def test_an_api_that_the_peer_lacks_is_no_connection_failure() -> None:
    async with linked(grant, "3.7") as (links, heard, listener):
        send(links, listener, 1, UPDATE)
        await eventually(lambda: heard.answers == [(2, 1, UNSUPPORTED_VERSION)])
        assert listener.counters.open == 1


async def test_a_peer_that_is_not_there_is_told_and_reached_later() -> None:
    async with linked(grant) as (links, heard, listener):
        port = listener.port
        await listener.stop()
        for correlation_id in (1, 2, 3):
            send(links, listener, correlation_id, VOTE)
            await eventually(lambda count=correlation_id: len(heard.answers) == count)
        assert {code for _, _, code in heard.answers} == {BROKER_NOT_AVAILABLE}
        again = await serve(grant, ListenerOptions(ranges=GENERATIONS["4.4"], port=port))
        links.send(Send(2, ("127.0.0.1", port), 4, VOTE))
        await eventually(lambda: len(heard.answers) == 4)
        assert heard.answers[-1] == (2, 4, flat.VoteResponse(epoch=5, granted=True))
        await again.stop()


async def test_a_newer_request_takes_the_place_of_one_without_answer() -> None:
    held: list[ServerRequest] = []

    def answer_the_second(request: ServerRequest) -> None:
        if not held:
            held.append(request)
        else:
            grant(request)

    async with linked(answer_the_second) as (links, heard, listener):
        send(links, listener, 1, VOTE)
        await eventually(lambda: bool(held))
        send(links, listener, 2, VOTE)
        await eventually(lambda: bool(heard.answers))
        assert heard.answers == [(2, 2, flat.VoteResponse(epoch=5, granted=True))]
        await eventually(lambda: held[0].cancelled)
        assert links.opened == 2


async def test_a_request_that_takes_too_long_fails_and_ends_its_connection() -> None:
    async with linked(lambda request: None, request_timeout_ms=50) as (links, heard, listener):
        send(links, listener, 1, VOTE)
        await eventually(lambda: heard.answers == [(2, 1, BROKER_NOT_AVAILABLE)])
        await eventually(lambda: listener.counters.open == 0)


async def test_an_answer_that_is_none_fails_its_request() -> None:
    async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"\x00\x00\x00\x05nonsense")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(nonsense, "127.0.0.1", 0)
    heard = Heard()
    links = Links(LinkOptions(client_id="x", request_timeout_ms=2000), heard)
    links.send(Send(-2, ("127.0.0.1", server.sockets[0].getsockname()[1]), 9, VOTE))
    await eventually(lambda: heard.answers == [(-2, 9, BROKER_NOT_AVAILABLE)])
    await links.close()
    server.close()


async def test_a_certificate_that_nobody_vouches_for_is_an_authentication_failure(tmp_path: Any) -> None:
    from metashell.net.security import StoreConfig, TlsConfig
    from metashell.net.tls import client_context, server_context

    stranger, known = Authority(), Authority()
    node = StoreConfig(prefix="ssl.keystore", location=str(stranger.sign("node", ["127.0.0.1"]).write_pem(tmp_path)))
    trusted = StoreConfig(prefix="ssl.truststore", location=str(known.write_pem(tmp_path)))
    listener = await serve(grant, ListenerOptions(ranges=GENERATIONS["4.4"], tls=server_context(TlsConfig(keystore=node))))
    heard = Heard()
    options = LinkOptions(client_id="x", request_timeout_ms=2000, tls=client_context(TlsConfig(truststore=trusted)))
    links = Links(options, heard)
    send(links, listener, 1, VOTE)
    await eventually(lambda: heard.answers == [(2, 1, NETWORK_EXCEPTION)])
    await links.close()
    await listener.stop()


async def test_a_connection_is_replaced_before_its_session_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    from metashell.net import server_connection
    from metashell.net.sasl import PlainClient, StaticCredentials, sasl_server_mechanisms

    lasting = partial(server_connection.SaslAuthenticateResponse, session_lifetime_ms=3_600_000)
    monkeypatch.setattr(server_connection, "SaslAuthenticateResponse", lasting)
    asked: list[int] = []

    def strict(request: ServerRequest) -> None:
        # As Kafka does with what is asked in a session that is over.
        if request.connection_id in over:
            request.close_connection("the session is over")
        else:
            asked.append(request.connection_id)
            grant(request)

    over: set[int] = set()
    mechanisms = sasl_server_mechanisms(["PLAIN"], StaticCredentials({"quorum": "secret"}))
    listener = await serve(strict, ListenerOptions(ranges=GENERATIONS["4.4"], mechanisms=mechanisms))
    heard = Heard()
    links = Links(LinkOptions(client_id="x", request_timeout_ms=2000, sasl=lambda: PlainClient("quorum", "secret")), heard)
    for number in range(1, 7):
        send(links, listener, number, VOTE)
        await eventually(lambda number=number: len(heard.answers) == number)
        connection = links._links[2].connection
        assert connection is not None and not connection.expired
        if number % 2 == 0:
            over.add(asked[-1])
            # As if the hour had passed.
            monkeypatch.setattr(connection, "_expires_at", 0.0)
            assert connection.expired
    assert (links.opened, links.failures) == (3, 0)
    assert heard.answers == [(2, number, flat.VoteResponse(epoch=5, granted=True)) for number in range(1, 7)]
    assert asked == [1, 1, 2, 2, 3, 3]
    await eventually(lambda: listener.counters.open == 1)
    await links.close()
    await listener.stop()


async def test_nothing_is_heard_after_the_end() -> None:
    async with linked(grant) as (links, heard, listener):
        send(links, listener, 1, VOTE)
        await links.close()
        send(links, listener, 2, VOTE)
        assert heard.answers == []
