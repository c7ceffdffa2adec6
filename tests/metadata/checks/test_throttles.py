"""Throttles without a move, quotas that choke; and those that are as they should be."""

from __future__ import annotations

import pytest

from metashell.codec.registry import message_type
from tests.metadata.checks.situations import BROKER, TOPIC, broker, facts_of, found, partition, setting, told, topic
from tests.metadata.image.batches import record

BASE = (broker(1), broker(2), broker(3), topic("orders"), partition(0, (1, 2)))
LEADER = ("leader.replication.throttled.rate", "leader.replication.throttled.replicas")
FOLLOWER = ("follower.replication.throttled.rate", "follower.replication.throttled.replicas")


def rate(name: str, value: str, key: str = LEADER[0]) -> object:
    return setting(BROKER, name, key, value)


def replicas(value: str, name: str = "orders", key: str = LEADER[1]) -> object:
    return setting(TOPIC, name, key, value)


def test_what_a_move_left_behind_is_named_with_rates_topics_and_time() -> None:
    facts = facts_of(
        *BASE, rate("1", "1000"), rate("1", "1000"), rate("2", "1000000", FOLLOWER[0]), replicas("*"), replicas("*", key=FOLLOWER[1])
    )
    (one,) = found(facts, "left_throttles")
    assert one.name == "2 brokers (1000 B/s: 1; 1000000 B/s: 2) and 1 topic (orders)"
    assert one.cause == "a GB takes 11 d 13 h at 1000 B/s"
    assert [at.offset for at in one.evidence] == [5]


@pytest.mark.parametrize(
    "settings",
    [
        (rate("1", "1000"),),
        (replicas("*"),),
        (rate("1", "1000"), replicas("0:2")),
        (rate("1", "1000"), replicas("*", key=FOLLOWER[1])),
        (rate("1", "1000"), replicas("")),
        (rate("", "x"), replicas("*")),
    ],
)
def test_what_holds_nothing_back_is_quiet(settings: tuple[object, ...]) -> None:
    assert found(facts_of(*BASE, *settings), "left_throttles") == []


def test_only_brokers_whose_replicas_are_listed_count_and_a_rate_for_all_counts_for_each() -> None:
    facts = facts_of(*BASE, rate("1", "1000"), rate("2", "1000"), replicas("0:2,1:2"))
    assert told(facts, "left_throttles")[0][0] == "1 broker (1000 B/s: 2) and 1 topic (orders)"
    facts = facts_of(*BASE, rate("", "2000"), replicas("0:2"))
    assert told(facts, "left_throttles")[0][0] == "all brokers (2000 B/s: all) and 1 topic (orders)"


def test_while_a_partition_is_moved_not_a_word() -> None:
    moving = partition(1, (1, 2, 3), adding_replicas=(3,), isr=(1, 2))
    assert found(facts_of(*BASE, moving, rate("1", "1000"), replicas("*")), "left_throttles") == []


def quota(value: float, key: str, **entity: str | None) -> object:
    part = message_type("metadata", "ClientQuotaRecord").structs["EntityData"]
    parts = tuple(part(entity_type=type.replace("_", "-"), entity_name=name) for type, name in entity.items())
    return record("ClientQuotaRecord", entity=parts, key=key, value=value, remove=False)


def test_a_quota_for_everybody_that_chokes_is_told() -> None:
    facts = facts_of(*BASE, quota(1, "producer_byte_rate", user=None), quota(0.01, "request_percentage", user=None, client_id=None))
    assert told(facts, "tiny_quota") == [
        ("default client-id and default user: request_percentage", "0.01 %"),
        ("default user: producer_byte_rate", "1 B/s"),
    ]


def test_a_quota_that_is_large_or_of_one_client_is_quiet() -> None:
    quotas = (
        quota(1024, "producer_byte_rate", user=None),
        quota(1, "consumer_byte_rate", user="mallory"),
        quota(50, "request_percentage", user=None),
    )
    assert found(facts_of(*BASE, *quotas), "tiny_quota") == []


def test_copies_between_directories_that_stand_still_are_told() -> None:
    key = "replica.alter.log.dirs.io.max.bytes.per.second"
    facts = facts_of(*BASE, setting(BROKER, "1", key, "100"), setting(BROKER, "2", key, "100000000"))
    (one,) = found(facts, "tiny_directory_rate")
    assert (one.name, one.cause, one.steps) == ("broker 1", "100 B/s", (f"metashell configs unset broker:1 {key}",))
