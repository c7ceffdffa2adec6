"""A group server on a quorum that loses controllers, and two that want to be the same broker."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from errno import EIO

import pytest

from metashell.cli.inspect.checks import verify_main
from metashell.codec import messages
from metashell.codec.error_codes import COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
from metashell.common.errors import UsageError
from metashell.groups.log.group_log import GroupFlush
from metashell.groups.server import NODE_ID, GroupServerConfig
from metashell.groups.state import Settings
from metashell.inspect.surviving_logs import read_partitions
from metashell.net.addresses import ConnectError, parse_addresses
from metashell.net.client import Client
from metashell.net.security import SecurityConfig
from metashell.quorum.embedded import EmbeddedQuorum, QuorumError
from metashell.quorum.embedded.layout import reserve
from metashell.quorum.embedded.members import Groups
from tests.running import run_main

LONG_S = 120.0


@pytest.fixture
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(3, groups=True, fake_brokers=1) as running:
        yield running


def beat(client: Client, epoch: int, member_id: str = "m") -> messages.ConsumerGroupHeartbeatResponse:
    is_first = epoch == 0
    made = messages.ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member_id,
        member_epoch=epoch,
        rebalance_timeout_ms=30_000 if is_first else -1,
        subscribed_topic_names=("t", "late") if is_first else None,
        topic_partitions=() if is_first else None,
    )
    answer: messages.ConsumerGroupHeartbeatResponse = client.request(made)
    assert answer.error_code == 0, answer
    return answer


def test_groups_outlive_the_active_controller_and_hear_of_topics_that_its_successor_makes(quorum: EmbeddedQuorum) -> None:
    topic_id = quorum.create_topic("t", 2)
    with Client(parse_addresses(quorum.bootstrap_servers), deadline_ms=60_000) as client:
        joined = beat(client, 0)
        assert [(each.topic_id, tuple(each.partitions)) for each in joined.assignment.topic_partitions] == [(topic_id, (0, 1))]
        quorum.kill(quorum.wait_for_leader())
        assert beat(client, joined.member_epoch).member_epoch == joined.member_epoch
        quorum.wait_for_leader(LONG_S)
        late = quorum.create_topic("late", 1)
        epoch, answer = joined.member_epoch, beat(client, joined.member_epoch)
        while answer.member_epoch == epoch:
            answer = beat(client, epoch)
        assert {each.topic_id for each in answer.assignment.topic_partitions} == {topic_id, late}


def test_the_second_that_wants_to_be_the_broker_is_refused_and_serves_nobody(quorum: EmbeddedQuorum) -> None:
    told: list[str] = []

    async def begin() -> Groups:
        config = GroupServerConfig(settings=Settings(node_id=NODE_ID, host="localhost", port=0))
        active, client = quorum._active_address, quorum._connected()
        second = Groups(
            config,
            quorum.cluster_id,
            lambda: quorum.image,
            active,
            client,
            quorum._changed,
            lambda id, line: told.append(line),
            origin=" 2",
        )
        await second.open()
        return second

    second: Groups = quorum._run(begin(), "a second one")
    try:
        quorum._wait("it is refused", lambda: any("is not registered" in line for line in told), LONG_S)
        assert not second.is_serving
        assert told[-1].startswith(f"groups: broker {NODE_ID} is not registered: This broker ID is already in use")
    finally:
        quorum._run(second.close(), "its end")


def test_a_quorum_that_is_kept_serves_groups_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    kept = tmp_path_factory.mktemp("kept")
    with EmbeddedQuorum(1, groups=True, directory=kept) as first:
        first.create_topic("t", 2)
    with EmbeddedQuorum(directory=kept) as again, Client(parse_addresses(again.bootstrap_servers)) as client:
        assert beat(client, 0).member_epoch == 2
    with pytest.raises(QuorumError, match="no group coordinator runs"):
        _ = again.bootstrap_servers


def commit(client: Client, topic_id: bytes, offset: int) -> None:
    made = messages.OffsetCommitRequest
    partition = made.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
    answer = client.request(made(group_id="offsets", topics=(made.OffsetCommitRequestTopic(topic_id=topic_id, partitions=(partition,)),)))
    assert answer.topics[0].partitions[0].error_code == 0


def committed(client: Client) -> dict[int, int]:
    made = messages.OffsetFetchRequest
    answer = client.request(made(groups=(made.OffsetFetchRequestGroup(group_id="offsets", topics=None),), require_stable=True))
    return {one.partition_index: one.committed_offset for topic in answer.groups[0].topics for one in topic.partitions}


def test_a_member_and_what_it_committed_survive_a_kill_at_any_moment(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("killed")
    with EmbeddedQuorum(1, groups=True, directory=folder / "first") as first, Client(parse_addresses(first.bootstrap_servers)) as client:
        topic_id = first.create_topic("t", 2)
        epoch = beat(client, 0).member_epoch
        commit(client, topic_id, 7)
        # What lies in the directory now is what kill -9 leaves: nothing is flushed or closed.
        shutil.copytree(folder / "first", folder / "left", ignore=shutil.ignore_patterns(".lock", ".groups.lock"))
        commit(client, topic_id, 8)
    shutil.rmtree(folder / "first")
    (folder / "left").rename(folder / "first")
    with EmbeddedQuorum(directory=folder / "first") as again, Client(parse_addresses(again.bootstrap_servers)) as client:
        answer = beat(client, epoch)
        assert (answer.member_epoch, answer.assignment) == (epoch, None), "it goes on with its partitions"
        assert committed(client) == {0: 7}
        listed = client.request(messages.MetadataRequest(topics=None)).topics
        assert {topic.name: len(topic.partitions) for topic in listed} == {"t": 2, "__consumer_offsets": 50}
    # The metadata has no such topic, and that is no finding: the log of groups is no stray, and not what a lost quorum has lost.
    directory = str(folder / "first" / "controller-1" / "metadata")
    verified = run_main(verify_main, [directory], cwd=folder)
    assert (verified.status, b"unknown_topic" in verified.stdout) == (0, False), verified
    assert list(read_partitions(directory)) == []


def test_groups_that_are_not_durable_leave_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    kept = tmp_path_factory.mktemp("not-durable")
    with EmbeddedQuorum(1, groups=True, durable=False, directory=kept) as first, Client(parse_addresses(first.bootstrap_servers)) as client:
        commit(client, first.create_topic("t", 2), 7)
        assert committed(client) == {0: 7}
    assert not list(kept.rglob("__consumer_offsets-*"))
    with EmbeddedQuorum(directory=kept) as again, Client(parse_addresses(again.bootstrap_servers)) as client:
        assert committed(client) == {}


def test_a_disk_that_fails_ends_the_groups_and_not_the_controller(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    directory = tmp_path_factory.mktemp("failing")
    with (
        EmbeddedQuorum(1, groups=True, directory=directory, on_event=lambda id, line: told.append(line)) as quorum,
        Client(parse_addresses(quorum.bootstrap_servers)) as client,
    ):
        topic_id = quorum.create_topic("t", 2)
        commit(client, topic_id, 7)

        def fail(flush: GroupFlush) -> None:
            raise OSError(EIO, "Input/output error", str(directory))

        monkeypatch.setattr(GroupFlush, "sync", fail)
        made = messages.OffsetCommitRequest
        partition = made.OffsetCommitRequestPartition(partition_index=0, committed_offset=8, committed_metadata="")
        request = made(group_id="offsets", topics=(made.OffsetCommitRequestTopic(topic_id=topic_id, partitions=(partition,)),))
        for _ in range(2):
            assert client.request(request).topics[0].partitions[0].error_code == NOT_COORDINATOR
        asked = messages.FindCoordinatorRequest(key_type=0, coordinator_keys=("offsets",))
        assert client.request(asked).coordinators[0].error_code == COORDINATOR_NOT_AVAILABLE
        assert quorum.create_topic("u", 1)
    assert [line for line in told if "Input/output error" in line] == [
        f"groups: {directory}: Input/output error; groups are served no more until this process is started again"
    ]


LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SECURED = {
    "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT,GROUPS:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "sasl.jaas.config": f'{LOGIN} username="admin" password="a" user_admin="a" user_eve="e" user_alice="l";',
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin",
}


def logged_in(address: str, user: str, password: str) -> Client:
    security = SecurityConfig(protocol="SASL_PLAINTEXT", mechanism="PLAIN", username=user, password=password)
    return Client(parse_addresses(address), security=security, deadline_ms=60_000)


def deletion(name: str) -> messages.DeleteTopicsRequest:
    return messages.DeleteTopicsRequest(topics=(messages.DeleteTopicsRequest.DeleteTopicState(name=name),), timeout_ms=5000)


def alteration(name: str) -> messages.IncrementalAlterConfigsRequest:
    made = messages.IncrementalAlterConfigsRequest
    config = made.AlterableConfig(name="retention.ms", config_operation=0, value="1")
    return made(resources=(made.AlterConfigsResource(resource_type=2, resource_name=name, configs=(config,)),))


def acl(user: str, resource_type: int, name: str, operation: int) -> messages.CreateAclsRequest.AclCreation:
    return messages.CreateAclsRequest.AclCreation(
        resource_type=resource_type,
        resource_name=name,
        resource_pattern_type=3,
        principal=f"User:{user}",
        host="*",
        operation=operation,
        permission_type=3,
    )


def test_nobody_has_more_rights_through_the_group_listener_than_at_the_controller() -> None:
    told: list[str] = []
    with closing(reserve(1)) as reserved:
        port = reserved.numbers[0]
        properties = {**SECURED, "group.coordinator.listener": f"GROUPS://localhost:{port}"}
        with EmbeddedQuorum(3, groups=True, properties=properties, on_event=lambda id, line: told.append(line)) as quorum:
            assert (
                "groups: whoever logs in by PLAIN may do what ACLs allow on groups, topics and the cluster; User:admin may do everything"
                in told
            )
            quorum.create_topic("precious", 2)
            address = quorum.bootstrap_servers
            with Client(parse_addresses(address), deadline_ms=60_000) as stranger, pytest.raises(ConnectError):
                stranger.request(messages.MetadataRequest(topics=None))
            with logged_in(address, "eve", "e") as eve:
                (result,) = eve.request(deletion("precious")).responses
                assert (result.error_code, result.error_message) == (29, "Topic authorization failed.")
                assert eve.request(alteration("precious")).responses[0].error_code == 29
                assert eve.request(messages.MetadataRequest(topics=None)).topics == ()
                # A topic that is only asked for is not made either.
                new = messages.MetadataRequest.MetadataRequestTopic(name="new")
                assert eve.request(messages.MetadataRequest(topics=(new,))).topics[0].error_code == 29
            acls = (
                acl("alice", 2, "precious", 8),
                acl("alice", 2, "precious", 3),
                acl("alice", 3, "g", 3),
                acl("alice", 2, "precious", 11),
            )
            quorum.request(messages.CreateAclsRequest(creations=acls))
            with logged_in(address, "alice", "l") as alice:
                assert beat_as(alice, "precious").error_code == 0
                assert alice.request(alteration("precious")).responses[0].error_code == 0
                assert alice.request(deletion("precious")).responses[0].error_code == 29
            with logged_in(address, "admin", "a") as admin:
                assert admin.request(deletion("precious")).responses[0].error_code == 0
            quorum.wait_for(lambda image: "precious" not in image.topics.by_name)
            assert "new" not in quorum.image.topics.by_name


def beat_as(client: Client, topic: str) -> messages.ConsumerGroupHeartbeatResponse:
    """Join group g, once the rights to do so have reached the controller that is asked."""
    made = messages.ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=0, rebalance_timeout_ms=30_000, subscribed_topic_names=(topic,), topic_partitions=()
    )
    answer: messages.ConsumerGroupHeartbeatResponse = client.request(made)
    while answer.error_code in (29, 30):
        answer = client.request(made)
    return answer


@pytest.mark.parametrize(
    ("changes", "lacking"),
    [
        ({}, "its listener PLAINTEXT is PLAINTEXT, but CONTROLLER is SASL_PLAINTEXT: groups need SASL too"),
        ({"group.coordinator.listener": "OTHER://localhost:1"}, "OTHER is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
    ],
)
def test_a_group_listener_that_is_weaker_than_the_controllers_is_refused(changes: dict[str, str], lacking: str) -> None:
    with pytest.raises(UsageError, match=lacking):
        EmbeddedQuorum(1, groups=True, properties={**SECURED, **changes}).start()
