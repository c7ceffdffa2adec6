"""Real sockets on loopback: what the cores decide reaches the other side, and nothing grows without bounds."""

from __future__ import annotations

import asyncio
import gc
import socket
import struct
from contextlib import suppress

import pytest

from metashell.codec.messages import DescribeClusterRequest, DescribeClusterResponse
from metashell.common.errors import UsageError
from metashell.net.accepted_connection import ServerRequest
from metashell.net.addresses import Address
from metashell.net.client_connection import ClientConnection
from metashell.net.frames import encode_request
from metashell.net.listener import serve
from metashell.net.listener_options import ConnectionLimits, ListenerOptions
from metashell.net.sasl import PlainClient, StaticCredentials, sasl_server_mechanisms
from metashell.net.transport import ConnectionFailedError, connect, reason_of
from tests.net.loops import LIMIT_S, RANGES, answer, listening, run

ASK = DescribeClusterRequest()


async def eof(reader: asyncio.StreamReader) -> bytes:
    """What comes until the peer closes, or resets, the connection."""
    found = b""
    try:
        while data := await reader.read(65536):
            found += data
    except ConnectionError:
        pass
    return found


def test_many_requests_share_a_connection() -> None:
    async def work() -> None:
        async with listening() as (listener, address):
            connection = await connect(address)
            answers = await asyncio.gather(*(connection.request(ASK) for _ in range(500)))
            assert {answer.cluster_id for answer in answers} == {"User:ANONYMOUS"}
            assert (listener.counters.requests, listener.counters.accepted) == (500, 1)
            connection.close()
            await connection.wait_closed()

    run(work)


def test_an_answer_that_is_parked_holds_back_its_own_connection_only() -> None:
    async def work() -> None:
        parked: list[ServerRequest] = []

        def on_request(request: ServerRequest) -> None:
            if request.header.client_id == "slow" and not parked:
                parked.append(request)
            else:
                request.respond(DescribeClusterResponse(cluster_id=request.header.client_id))

        async with listening(on_request) as (_, address):
            slow = await connect(address, core=ClientConnection(client_id="slow"))
            quick = await connect(address, core=ClientConnection(client_id="quick"))
            first, second = asyncio.create_task(slow.request(ASK)), asyncio.create_task(slow.request(ASK))
            while not parked:
                await quick.request(ASK)
            for _ in range(20):
                assert (await quick.request(ASK)).cluster_id == "quick"
            assert not first.done() and not second.done()
            parked[0].respond(DescribeClusterResponse(cluster_id="late"))
            assert ((await first).cluster_id, (await second).cluster_id) == ("late", "slow")

    run(work)


def test_a_request_of_a_connection_that_ended_is_cancelled() -> None:
    async def work() -> None:
        asked: asyncio.Queue[ServerRequest] = asyncio.Queue()
        ended: asyncio.Queue[tuple[int, str]] = asyncio.Queue()
        options = ListenerOptions(ranges=RANGES)
        listener = await serve(asked.put_nowait, options, on_closed=lambda number, reason: ended.put_nowait((number, reason)))
        connection = await connect(Address("127.0.0.1", listener.port))
        waiting = asyncio.create_task(connection.request(ASK))
        request = await asked.get()
        assert not request.cancelled
        connection.close("changed my mind")
        with pytest.raises(ConnectionFailedError, match="changed my mind"):
            await waiting
        assert await ended.get() == (request.connection_id, "the peer closed the connection")
        assert request.cancelled
        request.respond(DescribeClusterResponse())
        await listener.stop()

    run(work)


def test_a_request_that_is_not_answered_in_time_ends_the_connection() -> None:
    async def work() -> None:
        async with listening(lambda request: None) as (_, address):
            connection = await connect(address)
            with pytest.raises(ConnectionFailedError, match=r"no answer within 0\.05 s"):
                await connection.request(ASK, timeout_s=0.05)
            assert connection.closed == "no answer within 0.05 s"

    run(work)


def test_a_peer_that_reads_nothing_is_not_read_from() -> None:
    async def work() -> None:
        def on_request(request: ServerRequest) -> None:
            request.respond(DescribeClusterResponse(cluster_id="x" * 30_000))

        limits = ConnectionLimits(output_max=200_000)
        async with listening(on_request, limits=limits) as (listener, address):
            count = 200_000
            with socket.socket() as lazy:
                lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                lazy.setblocking(False)
                loop = asyncio.get_running_loop()
                await loop.sock_connect(lazy, address)
                sending = asyncio.create_task(loop.sock_sendall(lazy, encode_request(ASK, 1, 1, None) * count))
                before = -1
                while not listener.counters.reading_paused or listener.counters.requests != before:
                    before = listener.counters.requests
                    for _ in range(20):
                        await asyncio.sleep(0)
                assert before < count / 100 and listener.held_size < 1_000_000
                # Others are served all the same.
                assert await (await connect(address)).request(ASK)
                assert listener.counters.requests == before + 1
                # When it reads, it gets more.
                while listener.counters.requests == before + 1:
                    await loop.sock_recv(lazy, 1 << 20)
                sending.cancel()

    run(work)


