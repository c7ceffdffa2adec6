"""The shape of a cluster, throttles without a reassignment, tiny quotas: each flaw, and its healthy twin."""

from __future__ import annotations

import pytest

from metashell.codec.registry import message_type
from metashell.metadata.checks.survey import first_factor
from metashell.metadata.image.provenance import Leader
from tests.metadata.checks.situations import BROKER, TOPIC, broker, facts_of, found, leader, partition, setting, told, topic
from tests.metadata.image.batches import record

THREE = (broker(1), broker(2), broker(3))
IDS = ("one_replica", "few_state_replicas", "even_quorum", "one_rack", "no_rack", "local_listener", "same_listener", "min_isr_at_factor")


def test_a_sound_cluster_is_quiet() -> None:
    records = (leader(1, (1, 2, 3)), *THREE, topic("orders"), topic("__consumer_offsets", 1))
    facts = facts_of(*records, partition(0, (1, 2, 3)), partition(0, (1, 2, 3), 1), setting(TOPIC, "orders", "min.insync.replicas", "2"))
    assert [found(facts, id) for id in (*IDS, "unclean_allowed")] == [[]] * (len(IDS) + 1)


def test_a_single_node_may_have_one_of_everything() -> None:
    facts = facts_of(
        leader(1, (1,)),
        broker(1, at=("localhost", 9092)),
        topic("__consumer_offsets"),
        partition(0, (1,)),
        topic("t", 1),
        partition(0, (1,), 1),
    )
    assert [found(facts, id) for id in IDS] == [[]] * len(IDS)


def test_single_replicas_are_told_where_there_are_more_brokers() -> None:
    facts = facts_of(*THREE, topic("orders"), partition(0, (1,)), topic("__consumer_offsets", 1), partition(0, (1, 2), 1))
    assert told(facts, "one_replica") == [("orders", "")]
    assert told(facts, "few_state_replicas") == [("__consumer_offsets", "2 replicas; offsets.topic.replication.factor")]


def test_replicas_that_a_move_adds_do_not_count() -> None:
    facts = facts_of(*THREE, topic("orders"), partition(0, (1,)), partition(0, (1, 2, 3), adding_replicas=(2, 3), isr=(1,)))
    assert told(facts, "one_replica") == [("orders", "")]


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ((1, 2), ("2 voters: 1, 2", "0 of them may fail, as with 1")),
        ((1, 2, 3, 4), ("4 voters: 1, 2, 3, 4", "1 of them may fail, as with 3")),
    ],
)
def test_an_even_quorum_is_told(ids: tuple[int, ...], words: tuple[str, str]) -> None:
    assert told(facts_of(leader(1, ids)), "even_quorum") == [words]


def test_racks() -> None:
    assert told(facts_of(broker(1, rack="a"), broker(2, rack="a")), "one_rack") == [("a", "brokers 1, 2")]
    assert told(facts_of(broker(1, rack="a"), broker(2), broker(3, rack="b")), "no_rack") == [("2", "")]
    for facts in (facts_of(broker(1, rack="a")), facts_of(broker(1, rack="a"), broker(2, rack="b")), facts_of(*THREE)):
        assert found(facts, "one_rack") == found(facts, "no_rack") == []


def test_a_broker_that_tells_clients_of_its_own_machine_is_told_unless_all_are_there() -> None:
    facts = facts_of(broker(1), broker(2, at=("localhost", 9092)), broker(3, at=("k.invalid", 9092)), broker(4, at=("::1", 1), fenced=True))
    assert told(facts, "local_listener") == [
        ("broker 2, PLAINTEXT", "localhost:9092, others have other hosts"),
        ("broker 3, PLAINTEXT", "k.invalid:9092, no name ends in .invalid"),
    ]
    assert found(facts_of(*(broker(id, at=("localhost", 9092 + id)) for id in (1, 2, 3))), "local_listener") == []


def test_two_brokers_at_one_address_are_bad_unless_one_is_gone_or_both_are_stand_ins() -> None:
    place = ("kafka", 9092)
    assert told(facts_of(broker(1, at=place), broker(2, at=place)), "same_listener") == [("kafka:9092", "brokers 1, 2")]
    assert found(facts_of(broker(1, at=place, fenced=True), broker(2, at=place)), "same_listener") == []
    assert found(facts_of(broker(1, at=("localhost", 1)), broker(2, at=("localhost", 1))), "same_listener") == []


@pytest.mark.parametrize(
    ("factor", "min_isr", "is_told"), [(1, 1, False), (1, 2, False), (2, 1, False), (2, 2, True), (3, 2, False), (3, 3, True), (2, 3, True)]
)
def test_min_isr_that_needs_every_replica_is_told(factor: int, min_isr: int, is_told: bool) -> None:
    records = (*THREE, topic("orders"), partition(0, (1, 2, 3)[:factor]))
    for of in (setting(TOPIC, "orders", "min.insync.replicas", str(min_isr)), setting(BROKER, "", "min.insync.replicas", str(min_isr))):
        words = [("orders", f"min.insync.replicas {min_isr}, {factor} replicas")] if is_told else []
        assert told(facts_of(*records, of), "min_isr_at_factor") == words


def test_unclean_elections_are_told_where_they_are_allowed_and_since_when() -> None:
    key = "unclean.leader.election.enable"
    facts = facts_of(*THREE, setting(TOPIC, "orders", key, "true"), setting(TOPIC, "logs", key, "false"), setting(BROKER, "", key, "True"))
    assert [(one.name, [at.offset for at in one.evidence]) for one in found(facts, "unclean_allowed")] == [
        ("topic:orders", [3]),
        ("broker:default", [5]),
    ]


def test_voters_of_a_static_quorum_count_too() -> None:
    facts = facts_of(*THREE)
    assert facts.image.leader == Leader(1, 1, ()) and found(facts, "even_quorum") == []


def test_preferred_leaders_that_lie_unevenly_are_told() -> None:
    skewed = [partition(id, (1, 2)) for id in range(60)] + [partition(id, (2 + id % 2, 1)) for id in range(60, 80)]
    facts = facts_of(*THREE, broker(4), topic("orders"), *skewed)
    assert told(facts, "uneven_leaders") == [("broker 1", "the first replica of 60 of 80 partitions, its share is 20")]
    even = [partition(id, (1 + id % 3, 1 + (id + 1) % 3)) for id in range(120)]
    few = [partition(id, (1, 2)) for id in range(30)]
    for bodies in (even, few):
        # A broker that was just added has none yet.
        assert found(facts_of(*THREE, broker(4), topic("orders"), *bodies), "uneven_leaders") == []


def test_of_a_large_cluster_some_topics_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metashell.metadata.checks.health._COUNTED_MAX", 10)
    bodies = [body for number in range(5) for body in (topic(f"t{number}", number), *(partition(id, (1, 2), number) for id in range(80)))]
    ((name, cause),) = told(facts_of(*THREE, *bodies), "uneven_leaders")
    assert name == "broker 1" and "partitions that were counted" in cause


@pytest.mark.parametrize("count", [1, 2, 3, 60, 127, 130])
def test_the_replicas_of_a_topic_are_those_of_its_first_partition(count: int) -> None:
    """Read from the bytes of its record, which has other sizes with more replicas."""
    replicas = tuple(range(1, count + 1))
    facts = facts_of(topic("orders"), partition(7, replicas, directories=tuple(bytes([id] * 16) for id in replicas)))
    (orders,) = facts.image.topics
    assert first_factor(orders) == len(orders.partitions[7].replicas) == count


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
