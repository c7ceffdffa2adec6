"""Bytes of logs and snapshots on their way to images, and what is damaged in them."""

from __future__ import annotations

import pytest

from metashell.codec.batch_writer import KRAFT_VOTERS
from metashell.codec.batches import RecordBatch, read_batch_header
from metashell.codec.framing import checked_batches
from metashell.codec.messages import VotersRecord
from metashell.common.errors import LogCorruptError
from metashell.common.values import OffsetAndEpoch
from metashell.metadata.image.differences import Step
from metashell.quorum.observer.observer import ChunkConsumer, ImageConsumer, says_nothing, snapshot_name
from tests.metadata.image.batches import batch, batch_of_values, control_batch, record
from tests.quorum.observer.world import snapshot_bytes

SETTING = record("ConfigRecord", resource_type=2, resource_name="orders", name="a", value="1")
ID = OffsetAndEpoch(40, 3)


def test_batches_are_cut_where_they_end_and_know_their_place():
    first, second = batch(SETTING), batch(SETTING, SETTING, base_offset=1)
    found = list(checked_batches(first.data + second.data, "q", 100))
    assert [each.data for each in found] == [first.data, second.data]
    assert [(each.position, each.file) for each in found] == [(100, "q"), (100 + len(first.data), "q")]


@pytest.mark.parametrize("size", [1, 12, 60, 61, 80])
def test_a_batch_that_does_not_fit_is_named_by_its_byte(size: int):
    data = batch(SETTING).data
    with pytest.raises(LogCorruptError):
        list(checked_batches(data[:size], "q"))


def test_every_flipped_bit_of_a_batch_is_found_or_harmless():
    data = batch(SETTING).data
    for at in range(len(data) * 8):
        spoiled = bytearray(data)
        spoiled[at // 8] ^= 1 << at % 8
        try:
            (found,) = checked_batches(bytes(spoiled), "q")
        except LogCorruptError:
            continue
        # Neither offset nor leader epoch is covered by the CRC: a leader sets them.
        assert at // 8 < 8 or 12 <= at // 8 < 16
        assert found.data == spoiled


def test_a_damaged_snapshot_is_a_fault_and_what_precedes_it_counts():
    steps: list[Step] = []
    consumer = ImageConsumer("q", steps.append, 1 << 20)
    data = bytearray(snapshot_bytes(40, 3, SETTING))
    data[-1] ^= 1
    consumer.load_snapshot(ID, bytes(data))
    assert dict(consumer.image.configs[2, "orders"]) == {"a": "1"}
    (fault,) = consumer.image.faults
    assert fault.file == "q: 00000000000000000040-0000000003.checkpoint"
    assert "CRC" in fault.reason


def test_an_image_of_a_snapshot_is_certain_up_to_its_end_and_goes_on_from_there():
    steps: list[Step] = []
    consumer = ImageConsumer("q", steps.append, 1 << 20)
    consumer.load_snapshot(ID, snapshot_bytes(40, 3, SETTING))
    provenance = consumer.image.provenance
    assert (provenance.offset, provenance.epoch, provenance.certain_to, provenance.end_offset) == (39, 3, 40, 40)
    # A snapshot older than 4.0 may end inside a batch.
    other = record("ConfigRecord", resource_type=2, resource_name="orders", name="b", value="1")
    consumer.take([batch(SETTING, other, base_offset=39)], 40, 41)
    assert sorted(consumer.image.configs[2, "orders"]) == ["a", "b"]
    assert consumer.image.provenance.certain_to == 41
    assert [step.batches is None for step in steps] == [True, False]


def test_only_a_lone_no_op_says_nothing():
    assert says_nothing(batch(record("NoOpRecord")))
    assert not says_nothing(batch(SETTING))
    assert not says_nothing(batch(record("NoOpRecord"), record("NoOpRecord")))
    assert not says_nothing(control_batch((KRAFT_VOTERS, VotersRecord(voters=()))))
    assert not says_nothing(batch_of_values([None]))
    assert not says_nothing(batch_of_values([b"\x01"]))
    broken = batch(record("NoOpRecord"))
    broken.data = broken.data[:-2]
    assert not says_nothing(broken)


def test_a_slow_reader_of_bytes_holds_back_and_one_that_left_does_not():
    consumer = ChunkConsumer()
    data = batch(SETTING).data
    item = RecordBatch(read_batch_header(data), 0, data)
    for at in range(consumer.chunks.maxsize):
        consumer.take([item], at, at + 1)
    assert consumer.chunks.full()
    consumer.is_closed = True
    consumer.take([item], 0, 1)
    assert consumer.chunks.qsize() == consumer.chunks.maxsize


def test_a_snapshot_has_the_name_of_its_file():
    assert snapshot_name(ID) == "00000000000000000040-0000000003.checkpoint"
