"""Levels against the release that is to run on them, and the migration from ZooKeeper."""

from __future__ import annotations

import pytest

from metashell.codec.releases import RELEASES
from metashell.metadata.checks import Facts, Health, judge
from metashell.metadata.image import ImageLoader
from tests.metadata.checks.situations import broker, controller, facts_of, found, level
from tests.metadata.image.batches import batch, record


def too_old(level: int, release: str) -> list[str]:
    loader = ImageLoader()
    loader.load_batch(batch(record("FeatureLevelRecord", name="metadata.version", feature_level=level)))
    (one,) = (one for one in RELEASES if one.name == release)
    verdict = judge(Facts(health=Health(loader.image()), release=one), {"release_too_old"})
    return [found.name for finding in verdict.findings for found in finding]


def test_a_level_above_those_of_the_release_is_bad() -> None:
    assert too_old(33, "4.3") == ["Kafka 4.3: metadata.version 33 (4.4-IV2) is not supported: 7 to 30 are; Kafka 4.4 supports it"]


def test_a_level_that_the_release_no_longer_knows_is_bad() -> None:
    assert too_old(5, "4.0")[0].startswith("Kafka 4.0: metadata.version 5 (3.3-IV")


@pytest.mark.parametrize(("level", "release"), [(30, "4.3"), (7, "4.0"), (33, "4.4"), (21, "3.9")])
def test_a_level_that_the_release_supports_is_none(level: int, release: str) -> None:
    assert too_old(level, release) == []


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
