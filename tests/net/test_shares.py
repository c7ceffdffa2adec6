"""What one sender cannot take from the others: descriptors, memory, and time, over real listeners with small numbers."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
import struct
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from metashell.codec.messages import CreateTopicsResponse, DescribeClusterRequest
from metashell.common import runtime
from metashell.net import shares
from metashell.net.accepted_connection import ServerRequest
from metashell.net.addresses import Address
from metashell.net.api_versions import supported_ranges
from metashell.net.client_connection import ClientConnection
from metashell.net.frames import encode_request
from metashell.net.listener import Listener
from metashell.net.listener_options import ConnectionLimits, Refuse
from metashell.net.sasl import PlainClient, StaticCredentials, sasl_server_mechanisms
from metashell.net.shares import connections_of_process, shares_of_loop
from metashell.net.transport import connect
from tests.net.loops import answer, listening, run
from tests.net.test_bounds import answered, create

MECHANISMS = sasl_server_mechanisms(["PLAIN"], StaticCredentials({"eve": "pw", "admin": "pw"}))
ASK = encode_request(DescribeClusterRequest(), 1, 7, None)
VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)
RANGES = supported_ranges([19, 60])


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only loops that begin from now on count: what other tests still have in threads of theirs does not."""
    monkeypatch.setattr(shares, "_of_loops", weakref.WeakKeyDictionary())


