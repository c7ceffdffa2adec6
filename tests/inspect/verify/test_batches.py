"""What must hold inside a batch; the tight loop and the careful way agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record, RecordBatch, read_batch_header
from metashell.codec.primitives import encode_varint
from metashell.codec.registry import message_type
from metashell.inspect.verify import Finding, Report
from metashell.inspect.verify.batches import FileKind, RecordCheck
from metashell.inspect.verify.walk import kind_of_items
from tests.inspect.verify.making import NO_OP, T0, data_batch, findings_in, leader_change, metadata_value, sealed, topic_value
from tests.metadata.image.histories import History, histories


def check(data: bytes, kind: FileKind = "metadata", *, deep: bool = False, with_care: bool = False) -> list[Finding]:
    found: list[Finding] = []
    records = RecordCheck(Report(found.append), kind, deep=deep, max_decompressed=1 << 20)
    if with_care:
        records._loop = None
        records._walks_plainly = False
    records.check(RecordBatch(read_batch_header(data), 0, data, "a.log"))
    return found


@pytest.mark.parametrize("deep", (False, True))
def test_sound_batches_of_every_codec_are_fine(deep: bool):
    for codec_id in range(5):
        assert not check(data_batch(3, [topic_value(n) for n in range(70)], codec_id=codec_id), deep=deep)
    assert not check(leader_change(0))


@pytest.mark.slow
@settings(max_examples=60)
@given(histories(), st.booleans())
def test_the_tight_loop_finds_what_the_careful_way_finds(history: History, deep: bool):
    for batch in history.batches:
        assert check(batch.data, deep=deep) == check(batch.data, deep=deep, with_care=True)


@settings(max_examples=150)
@given(st.data())
def test_no_flipped_byte_in_a_sealed_batch_makes_them_differ(data: st.DataObject):
    whole = data_batch(0, [topic_value(1), NO_OP, metadata_value("ConfigRecord", name="n", value="v"), topic_value(2)])
    at = data.draw(st.integers(57, len(whole) - 1))
    changed = sealed(whole[:at] + bytes([data.draw(st.integers(0, 255))]) + whole[at + 1 :])
    for deep in (False, True):
        assert check(changed, deep=deep) == check(changed, deep=deep, with_care=True)


@pytest.mark.parametrize(
    ("value", "severity", "what"),
    (
        (b"", "error", "the record has no value"),
        (None, "error", "the record has no value"),
        (b"\x01", "error", "Error while reading type"),
        (b"\x01\x02", "error", "Error while reading version"),
        (b"\x01\x63\x00\x00", "warning", "unknown record type 99"),
        (b"\x01\x14\x09\x00", "warning", "NoOpRecord version 9 is not known, read as version 0"),
        (b"\x00\x02\x00", "warning", "frame version 0 is that of KIP-631's text, which Kafka refuses"),
        (b"\x01" + b"\xff" * 9, "error", "Error while reading type"),
    ),
)
def test_a_value_that_is_no_known_record_is_found(value: bytes | None, severity: str, what: str):
    for data in (data_batch(5, [NO_OP, value, NO_OP]), data_batch(5, [NO_OP, value, NO_OP], codec_id=1)):
        for deep in (False, True):
            (found,) = check(data, deep=deep)
            assert (found.severity, found.what, found.offset, found.position) == (severity, what, 6, 0)


def test_only_deep_finds_a_body_that_does_not_decode():
    broken = topic_value(1)[:-3]
    data = data_batch(5, [NO_OP, broken])
    assert not check(data)
    (found,) = check(data, deep=True)
    assert found.what.startswith("TOPIC_RECORD version 0 does not decode: ")
    assert found.offset == 6


def test_a_flood_of_claimed_records_takes_no_memory():
    data = bytearray(data_batch(0, [NO_OP] * 2))
    data[57:61] = (0x7FFFFFFF).to_bytes(4, "big")
    data[23:27] = (0x7FFFFFFE).to_bytes(4, "big")
    assert any("cut off" in finding.what or "does not fit" in finding.what for finding in check(sealed(bytes(data))))


def test_what_a_metadata_log_never_has_is_told():
    assert "producer" in check(data_batch(0, [NO_OP], producer_id=4))[0].what
    assert "transactional" in check(data_batch(0, [NO_OP], is_transactional=True))[0].what
    records = [Record(0, T0, b"key", NO_OP)]
    assert "has a key" in check(write_batch(0, records, leader_epoch=0, base_timestamp=T0))[0].what
    late = [Record(0, T0, None, NO_OP), Record(1, T0 + 5, None, NO_OP)]
    assert "timestamp delta 5" in check(write_batch(0, late, leader_epoch=0, base_timestamp=T0))[0].what


# ---- logs of topics


def topic_batch(records: list[Record], **options: Any) -> bytes:
    return write_batch(records[0].offset, records, leader_epoch=0, base_timestamp=T0, **options)


def test_records_of_users_may_have_keys_headers_gaps_and_times_of_their_own():
    records = [Record(0, T0, b"k", b"v" * 300, (("h", None), ("i", b"x"))), Record(3, T0 + 70, None, None), Record(9, T0 + 1, b"", b"")]
    for codec_id in range(5):
        assert not check(topic_batch(records, codec_id=codec_id), "data", deep=True)


@pytest.mark.slow
@settings(max_examples=150)
@given(st.data())
def test_the_plain_walk_over_records_of_users_finds_what_the_careful_way_finds(data: st.DataObject):
    binary = st.none() | st.binary(max_size=9) | st.just(b"x" * 20_000)
    records = []
    offset = 0
    for _ in range(data.draw(st.integers(1, 5))):
        headers = data.draw(st.just(()) | st.just((("h", b"x"),)))
        records.append(Record(offset, T0 + data.draw(st.integers(0, 70_000)), data.draw(binary), data.draw(binary), headers))
        offset += data.draw(st.integers(1, 200))
    whole = topic_batch(records)
    assert not check(whole, "data")
    assert not check(whole, "data", with_care=True)
    at = data.draw(st.integers(57, len(whole) - 1))
    changed = sealed(whole[:at] + bytes([data.draw(st.integers(0, 255))]) + whole[at + 1 :])
    assert check(changed, "data") == check(changed, "data", with_care=True)


def test_offsets_that_do_not_ascend_in_a_batch_are_found():
    good = topic_batch([Record(0, T0, None, b"a"), Record(1, T0, None, b"b")])
    at = good.rindex(encode_varint(1) + b"\1")
    assert "offset delta 0 follows 0" in check(sealed(good[:at] + b"\0" + good[at + 1 :]), "data")[0].what
    assert "is above the batch's last" in check(sealed(good[:at] + encode_varint(9) + good[at + 1 :]), "data")[0].what


def test_a_max_timestamp_that_no_record_has_is_found():
    good = topic_batch([Record(0, T0, None, b"a"), Record(1, T0 + 5, None, b"b")])
    bad = sealed(good[:35] + (T0 + 6).to_bytes(8, "big") + good[43:])
    assert check(bad, "data")[0].what == f"max timestamp {T0 + 6} is not that of the records, {T0 + 5}"


def test_a_batch_that_compaction_emptied_is_fine():
    assert not check(write_batch(7, [], leader_epoch=0, base_timestamp=T0, last_offset_delta=4), "data")
    assert "0 records do not fit" in check(write_batch(7, [], leader_epoch=0, base_timestamp=T0, last_offset_delta=4))[0].what


def group_value(version: int) -> bytes:
    return version.to_bytes(2, "big") + message_type("offsets", "OffsetCommitValue").write(
        message_type("offsets", "OffsetCommitValue").cls(offset=5), version
    )


def group_key(type: int = 1) -> bytes:
    message = message_type("offsets", "OffsetCommitKey")
    return type.to_bytes(2, "big") + message.write(message.cls(group="g", topic="t", partition=0), 0)


def test_records_of_coordinators_are_of_known_types_and_decode():
    def found(key: bytes | None, value: bytes | None, *, deep: bool = True) -> list[tuple[str, str]]:
        told = check(topic_batch([Record(0, T0, key, value)]), "offsets", deep=deep)
        return [(finding.severity, finding.what) for finding in told]

    assert not found(group_key(), group_value(3))
    assert not found(group_key(), None)
    assert found(None, b"") == [("error", "the record has no key")]
    assert found(b"\x03\xe7", b"\0\0") == [("warning", "unknown record type 999")]
    assert found(group_key(), b"\x00\x63" + group_value(4)[2:]) == [
        ("warning", "OffsetCommitValue version 99 is not known, read as the newest")
    ]
    assert not found(group_key()[:-1], group_value(3), deep=False)
    (told,) = found(group_key()[:-1], group_value(3))
    assert "does not decode as the record's key" in told[1]
    (told,) = found(group_key(), group_value(3) + b"x")
    assert "does not decode as the record's value" in told[1]


def test_a_log_is_known_by_its_first_batch():
    def of(data: bytes) -> str:
        batch = RecordBatch(read_batch_header(data), 0, data)
        kind, items = kind_of_items(iter((batch,)))
        assert list(items) == [batch]
        return kind

    assert of(leader_change(0)) == "metadata"
    assert of(data_batch(0, [NO_OP])) == "metadata"
    assert of(topic_batch([Record(0, T0, b"k", b"v")])) == "data"
    assert of(write_batch(7, [], leader_epoch=0, base_timestamp=T0, last_offset_delta=4)) == "data"


def test_a_log_of_another_name_is_checked_as_what_it_is(tmp_path: Path):
    path = tmp_path / "copy"
    path.write_bytes(leader_change(0) + data_batch(1, [b"\x01\x63\0"]))
    assert [finding.what for finding in findings_in(path)] == ["unknown record type 99"]
    path.write_bytes(topic_batch([Record(0, T0, b"k", b"v")]) + topic_batch([Record(7, T0, b"k", b"v")]))
    assert not findings_in(path)
