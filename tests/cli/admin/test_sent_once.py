"""A change whose answer is lost: sent again only where that is harmless, else said to be uncertain."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metashell.cli.admin.client import Admin
from metashell.cli.admin.protocol import Kind, UncertainError
from metashell.codec.codes import DESCRIBE_CLUSTER, UNREGISTER_BROKER
from metashell.codec.messages import IncrementalAlterConfigsRequest, UnregisterBrokerRequest
from metashell.net.addresses import Address, AddressMap, ConnectError, parse_addresses
from metashell.quorum.embedded import EmbeddedQuorum
from metashell.quorum.embedded.fake_brokers import topic_request
from tests.cli.admin.cutting_proxy import CuttingProxy, cutting_proxy

CREATE_TOPICS, INCREMENTAL_ALTER_CONFIGS = 19, 44


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(1, fake_brokers=1) as running:
        yield running


@pytest.fixture
def proxy(quorum: EmbeddedQuorum) -> Iterator[CuttingProxy]:
    (address,) = parse_addresses(quorum.bootstrap_controllers)
    with cutting_proxy(address.port) as made:
        yield made


@pytest.fixture
def admin(quorum: EmbeddedQuorum, proxy: CuttingProxy) -> Iterator[Admin]:
    addresses = parse_addresses(quorum.bootstrap_controllers)
    there = AddressMap({addresses[0]: Address("127.0.0.1", proxy.port)})
    with Admin(Kind.CONTROLLERS, addresses, timeout_ms=5_000, address_map=there) as made:
        yield made


def test_a_change_whose_connection_breaks_is_sent_once_and_said_to_be_uncertain(
    quorum: EmbeddedQuorum, proxy: CuttingProxy, admin: Admin
) -> None:
    proxy.api_key = CREATE_TOPICS
    with pytest.raises(UncertainError, match="CreateTopics may or may not have been done: look before you try again"):
        admin.ask_active(topic_request("once", 1, 1, None, 5))
    assert proxy.seen == 1
    # This time it was done.
    quorum.wait_for(lambda image: "once" in image.topics.by_name)


def test_so_it_is_with_a_node_that_is_asked_by_its_id(quorum: EmbeddedQuorum, proxy: CuttingProxy, admin: Admin) -> None:
    proxy.api_key, proxy.hands_on = UNREGISTER_BROKER, False
    with pytest.raises(UncertainError):
        admin.ask(UnregisterBrokerRequest(broker_id=99), to=quorum.controller_ids[0])
    assert proxy.seen == 1


def test_what_is_the_same_when_it_is_done_twice_is_sent_again(proxy: CuttingProxy, admin: Admin) -> None:
    make = IncrementalAlterConfigsRequest
    change = make.AlterableConfig(name="retention.ms", config_operation=0, value="1000")
    request = make(resources=(make.AlterConfigsResource(resource_type=2, resource_name="once", configs=(change,)),))
    proxy.api_key, proxy.hands_on = INCREMENTAL_ALTER_CONFIGS, False
    with pytest.raises(ConnectError):
        admin.ask_active(request)
    assert proxy.seen > 1 and admin.again == proxy.seen


def test_nothing_is_uncertain_where_the_change_was_never_sent(proxy: CuttingProxy, admin: Admin) -> None:
    proxy.api_key, proxy.hands_on = DESCRIBE_CLUSTER, False
    with pytest.raises(ConnectError):
        admin.ask_active(UnregisterBrokerRequest(broker_id=99))
