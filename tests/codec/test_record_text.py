"""The text of a record, of whatever bytes it is made."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metashell.codec.batch_writer import LEADER_CHANGE, control_message, write_control_record
from metashell.codec.coordinator import COORDINATOR_LOGS, PREFIX_SIZE, CoordinatorTexts, coordinator_type_names
from metashell.codec.dispatch import METADATA_TYPES, REMOTE_LOG_TYPES
from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.record_text import FramedTexts, control_text
from metashell.codec.registry import message_type
from metashell.common.errors import DecodeError

FRAMED = {"metadata": METADATA_TYPES, "remote_log": REMOTE_LOG_TYPES}
SECRET = b"the secret of somebody"
CREDENTIAL = write_metadata_record(
    message_type("metadata", "UserScramCredentialRecord").cls(name="alice", salt=SECRET, stored_key=SECRET, server_key=SECRET)
)
TOPIC = write_metadata_record(message_type("metadata", "TopicRecord").cls(name="orders", topic_id=bytes(16)))

frames = st.builds(
    lambda frame, type_id, version, body: bytes((frame, type_id, version)) + body,
    st.sampled_from((0, 1, 1, 1)),
    st.integers(0, 40),
    st.integers(0, 4),
    st.binary(max_size=60),
)


@pytest.mark.parametrize("log", FRAMED)
@pytest.mark.parametrize("show_secrets", [False, True])
@given(value=st.one_of(st.none(), st.binary(max_size=60), frames))
@example(value=b"")
@example(value=TOPIC)
def test_any_value_has_a_text_that_is_json(log: str, show_secrets: bool, value: bytes | None) -> None:
    shown = FramedTexts(log, show_secrets=show_secrets).text(value)
    json.loads(f'{{"data":{shown.data}{shown.derived}}}')
    assert (shown.type_name is None) == (shown.type_id is None)
    assert shown.fault is not None or shown.type_id is not None


@given(cut=st.integers(0, len(CREDENTIAL)), more=st.binary(max_size=8), version=st.integers(0, 15))
def test_a_secret_is_in_no_text_whether_or_not_its_record_decodes(cut: int, more: bytes, version: int) -> None:
    value = CREDENTIAL[:2] + bytes((version,)) + CREDENTIAL[3:cut] + more
    data = FramedTexts("metadata", show_secrets=False).text(value).data
    assert SECRET[:8].hex() not in data
    assert "dGhlIHNlY3JldCBvZi" not in data


def test_secrets_are_shown_where_they_are_asked_for() -> None:
    assert json.loads(FramedTexts("metadata", show_secrets=True).text(CREDENTIAL).data)["salt"] == "dGhlIHNlY3JldCBvZiBzb21lYm9keQ=="
    assert json.loads(FramedTexts("metadata", show_secrets=False).text(CREDENTIAL).data)["salt"] == "[redacted]"


KNOWN = [(log, type_id) for log, types in FRAMED.items() for type_id in types]


@given(known=st.sampled_from(KNOWN), version=st.integers(0, 4), body=st.binary(max_size=60))
@example(known=("metadata", TOPIC[1]), version=0, body=TOPIC[3:])
@example(known=("metadata", TOPIC[1]), version=4, body=TOPIC[3:])
@example(known=("metadata", CREDENTIAL[1]), version=0, body=CREDENTIAL[3:])
def test_what_writes_many_records_writes_each_as_it_is_shown_alone(known: tuple[str, int], version: int, body: bytes) -> None:
    log, type_id = known
    value = bytes((1, type_id, version)) + body
    texts = FramedTexts(log, show_secrets=False)
    shown = texts.text(value)
    assert (shown.type_id, shown.version) == (type_id, version)
    name, fault, write = texts.usual(type_id, version)
    assert name == shown.type_name
    try:
        text = write(value, 3, len(value))
    except DecodeError:
        assert shown.fault is not None
        assert json.loads(shown.data) in (value[3:].hex(), "[redacted]")
    else:
        assert (text, fault) == (shown.data, shown.fault)


def test_an_unknown_type_is_named_by_its_number_and_shown_as_hex() -> None:
    for log in FRAMED:
        shown = FramedTexts(log, show_secrets=False).text(b"\1\x63\2\xab\xcd")
        assert shown[:5] == (99, "UNKNOWN_RECORD_99", 2, '"abcd"', "record type 99 is not known")
    with pytest.raises(DecodeError, match="record type 99 is not known"):
        FramedTexts("metadata", show_secrets=False).usual(99, 0)


@given(key=st.one_of(st.none(), st.binary(max_size=6)), value=st.one_of(st.none(), st.binary(max_size=40)))
def test_any_control_record_has_a_text_that_is_json(key: bytes | None, value: bytes | None) -> None:
    shown = control_text(key, value, show_secrets=False)
    json.loads(shown.data)
    assert shown.type_name is not None or shown.fault is not None


def test_a_control_record_is_shown_with_its_name_and_version() -> None:
    message = control_message(LEADER_CHANGE)
    assert message is not None
    shown = control_text(*write_control_record(LEADER_CHANGE, message.cls(leader_id=7)), show_secrets=False)
    assert (shown.type_name, shown.version, shown.fault) == ("LEADER_CHANGE", 0, None)
    assert json.loads(shown.data)["leaderId"] == 7


# ---- coordinators


def keys_of(log: str) -> st.SearchStrategy[bytes | None]:
    types = st.sampled_from((*COORDINATOR_LOGS[log].keys, 9, 24, 77)).map(lambda type_id: type_id.to_bytes(2, "big"))
    return st.one_of(st.none(), st.binary(max_size=3), st.builds(bytes.__add__, types, st.binary(max_size=20)))


@pytest.mark.parametrize("log", COORDINATOR_LOGS)
@given(
    data=st.data(), value=st.one_of(st.none(), st.builds(lambda low, body: b"\0" + bytes((low,)) + body, st.integers(0, 5), st.binary()))
)
def test_any_record_of_a_coordinator_has_a_text_that_is_json(log: str, data: st.DataObject, value: bytes | None) -> None:
    key = data.draw(keys_of(log))
    texts = CoordinatorTexts(log, show_secrets=False)
    shown = texts.text(key, value)
    json.loads(f'{{"key":{shown.key},"data":{shown.data}{shown.derived}}}')
    assert (shown.type_name is None) == (shown.type_id is None)
    if shown.fault is not None or value is None or shown.type_id is None or key is None or shown.version is None:
        return
    try:
        name, key_text = texts.usual_key(key)
        quick = texts.usual_value(shown.type_id, shown.version)(value, PREFIX_SIZE, len(value))
    except DecodeError:
        assert '"dialect":' in shown.derived, "only a layout of another release is left to the careful way"
        return
    assert (name, key_text, quick) == (shown.type_name, shown.key, f"{shown.data}{shown.derived}")


@pytest.mark.parametrize("log", COORDINATOR_LOGS)
def test_an_unknown_type_of_a_coordinator_is_named_by_its_number(log: str) -> None:
    assert 77 not in coordinator_type_names(log)
    shown = CoordinatorTexts(log, show_secrets=False).text(b"\0\x4dkey", b"\0\3value")
    assert shown[:3] == (77, "UNKNOWN_RECORD_77", '"004d6b6579"')
    assert (shown.version, shown.data, shown.fault) == (3, '"000376616c7565"', "record type 77 is not known")
