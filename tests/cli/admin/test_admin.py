"""Who is asked, who is asked next, and what is said when nobody answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metashell.cli.admin.client import Admin
from metashell.cli.admin.protocol import Kind
from metashell.codec.messages import ApiVersionsRequest, DescribeQuorumRequest, UnregisterBrokerRequest
from metashell.net.addresses import parse_addresses
from metashell.quorum.embedded import EmbeddedQuorum


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(3, fake_brokers=1) as running:
        yield running


def admin_of(quorum: EmbeddedQuorum) -> Admin:
    return Admin(Kind.CONTROLLERS, parse_addresses(quorum.bootstrap_controllers), timeout_ms=20_000)


def test_nodes_are_the_controllers_with_their_addresses(quorum: EmbeddedQuorum) -> None:
    with admin_of(quorum) as admin:
        assert [node.id for node in admin.nodes()] == list(quorum.controller_ids)
        assert [str(node.address) for node in admin.nodes()] == quorum.bootstrap_controllers.split(",")
        assert admin.active_id() == quorum.leader_id
        assert admin.cluster_id == quorum.cluster_id


def test_the_active_controller_is_followed_when_it_is_killed(quorum: EmbeddedQuorum) -> None:
    with admin_of(quorum) as admin:
        make = DescribeQuorumRequest
        request = make(topics=(make.TopicData(topic_name="__cluster_metadata", partitions=(make.PartitionData(partition_index=0),)),))
        first = admin.ask_active(request).topics[0].partitions[0].leader_id
        quorum.kill(first)
        second = admin.ask_active(request).topics[0].partitions[0].leader_id
        assert first != second == quorum.wait_for_leader()
        quorum.restart(first)


def test_each_node_can_be_asked_by_its_id(quorum: EmbeddedQuorum) -> None:
    with admin_of(quorum) as admin:
        asked = ApiVersionsRequest(client_software_name="test", client_software_version="1")
        answers = admin.ask_all(dict.fromkeys(quorum.controller_ids, asked))
        assert {id: answer.error_code for id, answer in answers.items()} == dict.fromkeys(quorum.controller_ids, 0)
        assert admin.ask_active(UnregisterBrokerRequest(broker_id=7)).error_code == 102
