"""Brokers: ids that came back as two processes or on another disk, usual restarts, and reports of disks and transactions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from metashell.metadata import directory_facts
from metashell.metadata.checks.facts import (
    OPEN_MAX_MS,
    BrokerAnswers,
    BrokerDirectory,
    Facts,
    HangingTransaction,
    LogDirectory,
    Probe,
    ReplacedDisk,
)
from metashell.metadata.directory_facts import read_log_directory, read_open_transactions
from tests.disk.test_open_transactions import NOW, data, write
from tests.metadata.checks.situations import broker, facts_of, found, partition, told, topic

A, B = ("kafka-3", 9092), ("kafka-4", 9092)


def test_two_processes_that_replace_one_another_are_named_with_their_addresses() -> None:
    starts = [broker(3, at=(A, B)[number % 2], process=number) for number in range(5)]
    facts = facts_of(broker(1), *starts, seconds=8)
    (one,) = found(facts, "contested_id")
    assert (one.name, one.cause) == ("broker 3", "replaced 4 times within 32 s: at kafka-3:9092, kafka-4:9092")
    assert [at.offset for at in one.evidence] == [1, 5]
    assert found(facts, "restarting_broker") == []


def test_two_disks_at_one_address_are_two_processes_too() -> None:
    starts = [broker(3, at=A, process=number, disks=(3 + number % 2,)) for number in range(3)]
    assert told(facts_of(*starts), "contested_id") == [
        ("broker 3", "replaced 2 times within 2 s: at kafka-3:9092, with 2 different sets of log directories")
    ]


def test_moves_restarts_and_what_is_long_over_are_quiet() -> None:
    once = (broker(3, at=A), broker(3, at=B, process=1))
    rolling = [broker(id, process=number) for number in range(3) for id in (1, 2, 3)]
    back = (broker(3, at=A), broker(3, at=B, process=1), broker(3, at=A, process=2))
    same = [broker(3, at=A, process=1) for _ in range(9)]
    for facts in (
        facts_of(*once),
        facts_of(*rolling, seconds=20),
        facts_of(*back, seconds=3600),
        facts_of(*back, later_s=7200),
        facts_of(*same),
    ):
        assert found(facts, "contested_id") == found(facts, "restarting_broker") == []


def test_one_that_starts_again_and_again_is_told() -> None:
    facts = facts_of(*[broker(3, at=A, process=number) for number in range(6)], seconds=20)
    assert told(facts, "restarting_broker") == [("broker 3", "registered anew 5 times within 1 min 40 s, at kafka-3:9092")]
    assert found(facts, "contested_id") == []


LOST = ReplacedDisk(3, 7, 1_760_000_000_000, frozenset({bytes([3] * 16)}), ((bytes([100] * 16), 0), (bytes([100] * 16), 1)))


def test_records_are_lost_where_the_only_replica_in_sync_came_back_empty() -> None:
    records = (broker(1), broker(3, disks=(33,)), topic("orders"))
    led, waiting = partition(0, (3, 1), directories=(bytes([33] * 16), bytes([1] * 16))), partition(1, (3, 1), leader=-1)
    one, other = found(facts_of(*records, led, waiting, replaced=(LOST,)), "lost_records")
    assert one.name == "orders/0" and one.cause == "broker 3 came back without directory AwMDAwMDAwMDAwMDAwMDAw"
    assert other.name == "orders/1" and other.cause.endswith("; nobody leads it yet")
    assert [at.offset for at in one.evidence] == [7]
    assert found(facts_of(*records, led, waiting), "lost_records") == []


def test_a_replaced_disk_is_told_until_its_replicas_are_in_sync() -> None:
    records = (broker(1), broker(3, disks=(33,)), topic("orders"))
    places = (bytes([1] * 16), bytes([33] * 16))
    behind, healed = partition(0, (1, 3), isr=(1,), directories=places), partition(0, (1, 3), directories=places)
    disk = (LOST._replace(alone=()),)
    assert [name for name, _ in told(facts_of(*records, behind, replaced=disk), "other_disk")] == ["broker 3"]
    assert found(facts_of(*records, healed, replaced=disk), "other_disk") == []


ANSWERS = Probe("kafka-3:9092", "answers")
DIRECTORY = BrokerDirectory("/a", "", 100, 1_000_000_000, 500_000_000, is_cordoned=False)


def facts_of_answers(*directories: BrokerDirectory, **more: object) -> Facts:
    return Facts(brokers=(BrokerAnswers(id=3, probe=ANSWERS, directories=directories, **more),))  # type: ignore[arg-type]


def test_disks_that_failed_or_fill_are_told() -> None:
    failed = DIRECTORY._replace(path="/b", error="KAFKA_STORAGE_ERROR", total_bytes=-1, usable_bytes=-1)
    full = DIRECTORY._replace(path="/c", usable_bytes=10_000_000)
    filling = DIRECTORY._replace(path="/d", usable_bytes=80_000_000)
    facts = facts_of_answers(DIRECTORY, failed, full, filling)
    assert told(facts, "failed_directory") == [("broker 3: /b", "KAFKA_STORAGE_ERROR")]
    assert told(facts, "full_disk") == [("broker 3: /c", "10 MB of 1 GB are free, logs take 100 B")]
    assert told(facts, "nearly_full_disk") == [("broker 3: /d", "80 MB of 1 GB are free, logs take 100 B")]


def test_sound_disks_and_those_of_which_nothing_is_known_are_quiet() -> None:
    unknown = DIRECTORY._replace(total_bytes=None, usable_bytes=None)
    for id in ("failed_directory", "full_disk", "nearly_full_disk"):
        assert found(facts_of_answers(DIRECTORY, unknown, DIRECTORY._replace(total_bytes=-1, usable_bytes=-1)), id) == []


def test_a_transaction_that_hangs_is_told_once() -> None:
    hanging = HangingTransaction("orders", 0, 1000, 2, 1_760_000_000_000, "broker 3")
    facts = facts_of_answers(transactions=(hanging, hanging))
    (one,) = found(facts, "hanging_transaction")
    assert (one.name, one.cause) == ("orders/0", "producer 1000, epoch 2, coordinator broker 3, open since 2025-10-09T08:53:20Z")
    assert "--topic orders --partition 0" in one.steps[0]
    assert found(facts_of_answers(transactions=()), "hanging_transaction") == []
    (one,) = found(facts_of_answers(transactions=(hanging._replace(start_offset=4),)), "hanging_transaction")
    assert one.cause.endswith("open from offset 4 since 2025-10-09T08:53:20Z")
    assert one.steps[0].endswith("abort --topic orders --partition 0 --start-offset 4 ends it")


def test_on_the_disk_a_transaction_hangs_once_it_is_older_than_brokers_allow(tmp_path: Path) -> None:
    write(tmp_path / "orders-0", (0, [data(0, 7)]))
    directory = replace(read_log_directory(str(tmp_path)), transactions=None)
    opened = read_open_transactions(directory.partitions)
    assert opened == (HangingTransaction("orders", 0, 7, 3, NOW, "", 0, NOW),)

    def facts(age_ms: int, *others: LogDirectory) -> Facts:
        return Facts(directories=(replace(directory, transactions=opened), *others), now_ms=NOW + age_ms)

    assert found(facts(OPEN_MAX_MS - 1), "hanging_transaction") == []
    (one,) = found(facts(OPEN_MAX_MS), "hanging_transaction")
    assert (one.name, one.cause) == ("orders/0", "producer 7, epoch 3, open from offset 0 since 2025-10-09T08:53:20Z")
    # Without a metadata log the newest record of a partition is the time of now.
    late = replace(directory, transactions=(opened[0]._replace(seen_ms=NOW + OPEN_MAX_MS),))
    assert [one.name for one in found(Facts(directories=(late,)), "hanging_transaction")] == ["orders/0"]
    assert found(Facts(directories=(replace(directory, transactions=opened),)), "hanging_transaction") == []
    # A directory whose logs were not read may hold others.
    assert facts(0).lacks("transactions") == ""
    assert facts(0, directory).lacks("transactions").startswith("no broker told of its transactions")


def test_logs_that_are_too_large_are_not_walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "orders-0", (0, [data(0, 7)]))
    monkeypatch.setattr(directory_facts, "WALKED_MAX", 10)
    assert read_open_transactions(read_log_directory(str(tmp_path)).partitions) is None
