"""Requests that a group server answers without its coordinator: metadata, positions in logs, and those that it forwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import (
    FETCH_SESSION_ID_NOT_FOUND,
    INVALID_REPLICATION_FACTOR,
    INVALID_REQUEST,
    INVALID_TOPIC_EXCEPTION,
    MISMATCHED_ENDPOINT_TYPE,
    NONE,
    OFFSET_OUT_OF_RANGE,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.common.errors import UsageError
from metashell.groups.server import NODE_ID
from metashell.groups.server.topic_requests import TOPIC
from metashell.net.addresses import ConnectError, parse_address, parse_addresses
from metashell.net.api_versions import ranges_of
from metashell.net.client import Client
from metashell.quorum.embedded import EmbeddedQuorum, QuorumError

NOWHERE = b"\x07" * 16


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(1, groups=True) as running:
        running.create_topic("t", 3)
        yield running


@pytest.fixture(scope="module")
def client(quorum: EmbeddedQuorum) -> Iterator[Client]:
    with Client(parse_addresses(quorum.bootstrap_servers), deadline_ms=20_000, attempts_max=1) as made:
        yield made


def named(*names: str, creates: bool = False) -> messages.MetadataRequest:
    made = messages.MetadataRequest
    return made(topics=tuple(made.MetadataRequestTopic(name=name) for name in names), allow_auto_topic_creation=creates)


def listed(topic: str, partition: int, timestamp: int) -> messages.ListOffsetsRequest:
    made = messages.ListOffsetsRequest
    wanted = made.ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
    return made(replica_id=-1, topics=(made.ListOffsetsTopic(name=topic, partitions=(wanted,)),))


def fetched(topic_id: bytes, partition: int, offset: int, wait_ms: int = 0, session: int = 0) -> messages.FetchRequest:
    made = messages.FetchRequest
    wanted = made.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
    topics = (made.FetchTopic(topic_id=topic_id, partitions=(wanted,)),)
    return made(max_wait_ms=wait_ms, min_bytes=1, topics=topics, session_id=session)


def test_there_is_one_broker_and_it_leads_everything(quorum: EmbeddedQuorum, client: Client) -> None:
    answer = client.request(named("t", "nope", "a b", TOPIC))
    assert answer.cluster_id == quorum.cluster_id
    address = parse_address(quorum.bootstrap_servers)
    assert [(broker.node_id, broker.host, broker.port) for broker in answer.brokers] == [(NODE_ID, *address)]
    t, nope, bad, offsets = answer.topics
    assert t.topic_id == quorum.image.topics.by_name["t"].id
    assert [(each.partition_index, each.leader_id, each.isr_nodes) for each in t.partitions] == [
        (id, NODE_ID, (NODE_ID,)) for id in range(3)
    ]
    assert (nope.error_code, bad.error_code) == (UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION)
    assert offsets.is_internal and len(offsets.partitions) == 50
    assert {topic.name for topic in client.request(messages.MetadataRequest(topics=None)).topics} >= {"t", TOPIC}
    assert client.request(messages.MetadataRequest(topics=()), version=0).topics
    assert not client.request(messages.MetadataRequest(topics=())).topics


def test_topics_are_found_by_their_ids(quorum: EmbeddedQuorum, client: Client) -> None:
    made = messages.MetadataRequest
    ids = (quorum.image.topics.by_name["t"].id, NOWHERE)
    known, unknown = client.request(made(topics=tuple(made.MetadataRequestTopic(topic_id=id, name=None) for id in ids))).topics
    assert (known.error_code, known.name) == (NONE, "t")
    assert (unknown.error_code, unknown.name, unknown.topic_id) == (UNKNOWN_TOPIC_ID, None, NOWHERE)


def test_the_cluster_has_one_broker(client: Client) -> None:
    answer = client.request(messages.DescribeClusterRequest(endpoint_type=1))
    assert (answer.error_code, answer.controller_id, [broker.broker_id for broker in answer.brokers]) == (NONE, NODE_ID, [NODE_ID])
    assert client.request(messages.DescribeClusterRequest(endpoint_type=2)).error_code == MISMATCHED_ENDPOINT_TYPE


@pytest.mark.parametrize(("timestamp", "offset"), [(-2, 0), (-1, 0), (-3, -1), (-4, 0), (1_700_000_000_000, -1)])
def test_logs_are_empty(client: Client, timestamp: int, offset: int) -> None:
    (partition,) = client.request(listed("t", 2, timestamp)).topics[0].partitions
    assert (partition.error_code, partition.offset, partition.timestamp) == (NONE, offset, -1)


def test_partitions_that_are_not_there_have_no_offsets(quorum: EmbeddedQuorum, client: Client) -> None:
    for topic, partition in (("t", 3), ("nope", 0), (TOPIC, 50)):
        assert client.request(listed(topic, partition, -1)).topics[0].partitions[0].error_code == UNKNOWN_TOPIC_OR_PARTITION
    topic_id = quorum.image.topics.by_name["t"].id
    codes = []
    for request in (fetched(topic_id, 3, 0), fetched(NOWHERE, 0, 0), fetched(topic_id, 0, 5), fetched(topic_id, 0, 0)):
        (partition,) = client.request(request).responses[0].partitions
        codes.append(partition.error_code)
    assert codes == [UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, OFFSET_OUT_OF_RANGE, NONE]
    assert client.request(fetched(topic_id, 0, 0, session=9)).error_code == FETCH_SESSION_ID_NOT_FOUND


def test_a_fetch_that_finds_nothing_is_answered_when_its_time_is_over(quorum: EmbeddedQuorum, client: Client) -> None:
    (partition,) = client.request(fetched(quorum.image.topics.by_name["t"].id, 0, 0, wait_ms=20)).responses[0].partitions
    assert (partition.error_code, partition.high_watermark, partition.records) == (NONE, 0, b"")


def test_epochs_end_where_the_log_ends(client: Client) -> None:
    made = messages.OffsetForLeaderEpochRequest
    partitions = tuple(made.OffsetForLeaderPartition(partition=id, leader_epoch=0) for id in (0, 3))
    answer = client.request(made(topics=(made.OffsetForLeaderTopic(topic="t", partitions=partitions),)))
    assert [(each.error_code, each.end_offset) for each in answer.topics[0].partitions] == [(NONE, 0), (UNKNOWN_TOPIC_OR_PARTITION, -1)]


def test_the_active_controller_makes_topics(quorum: EmbeddedQuorum, client: Client) -> None:
    made = messages.CreateTopicsRequest
    topics = (made.CreatableTopic(name="new", num_partitions=2, replication_factor=1),)
    topics += (made.CreatableTopic(name="wide", num_partitions=1, replication_factor=9),)
    new, wide = client.request(made(topics=topics, timeout_ms=10_000), version=5).topics
    assert (new.error_code, new.num_partitions, wide.error_code) == (NONE, 2, INVALID_REPLICATION_FACTOR)
    assert len(client.request(named("new")).topics[0].partitions) == 2


def test_a_topic_that_a_client_may_make_by_asking_is_made(quorum: EmbeddedQuorum, client: Client) -> None:
    assert client.request(named("asked", creates=True)).topics[0].error_code == UNKNOWN_TOPIC_OR_PARTITION
    quorum.wait_for(lambda image: "asked" in image.topics.by_name)
    assert client.request(named("asked")).topics[0].error_code == NONE


def test_the_broker_describes_itself_and_refuses_other_ids(quorum: EmbeddedQuorum, client: Client) -> None:
    made = messages.DescribeConfigsRequest
    resources = tuple(
        made.DescribeConfigsResource(resource_type=kind, resource_name=name) for kind, name in ((4, "100"), (4, "1"), (2, "t"), (4, ""))
    )
    own, other, topic, all_brokers = sorted(
        client.request(made(resources=resources)).results, key=lambda result: ["100", "1", "t", ""].index(result.resource_name)
    )
    found = {config.name: config.value for config in own.configs}
    address = f"PLAINTEXT://{quorum.bootstrap_servers}"
    assert (found["node.id"], found["process.roles"], found["advertised.listeners"]) == ("100", "broker", address)
    assert found["group.initial.rebalance.delay.ms"] == "0", "it is what the listener goes by"
    assert (other.error_code, other.error_message) == (
        INVALID_REQUEST,
        "Unexpected broker id, expected 100 or empty string, but received 1",
    )
    assert (topic.error_code, all_brokers.error_code) == (NONE, NONE)
    assert "retention.ms" in {config.name for config in topic.configs}
    loggers = made.DescribeConfigsResource(resource_type=8, resource_name="100")
    assert [result.error_code for result in client.request(made(resources=(loggers,))).results] == [NONE]


def test_configs_are_replaced_as_old_clients_do(quorum: EmbeddedQuorum, client: Client) -> None:
    made = messages.AlterConfigsRequest
    for kind, name, key in ((2, "t", "retention.ms"), (4, "100", "log.retention.ms")):
        value = made.AlterableConfig(name=key, value="1234567")
        resource = made.AlterConfigsResource(resource_type=kind, resource_name=name, configs=(value,))
        assert [row.error_code for row in client.request(made(resources=(resource,))).responses] == [NONE]
        quorum.wait_for(lambda image: image.configs.get((kind, name), {}).get(key) == "1234567")  # noqa: B023


def test_nothing_is_listed_that_is_not_served(client: Client) -> None:
    ranges = ranges_of(client.request(messages.ApiVersionsRequest(client_software_name="test", client_software_version="1")))
    assert ranges[1] == (4, 18)
    assert not {76, 77, 78} & ranges.keys(), "there is nothing to share"
    with pytest.raises(ConnectError, match="api key 76: the peer does not have it"):
        client.request(messages.ShareGroupHeartbeatRequest())


def test_a_quorum_without_groups_says_so() -> None:
    with (
        EmbeddedQuorum(1) as plain,
        pytest.raises(QuorumError, match=r"no group coordinator runs \(group.coordinator=embedded starts one\)"),
    ):
        _ = plain.bootstrap_servers
    with pytest.raises(UsageError, match=r"group\.coordinator=foo: must be embedded"):
        EmbeddedQuorum(1, properties={"group.coordinator": "foo"})
