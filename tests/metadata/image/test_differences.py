"""Which places differ between two images: what the records say, and what a comparison finds."""

from __future__ import annotations

from hypothesis import given, settings

from metashell.codec.batch_writer import KRAFT_VOTERS
from metashell.codec.messages import VotersRecord
from metashell.metadata.image import EMPTY_IMAGE, ImageLoader, MetadataImage
from metashell.metadata.image.differences import Step, different_places, different_topics, touched_places
from tests.metadata.image.batches import EPOCH, TIMESTAMP, batch, control_batch, record
from tests.metadata.image.histories import History, histories

EXAMPLES = max(30, settings.default.max_examples) if settings.default else 30
TOPIC = bytes(range(16))


def step_of(*bodies, before: MetadataImage = EMPTY_IMAGE) -> Step:
    loader = ImageLoader(before)
    item = batch(*bodies, base_offset=before.provenance.end_offset)
    loader.load_batch(item)
    return Step(before, loader.image(), (item,))


@settings(max_examples=EXAMPLES)
@given(histories())
def test_the_records_of_any_history_touch_every_place_that_differs(history: History):
    loader = ImageLoader()
    before, held = loader.image(), []
    for item in history.batches:
        loader.load_batch(item)
        held.append(item)
        step = Step(before, loader.image(), tuple(held))
        differing = set(different_places(step.before, step.after))
        whole = {place[1] for place in differing if place[0] == "topic"}
        # The partitions of a topic that came or went are told by the topic alone.
        told = {place for place in differing if place[0] != "partition" or place[1] not in whole}
        assert told <= set(touched_places(step))
        if not step.in_transaction:
            before, held = step.after, []


def test_a_place_has_the_record_that_touched_it_last():
    step = step_of(
        record("ConfigRecord", resource_type=2, resource_name="orders", name="retention.ms", value="1"),
        record("ConfigRecord", resource_type=2, resource_name="orders", name="cleanup.policy", value="delete"),
        record("ConfigRecord", resource_type=2, resource_name="orders", name="retention.ms", value="2"),
    )
    touched = touched_places(step)
    assert list(touched) == [("config", 2, "orders", "cleanup.policy"), ("config", 2, "orders", "retention.ms")]
    assert touched["config", 2, "orders", "retention.ms"] == (2, EPOCH, TIMESTAMP, "CONFIG_RECORD")


def test_a_removed_topic_takes_its_configs_with_it():
    made = step_of(
        record("TopicRecord", name="orders", topic_id=TOPIC),
        record("ConfigRecord", resource_type=2, resource_name="orders", name="retention.ms", value="1"),
    )
    gone = step_of(record("RemoveTopicRecord", topic_id=TOPIC), before=made.after)
    assert set(touched_places(gone)) == {("topic", TOPIC), ("config", 2, "orders", "retention.ms")}


def test_an_open_transaction_is_known_and_ends():
    opened = step_of(record("BeginTransactionRecord"), record("TopicRecord", name="orders", topic_id=TOPIC))
    assert opened.in_transaction
    assert not step_of(record("TopicRecord", name="orders", topic_id=TOPIC)).in_transaction


def test_voters_are_a_place_of_control_records():
    item = control_batch((KRAFT_VOTERS, VotersRecord(voters=())))
    loader = ImageLoader()
    loader.load_batch(item)
    assert list(touched_places(Step(EMPTY_IMAGE, loader.image(), (item,)))) == [("voters",)]


def test_a_snapshot_in_place_of_records_is_compared():
    step = step_of(record("TopicRecord", name="orders", topic_id=TOPIC), record("ProducerIdsRecord", next_producer_id=7))
    touched = touched_places(step._replace(batches=None))
    assert set(touched) == {("topic", TOPIC), ("producer ids",)}
    assert {origin.record for origin in touched.values()} == {""}


def test_partitions_in_other_bytes_are_compared_by_what_they_say():
    def image_with(*leaders: int, epoch: int = 0) -> MetadataImage:
        topic = record("TopicRecord", name="orders", topic_id=TOPIC)
        usual = {"topic_id": TOPIC, "replicas": (1, 2), "isr": (1, 2), "leader_epoch": epoch}
        return step_of(
            topic, *(record("PartitionRecord", partition_id=id, leader=leader, **usual) for id, leader in enumerate(leaders))
        ).after

    before = image_with(1, 2, 1)
    assert set(different_places(before, image_with(1, 2, 1))) == set()
    assert set(different_places(before, image_with(1, 1, 1))) == {("partition", TOPIC, 1)}
    assert set(different_places(before, image_with(1, 2))) == {("partition", TOPIC, 2)} == set(different_places(image_with(1, 2), before))
    assert set(different_places(before, image_with(1, 2, 1, epoch=1))) == {("partition", TOPIC, id) for id in range(3)}


def test_another_name_of_the_same_bytes_is_another_topic():
    made = [step_of(record("TopicRecord", name=name, topic_id=TOPIC)).after for name in ("orders", "orders", "other")]
    assert list(different_topics(made[0].topics, made[1].topics)) == []
    assert list(different_topics(made[0].topics, made[2].topics)) == [TOPIC]


def test_a_batch_that_does_not_decode_touches_what_it_does():
    step = step_of(record("TopicRecord", name="orders", topic_id=TOPIC))
    damaged = batch(record("ProducerIdsRecord", next_producer_id=7))
    damaged.data = damaged.data[:-3]
    assert step.batches is not None
    assert set(touched_places(step._replace(batches=(damaged, *step.batches)))) == {("topic", TOPIC)}
