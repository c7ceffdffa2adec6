"""Frames that a real Kafka 4.3.1 cluster exchanged: each decodes, and encodes to the same bytes."""

from __future__ import annotations

from collections import Counter
from typing import Any

from metashell.codec.codes import API_VERSIONS
from metashell.codec.dispatch import REQUESTS, RESPONSES
from metashell.codec.registry import message_type
from metashell.common.errors import DecodeError
from tests.golden_cases import wire_frames


def reencoded(frame: dict[str, Any]) -> bytes:
    """The frame's bytes after a trip through our objects: header, then body."""
    raw = bytes.fromhex(frame["hex"])
    key, version = frame["api_key"], frame["api_version"]
    is_request = frame["dir"] == "request"
    body = message_type("request", REQUESTS[key]) if is_request else message_type("response", RESPONSES[key])
    if is_request:
        header, header_version = message_type("header", "RequestHeader"), 2 if body.flexible(version) else 1
    else:
        header = message_type("header", "ResponseHeader")
        header_version = 1 if body.flexible(version) and key != API_VERSIONS else 0
    for size in range(4, len(raw) + 1):
        # A header has no length of its own: the shortest prefix that is a whole header is the header.
        try:
            head = header.read(raw, header_version, 0, size)
        except DecodeError:
            continue
        break
    assert head.correlation_id == frame["correlation_id"]
    return header.write(head, header_version) + body.write(body.read(raw, version, size), version)


def test_every_captured_frame_decodes_and_encodes_to_the_same_bytes() -> None:
    seen: Counter[tuple[str, int, int]] = Counter()
    for frame in wire_frames():
        assert reencoded(frame).hex() == frame["hex"], frame
        seen[frame["dir"], frame["api_key"], frame["api_version"]] += 1
    assert len({key for _, key, _ in seen}) > 30
    assert sum(seen.values()) > 500


def test_metadata_and_control_records_of_fetch_responses_are_kept_as_bytes() -> None:
    sizes = 0
    for frame in wire_frames():
        if frame["dir"] == "response" and frame["api_key"] == 1:
            message = message_type("response", "FetchResponse")
            body = message.read(bytes.fromhex(frame["hex"]), frame["api_version"], 5)
            sizes += sum(len(p.records or b"") for t in body.responses for p in t.partitions)
    assert sizes > 0
