"""The pass over all partitions counts what decoding each of them counts, and passes on whatever is not ordinary."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given

from metashell.disk.source import open_source
from metashell.metadata.image import MetadataImage, PartitionRegistration, TopicImage, load_image
from metashell.metadata.image.writer import write_image
from metashell.rehearse.verdict import survey
from tests.golden_cases import golden_root
from tests.metadata.image.batches import ListSource, batch
from tests.rehearse.random_clusters import images

CHECKPOINTS = sorted(golden_root().glob("[34].*/*/data/*/node-*/*/__cluster_metadata-0/*.checkpoint"))


@pytest.mark.parametrize("path", CHECKPOINTS[::3], ids=lambda path: f"{path.parts[-7]}-{path.name[:20]}")
def test_a_real_snapshot_is_counted_as_its_partitions_say(path: Path) -> None:
    with open_source(str(path)) as source:
        check(load_image(source))


@given(images())
def test_partitions_as_bytes_are_counted_as_those_that_are_objects(image: MetadataImage) -> None:
    check(image)
    loaded = load_image(ListSource(log=[batch(*[record for record, _ in write_image(image)])]))
    assert not loaded.faults
    check(loaded)


def check(image: MetadataImage) -> None:
    # Also with brokers that are dead although the image has them in ISRs: they may die while nobody watches.
    brokers = sorted(image.cluster.brokers)
    for living in (set(brokers), set(brokers[1:]), {id for id in brokers if not image.cluster.brokers[id].fenced}):
        special: dict[tuple[str, int], PartitionRegistration] = {}

        def note(
            topic: TopicImage, partition_id: int, partition: PartitionRegistration, into: dict[tuple[str, int], object] = special
        ) -> None:
            assert (topic.name, partition_id) not in into
            into[topic.name, partition_id] = partition

        counts = survey(image, living, note)
        leaders: Counter[int] = Counter()
        replicas: Counter[int] = Counter()
        expected = {}
        for topic, partition_id, partition in image.topics.iter_partitions():
            leaders[partition.leader] += partition.leader >= 0
            replicas.update(partition.replicas)
            is_moving = partition.adding_replicas or partition.removing_replicas
            is_whole = len(partition.isr) == len(partition.replicas) and living.issuperset((*partition.replicas, partition.leader))
            if is_moving or not is_whole:
                expected[topic.name, partition_id] = partition
        assert +counts.leaders == +leaders
        assert counts.replicas == replicas
        # Partitions that a log changed are decoded anyway, and all of these are passed on.
        assert expected.items() <= special.items()
