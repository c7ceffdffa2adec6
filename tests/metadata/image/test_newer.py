"""What is newer than what is known: it is counted, placed, and named once for every command."""

from __future__ import annotations

import pytest

from metashell.metadata.image import MetadataImage
from metashell.metadata.image.image import damage_of, lacks_some, newer_line, newer_parts, newer_values
from tests.inspect.verify.making import topic_value
from tests.metadata.image.batches import ListSource, batch, batch_of_values, record
from tests.newer_logs import APPLIED, NEWER


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
