"""Frames of metadata records: versions, types, and Kafka's words for what cannot be read."""

from __future__ import annotations

import pytest

from metashell.codec.metadata_records import (
    GAVE_UP,
    RECORD_TYPE_NAMES,
    FrameError,
    UnknownRecord,
    make_loop,
    read_metadata_record,
    record_headers,
    write_metadata_record,
)
from metashell.codec.registry import message_type
from metashell.common.errors import EncodeError
from tests.metadata.image.batches import batch, record
from tests.seeds import shows

TOPIC = message_type("metadata", "TopicRecord").cls("orders", bytes(range(16)))
TOPIC_BYTES = bytes.fromhex("01 02 00 07") + b"orders" + bytes(range(16)) + b"\x00"


@shows("KIP-631/frame")
def test_a_record_is_framed_as_kafka_frames_it() -> None:
    assert write_metadata_record(TOPIC, 0) == TOPIC_BYTES
    record = read_metadata_record(TOPIC_BYTES)
    assert (record.type_id, record.version, record.type_name, record.body, record.fault) == (2, 0, "TOPIC_RECORD", TOPIC, None)


def test_a_record_is_read_from_the_middle_of_a_buffer() -> None:
    assert read_metadata_record(b"\xff\xff" + TOPIC_BYTES + b"\x00", 2, 2 + len(TOPIC_BYTES)).body == TOPIC


def test_a_version_above_the_newest_is_read_with_the_newest_layout_and_marked() -> None:
    record = read_metadata_record(b"\x01\x02\x09" + TOPIC_BYTES[3:])
    assert record.body == TOPIC
    assert record.version == 9
    assert record.fault == "TopicRecord version 9 is not known, read as version 0"


def test_an_unknown_type_is_kept_as_bytes_and_written_back() -> None:
    raw = b"\x01\xe7\x07\x03payload"
    record = read_metadata_record(raw)
    assert record.body == UnknownRecord(999, 3, b"payload")
    assert record.type_name == "UNKNOWN_RECORD_999"
    assert record.fault == "unknown record type 999"
    assert write_metadata_record(record.body) == raw


def test_a_body_that_does_not_decode_is_kept_with_the_field_at_fault() -> None:
    record = read_metadata_record(TOPIC_BYTES[:-4])
    assert isinstance(record.body, UnknownRecord)
    assert record.fault == "TopicRecord: TopicId: 16 bytes wanted, 13 left"


@shows("KIP-631/frame")
def test_frame_version_zero_is_read_with_the_schemas_of_kip_631() -> None:
    record = read_metadata_record(bytes.fromhex("00 0c 00") + b"\x02x" + bytes.fromhex("0001 0007 00"))
    assert record.family == "kip631"
    assert (record.body.name, record.body.min_feature_level, record.body.max_feature_level) == ("x", 1, 7)
    assert read_metadata_record(bytes.fromhex("00 0e 00 01 02") + b"k" + bytes(8) + b"\x00\x00").type_name == "QUOTA_RECORD"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("", "Error while reading frame version"),
        ("818181818181", "Error while reading frame version"),
        ("02", "Could not deserialize metadata record due to unknown frame version 2(only frame version 1 is supported)"),
        ("01", "Error while reading type"),
        ("01ffffffffffff", "Error while reading type"),
        ("0102", "Error while reading version"),
        ("01 80 80 02", "Value for type was too large."),
        ("01 02 80 80 02", "Value for version was too large."),
    ],
)
def test_a_frame_that_cannot_be_read_has_kafkas_words(raw: str, text: str) -> None:
    with pytest.raises(FrameError) as caught:
        read_metadata_record(bytes.fromhex(raw))
    assert str(caught.value) == text


def test_over_long_varints_are_accepted_and_overflowing_ones_wrap() -> None:
    assert read_metadata_record(b"\x81\x00" + TOPIC_BYTES[1:]).body == TOPIC
    assert read_metadata_record(bytes.fromhex("01 ff ff ff ff 0f 00")).type_id == -1


@shows("KIP-631/later-records")
def test_names_of_record_types_are_kafkas() -> None:
    assert RECORD_TYPE_NAMES[0] == "REGISTER_BROKER_RECORD"
    assert RECORD_TYPE_NAMES[18] == "ACCESS_CONTROL_ENTRY_RECORD"
    assert RECORD_TYPE_NAMES[28] == "CLEAR_ELR_RECORD"
    assert 13 not in RECORD_TYPE_NAMES


def test_an_object_that_is_no_metadata_record_is_not_framed() -> None:
    with pytest.raises(EncodeError, match="SnapshotFooterRecord is not a metadata record"):
        write_metadata_record(message_type("control", "SnapshotFooterRecord").cls())


def test_a_tag_of_another_version_is_refused_as_kafka_does_and_one_that_no_version_has_is_kept() -> None:
    partition = message_type("metadata", "PartitionRecord")
    raw = write_metadata_record(partition.cls(unknown_tags=((9, b"x"),)), 0)
    assert read_metadata_record(raw).body.unknown_tags == ((9, b"x"),)
    raw = write_metadata_record(partition.cls(unknown_tags=((2, b"\x01"),)), 0)
    assert read_metadata_record(raw).fault == "PartitionRecord: tag 2 is not valid in version 0"


# ---- the tight loop over usual records: what a batch claims of itself costs nothing before there are bytes for it


def test_a_count_that_the_bytes_cannot_hold_is_given_up_at_once() -> None:
    data, start, end = batch(record("NoOpRecord"), record("NoOpRecord")).records_area(1 << 20)
    buf = bytes(data[:end])
    loop = make_loop("add(start)", parameters="add")
    found: list[int] = []
    assert loop(buf, start, 0, 2, found.append) == end
    assert len(found) == 2
    before = len(record_headers(0))
    assert loop(buf, start, 0, (1 << 31) - 1, found.append) == GAVE_UP
    assert len(found) == 2
    assert len(record_headers(0)) == before
