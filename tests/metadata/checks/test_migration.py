"""The migration from ZooKeeper: two states are unfinished, all others are not told."""

from __future__ import annotations

import pytest

from tests.metadata.checks.situations import broker, controller, facts_of, found, level
from tests.metadata.image.batches import record


def state(number: int) -> object:
    return record("ZkMigrationStateRecord", zk_migration_state=number)


def test_before_it_nothing_can_be_changed() -> None:
    (one,) = found(facts_of(level("metadata.version", 21), state(2), state(2), controller(1, 21, zk_migration_ready=True)), "zk_migration")
    assert one.name == "PRE_MIGRATION" and "until all brokers have registered with migration on; none has registered" in one.cause
    assert [at.offset for at in one.evidence] == [1] and "zookeeper.metadata.migration.enable=true" in one.steps[0]


def test_while_it_lasts_it_has_to_be_finalised() -> None:
    records = (level("metadata.version", 21), state(2), state(1), controller(1, 21), broker(4, 21, is_migrating_zk_broker=True))
    (one,) = found(facts_of(*records), "zk_migration")
    assert one.name == "MIGRATION" and [at.offset for at in one.evidence] == [2]
    assert "brokers still in ZooKeeper mode: 4" in one.cause and "not ready for it: 1" in one.cause
    assert "KRaft mode" in one.steps[0] and "finalise it with Kafka 3.9" in one.steps[1]


@pytest.mark.parametrize("numbers", [(), (0,), (2, 1, 3)])
def test_none_and_after_are_quiet(numbers: tuple[int, ...]) -> None:
    assert found(facts_of(level("metadata.version", 21), *map(state, numbers)), "zk_migration") == []