def test_connections_beyond_the_bound_are_dropped_and_counted() -> None:
    async def work() -> None:
        async with listening(connections_max=3) as (listener, address):
            kept = [await connect(address) for _ in range(3)]
            for _ in range(5):
                with pytest.raises(ConnectionFailedError):
                    await connect(address)
            assert (listener.counters.dropped, listener.counters.open) == (5, 3)
            assert await kept[0].request(ASK)
            kept[1].close()
            await kept[1].wait_closed()
            while listener.counters.open == 3:
                await asyncio.sleep(0)
            assert await (await connect(address)).request(ASK)

    run(work)


def test_the_oldest_unfinished_request_goes_when_all_hold_too_much() -> None:
    async def work() -> None:
        async with listening(held_max=300_000) as (listener, address):
            good = await connect(address)
            greedy = [await asyncio.open_connection(*address) for _ in range(3)]
            for (_, writer), size in zip(greedy, (90_000, 150_000, 100_000), strict=True):
                writer.write(struct.pack(">ihhih", 10_000_000, 3, 12, 1, -1) + b"x" * size)
                while listener.held_size < size:
                    await asyncio.sleep(0)
            assert await eof(greedy[0][0]) == b""
            assert (listener.counters.crowded_out, listener.counters.open) == (1, 3)
            assert listener.held_size <= 300_000
            assert await good.request(ASK)
            for _, writer in greedy:
                writer.close()

    run(work)


@pytest.mark.parametrize("sent", [b"", b"\0\0\1\0", struct.pack(">i", 100) + b"x" * 50], ids=["nothing", "a length", "half a frame"])
def test_an_idle_connection_is_closed(sent: bytes) -> None:
    async def work() -> None:
        async with listening(idle_timeout_s=0.05) as (listener, address):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(sent)
            assert await eof(reader) == b""
            assert listener.counters.idle_closed == 1
            writer.close()

    run(work)


def test_bytes_that_never_become_a_request_do_not_count_as_life() -> None:
    async def work() -> None:
        async with listening(idle_timeout_s=0.05) as (listener, address):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(struct.pack(">ihhih", 1_000_000, 3, 12, 1, -1))
            while not listener.counters.idle_closed:
                writer.write(b"x")
                await asyncio.sleep(0)
            assert await eof(reader) == b""
            writer.close()

    run(work)


def test_a_peer_that_does_not_say_who_it_is_in_time_is_closed() -> None:
    async def work() -> None:
        mechanisms = sasl_server_mechanisms(["PLAIN"], StaticCredentials({"alice": "a"}))
        async with listening(mechanisms=mechanisms, handshake_timeout_s=0.05) as (listener, address):
            reader, writer = await asyncio.open_connection(*address)
            assert await eof(reader) == b""
            assert listener.counters.handshake_timeouts == 1
            writer.close()

    run(work)


def test_a_refused_login_reaches_the_client_as_one_line() -> None:
    async def work() -> None:
        mechanisms = sasl_server_mechanisms(["PLAIN"], StaticCredentials({"alice": "a"}))
        async with listening(mechanisms=mechanisms) as (listener, address):
            with pytest.raises(ConnectionFailedError, match=r"authentication failed: .*Invalid username or password") as caught:
                await connect(address, core=ClientConnection(sasl=PlainClient("alice", "b")))
            assert caught.value.authentication
            good = await connect(address, core=ClientConnection(sasl=PlainClient("alice", "a")))
            assert (await good.request(ASK)).cluster_id == "User:alice"
            assert listener.counters.authentication_failures == 1

    run(work)


def test_a_listener_that_stops_lets_open_requests_finish() -> None:
    async def work() -> None:
        asked: asyncio.Queue[ServerRequest] = asyncio.Queue()
        listener = await serve(asked.put_nowait, ListenerOptions(ranges=RANGES))
        address = Address("127.0.0.1", listener.port)
        busy, idle = await connect(address), await connect(address)
        waiting = asyncio.create_task(busy.request(ASK))
        request = await asked.get()
        stopping = asyncio.create_task(listener.stop(grace_s=10))
        await idle.wait_closed()
        with pytest.raises(ConnectionFailedError, match="Connection refused"):
            await connect(address)
        request.respond(DescribeClusterResponse(cluster_id="done"))
        assert (await waiting).cluster_id == "done"
        await stopping
        assert busy.closed or not await busy.wait_closed()

    run(work)


def test_a_listener_that_stops_waits_no_longer_than_its_grace() -> None:
    async def work() -> None:
        asked: asyncio.Queue[ServerRequest] = asyncio.Queue()
        listener = await serve(asked.put_nowait, ListenerOptions(ranges=RANGES))
        connection = await connect(Address("127.0.0.1", listener.port))
        waiting = asyncio.create_task(connection.request(ASK))
        request = await asked.get()
        await listener.stop(grace_s=0.01)
        with pytest.raises(ConnectionFailedError, match="the peer closed the connection"):
            await waiting
        assert request.cancelled

    run(work)


