"""What is said of a partition beside its state: who could lead it, what its move waits for; and the counts of kafka-topics."""

from __future__ import annotations

import pytest

from metashell.common.values import UNASSIGNED_DIRECTORY as UNASSIGNED
from metashell.metadata.checks.partitions import topic_command_filters
from tests.metadata.checks.situations import broker, facts_of, found, partition, told, topic

BASE = (broker(1), broker(2, fenced=True), broker(3, fenced=True), topic("orders"))


@pytest.mark.parametrize(
    ("state", "cause", "step"),
    [
        ({"isr": (2,)}, "in sync: 2", "start broker 2: it leads without loss"),
        ({"isr": (), "eligible_leader_replicas": (2, 3)}, "eligible: 2, 3", "start one of the brokers 2, 3: it leads without loss"),
        ({"isr": (), "last_known_elr": (3,)}, "none in sync or eligible; last: 3", "start broker 3, which may have the most"),
        ({"isr": (1,)}, "in sync: 1, without its directory", "bring that disk back and restart broker 1"),
        ({"isr": (), "last_known_elr": (1,)}, "none in sync or eligible; last: 1", "broker 1 runs and has lost its records"),
    ],
)
def test_who_could_lead_a_partition_without_a_leader(state: dict[str, object], cause: str, step: str) -> None:
    (one,) = found(facts_of(*BASE, partition(0, (2, 3), leader=-1, **state)), "leaderless")
    assert one.cause == cause and one.steps[0].startswith(step)


def test_a_partition_on_one_rack_says_so() -> None:
    brokers = (broker(1, rack="a"), broker(2, rack="a"), broker(3, rack="b"), broker(4, rack="c"))
    bodies = (partition(0, (1, 2)), partition(1, (1, 3)), partition(2, (1, 2, 3)))
    assert told(facts_of(*brokers, topic("orders"), *bodies), "racks") == [
        ("orders/0", "all on a; none on b, c"),
        ("orders/2", "none on c"),
    ]


def test_a_fenced_broker_says_what_waits_for_it() -> None:
    bodies = [partition(id, (2, 3), leader=-1, isr=(), eligible_leader_replicas=(2,)) for id in range(3)]
    assert told(facts_of(*BASE, *bodies), "fenced") == [("2", "it can lead 3 partitions that nobody leads"), ("3", "")]


@pytest.mark.parametrize(
    ("waiting", "cause"),
    [
        (broker(4, fenced=True), "waits for broker 4, which is fenced"),
        (None, "waits for broker 4, which is not registered"),
        (broker(4, disks=(44,)), "waits for broker 4, whose directory failed"),
        (broker(4, cordoned_log_dirs=(bytes([4] * 16),)), "waits for broker 4, whose directories are all cordoned"),
    ],
)
def test_what_a_move_waits_for(waiting: object, cause: str) -> None:
    unplaced = {"directories": (bytes([1] * 16), UNASSIGNED)} if "cordoned" in cause else {}
    move = partition(0, (1, 4), adding_replicas=(4,), isr=(1,), **unplaced)
    records = (broker(1), *(() if waiting is None else (waiting,)), topic("orders"), move)
    assert told(facts_of(*records), "stuck_reassignment") == [("orders/0", cause)]


def test_a_move_to_a_broker_that_serves_waits_for_nothing() -> None:
    for target in (broker(4), broker(4, cordoned_log_dirs=())):
        move = partition(0, (1, 4), adding_replicas=(4,), isr=(1,))
        assert found(facts_of(broker(1), target, topic("orders"), move), "stuck_reassignment") == []
    # What has its place may fill it where nothing new may come.
    done = partition(0, (1, 4), adding_replicas=(4,), isr=(1,))
    cordoned = broker(4, cordoned_log_dirs=(bytes([4] * 16),))
    assert found(facts_of(broker(1), cordoned, topic("orders"), done), "stuck_reassignment") == []


@pytest.mark.parametrize(
    ("fields", "min_isr", "states"),
    [
        ({}, 1, set()),
        ({}, 2, {"at-min-isr"}),
        ({}, 3, {"under-min-isr"}),
        ({"isr": (1,)}, 1, {"under-replicated", "at-min-isr"}),
        ({"isr": (1,)}, 2, {"under-replicated", "under-min-isr"}),
        ({"leader": -1, "isr": (1, 2)}, 2, {"unavailable", "under-min-isr", "at-min-isr"}),
        ({"leader": 2, "replicas": (2, 1), "isr": (2, 1)}, 1, {"unavailable"}),
        ({"replicas": (1, 2, 3), "adding_replicas": (3,), "isr": (1, 2)}, 1, set()),
    ],
)
def test_partitions_count_for_kafka_topics_as_its_own_filters_have_it(fields: dict[str, object], min_isr: int, states: set[str]) -> None:
    """As TopicCommand of 4.4 does: min.insync.replicas as it is set, and a partition without a leader is under it."""
    raw = {"replicas": (1, 2), **fields}
    facts = facts_of(topic("orders"), partition(0, raw.pop("replicas"), **raw))  # type: ignore[arg-type]
    (orders,) = facts.image.topics
    assert set(topic_command_filters(orders.partitions[0], min_isr, {1, 3})) == states
