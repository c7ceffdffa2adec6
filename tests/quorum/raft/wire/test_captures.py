"""Raft frames that real Kafka 4.3.1 nodes exchanged become flat messages and the same bytes again."""

from __future__ import annotations

from collections import Counter
from typing import Any

from metashell.codec.codes import API_VERSIONS
from metashell.codec.dispatch import REQUESTS, RESPONSES
from metashell.codec.registry import message_type
from metashell.quorum.raft import messages as flat
from metashell.quorum.raft.messages import OURS
from metashell.quorum.raft.wire import decode_request, decode_response, encode_request, encode_response
from tests.golden_cases import wire_frames


def raft_frames() -> list[dict[str, Any]]:
    """Frames of raft's APIs; a Fetch of a broker's follower is none."""
    frames = [frame for frame in wire_frames() if frame["api_key"] in OURS.keys() - {API_VERSIONS}]
    return [frame for frame in frames if "-fetcher-" not in frame["client_id"]]


def parts_of(frame: dict[str, Any]) -> tuple[Any, bytes, int]:
    """The message type of a frame, its bytes, and where the message starts behind the header (all of these have tagged headers)."""
    raw = bytes.fromhex(frame["hex"])
    key, version = frame["api_key"], frame["api_version"]
    if frame["dir"] == "response":
        kind = message_type("response", RESPONSES[key])
        return kind, raw, 5
    kind = message_type("request", REQUESTS[key])
    assert kind.flexible(version)
    return kind, raw, 10 + len(frame["client_id"].encode()) + 1


def flat_of(frame: dict[str, Any]) -> flat.Request | flat.Response:
    kind, raw, start = parts_of(frame)
    key, version = frame["api_key"], frame["api_version"]
    decode = decode_request if frame["dir"] == "request" else decode_response
    return decode(key, version, kind.read(raw, version, start))


def test_each_captured_raft_frame_is_a_flat_message_and_the_same_bytes_again() -> None:
    seen: Counter[tuple[str, int]] = Counter()
    for frame in raft_frames():
        kind, raw, start = parts_of(frame)
        version = frame["api_version"]
        message = flat_of(frame)
        assert getattr(message, "shape_ok", True), frame
        encode = encode_request if frame["dir"] == "request" else encode_response
        assert kind.write(encode(message, version), version).hex() == raw[start:].hex(), frame
        seen[frame["dir"], frame["api_key"]] += 1
    assert seen.keys() == {(direction, key) for direction in ("request", "response") for key in OURS.keys() - {API_VERSIONS}}


def test_captured_answers_to_api_versions_name_kraft_version() -> None:
    answers = []
    for frame in wire_frames():
        if frame["api_key"] == API_VERSIONS and frame["dir"] == "response" and frame["from"].startswith("controller-"):
            message = message_type("response", "ApiVersionsResponse").read(bytes.fromhex(frame["hex"]), frame["api_version"], 4)
            answers.append(decode_response(API_VERSIONS, frame["api_version"], message))
    assert flat.ApiVersionsResponse(0, (0, 1)) in answers


def test_a_captured_candidate_asks_as_the_protocol_says() -> None:
    votes = [message for frame in raft_frames() if isinstance(message := flat_of(frame), flat.VoteRequest)]
    assert {vote.pre_vote for vote in votes} == {True, False}
    for vote in votes:
        assert vote.candidate_id != vote.voter_id >= 1
        assert vote.last_epoch < vote.epoch or vote.pre_vote
