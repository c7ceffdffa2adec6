"""Requests over several addresses, with listeners of our own that fail in every way."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from metashell.codec.messages import DescribeClusterRequest, DescribeClusterResponse, VoteRequest
from metashell.common.errors import UsageError
from metashell.net.accepted_connection import ServerRequest
from metashell.net.addresses import Address, AddressMap, ConnectError
from metashell.net.api_versions import NodeIdentity
from metashell.net.client import AsyncClient, Client
from metashell.net.sasl import StaticCredentials, sasl_server_mechanisms
from metashell.net.security import SecurityConfig
from tests.net.loops import answer, listening, run

ASK = DescribeClusterRequest()
QUICK: dict[str, Any] = {"backoff_ms": 1, "backoff_max_ms": 2}


@contextmanager
def closed_port() -> Iterator[Address]:
    """An address that nobody listens on while the block runs: bound, but without `listen`."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        yield Address("127.0.0.1", opened.getsockname()[1])


def test_the_first_address_that_answers_is_used_and_kept() -> None:
    async def work() -> None:
        with closed_port() as dead:
            async with listening() as (listener, address):
                client = AsyncClient([dead, address], **QUICK)
                for _ in range(3):
                    assert (await client.request(ASK)).cluster_id == "User:ANONYMOUS"
                assert (listener.counters.accepted, listener.counters.requests) == (1, 3)
                await client.close()

    run(work)


def test_when_none_answers_each_is_named_with_its_reason() -> None:
    async def work() -> None:
        with closed_port() as one, closed_port() as two:
            client = AsyncClient([one, two, Address("does-not-exist.invalid", 1)], **QUICK)
            with pytest.raises(ConnectError) as caught:
                await client.request(ASK)
            line = str(caught.value)
            assert line.startswith(f"{one}: Connection refused; {two}: Connection refused; does-not-exist.invalid:1: ")
            assert "\n" not in line and not caught.value.authentication
            assert [address for address, _ in caught.value.attempts] == client.bootstrap

    run(work)


def test_a_call_ends_at_its_deadline_however_the_peer_hesitates() -> None:
    async def work() -> None:
        async with listening(lambda request: None) as (_, address):
            client = AsyncClient([address], deadline_ms=50, **QUICK)
            with pytest.raises(ConnectError) as caught:
                await client.request(ASK)
            assert "no answer within 0.05 s" in str(caught.value)
            await client.close()
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            client = AsyncClient([Address("127.0.0.1", silent.getsockname()[1])], deadline_ms=50, **QUICK)
            with pytest.raises(ConnectError, match=r"no answer within 0\.05 s"):
                await client.request(ASK)

    run(work)


def test_a_connection_that_breaks_is_made_anew() -> None:
    async def work() -> None:
        seen: list[int] = []

        def on_request(request: ServerRequest) -> None:
            seen.append(request.connection_id)
            if len(seen) == 1:
                request.close_connection("a test")
            else:
                request.respond(DescribeClusterResponse(cluster_id="again"))

        async with listening(on_request) as (_, address):
            client = AsyncClient([address], **QUICK)
            assert (await client.request(ASK)).cluster_id == "again"
            assert seen == [1, 2]
            await client.close()

    run(work)


def test_attempts_are_bounded() -> None:
    async def work() -> None:
        seen: list[int] = []

        def on_request(request: ServerRequest) -> None:
            seen.append(request.connection_id)
            request.close_connection("a test")

        async with listening(on_request) as (_, address):
            client = AsyncClient([address], attempts_max=4, **QUICK)
            with pytest.raises(ConnectError, match="the peer closed the connection"):
                await client.request(ASK)
            assert seen == [1, 2, 3, 4]

    run(work)


def test_refused_credentials_are_not_tried_again() -> None:
    async def work() -> None:
        mechanisms = sasl_server_mechanisms(["SCRAM-SHA-256"], StaticCredentials({"alice": "right"}))
        async with listening(mechanisms=mechanisms) as (listener, address):
            wrong = SecurityConfig(protocol="SASL_PLAINTEXT", mechanism="SCRAM-SHA-256", username="alice", password="wrong")
            with pytest.raises(ConnectError, match="authentication failed") as caught:
                await AsyncClient([address], security=wrong, **QUICK).request(ASK)
            assert caught.value.authentication and listener.counters.accepted == 1
            right = SecurityConfig(protocol="SASL_PLAINTEXT", mechanism="SCRAM-SHA-256", username="alice", password="right")
            client = AsyncClient([address], security=right, **QUICK)
            assert (await client.request(ASK)).cluster_id == "User:alice"
            await client.close()

    run(work)


