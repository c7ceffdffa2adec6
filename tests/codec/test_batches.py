"""Batches read: the header, the records, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batch_writer import write_batch, write_records, write_varint
from metashell.codec.batches import (
    HEADER_SIZE,
    Record,
    RecordBatch,
    read_batch_header,
    read_headers,
    read_record_header,
    read_varint,
    read_varlong,
    walk_records,
)
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


# ---- the places of fields in a records area


FIELD = st.none() | st.binary(max_size=40)
HEADERS = st.lists(st.tuples(st.text(max_size=5), FIELD), max_size=3).map(tuple)
RECORD = st.builds(Record, offset=st.integers(0, 300), timestamp=st.integers(0, 1 << 40), key=FIELD, value=FIELD, headers=HEADERS)


@given(st.lists(RECORD, max_size=5))
def test_every_field_is_found_where_it_was_written(records: list[Record]) -> None:
    area = write_records(records, 0, 1000)
    found = list(walk_records(area, 0, len(area), len(records)))
    for record, (offset, timestamp, key_start, key_size, value_start, value_size, headers_start, following) in zip(
        records, found, strict=True
    ):
        assert offset == record.offset
        assert timestamp == record.timestamp - 1000
        assert record.key == (None if key_size < 0 else area[key_start : key_start + key_size])
        assert record.value == (None if value_size < 0 else area[value_start : value_start + value_size])
        assert read_headers(area, headers_start, following) == record.headers


@given(RECORD)
def test_every_truncation_of_a_record_is_a_decode_error(record: Record) -> None:
    area = write_records([record], 0, 0)
    for size in range(len(area)):
        with pytest.raises(DecodeError):
            read_record_header(area[:size], 0, size)


@given(RECORD, st.data())
def test_changed_bytes_give_fields_inside_the_buffer_or_a_decode_error(record: Record, data: st.DataObject) -> None:
    area = bytearray(write_records([record], 0, 0))
    area[data.draw(st.integers(0, len(area) - 1))] = data.draw(st.integers(0, 255))
    try:
        _, _, key_start, key_size, value_start, value_size, headers_start, following = read_record_header(bytes(area), 0, len(area))
    except DecodeError:
        return
    assert key_start + max(key_size, 0) <= value_start + max(value_size, 0) <= headers_start <= following <= len(area)


VARINT_LIKE = st.lists(st.sampled_from([0, 1, 2, 126, 127, 128, 129, 255]), min_size=1, max_size=6).map(bytes)


@given(st.lists(RECORD, min_size=1, max_size=4), st.data())
def test_usual_records_are_read_as_careful_ones(records: list[Record], data: st.DataObject) -> None:
    area = bytearray(write_records([Record(one.offset, one.timestamp, None, one.value) for one in records], 0, 1000))
    at = data.draw(st.integers(0, len(area) - 1))
    area[at : at + data.draw(st.integers(0, 3))] = data.draw(VARINT_LIKE)
    area += bytes(data.draw(st.sampled_from([0, 30])))

    def fields_of(read: Callable[[bytes, int, int], tuple[int, ...]]) -> tuple[list[tuple[int, ...]], str]:
        found, position = [], 0
        try:
            while position < len(area):
                found.append(read(bytes(area), position, len(area)))
                position = found[-1][7]
        except DecodeError as error:
            return found, str(error)
        return found, ""

    assert fields_of(lambda *place: next(walk_records(*place, 1))) == fields_of(read_record_header)


def test_records_below_and_above_the_declared_count_are_told_where_they_are_noticed() -> None:
    area = write_records([Record(0, 0, None, b"a"), Record(1, 0, None, b"b")], 0, 0)
    walk = walk_records(area, 0, len(area), 1)
    assert next(walk)[0] == 0
    with pytest.raises(DecodeError, match="8 bytes are left after the 1 records"):
        next(walk)
    with pytest.raises(DecodeError, match="cut off"):
        list(walk_records(area, 0, len(area), 2**31 - 1))
    with pytest.raises(DecodeError, match="negative"):
        list(walk_records(area, 0, len(area), -1))


@given(st.integers(-(2**63), 2**63 - 1))
def test_zigzag_numbers_are_read_as_written(value: int) -> None:
    out = bytearray()
    write_varint(out, value)
    assert read_varlong(bytes(out), 0, len(out)) == (value, len(out))
    if -(2**31) <= value < 2**31:
        assert read_varint(bytes(out), 0, len(out)) == (value, len(out))


def test_numbers_of_too_many_bytes_are_refused() -> None:
    with pytest.raises(DecodeError, match="longer than 5 bytes"):
        read_varint(b"\x80" * 5 + b"\x01", 0, 6)
    with pytest.raises(DecodeError, match="longer than 10 bytes"):
        read_varlong(b"\x80" * 10 + b"\x01", 0, 11)


def test_a_header_without_a_name_is_refused() -> None:
    body = bytes((0, 0, 0, 1, 1, 2, 1, 0))  # null key, null value, one header, its name null
    with pytest.raises(DecodeError, match="header name is null"):
        read_record_header(bytes((len(body) * 2,)) + body, 0, len(body) + 1)
