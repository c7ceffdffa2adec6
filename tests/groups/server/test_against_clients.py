"""Clients of others form groups without a broker: librdkafka (confluent-kafka) and kafka-python."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from metashell.quorum.embedded import EmbeddedQuorum
from metashell.quorum.embedded.layout import reserve

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it reads its schemas in an older way
    import kafka

pytestmark = pytest.mark.slow
LIMIT_S = 120.0
RENEW_S = 12.0
PARTITIONS = 4


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(1, groups=True) as running:
        running.create_topic("t", PARTITIONS)
        yield running


class Member:
    """A consumer of librdkafka that notes its callbacks."""

    def __init__(self, quorum: EmbeddedQuorum, group: str, **settings: Any) -> None:
        self.events: list[tuple[str, tuple[int, ...]]] = []
        self.consumer = Consumer(
            {
                "bootstrap.servers": quorum.bootstrap_servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "log_level": 0,
                **{name.replace("_", "."): value for name, value in settings.items()},
            }
        )
        noted = {name: self._note(name) for name in ("assigned", "revoked", "lost")}
        self.consumer.subscribe(["t"], on_assign=noted["assigned"], on_revoke=noted["revoked"], on_lost=noted["lost"])

    def _note(self, name: str) -> Callable[[Consumer, list[TopicPartition]], None]:
        return lambda consumer, partitions: self.events.append((name, tuple(sorted(one.partition for one in partitions))))

    @property
    def owned(self) -> set[int]:
        return {one.partition for one in self.consumer.assignment()}

    def poll(self) -> None:
        message = self.consumer.poll(0.02)
        assert message is None or message.error() is None, message.error()

    def close(self) -> None:
        self.consumer.close()


CLASSIC = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 100}


def until(members: Sequence[Member], what: str, holds: Callable[[], bool]) -> None:
    """Poll all members until it holds."""
    end = time.monotonic() + LIMIT_S
    while not holds():
        for member in members:
            member.poll()
        assert time.monotonic() < end, f"{what}: {[(member.owned, member.events) for member in members]}"


def shares(*members: Member) -> bool:
    """Whether each partition is somebody's, nobody has the same, and all have some."""
    owned = [member.owned for member in members]
    return all(owned) and sorted(partition for each in owned for partition in each) == list(range(PARTITIONS))


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("range", {**CLASSIC, "partition_assignment_strategy": "range"}),
        ("cooperative", {**CLASSIC, "partition_assignment_strategy": "cooperative-sticky"}),
        ("consumer", {"group_protocol": "consumer"}),
    ],
)
def test_members_share_partitions_and_take_over_from_who_leaves(quorum: EmbeddedQuorum, name: str, settings: dict[str, Any]) -> None:
    first = Member(quorum, name, client_id="first", **settings)
    until([first], "the first has all", lambda: shares(first))
    second = Member(quorum, name, client_id="second", **settings)
    until([first, second], "both share", lambda: shares(first, second))
    kept = first.owned
    if name == "range":
        assert ("revoked", tuple(range(PARTITIONS))) in first.events, "eager members give up everything"
    else:
        revoked = {partition for event, partitions in first.events if event == "revoked" for partition in partitions}
        assert revoked == set(range(PARTITIONS)) - kept, "who keeps partitions is not asked to give them up"
    second.consumer.commit(offsets=[TopicPartition("t", partition, 40 + partition) for partition in second.owned], asynchronous=False)
    left = second.owned
    second.close()
    until([first], "the first has all again", lambda: shares(first))
    found = first.consumer.committed([TopicPartition("t", partition) for partition in range(PARTITIONS)], timeout=LIMIT_S)
    assert {one.partition: one.offset for one in found if one.offset >= 0} == {partition: 40 + partition for partition in left}
    first.close()
    assert not any(event == "lost" for event, _ in [*first.events, *second.events])


