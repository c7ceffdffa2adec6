"""A batch that is written again keeps its offsets, and loses secrets, unknown fields and names."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from metashell.codec.batch_writer import KRAFT_VOTERS, control_message, write_batch, write_control_record
from metashell.codec.batches import Record, RecordBatch, read_batch_header
from metashell.codec.metadata_records import UnknownRecord, read_metadata_record, write_metadata_record
from metashell.codec.registry import message_type
from metashell.inspect.bundle_batches import Left, Rewriter
from metashell.inspect.bundle_names import ANONYMISED, KEPT, Aliases, Names, Settings
from tests.inspect.dump.making import T0, batch, control_batch, metadata, topic
from tests.inspect.needles import Needles, every_record

KEYS = {2: frozenset(["cleanup.policy", "retention.ms"]), 4: frozenset(["log.dirs", "max.connections"])}
SETTINGS = Settings(KEYS, frozenset(["compact"]))
LIMIT = 1 << 20


class Rewritten:
    """What a rewriter made of some batches."""

    def __init__(self, *batches: bytes, anonymise: bool = True, patterns: tuple[tuple[str, str], ...] = ()) -> None:
        self.left: list[Left] = []
        self.names = Names(Aliases(Random(1).randrange, patterns=patterns, kept=KEPT), SETTINGS) if anonymise else None
        self.rewriter = Rewriter(self.names, self.left.append, LIMIT)
        self.data = b"".join(b"".join(self.rewriter.batch(read(data), "x.log")) for data in batches)

    @property
    def records(self) -> list[Record]:
        return list(read(self.data).records())

    @property
    def bodies(self) -> list[Any]:
        return [read_metadata_record(record.value or b"").body for record in self.records]


def read(data: bytes) -> RecordBatch:
    return RecordBatch(read_batch_header(data), 0, data)


# ---- everything a schema can hold --------------------------------------------------------------------------------------


def test_no_text_and_no_bytes_of_any_record_in_any_version_is_left_when_names_are_replaced() -> None:
    needles = Needles()
    values = list(every_record(needles))
    assert len(needles.made) > 200
    plain = b"".join(values)
    assert needles.found_in(plain) == set(needles.made.values())
    from metashell.inspect.bundle_batches import prefixed_patterns

    data = batch(values)
    made = Rewritten(data, patterns=tuple(prefixed_patterns(read(data), LIMIT)))
    assert not made.left
    assert needles.found_in(made.data) == set()
    assert len(made.records) == len(values)


def test_no_text_of_a_voter_is_left() -> None:
    needles = Needles()
    message = control_message(KRAFT_VOTERS)
    assert message is not None
    key, value = write_control_record(KRAFT_VOTERS, needles.body(message, 0))
    data = write_batch(7, [Record(7, T0, key, value)], leader_epoch=3, is_control=True)
    assert needles.found_in(data)
    made = Rewritten(data)
    assert needles.found_in(made.data) == set() and read(made.data).header.is_control


def test_without_anonymise_only_what_the_table_of_secrets_names_is_gone() -> None:
    needles = Needles()
    made = Rewritten(batch(list(every_record(needles))), anonymise=False)
    gone = {place.split(" ")[0] for place in set(needles.made.values()) - needles.found_in(made.data)}
    scram = {f"UserScramCredentialRecord.UserScramCredentialRecord.{name}" for name in ("Salt", "StoredKey", "ServerKey")}
    # The drawn settings have no key that Kafka knows.
    assert gone == {*scram, "ConfigRecord.ConfigRecord.Value"}


@pytest.mark.parametrize("kind", [2, 4, 16, 32])
@pytest.mark.parametrize("key", ["custom.token", "my.plugin.secret"])
def test_unknown_settings_of_every_kind_of_resource_are_gone(kind: int, key: str) -> None:
    config = metadata("ConfigRecord", resource_type=kind, resource_name="1", name=key, value="open-sesame")
    assert b"open-sesame" not in Rewritten(batch([config]), anonymise=False).data


def test_a_batch_of_very_many_records_is_the_same_after_it() -> None:
    data = batch([topic(f"t{number}") for number in range(3000)])
    assert Rewritten(data, anonymise=False).data == data


# ---- what is replaced, and by what -------------------------------------------------------------------------------------


def test_one_name_has_one_alias_in_records_of_every_kind() -> None:
    acl_of_topic = {"resource_type": 2, "resource_name": "orders", "pattern_type": 3}
    made = Rewritten(
        batch(
            [
                topic("orders"),
                metadata("ConfigRecord", resource_type=2, resource_name="orders", name="cleanup.policy", value="compact"),
                metadata("AccessControlEntryRecord", **acl_of_topic, principal="User:al", host="h"),
                metadata("UserScramCredentialRecord", name="al", salt=b"s", stored_key=b"k", server_key=b"l"),
                metadata("ClearElrRecord", topic_name="orders"),
            ]
        )
    )
    created, config, acl, scram, cleared = made.bodies
    assert created.name == config.resource_name == acl.resource_name == cleared.topic_name != "orders"
    assert acl.principal == f"User:{scram.name}" != "User:al"
    assert (scram.salt, scram.stored_key, scram.server_key) == (b"", b"", b"")
    assert (config.name, config.value) == ("cleanup.policy", "compact")


@pytest.mark.parametrize(
    ("resource_type", "key", "value", "shown_key", "shown_value"),
    [
        (2, "retention.ms", "-1", "retention.ms", "-1"),
        (2, "cleanup.policy", "compact,compact", "cleanup.policy", "compact,compact"),
        (2, "cleanup.policy", "compact,acme", "cleanup.policy", ANONYMISED),
        (2, "retention.ms", "", "retention.ms", ""),
        (2, "retention.ms", None, "retention.ms", None),
        (4, "log.dirs", "/var/lib/acme", "log.dirs", ANONYMISED),
        (4, "listener.name.sasl_ssl.max.connections", "5", "listener.name.sasl_ssl.max.connections", "5"),
        (4, "listener.name.acme.max.connections", "5", "listener.name.listener-137.max.connections", "5"),
        (4, "my.own", "5", "config-137", "[redacted]"),
    ],
)
def test_settings_stay_where_they_can_be_nobodys(
    resource_type: int, key: str, value: str | None, shown_key: str, shown_value: str | None
) -> None:
    config = metadata("ConfigRecord", resource_type=resource_type, resource_name="1", name=key, value=value)
    (body,) = Rewritten(batch([config])).bodies
    assert (body.name, body.value) == (shown_key, shown_value)


@pytest.mark.parametrize(
    ("message", "fields", "field"),
    [
        ("TopicRecord", {"name": "__consumer_offsets"}, "name"),
        ("AccessControlEntryRecord", {"resource_type": 2, "resource_name": "*", "pattern_type": 3}, "resource_name"),
        ("AccessControlEntryRecord", {"resource_type": 4, "resource_name": "kafka-cluster", "pattern_type": 3}, "resource_name"),
        ("AccessControlEntryRecord", {"principal": "User:*"}, "principal"),
        ("AccessControlEntryRecord", {"principal": "User:ANONYMOUS"}, "principal"),
        ("AccessControlEntryRecord", {"host": "*"}, "host"),
        ("RegisterBrokerRecord", {"rack": None}, "rack"),
        ("RegisterBrokerRecord", {"rack": ""}, "rack"),
        ("ConfigRecord", {"resource_type": 4, "resource_name": ""}, "resource_name"),
        ("ConfigRecord", {"resource_type": 4, "resource_name": "17"}, "resource_name"),
        ("FeatureLevelRecord", {"name": "metadata.version"}, "name"),
    ],
)
def test_what_is_kafkas_own_or_nothing_stays(message: str, fields: dict[str, Any], field: str) -> None:
    (body,) = Rewritten(batch([metadata(message, **fields)])).bodies
    assert getattr(body, field) == fields[field]


def test_quotas_keep_their_kinds_and_the_default_entity() -> None:
    entity = message_type("metadata", "ClientQuotaRecord").structs["EntityData"]
    pairs = [("user", "al"), ("client-id", None), ("ip", "10.0.0.1")]
    quota = metadata("ClientQuotaRecord", entity=[entity(*pair) for pair in pairs], key="request_percentage", value=5.0)
    (body,) = Rewritten(batch([quota])).bodies
    assert [(one.entity_type, one.entity_name) for one in body.entity] == [("user", "user-137"), ("client-id", None), ("ip", "host-582")]
    assert body.key == "request_percentage"


# ---- what is no record we know -----------------------------------------------------------------------------------------


def test_what_is_not_known_becomes_a_no_op_at_its_place_and_is_reported_without_its_content() -> None:
    newer = write_metadata_record(message_type("metadata", "TopicRecord").cls(name="secret-name"), 0)
    newer = newer[:2] + b"\x05" + newer[3:]
    unknown = write_metadata_record(UnknownRecord(99, 0, b"secret-name"))
    made = Rewritten(batch([topic("a"), unknown, newer, None, b"\x01\x02\x00secret-name", topic("b")], 40), anonymise=False)
    assert [record.offset for record in made.records] == [40, 41, 42, 43, 44, 45]
    assert [type(body).__name__ for body in made.bodies] == ["TopicRecord", *["NoOpRecord"] * 4, "TopicRecord"]
    assert [left.offset for left in made.left] == [41, 42, 43, 44]
    assert made.left[0].what == "a record of unknown type 99" and made.left[1].what == "a TOPIC_RECORD of unknown version 5"
    assert b"secret-name" not in made.data and "secret-name" not in str(made.left)


def test_tagged_fields_that_are_not_known_keys_and_headers_are_taken_out() -> None:
    body = message_type("metadata", "TopicRecord").cls(name="a")
    body.unknown_tags = ((77, b"secret-tag"),)
    record = Record(0, T0, b"secret-key", write_metadata_record(body), ((("secret-header"), b"secret-header"),))
    made = Rewritten(write_batch(0, [record], leader_epoch=3), anonymise=False)
    assert b"secret" not in made.data and not made.left
    assert made.rewriter.counts["unknown_tags"] == 1 and made.rewriter.counts["record_keys"] == 1


def test_a_tag_that_hides_in_a_struct_is_taken_out_too() -> None:
    broker = message_type("metadata", "RegisterBrokerRecord")
    endpoint = broker.structs["BrokerEndpoint"](name="PLAINTEXT", host="h", port=1)
    endpoint.unknown_tags = ((77, b"secret-tag"),)
    partition = message_type("metadata", "PartitionRecord").cls(replicas=[1], isr=[1])
    partition.unknown_tags = ((77, b"secret-tag"),)
    values = [write_metadata_record(broker.cls(end_points=[endpoint]), 1), write_metadata_record(partition, 0)]
    assert b"secret-tag" in b"".join(values)
    assert b"secret-tag" not in Rewritten(batch(values), anonymise=False).data


@pytest.mark.parametrize("codec_id", [0, 1, 2, 3, 4])
def test_a_batch_keeps_its_numbers_and_loses_its_compression(codec_id: int) -> None:
    data = batch([topic("a"), topic("b", 2)], 40, codec_id=codec_id, producer_id=5, producer_epoch=1, max_timestamp=T0 + 900)
    before, after = read(data).header, read(Rewritten(data, anonymise=False).data).header
    for name in ("base_offset", "last_offset_delta", "leader_epoch", "base_timestamp", "max_timestamp", "producer_id", "count"):
        assert getattr(after, name) == getattr(before, name), name
    assert after.codec_id == 0


def test_a_batch_that_does_not_decode_is_filled_up_and_one_that_fails_its_checksum_too() -> None:
    data = bytearray(batch([topic("a"), topic("secret-b", 2), topic("c", 3)], 40))
    data[data.index(b"secret-b") - 5] = 0x7E  # the length of the record's value
    made = Rewritten(bytes(data), anonymise=False)
    assert [record.offset for record in made.records] == [40, 41, 42] and b"secret" not in made.data
    assert made.left and made.left[0].what.startswith("the records do not decode")
    left: list[Left] = []
    again = b"".join(Rewriter(None, left.append, LIMIT).bad_batch(read(bytes(data)), "x.log", 40, "bad"))
    assert [record.offset for record in read(again).records()] == [40, 41, 42] and b"secret" not in again
    assert Rewriter(None, left.append, LIMIT).bad_batch(read(bytes(data)), "x.log", 39, "bad") == ()
    assert [one.offset for one in left] == [40, 39]


@pytest.mark.parametrize("count", [0, -1, 200, 0x7FFFFFFF])
def test_a_bad_batch_of_no_credible_size_is_left_out_with_its_offsets(count: int) -> None:
    """Its header says so many records and offsets as its bytes cannot hold."""
    data = bytearray(batch([topic("a")], 40))
    data[23:27] = (count - 1).to_bytes(4, "big", signed=True)
    data[57:61] = count.to_bytes(4, "big", signed=True)
    left: list[Left] = []
    assert Rewriter(None, left.append, LIMIT).bad_batch(read(bytes(data)), "x.log", 40, "bad") == ()
    assert [(one.offset, one.what) for one in left] == [(40, "bad: the batch and its offsets")]


def test_a_control_batch_stays_one_and_an_unknown_control_record_loses_its_value() -> None:
    made = Rewritten(control_batch(5, 2, leader_id=3), anonymise=False)
    assert read(made.data).header.is_control and made.records[0].offset == 5
    record = Record(9, T0, b"\x00\x00\x00\x63", b"\x00\x00secret")
    made = Rewritten(write_batch(9, [record], leader_epoch=3, is_control=True))
    assert read(made.data).header.is_control and b"secret" not in made.data and made.left[0].offset == 9
