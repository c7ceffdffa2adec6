"""Batches written: read back by us and by Kafka."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batch_writer import COMMIT, KRAFT_VOTERS, LEADER_CHANGE, read_control_record, write_batch, write_control_record
from metashell.codec.batches import Record, RecordBatch, read_batch_header
from metashell.codec.primitives import CODEC_NAMES
from metashell.codec.registry import message_type
from metashell.common.errors import DecodeError, EncodeError
from tests.java import KAFKA, kafka

FIELD = st.none() | st.binary(max_size=30)
HEADERS = st.lists(st.tuples(st.text(max_size=5), FIELD), max_size=2).map(tuple)


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 1 << 42), FIELD, FIELD, HEADERS), min_size=1, max_size=6),
    st.integers(0, 1 << 50),
    st.integers(0, 4),
)
def test_what_is_written_is_read_back(rows, base_offset: int, codec_id: int) -> None:
    offset = base_offset
    records = []
    for step, timestamp, key, value, headers in rows:
        records.append(Record(offset, timestamp, key, value, headers))
        offset += step
    data = write_batch(base_offset, records, leader_epoch=1, codec_id=codec_id)
    batch = RecordBatch(read_batch_header(data), 0, data)
    assert batch.crc_fault() is None
    assert batch.header.last_offset == records[-1].offset
    assert batch.header.max_timestamp == max(record.timestamp for record in records)
    for written, read in zip(records, batch.records(), strict=True):
        for field in Record.__slots__:
            assert getattr(read, field) == getattr(written, field)


@pytest.mark.slow
def test_kafka_reads_batches_of_every_codec(tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    lines = [f"line {number} of the batch" for number in range(200)]
    with log.open("wb") as out:
        for codec_id in range(5):
            base = codec_id * len(lines)
            records = [Record(base + i, 1_700_000_000_000 + i, None, line.encode()) for i, line in enumerate(lines)]
            out.write(write_batch(base, records, leader_epoch=3, codec_id=codec_id))
    done = kafka(KAFKA, "dump-log", "--print-data-log", "--files", str(log))
    assert done.returncode == 0, done.stderr.decode()
    text = done.stdout.decode()
    assert [line.split(" payload: ")[1] for line in text.splitlines() if " payload: " in line] == lines * 5
    for name in CODEC_NAMES:
        assert f"compresscodec: {name} " in text
    assert text.count("isvalid: true") == 5


@pytest.mark.parametrize("offset", [9, 10 + 2**31])
def test_an_offset_outside_the_batch_is_an_encode_error(offset: int) -> None:
    with pytest.raises(EncodeError):
        write_batch(10, [Record(offset, 0, None, b"")], leader_epoch=0)


def test_an_empty_batch_needs_to_know_its_last_offset() -> None:
    with pytest.raises(EncodeError, match="last offset delta"):
        write_batch(10, [], leader_epoch=0)


# ---- control records: keys, versions, and markers


def test_a_leader_change_of_version_1_has_directory_ids() -> None:
    message = message_type("control", "LeaderChangeMessage")
    voter = message.structs["Voter"](voter_id=2, voter_directory_id=b"d" * 16)
    body = message.cls(version=1, leader_id=2, voters=(voter,), granting_voters=(voter,))
    record = read_control_record(*write_control_record(LEADER_CHANGE, body, version=1))
    assert (record.type_name, record.version, record.body) == ("LEADER_CHANGE", 1, body)


def test_a_value_of_a_newer_version_is_read_with_the_newest_layout() -> None:
    key, value = write_control_record(KRAFT_VOTERS, message_type("control", "VotersRecord").cls(version=7))
    record = read_control_record(key, value)
    assert (record.version, record.body.voters) == (7, ())


def test_an_end_of_transaction_marker_has_its_version_before_the_epoch() -> None:
    record = read_control_record(bytes.fromhex("00000001"), bytes.fromhex("0000 00000064"))
    assert (record.type, record.body.coordinator_epoch) == (COMMIT, 100)


def test_an_unknown_type_is_kept_as_bytes() -> None:
    record = read_control_record(bytes.fromhex("00000063"), b"\x00\x01abc")
    assert (record.type_name, record.version, record.body) == ("UNKNOWN_CONTROL_99", 1, b"\x00\x01abc")
    assert record.fault == "unknown control record type 99"


@pytest.mark.parametrize("key", [None, b"", b"\x00\x00\x00", b"\xff\xff\x00\x02"])
def test_a_key_that_is_missing_short_or_negative_is_a_decode_error(key: bytes | None) -> None:
    with pytest.raises(DecodeError):
        read_control_record(key, b"\x00\x00")


@pytest.mark.parametrize("value", [None, b"", b"\x00", b"\x00\x00\x00"])
def test_a_value_that_ends_early_is_a_decode_error(value: bytes | None) -> None:
    with pytest.raises(DecodeError):
        read_control_record(bytes.fromhex("00000002"), value)
