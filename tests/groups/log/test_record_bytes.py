"""Records as the bytes of a log: those that a real coordinator wrote are read and written again."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from metashell.common.errors import DecodeError
from metashell.groups.log import key_bytes, read_record, value_bytes

FOLDER = Path(__file__).resolve().parents[2] / "golden" / "groups"


@pytest.mark.parametrize("room", ["classic", "consumer", "watched"])
def test_what_kafka_wrote_is_written_the_same(room: str) -> None:
    seen = 0
    for path in sorted((FOLDER / room).glob("*.gz")):
        if "trace" in path.name:
            continue
        with gzip.open(path, "rt", encoding="utf-8") as file:
            steps = [step for line in file for step in json.loads(line)["steps"]]
        for row in (row for step in steps for row in step["records"] if "keyHex" in row):
            key, value = bytes.fromhex(row["keyHex"]), None if row["valueHex"] is None else bytes.fromhex(row["valueHex"])
            record = read_record(key, value)
            assert record is not None and record.type == row["type"]
            assert (key_bytes(record), value_bytes(record)) == (key, value)
            seen += 1
    assert seen > 300


def test_a_type_that_is_not_known_is_no_record() -> None:
    assert read_record(b"\x7f\x00rest", b"\x00\x00") is None


@pytest.mark.parametrize("key", [b"", b"\x00", b"\x00\x01\x00"])
def test_a_key_that_is_cut_is_an_error(key: bytes) -> None:
    with pytest.raises(DecodeError):
        read_record(key, None)


@pytest.mark.parametrize("value", [b"", b"\x00", b"\x00\x09\x00", b"\xff\xff\x00"])
def test_a_value_that_is_cut_or_of_an_unknown_version_is_an_error(value: bytes) -> None:
    with pytest.raises(DecodeError):
        read_record(bytes.fromhex("000100016700017400000000"), value)
