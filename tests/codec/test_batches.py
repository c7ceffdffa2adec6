"""Batches read: the header, the records, and what is wrong with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import HEADER_SIZE, Record, RecordBatch, read_batch_header
from metashell.codec.primitives import CODEC_NAMES
from metashell.common.errors import DecodeError


def batch_of(data: bytes) -> RecordBatch:
    return RecordBatch(read_batch_header(data), 0, data)


def two_records(**options) -> bytes:
    records = [Record(10, 500, None, b"first"), Record(12, 700, b"k", None, (("h", b"v"), ("n", None)))]
    return write_batch(10, records, leader_epoch=4, **options)


@pytest.mark.parametrize("codec_id", range(5), ids=CODEC_NAMES)
def test_records_come_out_with_absolute_offsets_and_timestamps(codec_id: int) -> None:
    batch = batch_of(two_records(codec_id=codec_id))
    assert batch.crc_fault() is None
    first, second = batch.records()
    assert (first.offset, first.timestamp, first.key, first.value, first.headers) == (10, 500, None, b"first", ())
    assert (second.offset, second.timestamp, second.key, second.value) == (12, 700, b"k", None)
    assert second.headers == (("h", b"v"), ("n", None))
    assert batch.header.codec_name == CODEC_NAMES[codec_id]


def test_the_header_tells_size_offsets_and_times() -> None:
    data = two_records(producer_id=9, producer_epoch=2, base_sequence=5, is_transactional=True)
    header = read_batch_header(b"xx" + data, 2)
    assert (header.base_offset, header.last_offset, header.count, header.size_bytes) == (10, 12, 2, len(data))
    assert (header.base_timestamp, header.max_timestamp, header.leader_epoch, header.magic) == (500, 700, 4, 2)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 2, 5)
    assert header.is_transactional and not header.is_control and header.delete_horizon_ms is None
    assert header.timestamp_type == "CreateTime"


def test_records_of_a_log_append_batch_all_have_its_time() -> None:
    batch = batch_of(two_records(is_log_append_time=True, max_timestamp=9000))
    assert batch.header.timestamp_type == "LogAppendTime"
    assert [record.timestamp for record in batch.records()] == [9000, 9000]


def test_a_sequence_wraps_to_zero_after_the_largest_int() -> None:
    batch = batch_of(two_records(producer_id=1, producer_epoch=0, base_sequence=2**31 - 1))
    assert [record.sequence for record in batch.records()] == [2**31 - 1, 1]
    assert [record.sequence for record in batch_of(two_records()).records()] == [-1, -1]


def test_a_delete_horizon_stands_in_place_of_the_base_timestamp() -> None:
    data = bytearray(two_records(base_timestamp=1234))
    data[22] |= 0x40
    assert read_batch_header(bytes(data)).delete_horizon_ms == 1234


def test_record_attributes_are_kept() -> None:
    batch = batch_of(write_batch(0, [Record(0, 0, None, b"v", attributes=7)], leader_epoch=0))
    assert [record.attributes for record in batch.records()] == [7]


def test_an_emptied_batch_keeps_its_offsets_and_has_no_records() -> None:
    batch = batch_of(write_batch(20, [], leader_epoch=1, last_offset_delta=4))
    assert (batch.header.last_offset, batch.header.count, list(batch.records())) == (24, 0, [])


def test_a_header_that_is_cut_off_is_a_decode_error() -> None:
    data = two_records()
    for size in range(HEADER_SIZE):
        with pytest.raises(DecodeError, match="needs 61 bytes"):
            read_batch_header(data[:size])


@given(st.integers(0, 8 * 130 - 1))
def test_every_flipped_bit_after_the_checksum_is_noticed(bit: int) -> None:
    data = bytearray(two_records())
    bit = bit % (8 * (len(data) - 17)) + 8 * 17
    data[bit // 8] ^= 1 << bit % 8
    assert batch_of(bytes(data)).crc_fault() is not None


def test_a_decompression_bomb_is_a_decode_error_at_the_cap() -> None:
    data = write_batch(0, [Record(0, 0, None, bytes(100_000))], leader_epoch=0, codec_id=4)
    with pytest.raises(DecodeError, match="more than 5000 bytes"):
        list(batch_of(data).records(max_size=5000))


def test_the_records_area_of_a_plain_batch_is_the_batch_itself() -> None:
    data = two_records()
    buf, start, end = batch_of(data).records_area()
    assert buf is data
    assert (start, end) == (HEADER_SIZE, len(data))


def test_the_type_of_a_control_batch_is_read_from_its_first_key() -> None:
    def control(key: bytes | None) -> RecordBatch:
        return batch_of(write_batch(0, [Record(0, 0, key, b"")], leader_epoch=0, is_control=True))

    assert control(b"\0\0\0\3").first_control_type() == 3
    assert control(b"\0\0\3").first_control_type() is None
    assert control(None).first_control_type() is None
    assert batch_of(two_records()).first_control_type() is None
