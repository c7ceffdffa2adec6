"""Records as the bytes of a log: those that a real coordinator wrote are read and written again."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from metashell.codec.coordinator import COORDINATOR_LOGS, DIALECTS
from metashell.codec.registry import message_names, message_type
from metashell.common.errors import DecodeError
from metashell.groups.log import Decoder, key_bytes, read_record, value_bytes
from tests.codec.filled import filled

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


EARLY = [(family, name) for _, family in DIALECTS["offsets"] for name in message_names(family) if name.endswith("Value")]


@pytest.mark.parametrize(("family", "name"), EARLY, ids=lambda text: text.removesuffix("Value"))
def test_a_record_that_only_some_releases_write_so_is_read_with_the_fields_that_todays_has(family: str, name: str) -> None:
    kind = message_type(family, name)
    assert kind.key is not None
    made = filled(kind, 0, {})
    key_kind = COORDINATOR_LOGS["offsets"].key_message(kind.key) or message_type(family, name.removesuffix("Value") + "Key")
    key = filled(key_kind, 0, {})
    record = Decoder().record(kind.key.to_bytes(2, "big") + key_kind.write(key, 0), b"\0\0" + kind.write(made, 0))
    today = COORDINATOR_LOGS["offsets"].value_message(kind.key)
    assert (record.type, record.version, record.key) == (kind.key, 0, key)
    assert type(record.value) is (kind.cls if today is None else today.cls)
    shared = [field for field in type(made).__slots__ if hasattr(record.value, field)]
    assert shared and all(getattr(record.value, field) == getattr(made, field) for field in shared)
