"""Flat messages through codec's bytes and back: what a version keeps, what it loses, what it refuses."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.codec.dispatch import REQUESTS, RESPONSES
from metashell.codec.registry import message_type
from metashell.common.values import ZERO_UUID, OffsetAndEpoch, ReplicaKey
from metashell.quorum.raft import messages as flat
from metashell.quorum.raft.messages import REQUEST_CLASSES, RESPONSE_CLASSES
from metashell.quorum.raft.wire import (
    OURS,
    UnsupportedVersionError,
    api_key_of,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from tests.quick import quick
from tests.quorum.raft.wire.dropping import drop
from tests.quorum.raft.wire.generations import GENERATIONS, message_versions

INT16 = st.integers(-(1 << 15), (1 << 15) - 1)
INT32 = st.one_of(st.integers(-1, 5), st.integers(-(1 << 31), (1 << 31) - 1))
INT64 = st.one_of(st.integers(-1, 5), st.integers(-(1 << 63), (1 << 63) - 1))
UUIDS = st.one_of(st.just(ZERO_UUID), st.binary(min_size=16, max_size=16))
TEXTS = st.text(max_size=8)
ENDPOINT = st.tuples(TEXTS, st.integers(0, 65535))
ENDPOINTS = st.dictionaries(TEXTS.map(str.upper).map(str.upper), ENDPOINT, max_size=3)
IDS = st.builds(OffsetAndEpoch, INT64, INT32)
KEYS = st.builds(ReplicaKey, INT32, UUIDS)
STATES = st.builds(flat.ReplicaState, INT32, UUIDS, INT64, INT64, INT64)
ASKED = st.lists(st.tuples(st.sampled_from(["__cluster_metadata", "a", ""]), st.integers(0, 2)), max_size=3).map(tuple)

# A strategy for each field by the text of its type, or by its name where that says more.
BY_NAME = {
    "top_error": INT16,
    "error": INT16,
    "voter_directory_id": UUIDS,
    "candidate_directory_id": UUIDS,
    "directory_id": UUIDS,
    "last_offset": INT64,
    "fetch_offset": INT64,
    "high_watermark": INT64,
    "log_start_offset": INT64,
    "position": INT64,
    "size": INT64,
    "min_version": INT16,
    "max_version": INT16,
    "partitions": ASKED,
    "unknown": ASKED,
    "voters": st.lists(STATES, max_size=2).map(tuple),
    "observers": st.lists(STATES, max_size=2).map(tuple),
    "candidates": st.lists(KEYS, max_size=3).map(tuple),
    "nodes": st.lists(st.tuples(INT32, ENDPOINTS), max_size=2).map(tuple),
    "kraft_versions": st.none() | st.tuples(INT16, INT16),
    "diverging": st.none() | IDS,
    "snapshot_id": IDS,
    "is_known_partition": st.booleans(),
}
BY_TYPE = {
    "int": INT32,
    "bool": st.booleans(),
    "str | None": st.none() | TEXTS,
    "bytes": st.binary(max_size=20),
    "Endpoints": ENDPOINTS,
    "Endpoint | None": st.none() | ENDPOINT,
    "OffsetAndEpoch | None": st.none() | IDS,
}


def messages_of(made_by: type) -> st.SearchStrategy[Any]:
    """Arbitrary messages of a flat class."""
    parts = {}
    for field in fields(made_by):
        assert isinstance(field.type, str)
        first, second = (BY_TYPE, field.type), (BY_NAME, field.name)
        order = (first, second) if field.type.endswith("| None") else (second, first)
        parts[field.name] = next(table[key] for table, key in order if key in table)
    return st.builds(made_by, **parts)


def through_bytes(message: Any, version: int) -> Any:
    """What a peer decodes from what we encode."""
    key = api_key_of(message)
    if type(message) in REQUEST_CLASSES.values():
        kind, encode, decode = message_type("request", REQUESTS[key]), encode_request, decode_request
    else:
        kind, encode, decode = message_type("response", RESPONSES[key]), encode_response, decode_response
    return decode(key, version, kind.read(kind.write(encode(message, version), version), version))


def versions_of(made_by: type) -> list[int]:
    key = api_key_of(made_by.__new__(made_by))
    low, high = message_type("request", REQUESTS[key]).versions
    return list(range(low, high + 1))


CLASSES = (*REQUEST_CLASSES.values(), *RESPONSE_CLASSES.values())
NEWEST = [(made_by, max(versions_of(made_by))) for made_by in CLASSES]
CASES = [*NEWEST, *((made_by, version) for made_by in CLASSES for version in versions_of(made_by) if (made_by, version) not in NEWEST)]


@pytest.mark.parametrize(
    ("made_by", "version"), quick(CASES, len(NEWEST)), ids=lambda part: part if isinstance(part, int) else part.__name__
)
@settings(max_examples=25)
@given(data=st.data())
def test_what_a_peer_sees_is_what_drop_says(made_by: type, version: int, data: st.DataObject) -> None:
    message = data.draw(messages_of(made_by))
    try:
        seen = through_bytes(message, version)
    except UnsupportedVersionError as refused:
        with pytest.raises(UnsupportedVersionError, match=str(refused)):
            drop(message, version)
        return
    assert drop(message, version) == seen
    assert drop(seen, version) == seen


@pytest.mark.parametrize("made_by", [*REQUEST_CLASSES.values(), *RESPONSE_CLASSES.values()])
@given(data=st.data())
def test_our_own_version_keeps_all_of_a_well_formed_message(made_by: type, data: st.DataObject) -> None:
    message = data.draw(messages_of(made_by))
    plain = {"shape_ok": True, "top_error": 0, "error": 0, "unknown": (), "diverging": None, "leader_endpoint": ("h", 1)}
    for name in plain.keys() & {field.name for field in fields(made_by)}:
        setattr(message, name, plain[name])
    if isinstance(message, flat.FetchResponse):
        message.snapshot_id = OffsetAndEpoch(3, 1)
    assert through_bytes(message, versions_of(made_by)[-1]) == message


@pytest.mark.parametrize(
    ("message", "version"),
    [
        (flat.VoteRequest("c", 1, ZERO_UUID, 5, 2, ZERO_UUID, 1, 7, pre_vote=True), 1),
        (flat.AddRaftVoterRequest("c", 1, ZERO_UUID, {}, 5, ack_when_committed=False), 0),
        (flat.FetchRequest("c", 1, ZERO_UUID, 5, 2, 1, 500, 1000), 11),
    ],
)
def test_what_must_not_be_lost_is_refused_before_anything_is_sent(message: Any, version: int) -> None:
    with pytest.raises(UnsupportedVersionError, match=f"version {version}"):
        encode_request(message, version)
    assert drop(message, version + 1) is not None


def test_a_fetch_by_topic_name_has_the_wrong_shape() -> None:
    message = flat.FetchRequest("c", 7, bytes(range(16)), 5, 2, 1, 500, 1000)
    seen = through_bytes(message, 12)
    assert not seen.shape_ok
    assert (seen.cluster_id, seen.replica_id) == ("c", 7)


@pytest.mark.parametrize("version", [13, 14, 15, 16, 17, 18])
def test_the_replica_of_a_fetch_is_known_in_each_version(version: int) -> None:
    message = flat.FetchRequest("c", 7, bytes(range(16)), 5, 2, 1, 500, 1000, high_watermark=9)
    seen = through_bytes(message, version)
    assert (seen.replica_id, seen.shape_ok) == (7, True)
    assert (seen.directory_id == bytes(range(16))) is (version >= 17)
    assert seen.high_watermark == (9 if version >= 18 else flat.HIGH_WATERMARK_NOT_SENT)


def test_a_leader_is_looked_up_among_the_endpoints_and_its_port_is_checked() -> None:
    from metashell.codec.messages import FetchResponse

    message = encode_response(flat.FetchResponse(leader_id=3, epoch=4, leader_endpoint=("h", 9)), 18)
    other, wrong, right = (
        FetchResponse.NodeEndpoint(node_id=id, host=host, port=port) for id, host, port in ((2, "x", 1), (3, "y", 70000), (3, "z", 5))
    )
    message.node_endpoints = (other, wrong, right)
    seen = decode_response(1, 18, message)
    assert isinstance(seen, flat.FetchResponse)
    assert seen.leader_endpoint == ("z", 5)
    message.node_endpoints = (other, wrong)
    without = decode_response(1, 18, message)
    assert isinstance(without, flat.FetchResponse)
    assert without.leader_endpoint is None


def test_a_shape_with_two_topics_two_partitions_or_another_index_is_wrong() -> None:
    good = flat.VoteRequest("c", 1, ZERO_UUID, 5, 2, ZERO_UUID, 1, 7)
    for spoil in (lambda t: t * 2, lambda t: (_with(t[0], "partitions", t[0].partitions * 2),), lambda t: (_other_index(t[0]),)):
        message = encode_request(good, 2)
        message.topics = spoil(message.topics)
        seen = decode_request(52, 2, message)
        assert isinstance(seen, flat.VoteRequest)
        assert (seen.shape_ok, seen.cluster_id) == (False, "c")


def _with(value: Any, name: str, to: Any) -> Any:
    setattr(value, name, to)
    return value


def _other_index(topic: Any) -> Any:
    topic.partitions[0].partition_index = 1
    return topic


def test_a_snapshot_of_another_partition_is_told_from_a_wrong_shape() -> None:
    good = flat.FetchSnapshotRequest("c", 1, ZERO_UUID, 5, OffsetAndEpoch(3, 1), 0, 100)
    message = encode_request(good, 1)
    message.topics[0].partitions[0].partition = 1
    seen = decode_request(59, 1, message)
    assert isinstance(seen, flat.FetchSnapshotRequest)
    assert (seen.shape_ok, seen.is_known_partition) == (True, False)


def test_a_snapshot_is_asked_for_of_one_partition_of_one_topic() -> None:
    good = flat.FetchSnapshotRequest("c", 1, ZERO_UUID, 5, OffsetAndEpoch(3, 1), 0, 100)
    for topic_count, partition_count, is_right in ((1, 1, True), (2, 1, False), (1, 2, False), (1, 0, False), (0, 1, False)):
        message = encode_request(good, 1)
        topic = _with(message.topics[0], "partitions", message.topics[0].partitions * partition_count)
        message.topics = (topic,) * topic_count
        seen = decode_request(59, 1, message)
        assert isinstance(seen, flat.FetchSnapshotRequest)
        assert seen.shape_ok == is_right


def test_generations_agree_on_the_highest_common_versions() -> None:
    versions = message_versions(OURS, GENERATIONS["3.9"])
    assert versions[flat.VoteRequest] == versions[flat.VoteResponse] == 1
    assert versions[flat.FetchRequest] == 17
    assert GENERATIONS["4.4"] == OURS
    assert flat.UpdateRaftVoterRequest not in message_versions(OURS, GENERATIONS["3.7"])
    for key, (low, high) in OURS.items():
        ours_low, ours_high = message_type("request", REQUESTS[key]).versions
        assert ours_low <= low <= high <= ours_high
