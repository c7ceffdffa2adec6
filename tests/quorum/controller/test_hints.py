"""Hints may name too much, never too little."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec import messages
from metashell.codec.batch_writer import write_records
from metashell.codec.batches import Record
from metashell.codec.metadata_records import write_metadata_record
from metashell.metadata.image import MetadataImage, PartitionRegistration, TopicImage, TopicsImage
from metashell.metadata.image.partitions import Span, partition_record
from metashell.quorum.controller import state
from metashell.quorum.controller.decision import finish_steps
from metashell.quorum.controller.hints import Hints
from tests.quorum.controller.cluster import CLUSTER_ID, Cluster
from tests.quorum.controller.random_requests import RandomRequests

BROKERS = st.integers(0, 9)


@st.composite
def partitions(draw: st.DrawFn) -> PartitionRegistration:
    replicas = tuple(draw(st.lists(BROKERS, min_size=1, max_size=70, unique=False)))
    isr = tuple(draw(st.lists(st.sampled_from(replicas), max_size=3)))
    moving = draw(st.booleans()) and draw(st.booleans())
    return PartitionRegistration(
        replicas,
        (bytes(16),) * len(replicas),
        isr,
        removing_replicas=replicas[:1] if moving else (),
        elr=tuple(draw(st.lists(BROKERS, max_size=2))) if draw(st.booleans()) else (),
        leader=draw(st.sampled_from((-1, *replicas))),
        leader_epoch=draw(st.integers(0, 5)),
    )


def everything(hints: Hints) -> tuple[object, ...]:
    by_broker = {id: set(hints.of_broker(id)) for id in range(10)}
    return by_broker, set(hints.leaderless), set(hints.unpreferred), set(hints.reassigning)


@given(st.lists(partitions(), min_size=1, max_size=5), st.sampled_from((0, 1, 2)))
def test_partitions_that_are_bytes_give_the_same_hints_as_those_that_are_decoded(drawn: list[PartitionRegistration], version: int) -> None:
    topic_id = b"\7" * 16
    level = (7, 17, 30)[version]
    values = []
    expected = Hints()
    for index, partition in enumerate(drawn):
        if version < 2:
            partition = partition._replace(elr=())
        values.append(write_metadata_record(partition_record(partition, topic_id, index, level, lambda loss: None), version))
        expected.add_partition(topic_id, index, partition)
    area = write_records_of(values)
    topic = TopicImage("t", topic_id, (Span(area, 0, len(area), len(values)),))
    hints = Hints()

    finish_steps(hints.add_image(MetadataImage(topics=TopicsImage({topic_id: topic}, {"t": topic}))))

    assert everything(hints) == everything(expected)


def test_after_any_requests_every_partition_is_named_for_all_its_brokers() -> None:
    cluster = Cluster()
    cluster.register(1, 2, 3)
    chance = random.Random(3)
    requests = RandomRequests(cluster.controller, chance, CLUSTER_ID)
    for number in range(600):
        if number % 40 == 0:
            cluster.heal(*(f"t{name}" for name in range(8)))
        request = requests.draw()
        cluster.write(cluster.decide(*request[:3]))
        cluster.now_ms += 100
    hints = cluster.state.hints
    assert len(cluster.state.image.topics) > 3
    for topic, index, partition in cluster.state.image.topics.iter_partitions():
        key = topic.id, index
        for id in {*partition.replicas, *partition.isr, *partition.elr}:
            assert key in set(hints.of_broker(id))
        assert partition.leader != -1 or key in hints.leaderless
        assert partition.leader == partition.replicas[0] or key in hints.unpreferred
        assert not partition.adding_replicas or key in hints.reassigning


def test_the_room_of_removed_topics_is_reclaimed() -> None:
    hints = Hints()
    kept = b"\1" * 16
    hints.add_replicas(kept, 5, (1, 2))
    for number in range(200):
        gone = number.to_bytes(16, "big")
        hints.add_replicas(gone, 0, (1, 2))
        hints.forget_partitions(gone)
    assert hints.has_waste
    finish_steps(hints.reclaim())

    assert not hints.has_waste
    assert len(list(hints.of_broker(1))) < 200
    assert (kept, 5) in set(hints.of_broker(2))


def write_records_of(values: list[bytes]) -> bytes:
    return write_records([Record(offset=at, timestamp=0, key=None, value=value, headers=()) for at, value in enumerate(values)], 0, 0)


def test_partitions_that_are_no_longer_special_are_forgotten_once_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "_SPECIAL_MIN", 3)
    cluster = Cluster()
    cluster.register(1, 2)
    topic_id = cluster.create("t", *((1, 2) for _ in range(4)))
    cluster.beat(1, want_fence=True)
    assert len(cluster.state.hints.unpreferred) == 4
    finish_steps(cluster.controller.background_steps())
    assert len(cluster.state.hints.unpreferred) == 4
    assert cluster.controller.background_steps() is None
    cluster.state.hints.swept = 0
    made = messages.DeleteTopicsRequest
    cluster.ask(20, 6, made(topics=(made.DeleteTopicState(name=None, topic_id=topic_id),), timeout_ms=1000))

    finish_steps(cluster.controller.background_steps())

    assert cluster.state.hints.special_count == 0
