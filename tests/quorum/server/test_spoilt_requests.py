"""Requests of every API and version, spoilt at their bytes and cut at them, to a whole controller over loopback.

Each is answered or ends its connection, nothing fails inside, and the controller goes on.
"""

from __future__ import annotations

import asyncio
import os
import random
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from metashell.codec.registry import message_type
from metashell.net.frames import encode_request, frame
from metashell.quorum.controller.authorizer import APIS
from metashell.quorum.controller.controller import ROUTES
from metashell.quorum.server.controller_server import ControllerServer
from tests.coroutines import eventually
from tests.fuzz.frames import request_frame, sound_requests
from tests.quorum.controller.random_requests import RandomRequests
from tests.quorum.server.controllers import CLUSTER_ID, Controllers, add_broker, ask, topic_request

pytestmark = pytest.mark.slow

IS_SOAK = bool(os.environ.get("METASHELL_SOAK"))
SEED = int(os.environ.get("METASHELL_SEED", "0"))
PLACES = 10_000 if IS_SOAK else 8
"""Places of each request that are spoilt, and at which it is cut."""
WORKERS = 6
PARKED_S = 1.0
"""How long an answer is waited for: a Fetch waits for records, a spoilt one for days. Nothing is said of how many are there by then."""
CHANGES = (0x00, 0x01, 0x7F, 0x80, 0xFF)
CLIENT_ID_END = 14
"""Bytes of a header with a client id of four letters."""


def sound_frames(server: ControllerServer, chance: random.Random) -> Iterator[bytes]:
    """One request of each API in each version, as a whole frame; those of raft as its own fuzzers make them."""
    requests = RandomRequests(server.machine.controller, chance, CLUSTER_ID)
    for key, api in APIS.items():
        for version in range(api.low, api.high + 1):
            if key in ROUTES:
                yield encode_request(requests.body(key, version), version, 7, "fuzz")
            elif key in (17, 18, 36, 58):
                yield encode_request(message_type("request", f"{api.name}Request").cls(), version, 7, "fuzz")
    node = server.replica.node
    for request in sound_requests(chance, server.config.node.node_id, node.epoch, node.log_end_offset):
        yield request_frame(chance, request)
    inner = encode_request(requests.body(19, 7), 7, 8, "fuzz")[4:]
    principal = b"\0\0" + b"\x05User" + b"\x04bob" + b"\0\0"
    envelope = message_type("request", "EnvelopeRequest").cls(request_data=inner, request_principal=principal, client_host_address=bytes(4))
    yield encode_request(envelope, 0, 9, "fuzz")


def spoilt(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """The request, and the same with one byte changed, and cut short with a length that fits."""
    yield data
    body = data[4:]
    places = range(len(body)) if len(body) <= PLACES else sorted(chance.sample(range(len(body)), PLACES))
    for place in places:
        changed = bytearray(body)
        changed[place] = chance.choice((*CHANGES, body[place] ^ 1 << chance.randrange(8)))
        yield frame(bytes(changed))
        yield frame(body[:place])


class Peer:
    """A connection that is made anew when it is over."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._ends: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, data: bytes) -> None:
        if self._ends is None:
            self._ends = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._ends
        try:
            writer.write(data)
            async with asyncio.timeout(PARKED_S):
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                await reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            self.hang_up()

    def hang_up(self) -> None:
        if self._ends is not None:
            self._ends[1].close()
            self._ends = None


async def send_all(port: int, frames: Iterator[bytes]) -> None:
    peer = Peer(port)
    for data in frames:
        await peer.send(data)
    peer.hang_up()


async def test_spoilt_requests_of_every_api_break_nothing(tmp_path: Path) -> None:
    async with Controllers(tmp_path, 1) as quorum:
        server = await quorum.active()
        listener = server.replica.inbound.listeners["CONTROLLER"]
        for id in (1, 2, 3):
            await add_broker(server, id)
        await ask(server, topic_request("t", (1, 2, 3)))
        chance = random.Random(SEED)
        frames = [each for sound in sound_frames(server, chance) for each in spoilt(sound, chance)]
        before = listener.counters.requests
        left = iter(frames)
        await asyncio.gather(*(send_all(server.ports["CONTROLLER"], left) for _ in range(WORKERS)))
        assert server.machine.errors == 0, quorum.events[1]
        assert not server.failure.done()
        # Worth something only where much of it gets past the framing, and much does not.
        decoded = listener.counters.requests - before
        assert len(frames) / 4 < decoded < len(frames), (decoded, len(frames))
        await eventually(lambda: server.is_active)
        await add_broker(server, 9)
        assert (await ask(server, topic_request("afterwards", (9,)))).topics[0].error_code == 0
        await eventually(lambda: listener.held_size == 0)
