"""The rights that requests to a group server need: nothing goes on without them, and with all of them nothing changes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from metashell.codec import codes, messages
from metashell.codec.codes import ACL_OPERATIONS, ACL_RESOURCE_TYPES
from metashell.codec.error_codes import GROUP_AUTHORIZATION_FAILED, NONE, TOPIC_AUTHORIZATION_FAILED
from metashell.groups.coordinator.coordinator import HANDLERS
from metashell.groups.server import Allows, Asker, Rights
from metashell.groups.server.machine import ClientIdentity
from metashell.groups.server.request_rights import RULES, narrow
from metashell.groups.server.server import FORWARDED, GroupServer
from metashell.groups.server.topic_requests import TOPIC, Cluster
from metashell.metadata.image import MetadataImage
from metashell.net.addresses import Address
from metashell.net.frames import RequestHeader, decode_response, encode_response, response_type
from metashell.quorum.embedded import EmbeddedQuorum
from tests.groups.random_requests import RandomRequests
from tests.groups.server.test_server import Peer, own_requests, request_type_key, run, serving

ALICE = Asker("User:ANONYMOUS", "127.0.0.1")
OPEN_ENDED = (codes.LIST_GROUPS, codes.METADATA, codes.DESCRIBE_CLUSTER)
"""APIs that ask for whatever there is: what may be seen is chosen from the answer."""
DRAWS = 400


@pytest.fixture(scope="module")
def image() -> Iterator[MetadataImage]:
    with EmbeddedQuorum(1, fake_brokers=1) as quorum:
        quorum.create_topic("t", 4)
        quorum.create_topic("u", 1)
        yield quorum.wait_for(lambda image: {"t", "u"} <= set(image.topics.by_name))


class Asked:
    """A request that notes its answer."""

    def __init__(self, message: Any, version: int, key: int) -> None:
        self.header = RequestHeader(key, version, 1, "test")
        self.message = message
        self.principal, self.host = ALICE
        self.is_token_authenticated = False
        self.client_id = "test"
        self.connection_id = 1
        self.cancelled = False
        self.answers: list[Any] = []

    def respond(self, message: Any) -> None:
        """Note an answer as its reader gets it."""
        key, version = self.header.api_key, self.header.api_version
        self.answers.append(decode_response(encode_response(key, version, 1, message)[4:], key, version)[1])

    def close_connection(self, reason: str) -> None:
        raise AssertionError(reason)


def rights(*allowed: tuple[str, str, str]) -> Rights:
    return Rights(ALICE, allowing(*allowed))


def allowing(*allowed: tuple[str, str, str]) -> Allows:
    """An authorizer that allows (operation, resource type, name) and nothing else."""
    return lambda asker, operation, resource, name: (ACL_OPERATIONS[operation], ACL_RESOURCE_TYPES[resource], name) in allowed


EVERYTHING = Rights(ALICE, lambda *asked: True)


def drawn(server: GroupServer, image: MetadataImage) -> Iterator[Asked]:
    """Requests of every API that has a rule, as clients send them."""
    chance = random.Random(3)
    requests = RandomRequests(server.machine.shard.coordinator, chance)
    for number in range(DRAWS):
        one = requests.draw(number)
        yield Asked(one.body, one.version, one.api_key)
        for message, version in own_requests(image, chance):
            if (key := key_of(message)) in RULES:
                yield Asked(message, version, key)


def key_of(message: Any) -> int:
    from metashell.net.frames import api_key_of

    return api_key_of(message)


def left_names(message: Any) -> list[Any]:
    fields = ("topics", "groups", "group_ids", "groups_names", "coordinator_keys", "resources")
    return [one for name in fields for one in getattr(message, name, None) or ()]


async def test_every_api_has_a_rule_or_is_decided_by_the_controller_as_who_asked(image: MetadataImage) -> None:
    async with serving(image) as server:
        assert {*server._answers, *HANDLERS} == {*RULES, *FORWARDED}


async def test_without_rights_nothing_that_is_named_is_decided(image: MetadataImage) -> None:
    seen = set()
    async with serving(image) as server:
        cluster = Cluster("cluster", 100, Address("localhost", 1), image)
        for asked in drawn(server, image):
            left = narrow(asked, cluster, rights())
            seen.add(asked.header.api_key)
            if left is None:
                assert len(asked.answers) == 1
            elif asked.header.api_key not in OPEN_ENDED:
                unknown_ids = [one for one in left_names(left.message) if getattr(one, "topic_id", None) not in (None, bytes(16))]
                assert left_names(left.message) == [one for one in unknown_ids if one.topic_id not in image.topics.by_id], left.message
    assert seen >= HANDLERS.keys()


async def test_with_all_rights_nothing_changes(image: MetadataImage) -> None:
    async with serving(image) as server:
        cluster = Cluster("cluster", 100, Address("localhost", 1), image)
        for asked in drawn(server, image):
            left = narrow(asked, cluster, EVERYTHING)
            empty = not left_names(asked.message)
            assert left is not None or empty, asked.message
            if left is not None:
                assert left.message == asked.message
                before = response_type(asked.header.api_key).cls()
                left.respond(before)
                (answer,) = asked.answers
                version = asked.header.api_version
                whole = encode_response(asked.header.api_key, version, 1, response_type(asked.header.api_key).cls())[4:]
                wanted = decode_response(whole, asked.header.api_key, version)[1]
                for name in ("cluster_authorized_operations",):
                    if hasattr(wanted, name):
                        setattr(wanted, name, getattr(answer, name))
                assert answer == wanted


def asking(image: MetadataImage, allows: Allows, work: Callable[[GroupServer, Peer], Any]) -> list[tuple[Any, ClientIdentity | None]]:
    """Talk to a server with an authorizer; returns what it asked the controller, and for whom."""
    asked: list[tuple[Any, ClientIdentity | None]] = []

    async def ask(request: Any, version: int | None, client: ClientIdentity | None) -> Any:
        asked.append((request, client))
        return response_type(request_type_key(request)).cls()

    async def talk() -> None:
        async with serving(image, ask, allows=allows) as server:
            peer = await Peer.of(server)
            await work(server, peer)
            peer.close()

    run(talk)
    return asked


def test_topics_that_may_not_be_seen_are_not_there(image: MetadataImage) -> None:
    async def work(server: GroupServer, peer: Peer) -> None:
        every = await peer.ask(messages.MetadataRequest(topics=None), 3, 12)
        assert [topic.name for topic in every.topics] == ["t"]
        one = messages.MetadataRequest.MetadataRequestTopic
        topics = (one(name="t"), one(name="u"), one(name="new"), one(name=None, topic_id=image.topics.by_name["u"].id))
        some = await peer.ask(messages.MetadataRequest(topics=topics, include_topic_authorized_operations=True), 3, 12)
        denied = TOPIC_AUTHORIZATION_FAILED
        assert [(topic.name, topic.error_code) for topic in some.topics] == [("t", NONE), ("u", denied), ("new", denied), (None, denied)]
        assert some.topics[0].topic_authorized_operations == 1 << 8
        listed = messages.ListOffsetsRequest.ListOffsetsTopic
        wanted = tuple(
            listed(name=name, partitions=(messages.ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=-1),))
            for name in ("t", "u", TOPIC)
        )
        offsets = await peer.ask(messages.ListOffsetsRequest(topics=wanted), 2, 7)
        assert {topic.name: topic.partitions[0].error_code for topic in offsets.topics} == {"t": NONE, "u": denied, TOPIC: denied}

    assert asking(image, allowing(("DESCRIBE", "TOPIC", "t")), work) == []


def test_a_pattern_matches_only_topics_that_its_member_may_see(image: MetadataImage) -> None:
    async def work(server: GroupServer, peer: Peer) -> None:
        made = messages.ConsumerGroupHeartbeatRequest
        answer = await peer.ask(
            made(group_id="g", member_id="m", rebalance_timeout_ms=9000, subscribed_topic_regex=".*", topic_partitions=()), 68, 1
        )
        assert answer.error_code == NONE
        server.machine.run_due(server.machine._clock() + 1)
        (resolved,) = server.machine.shard.coordinator.state.groups["g"].resolved.values()  # type: ignore[attr-defined]
        assert resolved.topics == {"t"}
        named = await peer.ask(
            made(group_id="g", member_id="n", rebalance_timeout_ms=9000, subscribed_topic_names=("t", "u"), topic_partitions=()), 68, 1
        )
        assert named.error_code == TOPIC_AUTHORIZATION_FAILED
        other = await peer.ask(made(group_id="h", member_id="m", rebalance_timeout_ms=9000, subscribed_topic_names=("t",)), 68, 1)
        assert other.error_code == GROUP_AUTHORIZATION_FAILED
        groups = await peer.ask(messages.ListGroupsRequest(), 16, 5)
        assert groups.groups == ()

    asking(image, allowing(("DESCRIBE", "TOPIC", "t"), ("READ", "GROUP", "g")), work)


def test_a_description_with_topics_that_may_not_be_seen_is_refused(image: MetadataImage) -> None:
    may_see_all = True
    some = allowing(("DESCRIBE", "TOPIC", "t"), ("READ", "GROUP", "g"), ("DESCRIBE", "GROUP", "g"))

    async def work(server: GroupServer, peer: Peer) -> None:
        nonlocal may_see_all
        made = messages.ConsumerGroupHeartbeatRequest
        joined = made(group_id="g", member_id="m", rebalance_timeout_ms=9000, subscribed_topic_names=("t", "u"), topic_partitions=())
        await peer.ask(joined, 68, 1)
        asked = messages.ConsumerGroupDescribeRequest(group_ids=("g", "h"), include_authorized_operations=True)
        whole = (await peer.ask(asked, 69, 1)).groups
        may_see_all = False
        refused, hidden = (await peer.ask(asked, 69, 1)).groups
        assert whole[0].error_code == NONE and len(whole[0].members) == 1
        assert (refused.group_id, refused.error_code) == ("h", GROUP_AUTHORIZATION_FAILED)
        assert (hidden.error_code, hidden.members) == (TOPIC_AUTHORIZATION_FAILED, ())

    asking(image, lambda *asked: may_see_all or some(*asked), work)


def test_the_controller_is_asked_as_for_the_client_and_of_configs_only_what_it_may_see(image: MetadataImage) -> None:
    async def work(server: GroupServer, peer: Peer) -> None:
        await peer.ask(messages.DeleteTopicsRequest(topics=(messages.DeleteTopicsRequest.DeleteTopicState(name="t"),)), 20, 6)
        made = messages.DescribeConfigsRequest
        resources = tuple(made.DescribeConfigsResource(resource_type=kind, resource_name=name) for kind, name in ((2, "t"), (4, "1")))
        answer = await peer.ask(made(resources=resources), 32, 4)
        assert [(one.resource_type, one.error_code) for one in answer.results] == [(4, 31)]

    deletion, description = asking(image, allowing(("DESCRIBE_CONFIGS", "TOPIC", "t")), work)
    assert deletion[1] == ClientIdentity("User:ANONYMOUS", "127.0.0.1", "test", False)
    assert [one.resource_name for one in description[0].resources] == ["t"]
