"""Whatever ApiVersions offers is answered: each version of each API of each kind of listener."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from metashell.codec import messages
from metashell.codec.codes import API_VERSIONS
from metashell.codec.consumer_protocol import Subscription, subscription_bytes
from metashell.codec.dispatch import REQUESTS
from metashell.net.addresses import Address, parse_addresses
from metashell.net.api_versions import ALL_RANGES, ranges_of
from metashell.net.frames import decode_response, encode_request, request_type, response_type
from metashell.quorum.controller.authorizer import APIS
from metashell.quorum.embedded import EmbeddedQuorum
from metashell.quorum.raft.messages import OURS
from tests.codec.filled import filled
from tests.quorum.server.quorum import Quorum

LIMIT_S = 120.0
TOPIC = "t"
SENSIBLE: dict[str, Any] = {
    **dict.fromkeys(("name", "topic", "topic_name", "subscribed_topic_names", "source_topics", "topic_names"), TOPIC),
    **dict.fromkeys(("partition", "partition_index", "partitions", "partition_indexes", "current_leader_epoch"), 0),
    **dict.fromkeys(("max_wait_ms", "timeout_ms", "rebalance_timeout_ms", "session_timeout_ms"), 2_000),
    **dict.fromkeys(("replica_id", "timestamp", "resource_type", "principal_type", "key_type", "pattern_type_filter"), -1),
    "client_software_name": "x",
    "client_software_version": "1",
    "protocol_type": "consumer",
    "group_id": "g",
    "groups": "g",
    "group_ids": "g",
    "groups_names": "g",
    "coordinator_keys": "g",
    "key": "g",
    "key_type": 0,
    "metadata": subscription_bytes(Subscription((TOPIC,))),
    "endpoint_type": 1,
    "min_bytes": 0,
    "partition_max_bytes": 1 << 20,
}
QUORUM: dict[str, Any] = {"cluster_id": None, "leader_epoch": 0, "replica_epoch": 0}
"""No epoch comes to a quorum from outside."""


def requests_of(key: int, version: int, topic_id: bytes) -> Iterator[Any]:
    """One with every field set, and one that asks for what is there."""
    kind = request_type(key)
    if key == API_VERSIONS:
        yield filled(kind, version, {"cluster_id": None, "node_id": -1})
        yield filled(kind, version, {"client_software_name": "x", "client_software_version": "1"}, is_full=False)
        return
    yield filled(kind, version, QUORUM | {"max_wait_ms": 0})
    kept = {"name": "gone", "topic_names": "gone"} if REQUESTS[key] == "DeleteTopicsRequest" else {"topic_id": topic_id}
    yield filled(kind, version, SENSIBLE | QUORUM | kept, is_full=False)


def ask(address: Address, frame: bytes) -> bytes | None:
    """The answer without its length, None where the connection was closed in place of one."""
    with socket.create_connection(address, LIMIT_S) as connection:
        connection.sendall(frame)
        data = b""
        while len(data) < 4 or len(data) < 4 + struct.unpack_from(">i", data)[0]:
            part = connection.recv(65536)
            if not part:
                return None
            data += part
    return data[4:]


def offered(address: Address) -> dict[int, tuple[int, int]]:
    request = filled(request_type(API_VERSIONS), 4, {"client_software_name": "x", "client_software_version": "1"})
    data = ask(address, encode_request(request, 4, 1, "test"))
    assert data is not None
    return ranges_of(decode_response(data, API_VERSIONS, 4)[1])


def check_all(address: Address, topic_id: bytes, most: Mapping[int, tuple[int, int]]) -> None:
    """Ask everything that a listener offers. `most` is what it may offer.

    A producer that wants no answer (`acks` 0) gets none: as with a broker, its connection is closed where the request fails.
    """
    ranges = offered(address)
    assert ranges.keys() <= most.keys()
    closed = []
    for key, (low, high) in ranges.items():
        for version in range(low, high + 1):
            for request in requests_of(key, version, topic_id):
                data = ask(address, encode_request(request, version, 7, f"{key}-{version}"))
                wants_none = isinstance(request, messages.ProduceRequest) and request.acks == 0
                if wants_none:
                    assert data is None
                elif data is None:
                    closed.append(f"{REQUESTS[key]} version {version}: {request}")
                else:
                    assert decode_response(data, key, version)[0] == 7
    assert closed == []


@pytest.mark.parametrize("key", sorted(ALL_RANGES), ids=lambda key: REQUESTS[key])
def test_every_version_of_requests_and_answers_can_be_said_with_every_field(key: int) -> None:
    low, high = ALL_RANGES[key]
    for kind in (request_type(key), response_type(key)):
        for version in range(low, high + 1):
            for is_full in (True, False):
                said = filled(kind, version, {}, is_full=is_full)
                assert kind.read(kind.write(said, version), version) == said


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(1, groups=True, fake_brokers=1, properties={"group.initial.rebalance.delay.ms": 0}) as running:
        running.create_topic(TOPIC, 1)
        yield running


def test_a_group_listener_answers_whatever_it_offers(quorum: EmbeddedQuorum) -> None:
    (address,) = parse_addresses(quorum.bootstrap_servers)
    check_all(address, quorum.image.topics.by_name[TOPIC].id, ALL_RANGES)


def test_a_controllers_listener_answers_whatever_it_offers(quorum: EmbeddedQuorum) -> None:
    (address,) = parse_addresses(quorum.bootstrap_controllers)
    check_all(address, quorum.image.topics.by_name[TOPIC].id, APIS)


async def test_a_replicas_listener_answers_whatever_it_offers(tmp_path: Path) -> None:
    async with Quorum(tmp_path) as replicas:
        leader = await replicas.leader()
        await leader.running.append([b"x"])
        address = Address("127.0.0.1", leader.port)
        await asyncio.to_thread(check_all, address, bytes(15) + b"\1", {**OURS, 17: (0, 1), 36: (0, 2)})
