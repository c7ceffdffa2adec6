"""Deltas make new images and leave old ones alone; parts that are newer than this software are counted, placed, and named once."""

from __future__ import annotations

import pytest

from metashell.codec.registry import message_type
from metashell.metadata.image import EMPTY_IMAGE, MetadataDelta, MetadataImage, ReplayError
from metashell.metadata.image.image import damage_of, lacks_some, newer_line, newer_parts, newer_values
from metashell.metadata.image.provenance import Fault
from tests.inspect.verify.making import topic_value
from tests.metadata.image.batches import ListSource, batch, batch_of_values, record
from tests.newer_logs import APPLIED, NEWER
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


def test_one_quota_of_an_entity_goes_and_the_entity_with_its_last():
    part = message_type("metadata", "ClientQuotaRecord").structs["EntityData"]

    def quota(key: str, **more: object) -> object:
        return record("ClientQuotaRecord", entity=(part(entity_type="user", entity_name="a"),), key=key, value=1.0, **more)

    image = apply(EMPTY_IMAGE, quota("p"), quota("q"))
    one = apply(image, quota("p", remove=True))
    for after in (one, apply(one, quota("p", remove=True))):
        assert [(entity, dict(values)) for entity, values in after.client_quotas.items()] == [((("user", "a"),), {"q": 1.0})]
    assert len(apply(one, quota("q", remove=True)).client_quotas) == 0


def test_kraft_version_in_a_feature_record_says_nothing():
    image = apply(EMPTY_IMAGE, record("FeatureLevelRecord", name="kraft.version", feature_level=1))
    assert image.features == EMPTY_IMAGE.features


def image_of(kind: str) -> MetadataImage:
    from metashell.metadata.image import load_image

    return load_image(ListSource(log=[batch_of_values([topic_value(5), *NEWER[kind], topic_value(6)], 10)]))


WORDS = {
    "record": "record type 63 (2 records, the first at offset 11): any answer may lack what it says",
    "frame": "frame version 2 (1 record, at offset 11): any answer may lack what it says",
    "field": "TOPIC_RECORD version 1 (1 record, at offset 11): topics and partitions may lack what it says",
    "tag": "TOPIC_RECORD tag 9 (1 record, at offset 11): topics and partitions may lack what it says",
    "version_tag": "TOPIC_RECORD version 1 (1 record, at offset 11): topics and partitions may lack what it says",
    "version": "TOPIC_RECORD version 1 (1 record, at offset 11): all that is known was applied",
    "feature": "future.version 3: all that is known was applied",
    "share": "share.version 3: all that is known was applied",
    "level": "metadata.version 40: all that is known was applied",
    "named_level": "metadata.version 34 (4.5-IV0): all that is known was applied",
}


@pytest.mark.parametrize("kind", NEWER)
def test_one_line_names_it_its_place_and_what_may_be_missing(kind: str) -> None:
    image = image_of(kind)
    assert newer_line(newer_parts(image)) == f"newer than Kafka 4.4, the newest release known: {WORDS[kind]}"
    assert lacks_some(image) == (kind not in APPLIED)
    assert damage_of(image) == []
    assert {"topic-5", "topic-6"} <= set(image.topics.by_name)


@pytest.mark.parametrize("kind", NEWER)
def test_only_what_was_not_applied_is_a_fault(kind: str) -> None:
    image = image_of(kind)
    assert len(image.faults) == (len(NEWER[kind]) if kind in ("record", "frame", "field") else 0)


def test_records_of_a_kind_are_counted_and_not_kept_one_by_one() -> None:
    from metashell.metadata.image import load_image

    image = load_image(ListSource(log=[batch_of_values(NEWER["tag"] * 300, 10), batch_of_values(NEWER["tag"] * 200, 310)]))
    assert [(part.records, part.offset) for part in newer_parts(image)] == [(500, 10)]
    assert len(image.unread) == 1


def test_what_is_known_is_not_newer() -> None:
    from metashell.metadata.image import load_image

    image = load_image(ListSource(log=[batch(record("FeatureLevelRecord", name="metadata.version", feature_level=33))]))
    assert (newer_parts(image), newer_line([])) == ([], "")
    old = load_image(ListSource(log=[batch(record("FeatureLevelRecord", name="metadata.version", feature_level=1))]))
    assert newer_parts(old) == []


