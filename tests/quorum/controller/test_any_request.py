"""Whatever a client sends is answered, and what is written keeps the promises of partitions."""

from __future__ import annotations

import os
import random
from struct import pack

import pytest

from metashell.codec import messages
from metashell.codec.registry import message_type
from metashell.metadata.image import EMPTY_IMAGE, MetadataDelta, MetadataImage
from metashell.metadata.image.writer import write_image
from metashell.quorum.controller import QuorumController, Request
from metashell.quorum.controller.authorizer import APIS
from metashell.quorum.controller.controller import ROUTES
from tests.quick import quick
from tests.quorum.controller.cluster import CLUSTER_ID, Cluster
from tests.quorum.controller.random_requests import RandomRequests

REQUESTS = 100_000 if os.environ.get("METASHELL_SOAK") else 10_000
SEED = int(os.environ.get("METASHELL_SEED", "0"))

Leaders = dict[tuple[bytes, int, int], int]
"""(topic id, partition, leader epoch) to leader."""


def check_partitions(controller: QuorumController, leaders: Leaders) -> None:
    """What must hold of every partition, whatever was asked; and in one leader epoch there is one leader."""
    for topic, index, partition in controller.state.image.topics.iter_partitions():
        where = topic.name, index, partition
        assert leaders.setdefault((topic.id, index, partition.leader_epoch), partition.leader) == partition.leader, where
        assert len(set(partition.isr)) == len(partition.isr), where
        assert not set(partition.isr) & set(partition.elr), where
        assert len(partition.directories) == len(partition.replicas), where
        if partition.leader >= 0:
            assert partition.leader in partition.isr, where


def prepared(seed: int) -> Cluster:
    """A cluster with brokers and topics, of one of several kinds."""
    level, elr = ((30, 1), (30, 0), (25, 0), (21, 0), (7, 0))[seed % 5]
    config = {"delegation.token.secret.key": "secret"} if seed % 2 else {}
    cluster = Cluster(config, level=level, elr=elr, seed=seed)
    cluster.register(1, 2, 3)
    cluster.create("t", (1, 2, 3), (2, 3, 1), (3, 1, 2))
    cluster.create("u", (1,))
    return cluster


@pytest.mark.slow
@pytest.mark.parametrize("seed", quick(range(10)))
def test_every_request_that_decodes_is_answered(seed: int) -> None:
    chance = random.Random(SEED + seed)
    cluster = prepared(seed)
    requests = RandomRequests(cluster.controller, chance, CLUSTER_ID)
    answered = set()
    leaders: Leaders = {}
    for number in range(REQUESTS):
        request = requests.draw()
        answered.add(request.api_key)
        if chance.random() < 0.1 and APIS[request.api_key].is_forwarded:
            request = enveloped(request)
        cluster.ask(*request[:3], principal=request.principal, is_forwarded=request.is_forwarded)
        cluster.now_ms += chance.choice((0, 1, 100, 5000))
        if chance.random() < 0.2:
            cluster.wait_to(cluster.now_ms)
        if number % 20 == 0:
            cluster.heal()
            check_partitions(cluster.controller, leaders)

    written = {type(record).__name__ for _, batch in cluster.log for record, _ in batch}
    assert {"PartitionRecord", "PartitionChangeRecord", "ConfigRecord", "RemoveTopicRecord", "ClientQuotaRecord"} <= written
    assert answered == set(ROUTES)
    image = cluster.controller.image
    assert cluster.standby().image.has_same_metadata(image)
    assert from_snapshot(image).has_same_metadata(image)


def enveloped(request: Request) -> Request:
    """A request as a broker hands it on for its client."""
    message = message_type("request", f"{APIS[request.api_key].name}Request")
    header = pack(">hhih", request.api_key, request.version, 7, 1) + b"c" + b"\0" * message.flexible(request.version)
    principal = b"\0\0\5User" + bytes((len(request.principal) - 4,)) + request.principal[5:].encode() + b"\0\0"
    data = header + message.write(request.body, request.version)
    body = messages.EnvelopeRequest(request_data=data, request_principal=principal, client_host_address=b"\x7f\0\0\1")
    return Request(58, 0, body)


def from_snapshot(image: MetadataImage) -> MetadataImage:
    """The image that a snapshot of an image gives."""
    delta = MetadataDelta(EMPTY_IMAGE)
    for record, _ in write_image(image):
        delta.replay(record)
    return delta.apply()


@pytest.mark.parametrize("seed", quick(range(5), 2))
def test_leadership_lost_at_any_time_goes_back_to_what_is_committed(seed: int) -> None:
    chance = random.Random(SEED + seed)
    cluster = prepared(seed)
    requests = RandomRequests(cluster.controller, chance, CLUSTER_ID)
    epoch = 1
    for _ in range(REQUESTS // 10):
        committed = cluster.controller.image
        log_size, end_offset = len(cluster.log), cluster.end_offset
        for _ in range(chance.randint(0, 4)):
            request = requests.draw()
            cluster.write(cluster.decide(*request[:3]), commit=False)
        if chance.random() < 0.5:
            cluster.controller.renounce()
            del cluster.log[log_size:]
            cluster.end_offset = end_offset
            assert cluster.controller.image.has_same_metadata(committed)
            epoch += 1
            cluster.write(cluster.controller.claim(epoch, cluster.end_offset, cluster.now_ms))
        else:
            cluster.controller.commit(cluster.end_offset - 1)

    assert cluster.standby().image.has_same_metadata(cluster.controller.image)
