"""Every version that the listener advertises is answered; what it cannot do is refused with an error at which clients stop."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest

from metashell.codec import codes, messages
from metashell.codec.error_codes import CLUSTER_AUTHORIZATION_FAILED, NONE, POLICY_VIOLATION
from metashell.groups.server.topic_requests import CLIENTS_MAX, PATIENCE_MS, TOPIC, Clients
from metashell.metadata.image import MetadataImage
from metashell.net.frames import request_type
from metashell.quorum.embedded import EmbeddedQuorum
from tests.groups.random_requests import RandomRequests
from tests.groups.server.test_server import Peer, join, serving, until

OF_A_BROKER = """0:0-13 1:4-18 2:1-11 3:0-13 8:2-10 9:1-10 10:0-6 11:0-9 12:0-4 13:0-5 14:0-5 15:0-6 16:0-5 17:0-1 18:0-5 19:2-7 20:1-6
    22:0-5 23:2-4 24:0-5 25:0-4 26:0-5 28:0-6 32:1-4 33:0-2 36:0-2 37:0-3 42:0-3 44:0-1 47:0-0 60:0-2 68:0-1 69:0-1 88:0-1 89:0-1"""
"""The ranges of these APIs in `kafka-cluster api-versions` of a broker of 4.4.0."""
OF_LOGINS = (codes.SASL_HANDSHAKE, codes.API_VERSIONS, codes.SASL_AUTHENTICATE)


@pytest.fixture(scope="module")
def image() -> Iterator[MetadataImage]:
    with EmbeddedQuorum(1, fake_brokers=1) as quorum:
        quorum.create_topic("t", 2)
        yield quorum.wait_for(lambda image: "t" in image.topics.by_name)


async def advertised(image: MetadataImage) -> dict[int, tuple[int, int]]:
    async with serving(image) as server:
        peer = await Peer.of(server)
        asked = messages.ApiVersionsRequest(client_software_name="test", client_software_version="1")
        answer = await peer.ask(asked, codes.API_VERSIONS, 4)
        peer.close()
    return {entry.api_key: (entry.min_version, entry.max_version) for entry in answer.api_keys}


async def test_no_more_is_advertised_than_a_broker_has(image: MetadataImage) -> None:
    theirs = {int(key): range(int(low), int(high) + 1) for key, low, high in (split(row) for row in OF_A_BROKER.split())}
    ours = await advertised(image)
    assert ours.keys() == theirs.keys()
    # The broker advertises versions 0 to 2 of Produce for the sake of librdkafka, and closes the connection on which one comes.
    assert {key: [low, high] for key, (low, high) in ours.items() if (low, high) != (theirs[key][0], theirs[key][-1])} == {0: [3, 13]}


def split(row: str) -> tuple[str, str, str]:
    key, _, versions = row.partition(":")
    low, _, high = versions.partition("-")
    return key, low, high


async def test_every_advertised_version_is_answered(image: MetadataImage) -> None:
    chance = random.Random(4)
    for key, (low, high) in (await advertised(image)).items():
        for version in range(low, high + 1) if key not in OF_LOGINS else ():
            async with serving(image) as server:
                body = RandomRequests(server.machine.shard.coordinator, chance).message(request_type(key), version)
                for name, value in (("acks", 1), ("max_wait_ms", 0)):
                    if hasattr(body, name):
                        setattr(body, name, value)
                peer = await Peer.of(server)
                assert await peer.ask(body, key, version) is not None
                peer.close()


def produce(acks: int) -> messages.ProduceRequest:
    made = messages.ProduceRequest
    partitions = tuple(made.PartitionProduceData(index=index, records=b"") for index in (0, 7))
    return made(acks=acks, topic_data=(made.TopicProduceData(name="t", topic_id=b"\7" * 16, partition_data=partitions),))


async def test_who_wants_to_produce_is_refused_for_good_and_told_of_once(image: MetadataImage) -> None:
    told: list[str] = []
    added = messages.AddPartitionsToTxnRequest
    topics = (added.AddPartitionsToTxnTopic(name="t", partitions=(0, 1)),)
    async with serving(image, on_event=told.append) as server:
        peer = await Peer.of(server)
        for version in (3, 9, 13):
            (topic,) = (await peer.ask(produce(1), codes.PRODUCE, version)).responses
            assert (topic.topic_id if version == 13 else topic.name) == (b"\7" * 16 if version == 13 else "t")
            assert [(row.index, row.error_code) for row in topic.partition_responses] == [(0, POLICY_VIOLATION), (7, POLICY_VIOLATION)]
        assert topic.partition_responses[0].error_message == "This listener keeps no messages, start a broker of Kafka."
        refused = await peer.ask(messages.InitProducerIdRequest(transactional_id=None), codes.INIT_PRODUCER_ID, 5)
        assert (refused.error_code, refused.producer_id) == (CLUSTER_AUTHORIZATION_FAILED, -1)
        given = await peer.ask(messages.InitProducerIdRequest(transactional_id="tx"), codes.INIT_PRODUCER_ID, 5)
        assert given.error_code == NONE, "a transaction may consist of offsets"
        old = await peer.ask(added(v3_and_below_topics=topics), codes.ADD_PARTITIONS_TO_TXN, 3)
        new = await peer.ask(
            added(transactions=(added.AddPartitionsToTxnTransaction(transactional_id="tx", topics=topics),)), codes.ADD_PARTITIONS_TO_TXN, 5
        )
        (answered,) = old.results_by_topic_v3_and_below
        assert [(row.partition_index, row.partition_error_code) for row in answered.results_by_partition] == [
            (0, POLICY_VIOLATION),
            (1, POLICY_VIOLATION),
        ]
        assert new.error_code == POLICY_VIOLATION
        peer.send(produce(0), 9)
        with pytest.raises(asyncio.IncompleteReadError):
            await peer.frame()
        peer.close()
    assert told == ["groups: client 'test' wants to produce: this listener keeps no messages, start a broker of Kafka"]


async def test_who_fetches_and_is_in_no_group_is_refused_after_a_while(image: MetadataImage) -> None:
    told: list[str] = []
    made = messages.FetchRequest
    now_ms = 0

    def fetch(name: str, max_wait_ms: int = 0) -> messages.FetchRequest:
        return made(topics=(made.FetchTopic(topic=name, partitions=(made.FetchPartition(partition=0),)),), max_wait_ms=max_wait_ms)

    async def code(peer: Peer, name: str = "t", max_wait_ms: int = 0) -> int:
        answer = await peer.ask(fetch(name, max_wait_ms), codes.FETCH, 12)
        found: int = answer.responses[0].partitions[0].error_code
        return found

    async with serving(image, on_event=told.append, clock=lambda: now_ms) as server:
        peer = await Peer.of(server)
        assert await code(peer) == NONE
        now_ms += PATIENCE_MS - 1
        assert await code(peer) == NONE
        now_ms += 1
        assert [await code(peer), await code(peer, max_wait_ms=1), await code(peer, TOPIC)] == [POLICY_VIOLATION, POLICY_VIOLATION, NONE]
        assert told == ["groups: client 'test' fetches and is in no group: this listener keeps no messages, start a broker of Kafka"]
        # The error waits as an answer without records does: some clients try again at once.
        peer.send(fetch("t", 60_000), 12)
        await until(lambda: bool(server._pauses))
        member = await Peer.of(server)
        await member.ask(join(), codes.JOIN_GROUP, 3)
        assert await code(member) == NONE, "members fetch, and there may be records one day"
        for one in (peer, member):
            one.close()


def test_clients_that_were_not_heard_of_for_long_are_forgotten() -> None:
    clients = Clients()
    for number in range(2 * CLIENTS_MAX):
        clients.joins_group("member", "h")
        assert clients.may_fetch(f"c{number}", "h", 0)
    assert len(clients._since) == CLIENTS_MAX
    assert clients.may_fetch("member", "h", PATIENCE_MS) and clients.may_fetch("c0", "h", PATIENCE_MS)
    assert not clients.may_fetch(f"c{2 * CLIENTS_MAX - 1}", "h", PATIENCE_MS)
