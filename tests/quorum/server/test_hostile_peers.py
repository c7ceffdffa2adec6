"""What strangers do to a listener: garbage, half-open connections, thousands of connections, requests without end."""

from __future__ import annotations

import asyncio
import random
import struct
from contextlib import suppress
from pathlib import Path

import pytest

from metashell.net.addresses import Address
from metashell.net.client_connection import ClientConnection
from metashell.net.frames import encode_request as request_frame
from metashell.net.frames import frame
from metashell.net.listener_options import ConnectionLimits
from metashell.net.transport import connect
from metashell.quorum.raft import messages as flat
from metashell.quorum.raft.messages import InvalidUpdateVersionError
from metashell.quorum.raft.ready import Ready
from metashell.quorum.raft.wire import decode_response, encode_request
from metashell.quorum.server.replica_server import REQUEST_SIZE_MAX
from tests.coroutines import eventually
from tests.quorum.raft.wire.generations import GENERATIONS
from tests.quorum.server.quorum import CLUSTER_ID, Quorum, append

pytestmark = pytest.mark.slow

GARBAGE = (
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\x00\x10\x00\x01",
    b"\x00\x00\x00\x00",
    frame(b"\x00\x34\x00\x02\x00\x00\x00\x01\xff\xff\x00"),
    frame(b"\x00\x34\x00\x63\x00\x00\x00\x01\xff\xff\x00"),
    frame(b"\x03\xe7\x00\x00\x00\x00\x00\x01\xff\xff"),
)


async def test_garbage_closes_its_connection_and_nothing_else(tmp_path: Path) -> None:
    async with Quorum(tmp_path) as quorum:
        leader = await quorum.leader()
        epoch = leader.running.node.epoch
        chance = random.Random(5)
        for garbage in (*GARBAGE, *(frame(chance.randbytes(chance.randrange(1, 200))) for _ in range(50))):
            reader, writer = await asyncio.open_connection("127.0.0.1", leader.port)
            writer.write(garbage)
            if garbage.startswith(b"GET"):
                writer.write_eof()
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()
        assert leader.running.inbound.listeners["CONTROLLER"].counters.protocol_errors >= len(GARBAGE)
        assert leader.running.node.epoch == epoch
        await append(quorum, b"x")


async def test_requests_with_spoilt_fields_are_answered_or_refused_and_the_quorum_lives(tmp_path: Path) -> None:
    async with Quorum(tmp_path) as quorum:
        leader = await quorum.leader()
        chance = random.Random(7)
        epoch = leader.running.node.epoch
        good: list[tuple[flat.Request, int]] = [
            (flat.VoteRequest(CLUSTER_ID, leader.id, leader.key.directory_id, epoch, 2, bytes(16), 0, 0), 2),
            (flat.BeginQuorumEpochRequest(CLUSTER_ID, leader.id, leader.key.directory_id, leader.id, epoch), 1),
            (flat.EndQuorumEpochRequest(CLUSTER_ID, leader.id, epoch), 1),
            (flat.EndQuorumEpochRequest(CLUSTER_ID, leader.id, epoch), 0),
            (flat.FetchRequest(CLUSTER_ID, 2, bytes(16), epoch, 0, 0, 0, 1000), 17),
            (flat.DescribeQuorumRequest(), 2),
        ]
        for attempt in range(200):
            request, version = chance.choice(good)
            message = encode_request(request, version)
            data = bytearray(request_frame(message, version, attempt, "x"))
            data[chance.randrange(16, len(data))] ^= 1 << chance.randrange(8)
            reader, writer = await asyncio.open_connection("127.0.0.1", leader.port)
            writer.write(data)
            writer.write_eof()
            await reader.read()
            writer.close()
        await append(quorum, b"x")
        assert not any(member.running.driver.is_stopped for member in quorum.members.values())


async def test_half_open_connections_hold_nothing_up(tmp_path: Path) -> None:
    async with Quorum(tmp_path) as quorum:
        leader = await quorum.leader()
        silent = [await asyncio.open_connection("127.0.0.1", leader.port) for _ in range(50)]
        for _, writer in silent[::2]:
            writer.write(b"\x00\x00\x10\x00\x00\x34")
        await append(quorum, b"x")
        listener = leader.running.inbound.listeners["CONTROLLER"]
        assert listener.counters.open >= len(silent)
        for _, writer in silent:
            writer.close()
        await eventually(lambda: listener.counters.open < len(silent))


async def test_more_connections_than_allowed_are_dropped_and_peers_still_get_through(tmp_path: Path) -> None:
    quorum = Quorum(tmp_path)
    for member in quorum.members.values():
        member.connections_max = 500
    async with quorum:
        leader = await quorum.leader()
        await append(quorum, b"before")
        held = []
        for _ in range(2000):
            reader, writer = await asyncio.open_connection("127.0.0.1", leader.port)
            held.append((reader, writer))
            if len(held) > 550:  # as many descriptors as a process may have by default are not needed
                held.pop(0)[1].close()
        listener = leader.running.inbound.listeners["CONTROLLER"]
        assert listener.counters.open <= 500
        assert listener.counters.accepted + listener.counters.dropped >= 2000
        for _, writer in held:
            writer.close()
        await append(quorum, b"after")


