"""Both sides of each threshold, and each case of what a finding says beside its name."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec.registry import message_type
from metashell.common.values import UNASSIGNED_DIRECTORY
from metashell.metadata.checks.facts import BrokerAnswers, BrokerDirectory, Facts, Probe
from metashell.metadata.checks.nodes import address_flaw, is_explained, is_loopback
from metashell.metadata.checks.rules.brokers import Registration, series_of
from metashell.metadata.checks.rules.lint import throttle_words, throttled
from metashell.metadata.image import PartitionRegistration
from tests.metadata.checks.situations import BROKER, TOPIC, broker, facts_of, found, partition, setting, told, topic
from tests.metadata.image.batches import record

ALTER_DIRS = "replica.alter.log.dirs.io.max.bytes.per.second"


@pytest.mark.parametrize(
    ("times_ms", "now_ms", "count"),
    [
        ((), 0, 0),
        ((0, 600_000), 600_000, 2),
        ((0, 600_001), 600_001, 1),
        ((0, 700_000, 700_001), 700_001, 2),
        ((0, 1), 3_600_001, 2),
        ((0, 1), 3_600_002, 0),
        ((0, 1), -1, 2),
    ],
)
def test_a_series_of_registrations_has_no_long_pause_and_is_not_over(times_ms: tuple[int, ...], now_ms: int, count: int) -> None:
    assert len(series_of([Registration(0, time_ms, "", frozenset()) for time_ms in times_ms], now_ms)) == count


@pytest.mark.parametrize(("starts", "is_told"), [(4, False), (5, True)])
def test_four_starts_may_be_a_rolling_restart(starts: int, is_told: bool) -> None:
    assert bool(found(facts_of(*[broker(3, process=number) for number in range(starts)]), "restarting_broker")) == is_told


@pytest.mark.parametrize(
    ("usable", "total", "check"),
    [
        (199, 10_000, "full_disk"),
        (200, 10_000, "nearly_full_disk"),
        (999, 10_000, "nearly_full_disk"),
        (1000, 10_000, ""),
        (0, 10_000, "full_disk"),
        (0, 0, ""),
        (0, -1, ""),
        (0, None, ""),
        (None, 10_000, ""),
    ],
)
def test_a_disk_is_full_below_a_fiftieth_and_nearly_so_below_a_tenth(usable: int | None, total: int | None, check: str) -> None:
    directory = BrokerDirectory("/a", "", 100, total, usable, is_cordoned=False)
    answers = BrokerAnswers(id=3, probe=Probe("kafka-3:9092", "answers"), directories=(directory,))
    assert [id for id in ("full_disk", "nearly_full_disk") if found(Facts(brokers=(answers,)), id)] == [check][: bool(check)]


@pytest.mark.parametrize(("own", "others", "is_told"), [(40, 20, False), (41, 19, True), (57, 2, False), (58, 2, True)])
def test_a_broker_leads_more_than_twice_its_share_of_twenty(own: int, others: int, is_told: bool) -> None:
    bodies = [partition(id, (1, 2)) for id in range(own)] + [partition(own + id, (2, 1)) for id in range(others)]
    facts = facts_of(broker(1), broker(2), broker(3), topic("orders"), *bodies)
    assert bool(found(facts, "uneven_leaders")) == is_told


@pytest.mark.parametrize(
    ("brokers", "factor", "names"),
    [(1, 1, []), (2, 1, ["one_replica", "few_state_replicas"]), (2, 2, []), (3, 2, ["few_state_replicas"]), (3, 3, []), (4, 3, [])],
)
def test_replicas_are_few_where_there_are_brokers_for_more(brokers: int, factor: int, names: list[str]) -> None:
    ids = tuple(range(1, brokers + 1))
    replicas = ids[:factor]
    records = (topic("orders"), partition(0, replicas), topic("__transaction_state", 1), partition(0, replicas, 1))
    facts = facts_of(*map(broker, ids), *records)
    assert [id for id in ("one_replica", "few_state_replicas") if found(facts, id)] == names


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("producer_byte_rate", 1023.0, "1023 B/s"),
        ("producer_byte_rate", 1024.0, ""),
        ("consumer_byte_rate", 0.0, "0 B/s"),
        ("consumer_byte_rate", 1024.0, ""),
        ("request_percentage", 0.09, "0.09 %"),
        ("request_percentage", 0.1, ""),
        ("controller_mutation_rate", 0.005, "0.005 /s"),
        ("controller_mutation_rate", 0.01, ""),
        ("connection_creation_rate", 0.05, "0.05 /s"),
        ("connection_creation_rate", 0.1, ""),
        ("my_own_rate", 0.0, ""),
    ],
)
def test_a_quota_of_everybody_is_tiny(key: str, value: float, words: str) -> None:
    entity = message_type("metadata", "ClientQuotaRecord").structs["EntityData"]

    def names(*parts: tuple[str, str | None]) -> list[tuple[str, str]]:
        quota = record(
            "ClientQuotaRecord", entity=tuple(entity(entity_type=one, entity_name=name) for one, name in parts), key=key, value=value
        )
        return told(facts_of(broker(1), quota), "tiny_quota")

    assert names(("user", None)) == ([(f"default user: {key}", words)] if words else [])
    both = names(("client-id", None), ("user", None))
    assert both == ([(f"default client-id and default user: {key}", words)] if words else [])
    assert names(("user", "alice")) == names(("user", None), ("client-id", "a")) == []


@pytest.mark.parametrize(("text", "is_told"), [("1023", True), (" 7 ", True), ("1024", False), ("-1", False), ("", False), ("x", False)])
def test_a_rate_between_directories_is_tiny(text: str, is_told: bool) -> None:
    for name, who, step in (("", "all brokers", "broker:default"), ("3", "broker 3", "broker:3")):
        facts = facts_of(broker(3), setting(BROKER, name, ALTER_DIRS, text), setting(TOPIC, "t", ALTER_DIRS, "1"))
        rows = [(one.name, one.cause, one.steps, len(one.evidence)) for one in found(facts, "tiny_directory_rate")]
        assert rows == ([(who, f"{text.strip()} B/s", (f"metashell configs unset {step} {ALTER_DIRS}",), 1)] if is_told else [])


def throttles(rates: dict[str, str], topics: dict[str, str]) -> list[tuple[tuple[str, ...], dict[str, int]]]:
    configs: dict[tuple[int, str], dict[str, str]] = {
        (4, name): {"leader.replication.throttled.rate": text} for name, text in rates.items()
    }
    configs |= {(2, name): {"leader.replication.throttled.replicas": text} for name, text in topics.items()}
    return [(one.topics, one.rates) for one in throttled(configs)]


@pytest.mark.parametrize(
    ("rates", "topics", "expected"),
    [
        ({"1": "5", "2": "6"}, {"t": "*"}, [(("t",), {"1": 5, "2": 6})]),
        ({"1": "5", "2": "6"}, {"t": "0:1,1:3", "u": "0:3"}, [(("t",), {"1": 5})]),
        ({"1": "5"}, {"t": "0:3", "u": ""}, []),
        ({"": "5"}, {"u": "0:3", "t": " 0:3 , "}, [(("t", "u"), {"": 5})]),
        ({"": "5", "1": "7"}, {"t": "0:3"}, [(("t",), {"": 5, "1": 7})]),
        ({"": "5"}, {"t": " , "}, []),
        ({"1": "x", "2": "-5", "3": "\N{ARABIC-INDIC DIGIT TWO}", "4": " 8 "}, {"t": "*"}, [(("t",), {"4": 8})]),
        ({"1": "x"}, {"t": "*"}, []),
        ({}, {"t": "*"}, []),
    ],
)
def test_a_rate_and_throttled_replicas_need_one_another(rates: Any, topics: Any, expected: Any) -> None:
    assert throttles(rates, topics) == expected


def test_a_throttle_is_told_with_what_a_gigabyte_takes() -> None:
    def words(rates: dict[str, str], topics: dict[str, str]) -> tuple[str, str]:
        configs: Any = {(4, name): {"follower.replication.throttled.rate": text} for name, text in rates.items()}
        configs |= {(2, name): {"follower.replication.throttled.replicas": text} for name, text in topics.items()}
        return throttle_words(throttled(configs))

    assert words({"10": "1000", "9": "1000", "8": "5"}, {"t": "*"}) == (
        "3 brokers (5 B/s: 8; 1000 B/s: 9, 10) and 1 topic (t)",
        "a GB takes 2314 d 19 h at 5 B/s",
    )
    assert words({"": "0", "1": "7"}, {"t": "*", "u": "*"}) == (
        "all brokers (0 B/s: all; 7 B/s: 1) and 2 topics (t, u)",
        "a GB never ends at 0 B/s",
    )
    many = {f"t{number:02}": "*" for number in range(11)}
    assert words({"1": "7"}, many)[0].endswith("and 11 topics (t00, t01, t02, t03, t04, t05, t06, t07, t08, t09 and 1 more)")
    assert words({"1": "7"}, dict(list(many.items())[:10]))[0].endswith("t08, t09)")


@pytest.mark.parametrize(
    ("host", "port", "flaw"),
    [
        ("kafka", 1, ""),
        ("kafka", 65_535, ""),
        ("kafka", 0, "0 is no port to connect to"),
        ("kafka", 65_536, "65536 is no port to connect to"),
        ("kafka", -1, "-1 is no port to connect to"),
        ("", 1, "has no host"),
        ("[]", 1, "has no host"),
        ("0.0.0.0", 1, "means every address, and none to connect to"),
        ("[::]", 1, "means every address, and none to connect to"),
        ("::1", 1, ""),
        ("a.INVALID.", 1, "no name ends in .invalid"),
        ("invalid", 1, "no name ends in .invalid"),
        ("invalid.example", 1, ""),
        ("notinvalid", 1, ""),
    ],
)
def test_an_address_by_its_form(host: str, port: int, flaw: str) -> None:
    assert address_flaw(host, port) == flaw


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("localhost", True),
        ("LocalHost.", True),
        ("a.localhost", True),
        ("a.localdomain", True),
        ("notlocalhost", False),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("128.0.0.1", False),
        ("[::1]", True),
        ("::2", False),
        ("", False),
    ],
)
def test_a_host_is_loopback(host: str, is_local: bool) -> None:
    assert is_loopback(host) == is_local


def of(replicas: tuple[int, ...], isr: tuple[int, ...] = (), leader: int = -1, **more: Any) -> PartitionRegistration:
    return PartitionRegistration(replicas=replicas, isr=isr, leader=leader, directories=(), **more)


EXPLAINED = [
    ("leaderless", of((1, 2), isr=(1,)), True),
    ("leaderless", of((1, 2), isr=(2,)), False),
    ("leaderless", of((2, 1), elr=(1,)), True),
    ("offline", of((2, 1), isr=(2,), leader=1), True),
    ("offline", of((1, 2), isr=(2,), leader=2), False),
    ("under_replicated", of((1, 2, 3), isr=(2, 3)), True),
    ("under_min_isr", of((1, 2, 3), isr=(2,)), False),
    ("at_min_isr", of((1, 2), isr=(2,)), True),
    ("elr", of((1, 2), elr=(1,)), True),
    ("elr", of((1, 2), elr=(1,), last_known_elr=(2,)), False),
    ("elr", of((1, 2), last_known_elr=(1,)), True),
    ("stuck_reassignment", of((1, 2, 3), adding_replicas=(1, 3)), True),
    ("stuck_reassignment", of((1, 2), adding_replicas=(1, 2)), False),
    ("stuck_reassignment", of((1, 9), adding_replicas=(9,)), False),
    ("not_preferred", of((1, 2)), True),
    ("not_preferred", of((2, 1)), False),
    ("not_preferred", of(()), False),
    ("racks", of((1,)), False),
]


@pytest.mark.parametrize(("kind", "partition", "expected"), EXPLAINED)
def test_an_orderly_stop_explains_only_what_follows_from_it(kind: str, partition: PartitionRegistration, expected: bool) -> None:
    """Broker 1 was stopped in order, 2 was fenced, 3 serves, and 9 is not registered."""
    brokers = facts_of(broker(1, fenced=True), broker(2, fenced=True), broker(3)).image.cluster.brokers
    assert is_explained(kind, partition, frozenset({1}), brokers) == expected


LEADERLESS = [
    ({"isr": (2,)}, "in sync: 2", "start broker 2: it leads without loss"),
    ({"isr": (2, 4)}, "in sync: 2, 4", "start one of the brokers 2, 4: it leads without loss"),
    ({"isr": (1, 2)}, "in sync: 1, 2", "start broker 2: it leads without loss"),
    ({"isr": (1,)}, "in sync: 1, without its directory", "bring that disk back and restart broker 1, and nothing is lost; "),
    ({"isr": (), "eligible_leader_replicas": (4,)}, "eligible: 4", "start broker 4: it leads without loss"),
    ({"isr": (2,), "eligible_leader_replicas": (4,)}, "in sync: 2", "start broker 2"),
    (
        {"isr": (), "last_known_elr": (1,)},
        "none in sync or eligible; last: 1",
        "broker 1 runs and has lost its records: where its old disk",
    ),
    (
        {"isr": (), "last_known_elr": (4,)},
        "none in sync or eligible; last: 4",
        "start broker 4, which may have the most; metashell elect unclean t:0",
    ),
    ({"isr": ()}, "no replica is in sync", ""),
]


@pytest.mark.parametrize(("fields", "cause", "step"), LEADERLESS)
def test_who_could_lead_is_named(fields: dict[str, Any], cause: str, step: str) -> None:
    """Brokers 2 and 4 are fenced."""
    brokers = (broker(1), broker(2, fenced=True), broker(4, fenced=True))
    [one] = found(facts_of(*brokers, topic("t"), partition(0, (1, 2, 4), leader=-1, **fields)), "leaderless")
    assert one.cause == cause
    assert "".join(one.steps).startswith(step) and bool(one.steps) == bool(step)


@pytest.mark.parametrize(
    ("racks", "replicas", "cause"),
    [
        ("abcdefg", (1, 8), "all on a; none on b, c, d, e, f and 1 more"),
        ("abcdef", (1, 7), "all on a; none on b, c, d, e, f"),
        ("abc", (1, 2, 4), "none on c"),
    ],
)
def test_racks_that_a_partition_is_not_on_are_named(racks: str, replicas: tuple[int, ...], cause: str) -> None:
    brokers = [broker(id, rack=rack) for id, rack in enumerate(racks + "a", 1)]
    assert [one.cause for one in found(facts_of(*brokers, topic("t"), partition(0, replicas)), "racks")] == [cause]


ASSIGNED, UNASSIGNED, LOST = bytes([4] * 16), UNASSIGNED_DIRECTORY, bytes([9] * 16)
WAITS = [
    (None, ASSIGNED, "waits for broker 4, which is not registered"),
    ({"fenced": True}, ASSIGNED, "waits for broker 4, which is fenced"),
    ({}, LOST, "waits for broker 4, whose directory failed"),
    ({"cordoned_log_dirs": (ASSIGNED,)}, UNASSIGNED, "waits for broker 4, whose directories are all cordoned"),
    ({"cordoned_log_dirs": (ASSIGNED,)}, ASSIGNED, ""),
    ({"cordoned_log_dirs": ()}, UNASSIGNED, ""),
    ({}, UNASSIGNED, ""),
    ({}, ASSIGNED, ""),
]


@pytest.mark.parametrize(("fields", "directory", "cause"), WAITS)
def test_a_reassignment_waits_for_a_broker_that_cannot_take_it(fields: dict[str, Any] | None, directory: bytes, cause: str) -> None:
    brokers = (broker(1), *([] if fields is None else [broker(4, **fields)]))
    moving = partition(0, (1, 4), isr=(1,), adding_replicas=(4,), directories=(bytes([1] * 16), directory))
    assert [one.cause for one in found(facts_of(*brokers, topic("t"), moving), "stuck_reassignment")] == [cause][: bool(cause)]
