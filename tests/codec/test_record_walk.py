"""The places of fields in a records area."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batch_writer import write_records, write_varint
from metashell.codec.batches import Record, read_headers, read_record_header, read_varint, read_varlong, walk_records
from metashell.common.errors import DecodeError

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