async def test_a_peer_that_asks_without_reading_is_read_no_further(tmp_path: Path) -> None:
    quorum = Quorum(tmp_path)
    for member in quorum.members.values():
        member.limits = ConnectionLimits(requests_max=4)
    async with quorum:
        leader = await quorum.leader()
        await append(quorum, b"x")
        node = leader.running.node
        fetch = flat.FetchRequest(
            CLUSTER_ID, -1, bytes(16), node.epoch, node.log_end_offset, node.epoch, 100_000, 1000, node.high_watermark or 0
        )
        data = request_frame(encode_request(fetch, 18), 18, 1, "x")
        _, writer = await asyncio.open_connection("127.0.0.1", leader.port)
        writer.write(data * 200)
        listener = leader.running.inbound.listeners["CONTROLLER"]
        await eventually(lambda: listener.counters.reading_paused > 0)
        assert sum(parked.request.max_wait_ms == 100_000 for parked in node.parked) <= 4
        assert leader.running.inbound.waiting <= 4 + 2 * len(quorum.members)
        await append(quorum, b"y")
        writer.close()


async def test_a_peer_that_never_answers_costs_its_request_and_no_more(tmp_path: Path) -> None:
    async with Quorum(tmp_path) as quorum:
        leader = await quorum.leader()
        silenced = quorum.others(leader)[0]
        await silenced.running.kill()
        taken: list[asyncio.StreamWriter] = []

        async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            taken.append(writer)
            await reader.read()
            writer.close()

        deaf = await asyncio.start_server(swallow, "127.0.0.1", silenced.port)
        await append(quorum, b"x")
        await eventually(lambda: bool(taken))
        await append(quorum, b"y")
        deaf.close()
        for writer in taken:
            writer.close()
        silenced.server = None


async def test_a_client_may_connect_once_more_after_the_leader_has_come_back(tmp_path: Path) -> None:
    async with Quorum(tmp_path) as quorum:
        leader = await quorum.leader()
        await quorum.restart(leader, crash=True)
        connection = await connect(Address("127.0.0.1", leader.port))
        assert connection.versions[52] == 2
        connection.close()
        await append(quorum, b"x")


async def test_who_cannot_be_told_where_the_leader_is_is_told_of_none_once_voters_are_in_the_log(tmp_path: Path) -> None:
    """A replica of Kafka 3.8 dies of a leader that is not among the voters it knows; at kraft.version 0 it knows them all."""
    async with Quorum(tmp_path) as quorum:
        leader = await quorum.leader()
        await append(quorum, b"x")
        node, driver = leader.running.node, leader.running.driver
        connection = await connect(Address("127.0.0.1", leader.port), core=ClientConnection(ranges=GENERATIONS["3.7"]))
        assert connection.versions[1] == 16

        async def ask() -> flat.Response:
            request = flat.FetchRequest(CLUSTER_ID, -1, bytes(16), node.epoch, 0, 0, 0, 1 << 20)
            return decode_response(1, 16, await connection.request(encode_request(request, 16), version=16))

        served = await ask()
        assert isinstance(served, flat.FetchResponse) and (served.error, served.leader_id) == (0, leader.id) and served.records

        def upgrade(now_ms: int) -> Ready:
            with suppress(InvalidUpdateVersionError):  # until every voter has told its directory id
                node.upgrade_kraft_version(node.epoch, 1, False)
            return node.poll(now_ms)

        def is_upgraded() -> bool:
            driver.step(upgrade)
            return node.kraft_version == 1

        await eventually(is_upgraded)
        refused = await ask()
        assert isinstance(refused, flat.FetchResponse) and (refused.error, refused.leader_id, refused.records) == (6, -1, b"")
        connection.close()


async def test_a_request_that_is_larger_than_any_of_rafts_ends_its_connection(tmp_path: Path) -> None:
    """Empty entries take many times their bytes in memory: a frame of them is refused by its length."""
    async with Quorum(tmp_path) as quorum:
        leader = await quorum.leader()
        listener = leader.running.inbound.listeners["CONTROLLER"]
        for size, answered in ((REQUEST_SIZE_MAX, True), (REQUEST_SIZE_MAX + 1, False)):
            topics = b"\x01\x01\x00" * ((size - 40) // 3)
            count = len(topics) // 3 + 1
            head = struct.pack(">hhih", 52, 2, 1, -1) + b"\0\0" + struct.pack(">i", 1)
            frame = head + bytes((count & 127 | 128, count >> 7 & 127 | 128, count >> 14)) + topics + b"\0"
            frame += bytes(size - len(frame))  # what follows a message is ignored
            reader, writer = await asyncio.open_connection("127.0.0.1", leader.port)
            writer.write(struct.pack(">i", len(frame)) + frame)
            answer = await reader.read(4)
            assert bool(answer) is answered
            writer.close()
        assert listener.counters.protocol_errors == 1
        await append(quorum, b"x")
