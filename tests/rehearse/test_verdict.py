"""The survey of all partitions counts the same as decoding each of them, and passes on every partition that is not ordinary."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from metashell.disk.source import open_source
from metashell.metadata.image import MetadataImage, PartitionRegistration, TopicImage, load_image
from metashell.metadata.image.writer import write_image
from metashell.rehearse.outcome import Toll, Trouble
from metashell.rehearse.verdict import _sentence, notes_of, survey
from tests.golden_cases import golden_root
from tests.metadata.image.batches import ListSource, batch
from tests.rehearse.random_clusters import images
from tests.rehearse.small_images import small_image

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


@pytest.mark.parametrize(
    ("trouble", "toll", "words"),
    [
        (Trouble.OFFLINE, Toll(1, 1_500, 0), "1 partition went offline, for up to 1.5 s"),
        (Trouble.OFFLINE, Toll(2, None, 1), "2 partitions went offline, and 1 of them still are"),
        (Trouble.OFFLINE, Toll(2, None, 0), "2 partitions went offline, to the end"),
    ],
)
def test_a_trouble_is_one_sentence(trouble: Trouble, toll: Toll, words: str) -> None:
    assert _sentence(trouble, toll) == words


def test_notes_name_what_the_image_does_not_say() -> None:
    image = small_image(dict.fromkeys(range(1, 8)), {}, fenced=[7, 2], voters=[1, 2, 30])
    brokers = dict(image.cluster.brokers)
    for id in (2, 3):
        brokers[id] = brokers[id]._replace(in_controlled_shutdown=True)
    image = image._replace(cluster=image.cluster._replace(brokers=brokers))

    def notes(**more: Any) -> list[str]:
        usual = {"next_election_ms": None, "stuck": 0, "held": {}, "voters": (), "voters_named": True, "copied_unknown": False}
        return list(notes_of(image, **{**usual, **more}))

    always = [
        "fenced brokers count as dead: 2, 7",
        "brokers in a controlled shutdown continue it: 3",
    ]
    last = "brokers are modelled, and so are the times of what they do; disks, networks, and clients are not"
    assert [one for one in notes() if not one.startswith("the metadata was read")] == [
        *always,
        "the controllers are unknown: whether the quorum keeps a majority was not checked",
        last,
    ]
    held = {f"t-{number} on broker 1": number for number in range(9)}
    full = notes(next_election_ms=290_000, stuck=1, held=held, voters=(30, 1, 2), voters_named=False, copied_unknown=True)
    assert len([one for one in full if one.startswith("a throttle of")]) == 3
    assert [one for one in full if not one.startswith(("the metadata was read", "a throttle of"))] == [
        *always,
        "not in sync at the beginning, on live brokers: 1 replica; it is unknown whether that ends, so it stays so",
        "throttles hold back 6 replicas more",
        "the controllers are 1, 2, 30, which the metadata does not say",
        "controllers of nodes whose broker is fenced count as dead too: 2",
        "nodes that are broker and controller at once, and die and restart as both: 1, 2",
        "for partitions whose size is not known, the assumed size was copied",
        "the next election of preferred leaders is assumed 4 min 50 s after the beginning",
        last,
    ]