def test_a_static_member_comes_back_to_its_partitions_without_a_rebalance(quorum: EmbeddedQuorum) -> None:
    settings: dict[str, Any] = {**CLASSIC, "partition_assignment_strategy": "range"}
    first = Member(quorum, "static", group_instance_id="one", **settings)
    second = Member(quorum, "static", group_instance_id="two", **settings)
    until([first, second], "both share", lambda: shares(first, second))
    had, seen = second.owned, len(first.events)
    second.close()
    second = Member(quorum, "static", group_instance_id="two", **settings)
    until([first, second], "it is back", lambda: second.owned == had)
    assert len(first.events) == seen
    first.close()
    second.close()


def kafka_python_member(quorum: EmbeddedQuorum) -> kafka.KafkaConsumer:
    return kafka.KafkaConsumer(
        "t",
        bootstrap_servers=quorum.bootstrap_servers,
        group_id="mixed",
        enable_auto_commit=False,
        session_timeout_ms=6000,
        heartbeat_interval_ms=100,
        max_poll_interval_ms=30_000,
    )


def test_clients_of_two_makers_are_in_one_group(quorum: EmbeddedQuorum) -> None:
    other = kafka_python_member(quorum)
    renew_s = time.monotonic() + RENEW_S
    member = Member(quorum, "mixed", partition_assignment_strategy="range", **CLASSIC)

    def share() -> bool:
        nonlocal other, renew_s
        if time.monotonic() > renew_s:
            # kafka-python 3.0.12 stops its heartbeats for good where the answer to its SyncGroup comes between two polls.
            other.close()
            other, renew_s = kafka_python_member(quorum), time.monotonic() + RENEW_S
        other.poll(timeout_ms=20)
        owned = {one.partition for one in other.assignment()}
        return bool(owned) and bool(member.owned) and sorted([*owned, *member.owned]) == list(range(PARTITIONS))

    until([member], "both share", share)
    partition = next(iter(other.assignment()))
    other.commit({partition: kafka.OffsetAndMetadata(7, "here", -1)})
    assert other.committed(partition) == 7
    admin = AdminClient({"bootstrap.servers": quorum.bootstrap_servers})
    assert "mixed" in {group.group_id for group in admin.list_consumer_groups().result(LIMIT_S).valid}
    described = admin.describe_consumer_groups(["mixed"])["mixed"].result(LIMIT_S)
    assert sorted(one.partition for each in described.members for one in each.assignment.topic_partitions) == list(range(PARTITIONS))
    other.close()
    until([member], "the other one has left", lambda: shares(member))
    member.close()


def test_clients_that_log_in_form_groups_and_others_do_not() -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    properties = {
        "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT,GROUPS:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "sasl.jaas.config": f'{module} username="admin" password="a" user_admin="a" user_eve="e";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin",
    }
    with closing(reserve(1)) as reserved:
        listener = {"group.coordinator.listener": f"GROUPS://localhost:{reserved.numbers[0]}"}
        with EmbeddedQuorum(1, groups=True, properties={**properties, **listener}) as quorum:
            quorum.create_topic("t", PARTITIONS)
            admin = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_username": "admin", "sasl_password": "a"}
            for protocol in ("classic", "consumer"):
                member = Member(quorum, protocol, group_protocol=protocol, **admin)
                until([member], f"it has all of them by {protocol}", lambda: len(member.owned) == PARTITIONS)  # noqa: B023
                member.close()
            eve = {name.replace("_", "."): value for name, value in {**admin, "sasl_username": "eve", "sasl_password": "e"}.items()}
            refused = AdminClient({"bootstrap.servers": quorum.bootstrap_servers, **eve})
            with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
                refused.delete_topics(["t"])["t"].result(LIMIT_S)
            assert refused.list_consumer_groups().result(LIMIT_S).valid == []
            python = kafka.KafkaAdminClient(
                bootstrap_servers=quorum.bootstrap_servers,
                security_protocol="SASL_PLAINTEXT",
                sasl_mechanism="PLAIN",
                sasl_plain_username="admin",
                sasl_plain_password="a",
            )
            assert set(python.list_topics()) >= {"t"}
            python.delete_topics(["t"])
            python.close()
            quorum.wait_for(lambda image: "t" not in image.topics.by_name)