@pytest.fixture
def few(alone: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that may have 64 descriptors: 32 for connections, 8 of these for strangers."""
    monkeypatch.setattr(shares, "descriptors_max", lambda: 64)
    yield


async def opened(address: Address, host: str = "127.0.0.1") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(*address, local_addr=(host, 0))


async def is_open(reader: asyncio.StreamReader) -> bool:
    """Whether the listener has not closed a connection."""
    try:
        async with asyncio.timeout(0.01):
            return await reader.read(1) != b""
    except TimeoutError:
        return True
    except ConnectionError:
        return False


async def logged_in(address: Address, name: str) -> Any:
    return await connect(address, core=ClientConnection(sasl=PlainClient(name, "pw")))


async def until(check: Any) -> None:
    while not check():
        await asyncio.sleep(0)


@pytest.mark.usefixtures("few")
def test_strangers_of_all_listeners_have_one_small_share_and_the_longest_idle_makes_room() -> None:
    async def work() -> None:
        async with listening(mechanisms=MECHANISMS) as (first, one), listening(mechanisms=MECHANISMS) as (second, other):
            admin = await logged_in(one, "admin")
            idle = [await opened((one, other)[number % 2]) for number in range(7)]
            await until(lambda: first.counters.open + second.counters.open == 8)
            idle[0][1].write(VERSIONS)  # It is not the one that was idle the longest.
            await idle[0][0].readexactly(4)
            for number in range(7, 10):
                idle.append(await opened((one, other)[number % 2]))
            await until(lambda: first.counters.evicted + second.counters.evicted == 2)
            assert len(shares_of_loop()) == 9
            assert [await is_open(reader) for reader, _ in idle[:4]] == [True, False, False, True]
            # Who logs in finds room, and who has is left alone.
            assert (await admin.request(DescribeClusterRequest())).cluster_id == "User:admin"
            again = await logged_in(other, "admin")
            assert (await again.request(DescribeClusterRequest())).cluster_id == "User:admin"
            for each in (admin, again):
                each.close()
            for _, writer in idle:
                writer.close()

    run(work)


@pytest.mark.usefixtures("few")
def test_one_login_on_many_connections_leaves_room_to_others() -> None:
    async def work() -> None:
        async with listening(mechanisms=MECHANISMS) as (listener, address):
            admin = await logged_in(address, "admin")
            greedy = [await logged_in(address, "eve") for _ in range(40)]
            assert len(shares_of_loop()) <= 32
            assert (await admin.request(DescribeClusterRequest())).cluster_id == "User:admin"
            assert (await (await logged_in(address, "admin")).request(DescribeClusterRequest())).cluster_id == "User:admin"
            assert [bool(each.closed) for each in greedy[:3]] == [True] * 3 and not greedy[-1].closed
            assert listener.counters.evicted >= 40 - 24

    run(work)


@pytest.mark.usefixtures("alone")
def test_what_was_left_open_on_a_loop_that_is_closed_takes_no_room() -> None:
    class Left:
        """A connection that nobody closes; it refers to its loop, as real ones do."""

        def __init__(self) -> None:
            self.loop = asyncio.get_running_loop()

    async def leave_open() -> tuple[weakref.ref[Left], int]:
        left: Any = Left()
        shares_of_loop().admit(left)
        return weakref.ref(left), connections_of_process()

    left, during = asyncio.run(leave_open())
    assert (during, connections_of_process()) == (1, 0)
    assert left() is None


def test_a_full_table_of_descriptors_is_one_line_and_the_next_connection_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        lines: list[str] = []
        listener = await serve_with(lines.append)
        address = Address("127.0.0.1", listener.port)
        (held,) = listener._sockets
        full = 3

        class Full:
            """A socket whose first connections cannot be accepted."""

            def fileno(self) -> int:
                return held.fileno()

            def accept(self) -> tuple[socket.socket, Any]:
                nonlocal full
                if full:
                    full -= 1
                    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
                return held.accept()

        loop = asyncio.get_running_loop()
        loop.remove_reader(held)
        loop.add_reader(held, listener._accept, Full())
        reader, writer = await opened(address)
        writer.write(ASK)
        assert len(await reader.readexactly(4)) == 4
        assert listener.counters.table_full == 3
        assert lines == ["listener PLAINTEXT: a connection cannot be accepted: Too many open files (1 since the last such line)"]
        writer.close()
        await listener.stop()

    monkeypatch.setattr("metashell.net.listener.FULL_PAUSE_S", 0.0)
    run(work)


async def serve_with(on_event: Any) -> Listener:
    from metashell.net.listener import serve
    from metashell.net.listener_options import ListenerOptions

    return await serve(answer, ListenerOptions(ranges=RANGES), on_event=on_event)


def test_a_process_that_serves_may_have_as_many_descriptors_as_the_system_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"now": (256, 4096)}
    monkeypatch.setattr(resource, "getrlimit", lambda which: limits["now"])
    monkeypatch.setattr(resource, "setrlimit", lambda which, wanted: limits.update(now=wanted))
    monkeypatch.setattr("sys.setswitchinterval", lambda seconds: None)
    assert runtime.descriptors_max() == 256
    runtime.prepare_process()
    assert limits["now"] == (4096, 4096) and runtime.descriptors_max() == 4096
    runtime.prepare_process()
    assert limits["now"] == (4096, 4096)


def test_unfinished_requests_of_one_sender_shut_out_nobody_elses_large_request() -> None:
    """All that may be held is held by eve, on many connections; admin's request of 512 KiB is answered, and again."""

    async def work() -> None:
        def on_request(request: ServerRequest) -> None:
            request.respond(CreateTopicsResponse())

        async with listening(on_request, ranges=RANGES, held_max=8 << 20) as (listener, address):
            begun = struct.pack(">ihhih", 90 << 20, 19, 7, 1, -1) + b"\0" * (256 * 1024)
            greedy = [await opened(address, "127.0.0.2") for _ in range(40)]
            for _, writer in greedy:
                writer.write(begun)
            await until(lambda: listener.counters.crowded_out >= 8)
            before = listener.counters.crowded_out
            large = create(42_000)
            assert len(large) > 512 * 1024
            reader, writer = await opened(address)
            for _ in range(3):
                writer.write(large)
                assert (await answered(reader, 19, 7))[0] == 1
            assert listener.counters.crowded_out > before
            writer.close()
            for _, each in greedy:
                each.close()

    run(work)


def test_of_what_is_held_under_pressure_the_oldest_of_whoever_holds_most_goes_and_peers_last() -> None:
    async def work() -> None:
        def on_request(request: ServerRequest) -> None:
            if request.host == "127.0.0.3":
                request.trust()
            answer(request)

        def begun(size: int) -> bytes:
            return struct.pack(">ihhih", 90 << 20, 19, 7, 1, -1) + b"\0" * size

        async with listening(on_request, ranges=RANGES, held_max=100 << 20) as (listener, address):
            listener.shares.held_max = (8 << 20) + 64 * 1024
            peer = await opened(address, "127.0.0.3")
            peer[1].write(ASK)
            await peer[0].readexactly(4)
            peer[1].write(begun(3 << 20))
            await until(lambda: listener.held_size >= 3 << 20)
            modest = await opened(address, "127.0.0.4")
            modest[1].write(begun(1 << 20))
            await until(lambda: listener.held_size >= 4 << 20)
            greedy = [await opened(address, "127.0.0.2") for _ in range(6)]
            for number, (_, writer) in enumerate(greedy[:4], 1):
                writer.write(begun(1 << 20))
                await until(lambda number=number: listener.held_size >= (4 + number << 20) or listener.counters.crowded_out)
            for _, writer in greedy[4:]:
                writer.write(begun(1 << 20))
            await until(lambda: listener.counters.crowded_out >= 2)
            assert [await is_open(reader) for reader, _ in greedy] == [False, False, True, True, True, True]
            for _, writer in (peer, modest, *greedy):
                writer.close()

    run(work)


def test_requests_before_a_login_without_end_keep_nobody_waiting() -> None:
    """Each flooding connection has thousands of requests in the listener's buffers; another's takes its turn between a few of them."""

    async def work() -> None:
        async with listening(mechanisms=MECHANISMS) as (listener, address):
            admin = await logged_in(address, "admin")
            floods = [await opened(address, "127.0.0.2") for _ in range(20)]
            for _, writer in floods:
                writer.write(VERSIONS * 3000)
            await until(lambda: listener.counters.responses >= 100)
            for _ in range(3):
                before = listener.counters.responses
                await admin.request(DescribeClusterRequest())
                # A few turns of the loop, each with some milliseconds of theirs.
                assert listener.counters.responses - before < 5000
            before = listener.counters.responses
            newcomer = await logged_in(address, "admin")
            assert listener.counters.responses - before < 20_000
            assert before < 60_000
            for each in (admin, newcomer):
                each.close()
            for _, writer in floods:
                writer.transport.abort()

    run(work)


def test_large_requests_of_one_sender_are_decoded_in_turns_with_those_of_others() -> None:
    async def work() -> None:
        order: list[str] = []

        def on_request(request: ServerRequest) -> None:
            order.append(request.host)
            request.respond(CreateTopicsResponse())

        async with listening(on_request, ranges=RANGES, limits=ConnectionLimits(requests_max=100)) as (_, address):
            large = create(3000)
            greedy = [await opened(address, "127.0.0.2") for _ in range(10)]
            for _, writer in greedy:
                writer.write(large * 3)
            await until(lambda: len(order) >= 3)
            reader, writer = await opened(address)
            before = len(order)
            writer.write(create(2000))
            await answered(reader, 19, 7)
            assert order.index("127.0.0.1") <= before + 3
            await until(lambda: len(order) == 31)
            writer.close()
            for _, each in greedy:
                each.close()

    run(work)


def test_a_request_that_is_refused_ahead_never_reaches_the_function_that_answers() -> None:
    async def work() -> None:
        seen: list[str] = []

        def on_large(request: ServerRequest) -> Refuse | None:
            assert request.message is None and request.header.api_key == 19
            if request.host == "127.0.0.1":
                return None
            from metashell.codec.registry import message_type

            write = message_type("response", "CreateTopicsResponse").writer(7)

            def refuse(message: Any) -> bytes:
                body = bytearray()
                write(CreateTopicsResponse(throttle_time_ms=len(message.topics)), body)
                return bytes(body)

            return refuse

        def on_request(request: ServerRequest) -> None:
            seen.append(request.host)
            request.respond(CreateTopicsResponse())

        from metashell.net.listener import serve
        from metashell.net.listener_options import ListenerOptions

        listener = await serve(on_request, ListenerOptions(ranges=RANGES), on_large=on_large)
        address = Address("127.0.0.1", listener.port)
        for host in ("127.0.0.2", "127.0.0.1"):
            reader, writer = await opened(address, host)
            writer.write(create(3000))
            _, message = await answered(reader, 19, 7)
            assert message.throttle_time_ms == (3000 if host == "127.0.0.2" else 0)
            writer.close()
        assert seen == ["127.0.0.1"] and listener.counters.refused_aside == 1
        await listener.stop()

    run(work)
