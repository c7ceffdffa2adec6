"""A log cut at an offset, also inside a batch, and the bytes of records by kind and topic."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from metashell.codec.batch_writer import LEADER_CHANGE
from metashell.codec.primitives import MAX_DECOMPRESSED
from metashell.codec.registry import message_type
from metashell.common.errors import DecodeError
from metashell.metadata.image import ImageLoader, load_image
from metashell.metadata.image.provenance import CONTROL, FRAMING, NO_TYPE, CutBatch, Sizes, batches_before
from metashell.metadata.image.writer import image_digest
from tests.metadata.image.batches import ListSource, batch, batch_of_values, control_batch, record, value
from tests.metadata.image.histories import History, histories


def topic(number: int) -> object:
    return record("TopicRecord", name=f"t{number}", topic_id=bytes([number]) * 16)


@settings(max_examples=30)
@given(histories())
def test_the_image_at_an_offset_is_that_of_the_records_before_it(history: History):
    for end in range(0, len(history.records) + 1, 3):
        image = load_image(ListSource(log=history.batches), end_offset=end)
        loader = ImageLoader()
        if end:
            loader.load_batch(batch_of_values([value(body) for body in history.records[:end]]))
        assert image_digest(image) == image_digest(loader.finish())
        assert image.provenance.end_offset in (end, -1)


def test_nothing_after_the_offset_is_read():
    log = [batch(topic(1), topic(2)), batch(topic(3), base_offset=2), batch_of_values([b"not a record"], 3)]
    image = load_image(ListSource(log=log), end_offset=3)
    assert [image.topics.by_name[name].id[0] for name in ("t1", "t2", "t3")] == [1, 2, 3]
    assert not image.faults
    assert image.provenance.offset == 2


@pytest.mark.parametrize("codec_id", range(5))
def test_a_cut_batch_has_the_records_before_the_offset(codec_id: int):
    whole = batch_of_values([value(topic(n)) for n in range(5)], 10, codec_id=codec_id)
    part = CutBatch(whole, 12)
    assert (part.header.last_offset, part.header.count) == (11, 2)
    assert [found.offset for found in part.records()] == [10, 11]
    buf, start, end = part.records_area(1 << 20)
    assert buf[start:end] == b"".join(raw_records(whole)[:2])


def raw_records(whole):
    buf, start, end = whole.records_area()
    found = []
    while start < end:
        size = buf[start] >> 1
        found.append(buf[start : start + 1 + size])
        start += 1 + size
    return found


def test_a_control_batch_is_cut_too():
    change = message_type("control", "LeaderChangeMessage").cls
    whole = control_batch((LEADER_CHANGE, change(leader_id=1)), (LEADER_CHANGE, change(leader_id=2)))
    loader = ImageLoader()
    loader.load_batch(CutBatch(whole, 1))
    assert loader.finish().leader.id == 1


def test_a_batch_that_is_broken_before_the_offset_cannot_be_cut():
    whole = batch(topic(1), topic(2))
    whole.header.count = 3
    with pytest.raises(DecodeError):
        CutBatch(whole, 3).records_area(1 << 20)


@pytest.mark.parametrize(
    ("bases", "end", "kept"),
    [
        ((0, 2, 4, 6), 4, (0, 2)),
        ((0, 2, 4, 6), 5, (0, 2, 4)),
        # One bit of a base offset is another.
        ((0, 65538, 4, 6), 6, (0, 65538, 4)),
        ((0, 65538, 4, 6), 5, (0, 65538, 4)),
        ((0, 65538, 4, 6), 2, (0,)),
        ((0, 2, 4, 65542), 6, (0, 2, 4)),
        ((0, 1, 4, 6), 7, (0, 1, 4, 6)),
        # Offsets that are missing.
        ((0, 4, 6), 3, (0,)),
        ((0, 4, 6), 5, (0, 4)),
        ((0, 4), 5, (0, 4)),
    ],
)
def test_what_lies_before_an_offset_where_a_base_offset_is_wrong(bases: tuple[int, ...], end: int, kept: tuple[int, ...]):
    log = [batch(topic(number), topic(number + 1), base_offset=base) for number, base in enumerate(bases, 1)]
    assert tuple(part.header.base_offset for part in batches_before(log, end)) == kept


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
