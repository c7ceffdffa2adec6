"""Blobs that Kafka's own classes wrote: every one decodes, and is written back byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metashell.codec.consumer_protocol import decode_assignment, decode_subscription
from metashell.codec.registry import message_type
from metashell.codec.streams_assignment import NO_REBALANCE_MS, TaskId, read_streams_assignment
from tests.codec.streams_writer import write_streams_assignment

FILE = Path(__file__).parents[1] / "golden" / "blobs" / "vectors.txt"
VECTORS = [(kind, int(version), bytes.fromhex(text)) for kind, version, text in map(str.split, FILE.read_text().splitlines())]
MESSAGES = {
    "consumer-subscription": ("data", "ConsumerProtocolSubscription", 2),
    "consumer-assignment": ("data", "ConsumerProtocolAssignment", 2),
    "sticky": ("blobs", "StickyUserData", 0),
    "cooperative-sticky": ("blobs", "CooperativeStickyUserData", 0),
    "streams-subscription": ("blobs", "StreamsSubscriptionInfo", 4),
    "connect-metadata": ("blobs", "ConnectWorkerMetadata", 2),
    "connect-assignment": ("blobs", "ConnectAssignment", 2),
}
"""Kind -> family, message, and the bytes of the version before its fields."""


def vectors(kind: str) -> list[tuple[int, bytes]]:
    return [(version, raw) for found, version, raw in VECTORS if found == kind]


@pytest.mark.parametrize(("kind", "version", "raw"), [row for row in VECTORS if row[0] in MESSAGES])
def test_a_blob_of_a_schema_is_read_and_written_back(kind: str, version: int, raw: bytes) -> None:
    family, name, prefix_size = MESSAGES[kind]
    message = message_type(family, name)
    assert int.from_bytes(raw[:prefix_size], "big") == (version if prefix_size else 0)
    value = message.read(raw, version, prefix_size)
    assert message.write(value, version) == raw[prefix_size:]


@pytest.mark.parametrize(("version", "raw"), vectors("streams-assignment"))
def test_an_assignment_of_streams_is_read_and_written_back(version: int, raw: bytes) -> None:
    value = read_streams_assignment(raw)
    assert value.version == version
    assert write_streams_assignment(value) == raw


def test_there_are_vectors_of_all_versions() -> None:
    for kind, versions in (
        ("consumer-subscription", range(4)),
        ("consumer-assignment", range(4)),
        ("streams-subscription", range(1, 12)),
        ("streams-assignment", range(1, 12)),
        ("connect-metadata", range(3)),
        ("connect-assignment", range(3)),
    ):
        assert {version for version, _ in vectors(kind)} == set(versions)


@pytest.mark.parametrize(("version", "raw"), vectors("streams-assignment")[::2])
def test_an_assignment_of_streams_says_what_kafka_put_in(version: int, raw: bytes) -> None:
    value = read_streams_assignment(raw)
    topology = "t\u00e9\U0001f600" if version >= 10 else None
    assert value.active_tasks == [TaskId(0, 1, topology), TaskId(2, 2, topology)]
    assert value.standby_tasks == [(TaskId(1, 0, topology), [("a\0\U0001f600", 0)])]
    if version > 1:
        assert dict(value.partitions_by_host) == {("host", 8080): [("a\0\U0001f600", 0)], ("h2", 1): [("b", 5)]}
    if version >= 6:
        assert value.standby_partitions_by_host == [(("host", 8080), [("b", 5)])]
    assert value.error_code == (1 if version >= 4 else 0)
    assert value.next_rebalance_ms == (1700000000000 if version > 7 else NO_REBALANCE_MS)


@pytest.mark.parametrize(("version", "raw"), vectors("streams-subscription"))
def test_user_data_of_streams_is_decoded_inside_a_subscription(version: int, raw: bytes) -> None:
    found = decode_subscription("consumer", "stream", consumer_subscription(raw))
    assert found.findings == ()
    data = found.value["userData"]
    assert data["version"] == version
    assert data["processId"] == "AQIDBAUGBwgJCgsMDQ4PEA"
    assert data.get("userEndPoint", "host:8080") == "host:8080"
    assert data.get("latestSupportedVersion", 11) == 11
    if version == 11:
        assert data["clientTags"] == [{"key": "zone", "value": "\u00e9u-1"}]


@pytest.mark.parametrize("version", [1, 2])
def test_what_a_connect_worker_holds_is_decoded_inside_its_metadata(version: int) -> None:
    raw = next(raw for found, raw in vectors("connect-metadata") if found == version)
    found = decode_subscription("connect", "sessioned", raw)
    assert found.findings == ()
    allocation = found.value["allocation"]
    assert allocation["version"] == version
    assert allocation["assignment"] == [{"connector": "sink", "tasks": [-1, 0]}, {"connector": "source", "tasks": [2]}]
    assert allocation["revoked"] == [{"connector": "old", "tasks": [-1, 1]}]
    assert allocation["delay"] == 3000


def consumer_subscription(user_data: bytes) -> bytes:
    message = message_type("data", "ConsumerProtocolSubscription")
    return b"\0\1" + message.write(message.cls(topics=("t",), user_data=user_data), 1)


def consumer_assignment(user_data: bytes) -> bytes:
    message = message_type("data", "ConsumerProtocolAssignment")
    return b"\0\1" + message.write(message.cls(user_data=user_data), 1)


@pytest.mark.parametrize(("kind", "version", "raw"), [row for row in VECTORS if row[0] == "sticky"])
def test_user_data_of_the_sticky_assignors_is_decoded(kind: str, version: int, raw: bytes) -> None:
    value: Any = decode_subscription("consumer", "sticky", consumer_subscription(raw)).value
    assert value["userData"]["generation"] in (4, -1)
    older = raw[:-4]
    value = decode_subscription("consumer", "sticky", consumer_subscription(older)).value
    assert "generation" not in value["userData"]


def test_the_generation_of_the_cooperative_assignor_is_decoded() -> None:
    ((_, raw),) = vectors("cooperative-sticky")
    value = decode_subscription("consumer", "cooperative-sticky", consumer_subscription(raw)).value
    assert value["userData"] == {"generation": 6}


@pytest.mark.parametrize("protocol", ["sticky", "cooperative-sticky"])
def test_other_clients_user_data_of_sticky_assignors_are_dialects(protocol: str) -> None:
    """librdkafka, franz-go and sarama write the sticky form for both; kafka-python 3 its version before it."""
    message = message_type("blobs", "StickyUserData")
    owned = message.cls.TopicAssignment(topic="t1", partitions=(0, 1))
    plain = message.write(message.cls(previous_assignment=(owned,), generation=7), 1)
    assert plain.hex() == "000000010002743100000002000000000000000100000007"
    expected = {"previousAssignment": [{"topic": "t1", "partitions": [0, 1]}], "generation": 7}
    for raw in (plain, bytes.fromhex("0001") + plain):
        value, findings = decode_subscription("consumer", protocol, consumer_subscription(raw))
        assert (value["userData"], findings, "userDataNote" in value) == (expected, (), False)
    value, findings = decode_assignment("consumer", protocol, consumer_assignment(plain))
    assert (value["userData"], findings) == (expected, ())


@pytest.mark.parametrize("raw", [b"\1", b"\0\1\0\0", b"odd client", b"\0\0\0\1\0\0\0\0\0"])
def test_user_data_of_a_client_that_nobody_knows_is_a_note(raw: bytes) -> None:
    value, findings = decode_subscription("consumer", "sticky", consumer_subscription(raw))
    assert findings == ()
    assert value["userDataNote"] == f"subscription: userData of sticky is in no dialect of a known client ({len(raw)} bytes)"


def test_an_empty_blob_is_nothing_yet() -> None:
    assert decode_assignment("consumer", "range", b"") == (None, ())


def test_what_does_not_decode_stays_base64_with_a_finding() -> None:
    for protocol_type in ("consumer", "connect"):
        value, findings = decode_assignment(protocol_type, "range", b"\0\1\0\0\0\x09")
        assert value == "AAEAAAAJ"
        assert findings
    assert decode_assignment("other", None, b"\0\1") == ("AAE=", ())


def test_user_data_that_does_not_decode_stays_base64_with_a_finding() -> None:
    value, findings = decode_assignment("consumer", "stream", consumer_assignment(b"\0\0\0\x0bxyz"))
    assert value["userData"] == "AAAAC3h5eg=="
    assert findings == ("assignment: userData of stream: AssignmentInfo ends early",)


def test_a_subscription_of_a_newer_version_is_read_as_the_newest() -> None:
    value, findings = decode_subscription("consumer", "range", b"\0\7" + dict(vectors("consumer-subscription"))[3][2:] + b"new")
    assert (value["version"], value["rackId"], value["trailingBytes"]) == (7, "rack-1", 3)
    assert findings == ()


def test_a_probe_of_a_newer_streams_client_tells_its_versions_only() -> None:
    value, findings = decode_subscription("consumer", "stream", consumer_subscription(b"\0\0\0\x0c\0\0\0\x0c whatever"))
    assert value["userData"] == {"version": 12, "latestSupportedVersion": 12, "isProbe": True}
    assert findings == ()


@pytest.mark.parametrize("kind", ["streams-assignment", "streams-subscription", "connect-metadata", "connect-assignment"])
def test_every_truncation_and_every_flipped_byte_is_survived(kind: str) -> None:
    for _, raw in vectors(kind):
        for cut in range(len(raw)):
            decode_everything(raw[:cut])
            decode_everything(raw[:cut] + bytes((raw[cut] ^ 0xFF,)) + raw[cut + 1 :])


def decode_everything(blob: bytes) -> None:
    decode_subscription("connect", None, blob)
    decode_assignment("connect", None, blob)
    decode_subscription("consumer", "stream", consumer_subscription(blob))
    decode_assignment("consumer", "stream", consumer_assignment(blob))