def test_damage_is_not_newer_and_both_are_told_apart() -> None:
    from metashell.metadata.image import load_image

    image = load_image(ListSource(log=[batch_of_values([topic_value(5)[:-3], *NEWER["record"]], 10)]))
    assert [fault.offset for fault in damage_of(image)] == [10]
    assert newer_values(newer_parts(image)) == [{"what": "record type 63", "records": 2, "offset": 11, "missing": "any answer"}]


def test_a_part_without_an_offset_has_none_and_the_first_offset_is_one() -> None:
    from metashell.metadata.image import load_image

    assert [value["offset"] for value in newer_values(newer_parts(image_of("level")))] == [None]
    image = load_image(ListSource(log=[batch_of_values(NEWER["record"], 0)]))
    assert [value["offset"] for value in newer_values(newer_parts(image))] == [0]


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (Fault("a.log", 7, 40, "TOPIC_RECORD", "why"), "a.log: offset 7: TOPIC_RECORD: why"),
        (Fault("a.log", 0, 40, "", "why"), "a.log: offset 0: why"),
        (Fault("a.log", -1, 0, "", "why"), "a.log: byte 0: why"),
        (Fault("", -1, -1, "", "why"), "why"),
    ],
)
def test_a_fault_is_told_with_its_place(fault: Fault, text: str) -> None:
    assert str(fault) == text


def test_an_empty_image_was_read_from_nowhere() -> None:
    assert EMPTY_IMAGE.provenance == (-1, -1, -1, -1, -1, -1, "", "", None, 0, 0)


def test_a_tag_of_a_partition_is_found_among_partitions_that_are_taken_as_bytes() -> None:
    from metashell.codec.metadata_records import write_metadata_record
    from metashell.metadata.image import load_image

    topic_id = bytes([4] * 16)
    values = [write_metadata_record(record("TopicRecord", name="t", topic_id=topic_id), 0)]
    fields = {"topic_id": topic_id, "replicas": (1,), "isr": (1,), "directories": (bytes([8] * 16),), "leader": 1}
    for number in range(20):
        tags = ((9, b"x"),) if number == 7 else ()
        values.append(write_metadata_record(record("PartitionRecord", partition_id=number, unknown_tags=tags, **fields), 1))
    changes = record("PartitionChangeRecord", topic_id=topic_id, partition_id=3, leader=2, unknown_tags=((9, b"x"),))
    values.append(write_metadata_record(changes, 0))
    image = load_image(ListSource(log=[batch_of_values(values)]))
    assert [(part.what, part.offset) for part in newer_parts(image)] == [
        ("PARTITION_RECORD tag 9", 8),
        ("PARTITION_CHANGE_RECORD tag 9", 21),
    ]
    assert (len(image.topics.by_name["t"].partitions), image.topics.by_name["t"].partitions[3].leader) == (20, 2)


def test_a_place_in_a_checkpoint_names_the_file() -> None:
    from metashell.common.values import OffsetAndEpoch
    from metashell.metadata.image import load_image

    source = ListSource(snapshot=[batch_of_values(NEWER["record"], 1)], snapshot_id=OffsetAndEpoch(40, 1))
    image = load_image(source)
    parts = [part._replace(file="a/00000000000000000040-0000000001.checkpoint") for part in newer_parts(image)]
    assert "the first at offset 1 of 00000000000000000040-0000000001.checkpoint" in newer_line(parts)


def test_a_log_of_4_4_read_by_the_table_of_4_3_has_newer_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    from metashell.codec import releases
    from metashell.metadata.image import image as newer
    from metashell.metadata.image import load_image

    older = releases.RELEASES[-2]
    monkeypatch.setattr(newer, "unsupported_features", lambda levels: releases.unsupported_features(levels, older))
    monkeypatch.setattr(newer, "NEWEST_RELEASE", older)
    levels = (
        record("FeatureLevelRecord", name=name, feature_level=level) for name, level in (("metadata.version", 33), ("share.version", 2))
    )
    image = load_image(ListSource(log=[batch(*levels)]))
    line = "newer than Kafka 4.3, the newest release known: metadata.version 33 (4.4-IV2): all that is known was applied; share.version 2"
    assert newer_line(newer_parts(image)).startswith(line)
