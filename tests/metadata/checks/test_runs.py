"""A question asked of bytes has the answer that it has of objects."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from metashell.metadata.checks import PartitionSurvey
from metashell.metadata.image import ImageLoader, PartitionRegistration
from tests.metadata.image.batches import batch, record

TOPIC = bytes(range(16))
IDS = st.sampled_from([1, 2, 3])


def everything_but_epochs(partition: PartitionRegistration) -> PartitionRegistration:
    return partition._replace(leader_epoch=0, partition_epoch=0)


@st.composite
def partition_fields(draw: st.DrawFn) -> dict[str, object]:
    replicas = tuple(draw(st.permutations([1, 2, 3]))[: draw(st.integers(1, 3))])
    return {
        "replicas": replicas,
        "isr": replicas[: draw(st.integers(0, 3))],
        "adding_replicas": draw(st.sampled_from([(), (3,)])),
        "removing_replicas": draw(st.sampled_from([(), (1, 2)])),
        "leader": draw(st.sampled_from([-1, 1, 2])),
        "leader_epoch": draw(st.integers(0, 5)),
        "partition_epoch": draw(st.integers(0, 5)),
        "leader_recovery_state": draw(st.integers(0, 1)),
        "directories": draw(st.sampled_from([(), tuple(bytes([id] * 16) for id in replicas)])),
        "eligible_leader_replicas": draw(st.sampled_from([None, (2,)])),
    }


@given(st.lists(st.tuples(partition_fields(), st.integers(1, 12)), max_size=5), st.lists(st.integers(0, 20), max_size=4), st.booleans())
def test_the_answers_of_a_topic_are_those_of_its_partitions_one_by_one(runs, changed, repeats):
    fields = [each for each, times in runs for _ in range(times)]
    bodies = [record("PartitionRecord", partition_id=id, topic_id=TOPIC, **each) for id, each in enumerate(fields)]
    if repeats:
        bodies += bodies[:4]
    bodies += [record("PartitionChangeRecord", partition_id=id, topic_id=TOPIC, leader=2) for id in changed if id < len(fields)]
    loader = ImageLoader()
    loader.load_batch(batch(record("TopicRecord", name="orders", topic_id=TOPIC), *bodies))
    (topic,) = loader.image().topics
    survey = PartitionSurvey(everything_but_epochs)
    expected = {id: everything_but_epochs(partition) for id, partition in topic.partitions.items()}
    for _ in range(2):  # The second time every shape is known.
        assert survey.by_id(topic) == expected
        assert sorted(survey.answers(topic)) == sorted(expected.values())


def test_partitions_that_are_alike_are_decoded_once():
    bodies = [record("PartitionRecord", partition_id=id, topic_id=TOPIC, replicas=(1, 2), isr=(1, 2), leader=1) for id in range(300)]
    loader = ImageLoader()
    loader.load_batch(batch(record("TopicRecord", name="orders", topic_id=TOPIC), *bodies))
    (topic,) = loader.image().topics
    asked: list[PartitionRegistration] = []
    survey = PartitionSurvey(lambda partition: len(asked.append(partition) or asked))
    assert len(survey.answers(topic)) == 300
    # Three of a shape are decoded before it is learnt; offset deltas of one and of two bytes are two shapes.
    assert len(asked) <= 2 * 4
