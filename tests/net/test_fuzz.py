"""Random and mutated bytes against both cores: they never raise, never hold more than their bounds, and tell their end in one line."""

from __future__ import annotations

import random
import struct
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from metashell.codec.dispatch import REQUESTS
from metashell.codec.messages import (
    ApiVersionsRequest,
    DescribeClusterRequest,
    DescribeClusterResponse,
    FetchRequest,
    MetadataRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from metashell.net.api_versions import supported_ranges
from metashell.net.client_connection import Answer, ClientConnection, Closed, Ready
from metashell.net.frames import encode_request, frame, request_type
from metashell.net.listener_options import Closed as ServerClosed
from metashell.net.listener_options import ConnectionLimits, Received, Undecoded
from metashell.net.server_connection import ServerConnection
from tests.net.wires import sasl_client, sasl_server, server_of, talk

MESSAGES = 6_000
LIMITS = ConnectionLimits(frame_limit=64 * 1024, unauthenticated_limit=16 * 1024, output_max=64 * 1024, requests_max=4)
EVERYTHING = supported_ranges()


def examples() -> list[bytes]:
    """Sound requests, whole frames, of several APIs and versions."""
    partitions = tuple(FetchRequest.FetchPartition(partition=number) for number in range(3))
    messages: list[tuple[Any, int]] = [
        (ApiVersionsRequest(client_software_name="a", client_software_version="1"), 4),
        (ApiVersionsRequest(), 0),
        (SaslHandshakeRequest(mechanism="PLAIN"), 1),
        (SaslAuthenticateRequest(auth_bytes=b"\0alice\0alice-secret"), 2),
        (SaslAuthenticateRequest(auth_bytes=b"n,,n=alice,r=abc"), 1),
        (MetadataRequest(topics=(MetadataRequest.MetadataRequestTopic(name="t"),)), 12),
        (DescribeClusterRequest(), 1),
        (FetchRequest(topics=(FetchRequest.FetchTopic(partitions=partitions),)), 17),
    ]
    for key in REQUESTS:
        for version in {*request_type(key).versions}:
            messages.append((request_type(key).cls(), version))
    return [encode_request(message, version, 7, "fuzz") for message, version in messages]


def mutated(chance: random.Random, data: bytes) -> bytes:
    """A frame with a few bytes changed, cut out, doubled or put in; its length is mostly made to fit again."""
    body = bytearray(data[4:])
    for _ in range(chance.randint(1, 4)):
        position = chance.randrange(len(body) + 1)
        match chance.randrange(5):
            case 0 if position < len(body):
                body[position] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            case 1:
                del body[position : position + chance.randint(1, 8)]
            case 2:
                body[position:position] = chance.randbytes(chance.randint(1, 8))
            case 3:
                body[position : position + 4] = struct.pack(">i", chance.choice((-1, -2, 1 << 30, (1 << 31) - 1, 65_535)))
            case _:
                body[position : position + 5] = b"\xff\xff\xff\xff\x07"
    if chance.random() < 0.05:
        return struct.pack(">i", chance.choice((-1, 1 << 30, len(body) + 1, 0))) + bytes(body)
    return frame(bytes(body))


def stream(chance: random.Random, sound: list[bytes]) -> Iterator[bytes]:
    """What a peer sends: pieces of sound, mutated and random frames."""
    for _ in range(chance.randint(1, 6)):
        data = chance.choice(sound)
        kind = chance.random()
        if kind < 0.6:
            data = mutated(chance, data)
        elif kind < 0.7:
            data = frame(chance.randbytes(chance.randrange(200)))
        elif kind < 0.8:
            data = frame(struct.pack(">hhih", chance.choice(list(REQUESTS)), chance.randrange(20), 1, -1) + chance.randbytes(60))
        cut = chance.randrange(len(data) + 1)
        yield data[:cut]
        yield data[cut:]


def serve_one(chance: random.Random, server: ServerConnection, sound: list[bytes]) -> int:
    """One connection's life; how many pieces were sent."""
    count = 0
    for piece in stream(chance, sound):
        server.receive_data(piece)
        count += 1
        while (event := server.next_event()) is not None:
            if isinstance(event, Received):
                if event.header.api_key == 60 and chance.random() < 0.8:
                    server.respond(event.request_id, DescribeClusterResponse())
                elif chance.random() < 0.5:
                    server.drop(event.request_id)
            elif isinstance(event, Undecoded):
                server.decoded(event.decode())
            elif isinstance(event, ServerClosed):
                assert event.reason and "\n" not in event.reason and len(event.reason) < 2000
        assert server.in_flight <= LIMITS.requests_max
        assert server.output_size <= LIMITS.output_max + 16 * 1024
        if chance.random() < 0.3:
            server.take_output()
    return count


MAKERS: dict[str, Callable[[], ServerConnection]] = {
    "before authentication": lambda: sasl_server(LIMITS),
    "open to all": lambda: server_of(EVERYTHING, limits=LIMITS),
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("seed", range(3))
def test_no_requests_make_a_server_raise_or_grow(kind: str, seed: int) -> None:
    chance = random.Random(seed)
    sound = examples()
    sent = 0
    while sent < MESSAGES:
        sent += serve_one(chance, MAKERS[kind](), sound)


def test_a_short_frame_with_large_counts_allocates_little() -> None:
    chance = random.Random(5)
    sound = examples()
    for _ in range(200):
        serve_one(chance, MAKERS["open to all"](), sound)
    tracemalloc.start()
    try:
        for _ in range(400):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            serve_one(chance, MAKERS["open to all"](), sound)
            # Compiling a message for the first time is what costs most; the counts in these frames go up to two thousand million.
            assert tracemalloc.get_traced_memory()[1] - before < 8 * 1024 * 1024
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("mechanism", [None, "PLAIN", "SCRAM-SHA-256"])
def test_no_answers_make_a_client_raise(mechanism: str | None) -> None:
    chance = random.Random(11)
    for _ in range(MESSAGES // (60 if mechanism == "SCRAM-SHA-256" else 6)):  # SCRAM takes 2 ms each time
        client = ClientConnection(sasl=sasl_client(mechanism) if mechanism else None, frame_limit=64 * 1024)
        server = sasl_server() if mechanism else server_of(EVERYTHING)
        client.start()
        spoilt_at = chance.randrange(6)
        for turn in range(6):
            server.receive_data(client.take_output())
            while (event := server.next_event()) is not None:
                if isinstance(event, Received):
                    server.respond(event.request_id, DescribeClusterResponse(cluster_id="c"))
            answer = server.take_output()
            client.receive_data(mutated(chance, answer) if turn == spoilt_at and len(answer) > 4 else answer)
            while (told := client.next_event()) is not None:
                if isinstance(told, Closed):
                    assert told.reason and "\n" not in told.reason and len(told.reason) < 2000
                else:
                    assert isinstance(told, Ready | Answer)
            if client.can_send and not client.in_flight and 60 in client.versions:
                client.request(DescribeClusterRequest())


def test_sound_bytes_pass_between_the_fuzzed_cores() -> None:
    client = ClientConnection(sasl=sasl_client("PLAIN"))
    client.start()
    (ready,), _ = talk(client, sasl_server(LIMITS))
    assert isinstance(ready, Ready)
