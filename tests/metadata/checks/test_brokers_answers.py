"""What brokers tell of their disks and transactions."""

from __future__ import annotations

from metashell.metadata.checks.facts import BrokerAnswers, BrokerDirectory, Facts, HangingTransaction, Probe
from tests.metadata.checks.situations import found, told

ANSWERS = Probe("kafka-3:9092", "answers")
DIRECTORY = BrokerDirectory("/a", "", 100, 1_000_000_000, 500_000_000, is_cordoned=False)


def facts_of(*directories: BrokerDirectory, **more: object) -> Facts:
    return Facts(brokers=(BrokerAnswers(id=3, probe=ANSWERS, directories=directories, **more),))  # type: ignore[arg-type]


def test_disks_that_failed_or_fill_are_told() -> None:
    failed = DIRECTORY._replace(path="/b", error="KAFKA_STORAGE_ERROR", total_bytes=-1, usable_bytes=-1)
    full = DIRECTORY._replace(path="/c", usable_bytes=10_000_000)
    filling = DIRECTORY._replace(path="/d", usable_bytes=80_000_000)
    facts = facts_of(DIRECTORY, failed, full, filling)
    assert told(facts, "failed_directory") == [("broker 3: /b", "KAFKA_STORAGE_ERROR")]
    assert told(facts, "full_disk") == [("broker 3: /c", "10 MB of 1 GB are free, logs take 100 B")]
    assert told(facts, "nearly_full_disk") == [("broker 3: /d", "80 MB of 1 GB are free, logs take 100 B")]


def test_sound_disks_and_those_of_which_nothing_is_known_are_quiet() -> None:
    unknown = DIRECTORY._replace(total_bytes=None, usable_bytes=None)
    for id in ("failed_directory", "full_disk", "nearly_full_disk"):
        assert found(facts_of(DIRECTORY, unknown, DIRECTORY._replace(total_bytes=-1, usable_bytes=-1)), id) == []


def test_a_transaction_that_hangs_is_told_once() -> None:
    hanging = HangingTransaction("orders", 0, 1000, 2, 1_760_000_000_000, "broker 3")
    facts = facts_of(transactions=(hanging, hanging))
    (one,) = found(facts, "hanging_transaction")
    assert (one.name, one.cause) == ("orders/0", "producer 1000, epoch 2, coordinator broker 3, open since 2025-10-09T08:53:20Z")
    assert "--topic orders --partition 0" in one.steps[0]
    assert found(facts_of(transactions=()), "hanging_transaction") == []