def test_a_session_near_its_end_gets_a_new_connection() -> None:
    async def work() -> None:
        credentials = StaticCredentials({"alice": "a"})
        mechanisms = sasl_server_mechanisms(["PLAIN"], credentials)
        async with listening(mechanisms=mechanisms) as (listener, address):
            security = SecurityConfig(protocol="SASL_PLAINTEXT", mechanism="PLAIN", username="alice", password="a")
            client = AsyncClient([address], security=security, **QUICK)
            await client.request(ASK)
            connection = await client.connection(address)
            assert connection is await client.connection(address)
            connection._expires_at = 0.0
            assert await client.connection(address) is not connection
            assert connection.closed == "retired"
            await client.request(ASK)
            assert listener.counters.accepted == 2
            await client.close()

    run(work)


def test_a_node_is_asked_by_its_id_and_through_the_map() -> None:
    async def work() -> None:
        async with listening() as (_, address):
            inside = Address("broker-3.internal", 9092)
            client = AsyncClient([address], address_map=AddressMap({inside: address}), **QUICK)
            with pytest.raises(UsageError, match=r"node 3: its address is not known \(known are: none\)"):
                await client.request(ASK, node=3)
            client.learn([(3, "broker-3.internal", 9092)])
            assert (await client.request(ASK, node=3)).cluster_id == "User:ANONYMOUS"
            assert (await client.request(ASK, node=address)).cluster_id == "User:ANONYMOUS"
            await client.close()

    run(work)


@pytest.mark.parametrize("is_secured", [False, True])
def test_a_node_of_another_cluster_is_one_line_at_once(is_secured: bool) -> None:
    async def work() -> None:
        mechanisms = sasl_server_mechanisms(["PLAIN"], StaticCredentials({"alice": "a"})) if is_secured else None
        login = {"protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN", "username": "alice", "password": "a"} if is_secured else {}
        options = {"security": SecurityConfig(**login), "attempts_max": 0, **QUICK}
        async with listening(mechanisms=mechanisms, identity=NodeIdentity("here", 3)) as (listener, address):
            for cluster_id, node_id in (("there", 3), ("here", 4)):
                client = AsyncClient([], **options)
                client.learn([(node_id, *address)], cluster_id)
                with pytest.raises(ConnectError) as caught:
                    await client.request(ASK, node=node_id)
                assert str(caught.value) == f"{address}: it is not node {node_id} of cluster {cluster_id}, but another one"
                await client.close()
            assert listener.counters.accepted == 2
            # Who is right, who knows no cluster, who does not want to know, and an address that stands for several.
            for nodes, cluster_id, checks in (([3], "here", True), ([4], "", True), ([4], "there", False), ([4, 5], "there", True)):
                client = AsyncClient([], checks_cluster=checks, **options)
                client.learn([(node, *address) for node in nodes], cluster_id)
                assert (await client.request(ASK, node=nodes[0])).cluster_id
                await client.close()

    run(work)


def test_an_api_that_the_cluster_lacks_is_one_line() -> None:
    async def work() -> None:
        async with listening() as (_, address):
            client = AsyncClient([address], attempts_max=0, **QUICK)
            with pytest.raises(ConnectError, match="api key 52: the peer does not have it"):
                await client.request(VoteRequest())
            await client.close()

    run(work)


class Threaded:
    """A listener on a loop in another thread, for the blocking face."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        self._ready.wait(120)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        async with listening(answer) as (_, self.address):
            self._ready.set()
            await self._stop.wait()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(120)


def test_the_blocking_face_needs_no_loop() -> None:
    service = Threaded()
    try:
        with Client([service.address], **QUICK) as client:
            assert client.request(ASK).cluster_id == "User:ANONYMOUS"
            client.nodes[7] = service.address
            assert client.request(ASK, node=7).cluster_id == "User:ANONYMOUS"

            async def both(inner: AsyncClient) -> list[Any]:
                return await asyncio.gather(inner.request(ASK), inner.request(ASK, node=7))

            assert [each.cluster_id for each in client.run(both)] == ["User:ANONYMOUS"] * 2
    finally:
        service.close()


def test_the_blocking_face_fails_in_one_line() -> None:
    with closed_port() as dead, Client([dead], **QUICK) as client, pytest.raises(ConnectError) as caught:
        client.request(ASK)
    assert str(caught.value) == f"{dead}: Connection refused"
