"""Records of groups and transactions written by hand from the rules: they read, and write back to the same bytes."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec.consumer_protocol import decode_assignment, decode_subscription
from metashell.codec.coordinator import COORDINATOR_LOGS, PREFIX_SIZE, int16_at
from metashell.codec.streams_assignment import read_streams_assignment
from metashell.common.values import uuid_from_text
from tests.codec.streams_writer import write_streams_assignment

ID = "0102030405060708090a0b0c0d0e0f10"
VALUES: list[tuple[str, int, str, dict[str, Any]]] = [
    ("offsets", 1, "0003 000000000000002a ffffffff 0000 00000000000003e8", {"offset": 42, "leader_epoch": -1, "commit_timestamp": 1000}),
    ("offsets", 1, "0001 000000000000002a 0000 00000000000003e8 00000000000007d0", {"offset": 42, "expire_timestamp": 2000}),
    ("offsets", 1, "0004 000000000000002a ffffffff 01 00000000000003e8 00", {"offset": 42, "metadata": ""}),
    (
        "offsets",
        1,
        f"0004 000000000000002a ffffffff 01 00000000000003e8 01 00 10 {ID}",
        {"topic_id": uuid_from_text("AQIDBAUGBwgJCgsMDQ4PEA")},
    ),
    (
        "offsets",
        2,
        "0003 0008636f6e73756d6572 00000002 ffff ffff 00000000000003e8 00000000",
        {"protocol_type": "consumer", "generation": 2, "leader": None},
    ),
    ("offsets", 3, "0000 00000005 00", {"epoch": 5, "metadata_hash": 0}),
    ("offsets", 3, "0000 00000005 01 00 08 0000000000000007", {"epoch": 5, "metadata_hash": 7}),
    (
        "offsets",
        8,
        f"0000 00000005 00000004 00 02 {ID} 03 00000000 00000001 00 01 00",
        {"member_epoch": 5, "previous_member_epoch": 4, "state": 0},
    ),
    (
        "transactions",
        0,
        "0000 0000000000000009 0001 0000ea60 00 ffffffff 00000000000003e8 ffffffffffffffff",
        {"producer_id": 9, "transaction_partitions": None},
    ),
]


@pytest.mark.parametrize(("log", "type", "text", "fields"), VALUES)
def test_a_value_reads_and_writes_back(log: str, type: int, text: str, fields: dict[str, Any]) -> None:
    raw = bytes.fromhex(text)
    message = COORDINATOR_LOGS[log].value_message(type)
    assert message is not None
    version = int16_at(raw, 0)
    value = message.read(raw, version, PREFIX_SIZE)
    assert {name: getattr(value, name) for name in fields} == fields
    assert raw[:PREFIX_SIZE] + message.write(value, version) == raw


@pytest.mark.parametrize(
    ("log", "text", "fields"),
    [
        ("offsets", "0001 000167 000174 00000000", {"group": "g", "topic": "t", "partition": 0}),
        ("offsets", "0003 000167", {"group_id": "g"}),
        ("transactions", "0000 000178", {"transactional_id": "x"}),
    ],
)
def test_a_key_reads_and_writes_back(log: str, text: str, fields: dict[str, Any]) -> None:
    raw = bytes.fromhex(text)
    message = COORDINATOR_LOGS[log].key_message(int16_at(raw, 0))
    assert message is not None
    key = message.read(raw, 0, PREFIX_SIZE)
    assert {name: getattr(key, name) for name in fields} == fields
    assert raw[:PREFIX_SIZE] + message.write(key, 0) == raw


def test_subscriptions_and_assignments_are_decoded() -> None:
    first = decode_subscription("consumer", "range", bytes.fromhex("0000 00000001 000174 ffffffff")).value
    assert (first["version"], first["topics"], first["userData"]) == (0, ["t"], None)
    third = decode_subscription(
        "consumer", "range", bytes.fromhex("0003 00000001 000174 ffffffff 00000001 000174 00000001 00000000 00000005 ffff")
    ).value
    assert (third["ownedPartitions"], third["generationId"]) == ([{"topic": "t", "partitions": [0]}], 5)
    given = decode_assignment("consumer", "range", bytes.fromhex("0003 00000001 000174 00000002 00000000 00000001 ffffffff")).value
    assert given["assignedPartitions"] == [{"topic": "t", "partitions": [0, 1]}]


def test_an_empty_assignment_of_streams_writes_back() -> None:
    raw = bytes.fromhex("0000000b 0000000b 00000000 00000000 00000000 00000000 00000000 00000000 7fffffffffffffff")
    assert write_streams_assignment(read_streams_assignment(raw)) == raw
