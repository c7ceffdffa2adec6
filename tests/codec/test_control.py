"""Control records: keys, versions, and markers."""

from __future__ import annotations

import pytest

from metashell.codec.batch_writer import COMMIT, KRAFT_VOTERS, LEADER_CHANGE, read_control_record, write_control_record
from metashell.codec.registry import message_type
from metashell.common.errors import DecodeError


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
