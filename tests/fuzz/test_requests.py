"""150 000 spoilt requests at a listener's core and the replica behind it: nothing is raised, nothing is appended, memory is bounded."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable

import pytest

from metashell.common.errors import EncodeError
from metashell.net.listener_options import Closed, ConnectionLimits, Counters, Received, Undecoded, server_terms
from metashell.net.server_connection import ServerConnection
from metashell.quorum.raft.messages import Response
from metashell.quorum.raft.ready import Durable, Ready, Reply
from metashell.quorum.raft.wire import decode_request, encode_response
from metashell.quorum.server.links import SERVED
from tests.fuzz.frames import hostile_frame, request_frame, sound_requests
from tests.quorum.raft.pump import LISTENER, Host, Pump, settings

FRAMES = 25_000
ROUND = 500
EPOCH_MAX = 1 << 24
LIMITS = ConnectionLimits(frame_limit=512 * 1024, output_max=4 << 20, requests_max=8)
MEMORY_MAX = 24 << 20
"""Bytes for one connection's frame and answers, and for what the replica remembers of strangers."""


def leader() -> Host:
    pump = Pump().start(settings(1), settings(2), settings(3))
    assert pump.run(60_000, pump.has_leader)
    host = pump.leader()
    assert host is not None
    for number in range(20):
        host.append(b"value %d" % number)
    pump.run(3_000)
    return host


def follower() -> Host:
    host = leader()
    return next(other for other in host.pump.hosts.values() if other is not host)


def unattached() -> Host:
    return Pump().start(settings(1)).hosts[1]


class Token:
    """A request that waits for its answer."""

    def __init__(self, core: ServerConnection, request_id: int, version: int) -> None:
        self.core = core
        self.request_id = request_id
        self.version = version


class Door:
    """A listener's core before one replica, without sockets: a connection that ends is followed by a new one."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.counters = Counters()
        self.asked = self.answered = self.connections = self.stalled = 0
        self.waiting: set[Token] = set()
        self.core = self.open()

    def settle(self, host: Host) -> None:
        """Stand before another replica."""
        self.hang_up()
        self.host = host

    def open(self) -> ServerConnection:
        self.connections += 1
        return ServerConnection(server_terms(SERVED, limits=LIMITS, counters=self.counters))

    def send(self, data: bytes, now_ms: int) -> None:
        core = self.core
        if not core.wants_read:
            # A parked Fetch holds back what came behind it: the peer gives up.
            self.stalled += 1
            core.connection_lost()
        core.receive_data(data)
        while (event := core.next_event()) is not None:
            match event:
                case Received():
                    self.ask(core, event, now_ms)
                case Undecoded():
                    core.decoded(event.decode())
                case Closed(reason):
                    assert reason and "\n" not in reason
                    self.forget(core)
                    self.core = self.open()
                    return
        core.take_output()

    def hang_up(self) -> None:
        self.core.connection_lost()
        self.send(b"", self.host.pump.now_ms)

    def ask(self, core: ServerConnection, event: Received, now_ms: int) -> None:
        self.asked += 1
        key, version = event.header.api_key, event.header.api_version
        request = decode_request(key, version, event.message)
        token = Token(core, event.request_id, version)
        self.waiting.add(token)
        self.work(self.host.node.handle_request(token, request, LISTENER, now_ms))

    def forget(self, core: ServerConnection) -> None:
        for token in [token for token in self.waiting if token.core is core]:
            self.host.node.forget(token)
            self.waiting.discard(token)

    def poll(self, now_ms: int) -> None:
        if self.host.node.next_poll_ms() <= now_ms:
            self.work(self.host.node.poll(now_ms))

    def work(self, ready: Ready) -> None:
        """As a driver does, with a network that loses all that it sends to peers."""
        host = self.host
        if ready.election is not None:
            assert ready.election.epoch >= host.election.epoch
            host.election, host.kraft_version = ready.election, ready.kraft_version
        for message in ready.messages(Durable(host.election, host.kraft_version)):
            if isinstance(message, Reply) and isinstance(message.token, Token):
                self.answer(message.token, message.message)

    def answer(self, token: Token, message: Response) -> None:
        self.answered += 1
        assert token in self.waiting, "one answer to each request"
        self.waiting.discard(token)
        try:
            token.core.respond(token.request_id, encode_response(message, token.version))
        except EncodeError:
            token.core.close("the answer does not fit")


def fuzz(door: Door, chance: random.Random, count: int) -> None:
    """Send `count` frames, the sound ones of the replica's epoch and log as they are now; time passes."""
    node = door.host.node
    sound = [request_frame(chance, message) for message in sound_requests(chance, door.host.id, node.epoch, node.log_end_offset)]
    for _ in range(count):
        now_ms = node.now_ms + chance.choice((0, 0, 1, 3))
        door.send(hostile_frame(chance, sound), now_ms)
        if door.core.held_size and chance.random() < 0.5:
            door.hang_up()  # A length that lied would swallow all that follows.
        door.poll(now_ms)


@pytest.mark.slow
@pytest.mark.parametrize("seed", (1, 2))
@pytest.mark.parametrize("make", (leader, follower, unattached))
def test_spoilt_requests_are_answered_or_close_their_connection_and_leave_the_log_alone(make: Callable[[], Host], seed: int) -> None:
    chance = random.Random(seed)
    door = Door(make())
    before, committed = door.host.log.batches(), door.host.node.high_watermark
    for _ in range(FRAMES // ROUND):
        fuzz(door, chance, ROUND)
        node = door.host.node
        assert door.host.log.batches() == before, "what strangers ask for must not reach the log"
        assert node.high_watermark in (committed, None)
        if node.epoch > EPOCH_MAX:
            # Who was told of the last epochs refuses nearly all; a new one is worth more.
            door.settle(make())
            before, committed = door.host.log.batches(), door.host.node.high_watermark
    # The fuzzer is worth something only where much of what it sends gets past the framing.
    assert door.asked > FRAMES // 5 and door.answered > FRAMES // 6, (door.asked, door.answered)
    assert door.counters.protocol_errors > FRAMES // 10
    assert door.connections > FRAMES // 10


@pytest.mark.slow
def test_what_strangers_make_a_replica_allocate_is_bounded() -> None:
    door = Door(leader())
    chance = random.Random(3)
    fuzz(door, chance, 500)
    tracemalloc.start()
    try:
        for _ in range(8):
            fuzz(door, chance, ROUND)
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MEMORY_MAX, f"{peak} bytes"
    assert now < MEMORY_MAX // 4, f"{now} bytes are kept"
