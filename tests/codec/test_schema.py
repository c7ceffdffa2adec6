"""The notation of schema texts."""

from __future__ import annotations

import pytest

from metashell.codec.messages import ConsumerGroupHeartbeatRequest
from metashell.codec.registry import message_names, message_type
from metashell.codec.schema import NEWEST, STRING_MAX, SchemaError, parse_schema, snake_case
from metashell.common.errors import DecodeError

RACK = """
# An invented message, for the form.
metadata RackLabelRecord key 9001 versions 0-1 flexible 0+
    Rack            string       0+                          # as in broker.rack
    BrokerIds       []int32      0+     entity brokerId
    Owner           string       1+     nullable 1+ default null
    Links           []RackLink   1+     tag 0 1+
        PeerRack    string       1+     key
        RoundTripUs int32        1+     default -1
    Also            RackLink     1
"""


def test_a_text_says_versions_types_tags_and_defaults() -> None:
    schema = parse_schema(RACK)
    assert (schema.kind, schema.name, schema.key) == ("metadata", "RackLabelRecord", 9001)
    assert [field.name for field in schema.at(0)] == ["Rack", "BrokerIds"]
    assert [field.name for field in schema.tagged(1)] == ["Links"]
    owner = schema.fields[2]
    assert (owner.default, owner.nullable.low, owner.versions.high) == (None, 1, NEWEST)
    assert [field.attribute for field in schema.structs["RackLink"].fields] == ["peer_rack", "round_trip_us"]
    assert (schema.fields[4].versions.low, schema.fields[4].versions.high) == (1, 1)


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("TopicId", "topic_id"),
        ("Isr", "isr"),
        ("KRaftVersion", "k_raft_version"),
        ("group", "group"),
        ("From", "from_"),
        ("EndPoints", "end_points"),
    ],
)
def test_attributes_are_wire_names_in_snake_case(name: str, attribute: str) -> None:
    assert snake_case(name) == attribute


@pytest.mark.parametrize(
    "text",
    [
        "",
        "metadata X key",
        "metadata X key 1 versions a",
        "metadata X key 1 versions 0 flexible 0+\n    A int32",
        "metadata X versions 0 flexible none\n    A Missing 0+",
    ],
)
def test_a_text_that_is_not_the_notation_names_its_line(text: str) -> None:
    with pytest.raises(SchemaError, match=r"^file.schema: "):
        parse_schema(text, "file.schema")


def test_a_name_that_no_family_has_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="no message Nope in family metadata"):
        message_type("metadata", "Nope")


def test_every_folder_of_schemas_is_whole() -> None:
    assert len(message_names("request")) == len(message_names("response")) >= 89
    assert len(message_names("metadata")) >= 27
    assert len(message_names("kip631")) == 20


# ---- strings above 32 767 bytes are refused in every version, as Kafka's readers refuse them, however their length is written


HEARTBEAT = message_type("request", "ConsumerGroupHeartbeatRequest")


@pytest.mark.parametrize("field", ["member_id", "subscribed_topic_names"])
def test_a_compact_string_may_be_as_long_as_a_plain_one(field: str) -> None:
    for size, is_legal in ((STRING_MAX, True), (STRING_MAX + 1, False), (3 << 20, False)):
        text = "m" * size
        body = ConsumerGroupHeartbeatRequest(**{field: (text,) if field.endswith("names") else text})
        raw = HEARTBEAT.write(body, 1)
        readers = [
            lambda raw: HEARTBEAT.read(raw, 1),
            lambda raw: HEARTBEAT.plain_read(raw, 1, 0, len(raw)),
            lambda raw: HEARTBEAT.bounded_reader(1)(raw, 0, len(raw), [1000])[0],
            lambda raw: HEARTBEAT.json(raw, 1),
        ]
        for read in readers:
            if is_legal:
                assert read(raw)
            else:
                with pytest.raises(DecodeError):
                    read(raw)


def test_the_fault_names_the_field() -> None:
    raw = HEARTBEAT.write(ConsumerGroupHeartbeatRequest(member_id="m" * 40_000), 1)
    with pytest.raises(DecodeError, match=r"MemberId.*40000 bytes, at most 32767"):
        HEARTBEAT.read(raw, 1)
