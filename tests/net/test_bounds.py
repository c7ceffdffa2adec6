"""What a listener's bounds do: large requests, many of them at once, many connections."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

import pytest

from metashell.codec.messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from metashell.common.runtime import room_for_connections
from metashell.net.accepted_connection import AcceptedConnection, ServerRequest
from metashell.net.addresses import Address
from metashell.net.api_versions import supported_ranges
from metashell.net.frames import FrameReader, decode_response, encode_request, frame
from metashell.net.listener_options import SMALL_LIMIT, VALUE_SIZE, Closed, ConnectionLimits, Received, Undecoded
from metashell.net.server_connection import ServerConnection
from tests.net.loops import listening, run
from tests.net.wires import server_events, server_of

RANGES = supported_ranges([19, 60, 63])
HEARTBEAT = encode_request(BrokerHeartbeatRequest(), 1, 1, "b")


def create(count: int, number: int = 1) -> bytes:
    """A request for so many topics, as a whole frame."""
    topics = tuple(CreateTopicsRequest.CreatableTopic(name=f"topic-{each}") for each in range(count))
    return encode_request(CreateTopicsRequest(topics=topics), 7, number, "b")


def begun(key: int, version: int, size: int) -> bytes:
    """The first twelve bytes of a frame."""
    return struct.pack(">ihhi", size, key, version, 1)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (begun(19, 7, (100 << 20) + 1), "a frame of 104857601 bytes, the limit is 104857600"),
        (begun(63, 1, SMALL_LIMIT + 1), "a request of 65537 bytes of api key 63, the limit is 65536"),
        (begun(19, 99, SMALL_LIMIT + 1), "a request of 65537 bytes of api key 19 version 99, which is not served here"),
        (begun(7, 0, SMALL_LIMIT + 1), "a request of 65537 bytes of api key 7 version 0, which is not served here"),
    ],
)
def test_a_large_request_that_cannot_be_taken_is_refused_at_its_header(data: bytes, told: str) -> None:
    server = server_of(RANGES)
    server.receive_data(data)
    assert server_events(server) == [Closed(f"the peer sent {told}")]


def test_a_large_request_is_waited_for_and_set_aside() -> None:
    server = server_of(RANGES)
    data = create(20_000)
    assert len(data) > 5 * SMALL_LIMIT
    for start in range(0, len(data), 50_000):
        assert start - 4 <= server.held_size <= start
        assert server_events(server) == []
        server.receive_data(memoryview(data)[start : start + 50_000])
    server.receive_data(HEARTBEAT)
    (aside,) = server_events(server)
    assert isinstance(aside, Undecoded) and not server.wants_read and server.held_size == len(data) - 4 + len(HEARTBEAT)
    assert server_events(server) == []  # what comes behind it waits
    server.decoded(aside.decode())
    large, small = server_events(server)
    assert isinstance(large, Received) and isinstance(small, Received)
    assert [topic.name for topic in large.message.topics[:2]] == ["topic-0", "topic-1"] and len(large.message.topics) == 20_000
    assert server.held_size > len(data) + 20_000 * VALUE_SIZE
    server.respond(small.request_id, BrokerHeartbeatResponse())
    assert server.take_output() == b""
    server.respond(large.request_id, CreateTopicsResponse())
    reader = FrameReader(1 << 20)
    reader.feed(server.take_output())
    assert [decode_response(reader.next_frame() or b"", *api)[0] for api in ((19, 7), (63, 1))] == [1, 1]
    assert server.held_size == 0


def test_more_values_than_are_allowed_end_the_connection() -> None:
    server = server_of(RANGES, limits=ConnectionLimits(values_max=1000))
    server.receive_data(create(1000))
    (aside,) = server_events(server)
    assert isinstance(aside, Undecoded)
    server.decoded(aside.decode())
    (closed,) = server_events(server)
    assert isinstance(closed, Closed) and "5000 values more than can be taken" in closed.reason


def test_a_malformed_large_request_ends_the_connection() -> None:
    server = server_of(RANGES)
    server.receive_data(frame(create(2000)[4:-3]))
    (aside,) = server_events(server)
    assert isinstance(aside, Undecoded)
    server.decoded(aside.decode())
    assert server_events(server) == [Closed("the peer sent a malformed request: CreateTopicsRequest: malformed")]


def test_what_is_decoded_for_a_connection_that_is_over_is_forgotten() -> None:
    server = server_of(RANGES)
    server.receive_data(create(2000))
    (aside,) = server_events(server)
    assert isinstance(aside, Undecoded)
    server.connection_lost()
    server.decoded(aside.decode())
    assert [type(event) for event in server_events(server)] == [Closed]
    assert server.held_size == 0


def answer(request: ServerRequest) -> None:
    match request.header.api_key:
        case 19:
            results = tuple(CreateTopicsResponse.CreatableTopicResult(name=topic.name) for topic in request.message.topics[-1:])
            request.respond(CreateTopicsResponse(topics=results))
        case 60:
            request.respond(DescribeClusterResponse())
        case _:
            request.respond(BrokerHeartbeatResponse())


async def answered(reader: asyncio.StreamReader, key: int, version: int) -> tuple[int, Any]:
    size = int.from_bytes(await reader.readexactly(4), "big")
    return decode_response(await reader.readexactly(size), key, version)


def test_large_and_small_requests_of_one_connection_are_answered_in_order() -> None:
    async def work() -> None:
        async with listening(answer, ranges=RANGES) as (listener, address):
            reader, writer = await asyncio.open_connection(*address)
            for number in range(1, 7):
                writer.write(create(3000 if number % 2 else 1, number))
            for number in range(1, 7):
                found, message = await answered(reader, 19, 7)
                assert (found, message.topics[0].name) == (number, "topic-2999" if number % 2 else "topic-0")
            assert listener.counters.decoded_aside == 3
            writer.close()

    run(work)


def test_a_thousand_requests_of_one_connection_keep_no_other_waiting() -> None:
    async def work() -> None:
        seen: list[int] = []

        def on_request(request: ServerRequest) -> None:
            seen.append(request.connection_id)
            answer(request)

        limits = ConnectionLimits(turn_max=8)
        async with listening(on_request, ranges=RANGES, limits=limits) as (_, address):
            greedy, other = await asyncio.open_connection(*address), await asyncio.open_connection(*address)
            other[1].write(HEARTBEAT)
            await answered(other[0], 63, 1)
            greedy[1].write(HEARTBEAT * 1000)
            while seen.count(1) < 50:
                await asyncio.sleep(0)
            before = len(seen)
            other[1].write(HEARTBEAT)
            await answered(other[0], 63, 1)
            # A few turns of the loop, each with eight requests of the greedy one.
            assert seen[before:].index(2) <= 8 * 8 and seen.count(1) < 500
            for _ in range(1000):
                await answered(greedy[0], 63, 1)
            for _, writer in (greedy, other):
                writer.close()

    run(work)


def test_one_host_has_no_more_connections_than_it_may() -> None:
    async def work() -> None:
        async with listening(connections_max_per_host=2, connections_max_of={"127.0.0.3": 1}) as (listener, address):
            opened = []
            for host in ("127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.3"):
                opened.append(await asyncio.open_connection(*address, local_addr=(host, 0)))
            while listener.counters.accepted + listener.counters.dropped < 6:
                await asyncio.sleep(0)
            assert (listener.counters.open, listener.counters.dropped) == (4, 2)
            opened[0][1].close()
            while listener.counters.open == 4:
                await asyncio.sleep(0)
            opened.append(await asyncio.open_connection(*address, local_addr=("127.0.0.1", 0)))
            while listener.counters.accepted + listener.counters.dropped < 7:
                await asyncio.sleep(0)
            assert (listener.counters.open, listener.counters.dropped) == (4, 2)
            for _, writer in opened:
                writer.close()

    run(work)


@pytest.mark.parametrize(("descriptors", "room"), [(100, 50), (256, 128), (512, 256), (1024, 768), (20_000, 19_744)])
def test_connections_leave_descriptors_to_the_disk(descriptors: int, room: int) -> None:
    assert room_for_connections(descriptors) == room


def test_hundreds_of_idle_connections_are_left_alone_when_nothing_is_idle_for_too_long() -> None:
    async def work() -> None:
        async with listening(idle_timeout_s=None) as (listener, address):
            idle = [await asyncio.open_connection(*address) for _ in range(300)]
            writer = idle[-1][1]
            writer.write(encode_request(DescribeClusterRequest(), 1, 1, None))
            assert (await answered(idle[-1][0], 60, 1))[0] == 1
            assert listener.counters.open == 300
            for _, writer in idle:
                writer.close()

    run(work)


def test_the_addresses_of_peers_are_as_java_writes_them() -> None:
    async def work() -> None:
        hosts = []

        def on_request(request: ServerRequest) -> None:
            hosts.append((request.host, request.client_id, request.security_protocol, request.is_token_authenticated))
            answer(request)

        async with listening(on_request, host="::1") as (listener, _):
            reader, writer = await asyncio.open_connection(*Address("::1", listener.port))
            writer.write(encode_request(DescribeClusterRequest(), 1, 1, None))
            await answered(reader, 60, 1)
            assert hosts == [("0:0:0:0:0:0:0:1", "", 0, False)]
            writer.close()

    run(work)


def test_the_core_of_an_idle_connection_is_small() -> None:
    import tracemalloc

    terms = server_of(RANGES).terms
    ServerConnection(terms)
    tracemalloc.start()
    try:
        kept = [ServerConnection(terms) for _ in range(200)]
        size = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert size / len(kept) < 1000


def test_a_connection_that_was_accepted_right_before_the_listener_stopped_is_closed() -> None:
    """Its protocol is made a turn of the loop after the socket was accepted; nobody would ever answer it or close it."""

    async def main() -> None:
        async with listening() as (listener, _):
            await listener.stop()
            ours, theirs = socket.socketpair()
            with ours:
                await asyncio.get_running_loop().connect_accepted_socket(lambda: AcceptedConnection(listener), theirs)
                ours.setblocking(False)
                assert await asyncio.get_running_loop().sock_recv(ours, 1) == b""

    run(main)
