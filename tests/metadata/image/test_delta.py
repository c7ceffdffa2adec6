"""Deltas make new images and leave old ones alone."""

from __future__ import annotations

import pytest

from metashell.codec.registry import message_type
from metashell.metadata.image import EMPTY_IMAGE, MetadataDelta, MetadataImage, ReplayError
from tests.metadata.image.batches import record
from tests.seeds import shows

TOPIC = bytes(range(16))


def apply(image: MetadataImage, *bodies: object) -> MetadataImage:
    delta = MetadataDelta(image)
    for body in bodies:
        delta.replay(body)
    return delta.apply()


@shows("KIP-631/delete-topic")
def test_removing_a_topic_removes_its_configuration_and_nothing_else():
    image = apply(
        EMPTY_IMAGE,
        record("TopicRecord", name="a", topic_id=TOPIC),
        record("ConfigRecord", resource_type=2, resource_name="a", name="k", value="v"),
        record("ConfigRecord", resource_type=4, resource_name="a", name="k", value="v"),
    )
    after = apply(image, record("RemoveTopicRecord", topic_id=TOPIC))
    assert set(after.configs) == {(4, "a")}
    assert len(after.topics) == 0
    assert set(image.configs) == {(2, "a"), (4, "a")}
    assert set(image.topics.by_name) == {"a"}


def test_a_topic_removed_and_made_again_is_empty():
    body = record("PartitionRecord", partition_id=0, topic_id=TOPIC)
    image = apply(EMPTY_IMAGE, record("TopicRecord", name="a", topic_id=TOPIC), body)
    again = apply(image, record("RemoveTopicRecord", topic_id=TOPIC), record("TopicRecord", name="a", topic_id=TOPIC))
    assert again.topics.partition_count == 0
    assert image.topics.partition_count == 1


def test_objects_of_partition_records_count_like_their_bytes():
    image = apply(
        EMPTY_IMAGE,
        record("TopicRecord", name="a", topic_id=TOPIC),
        record("PartitionRecord", partition_id=0, topic_id=TOPIC, replicas=(1, 2), isr=(1, 2), leader=1),
        record("PartitionChangeRecord", partition_id=0, topic_id=TOPIC, isr=(2,), leader=2),
        record("PartitionChangeRecord", partition_id=0, topic_id=TOPIC, replicas=(2, 3), adding_replicas=(3,)),
    )
    partition = image.topics.by_name["a"].partitions[0]
    assert (partition.replicas, partition.isr, partition.leader, partition.partition_epoch) == ((2, 3), (2,), 2, 1)


def test_a_record_that_no_image_is_made_of_is_refused():
    with pytest.raises(ReplayError, match="EndTransactionRecord"):
        MetadataDelta(EMPTY_IMAGE).replay(record("EndTransactionRecord"))


def test_an_untouched_delta_gives_the_same_metadata():
    image = apply(EMPTY_IMAGE, record("TopicRecord", name="a", topic_id=TOPIC))
    assert MetadataDelta(image).apply().has_same_metadata(image)
    assert MetadataDelta(image).apply().topics.by_id[TOPIC] is image.topics.by_id[TOPIC]


def test_removing_the_last_value_of_a_resource_removes_the_resource():
    config = record("ConfigRecord", resource_type=2, resource_name="a", name="k", value="v")
    nothing = record("ConfigRecord", resource_type=2, resource_name="a", name="k", value=None)
    assert len(apply(EMPTY_IMAGE, config, nothing).configs) == 0
    assert len(apply(EMPTY_IMAGE, nothing).configs) == 0


@shows("KIP-631/quota-record")
def test_the_default_entity_of_a_quota_is_one_of_its_own():
    part = message_type("metadata", "ClientQuotaRecord").structs["EntityData"]
    image = apply(
        EMPTY_IMAGE,
        record("ClientQuotaRecord", entity=(part(entity_type="user", entity_name=None),), key="q", value=1.0),
        record("ClientQuotaRecord", entity=(part(entity_type="user", entity_name=""),), key="q", value=2.0),
    )
    assert {entity: values["q"] for entity, values in image.client_quotas.items()} == {(("user", None),): 1.0, (("user", ""),): 2.0}


def test_kraft_version_in_a_feature_record_says_nothing():
    image = apply(EMPTY_IMAGE, record("FeatureLevelRecord", name="kraft.version", feature_level=1))
    assert image.features == EMPTY_IMAGE.features
