"""Bytes of records by kind and topic, also of records that are none."""

from __future__ import annotations

from metashell.codec.primitives import MAX_DECOMPRESSED
from metashell.codec.registry import message_type
from metashell.metadata.image.source import CONTROL, FRAMING, NO_TYPE, Sizes
from tests.metadata.image.batches import batch, batch_of_values, control_batch, record, value

TOPIC = bytes(range(16))
ABOUT_TOPIC = [
    record("TopicRecord", name="orders", topic_id=TOPIC),
    record("PartitionRecord", partition_id=0, topic_id=TOPIC, replicas=(1,), isr=(1,), leader=1),
    record("PartitionChangeRecord", partition_id=0, topic_id=TOPIC, leader=-1),
    record("RemoveTopicRecord", topic_id=TOPIC),
]


def sizes(*batches: object) -> Sizes:
    found = Sizes(by_topic=True)
    found.add(batches, MAX_DECOMPRESSED)
    return found


def test_every_record_about_a_topic_counts_for_it():
    found = sizes(batch(*ABOUT_TOPIC, record("NoOpRecord")))
    assert found.topic_counts == {TOPIC: 4}
    assert found.topic_bytes == {TOPIC: sum(len(value(body)) for body in ABOUT_TOPIC)}


def test_a_value_that_is_cut_off_counts_for_no_topic_that_is_not_there():
    for body in ABOUT_TOPIC:
        whole = value(body)
        for size in range(1, len(whole)):
            # What follows in the batch is no part of it.
            found = sizes(batch_of_values([whole[:size], value(record("NoOpRecord")), bytes(40)]))
            assert set(found.topic_counts) <= {TOPIC}, size
            assert bool(found.topic_counts) == (TOPIC in whole[:size])
            assert sum(found.bytes_of.values()) - found.bytes_of[FRAMING] == size + len(value(record("NoOpRecord"))) + 40


def test_types_are_read_as_kafka_writes_them():
    found = sizes(batch_of_values([b"\x01\xa9\x46\x00", b"\x01\xff", b"\x01", b"", None]))
    assert found.count_of == {"UNKNOWN_RECORD_9001": 1, NO_TYPE: 2}
    assert sum(found.bytes_of.values()) == found.bytes_of[FRAMING] + 7


def test_control_records_are_one_kind():
    made = control_batch((2, message_type("control", "LeaderChangeMessage").cls(leader_id=1)))
    found = sizes(made)
    assert found.bytes_of == {CONTROL: made.header.size_bytes}
