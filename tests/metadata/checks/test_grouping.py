"""Counts of partitions are those of a plain loop over them."""

from __future__ import annotations

from collections import Counter

import pytest

from metashell.demo import demo_directory
from metashell.disk.source import open_source
from metashell.metadata.checks import PARTITION_GROUPS, Health, count_partitions
from metashell.metadata.image import MetadataImage, load_image


@pytest.fixture(scope="module")
def image() -> MetadataImage:
    with open_source(demo_directory()) as source:
        return load_image(source)


def test_each_replica_counts_by_broker_and_by_rack(image):
    by_broker = Counter(id for _, _, partition in image.topics.iter_partitions() for id in partition.replicas)
    assert count_partitions(Health(image), image.topics, "broker") == by_broker
    racks: Counter[str | None] = Counter()
    for id, count in by_broker.items():
        racks[image.cluster.brokers[id].rack] += count
    assert count_partitions(Health(image), image.topics, "rack") == racks


def test_each_partition_counts_once_by_anything_else(image):
    for by in set(PARTITION_GROUPS) - {"broker", "rack"}:
        assert sum(count_partitions(Health(image), image.topics, by).values()) == 36, by


def test_a_field_has_the_value_that_the_partition_has(image):
    expected = Counter(partition.isr for _, _, partition in image.topics.iter_partitions())
    assert count_partitions(Health(image), image.topics, "isr") == expected


def test_a_partition_counts_for_the_worst_that_is_wrong_with_it(image):
    assert count_partitions(Health(image), image.topics, "state") == {"sound": 35, "reassigning": 1}