def test_a_listener_that_stops_does_not_wait_for_who_has_left() -> None:
    async def work() -> None:
        asked: asyncio.Queue[ServerRequest] = asyncio.Queue()
        listener = await serve(asked.put_nowait, ListenerOptions(ranges=RANGES))
        connection = await connect(Address("127.0.0.1", listener.port))
        waiting = asyncio.create_task(connection.request(ASK))
        await asked.get()
        stopping = asyncio.create_task(listener.stop(grace_s=1e6))
        await asyncio.sleep(0)
        connection.close("leaving")
        with pytest.raises(ConnectionFailedError, match="leaving"):
            await waiting
        await stopping

    run(work)


def test_a_mistake_with_one_request_ends_its_connection_only() -> None:
    async def work() -> None:
        told = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["message"]))

        def on_request(request: ServerRequest) -> None:
            if request.header.client_id == "unlucky":
                raise RuntimeError("a mistake of ours")
            request.respond(DescribeClusterResponse())

        async with listening(on_request) as (_, address):
            lucky = await connect(address)
            unlucky = await connect(address, core=ClientConnection(client_id="unlucky"))
            with pytest.raises(ConnectionFailedError):
                await unlucky.request(ASK)
            assert await lucky.request(ASK)
        assert told == ["a request of api key 60 failed"]

    asyncio.run(work())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_plaintext_where_others_reach_it_must_be_allowed(host: str) -> None:
    async def work() -> None:
        with pytest.raises(UsageError, match="a PLAINTEXT listener that others can reach must be allowed"):
            await serve(lambda request: None, ListenerOptions(ranges=RANGES, host=host))
        plain = sasl_server_mechanisms(["SCRAM-SHA-256", "PLAIN"], StaticCredentials({}))
        with pytest.raises(UsageError, match="PLAIN on a SASL_PLAINTEXT listener"):
            await serve(lambda request: None, ListenerOptions(ranges=RANGES, host=host, mechanisms=plain))

    run(work)


def test_the_address_may_be_of_the_sixth_version() -> None:
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            pytest.skip("no IPv6 loopback on this machine")

    async def work() -> None:
        async with listening(host="::1") as (listener, _):
            connection = await connect(Address("::1", listener.port))
            assert await connection.request(ASK)

    run(work)


def test_a_name_with_several_addresses_gives_each_reason_once() -> None:
    error = OSError(
        "Multiple exceptions: [Errno 111] Connect call failed ('::1', 9, 0, 0), [Errno 111] Connect call failed ('127.0.0.1', 9)"
    )
    assert reason_of(error) == "Connection refused"


def test_plaintext_elsewhere_binds_when_it_is_allowed() -> None:
    async def work() -> None:
        async with listening(host="0.0.0.0", allow_plaintext=True) as (_, address):
            assert await (await connect(address)).request(ASK)

    run(work)


def test_a_host_that_never_answers_times_out() -> None:
    async def work() -> None:
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            with pytest.raises(ConnectionFailedError, match=r"^connected, but no answer within 0\.05 s$"):
                await connect(Address("127.0.0.1", silent.getsockname()[1]), timeout_s=0.05)

    run(work)


def test_a_peer_that_resets_what_it_does_not_understand_is_asked_about() -> None:
    async def work() -> None:
        async def reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()

        async with await asyncio.start_server(reset, "127.0.0.1", 0) as server:
            with pytest.raises(ConnectionFailedError, match=r"closed the connection during the handshake \(is it a Kafka listener"):
                await connect(Address("127.0.0.1", server.sockets[0].getsockname()[1]))

    run(work)


@pytest.mark.parametrize("turns", range(4))
def test_a_listener_that_stops_closes_what_it_was_about_to_accept(turns: int) -> None:
    async def work() -> None:
        listener = await serve(answer, ListenerOptions(ranges=RANGES))
        with socket.create_connection(("127.0.0.1", listener.port), LIMIT_S) as early:
            for _ in range(turns):
                await asyncio.sleep(0)
            await listener.stop()
            gc.collect()  # a socket that was lost is told of here, and fails the test
            early.setblocking(False)
            with suppress(ConnectionError):
                assert await asyncio.get_running_loop().sock_recv(early, 1) == b""
        assert listener.counters.open == 0

    run(work)


def test_a_name_that_nobody_knows_is_one_line() -> None:
    async def work() -> None:
        with pytest.raises(ConnectionFailedError) as caught:
            await connect(Address("does-not-exist.invalid", 9092))
        assert "\n" not in str(caught.value)

    run(work)


@pytest.mark.parametrize(
    "host", ["x" * 64, "nul\0", "..", "\udcff", "\u00fc" * 80], ids=["long", "nul", "empty label", "surrogate", "idna"]
)
def test_what_is_no_host_name_is_a_failed_connection(host: str) -> None:
    async def main() -> None:
        with pytest.raises(ConnectionFailedError):
            await connect(Address(host, 1), timeout_s=5)

    run(main)
