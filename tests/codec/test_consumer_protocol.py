"""Subscriptions and assignments of real Java consumers are read, and written back to the same bytes."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metashell.codec.consumer_protocol import (
    Assignment,
    Subscription,
    assignment_bytes,
    read_assignment,
    read_subscription,
    subscription_bytes,
)
from metashell.common.errors import DecodeError

TRACE = Path(__file__).parents[1] / "golden" / "groups" / "consumer" / "member-trace.jsonl.gz"


def answers(api: str) -> Iterator[dict[str, Any]]:
    with gzip.open(TRACE, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["kind"] == "request" and row["api"] == api:
                yield row["json"]


def test_every_subscription_of_a_java_consumer_is_written_as_it_was() -> None:
    blobs = {base64.b64decode(one["metadata"]) for request in answers("JoinGroup") for one in request["protocols"]}
    assert len(blobs) > 30
    for blob in blobs:
        assert subscription_bytes(read_subscription(blob)) == blob


def test_every_assignment_of_a_java_leader_is_written_as_it_was() -> None:
    blobs = {base64.b64decode(one["assignment"]) for request in answers("SyncGroup") for one in request["assignments"]}
    assert len(blobs) > 30
    for blob in blobs:
        assert assignment_bytes(read_assignment(blob)) == blob


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_version_keeps_what_it_has(version: int) -> None:
    full = Subscription(("b", "a"), b"\x01", (("b", 1), ("a", 2)), 7, "r1", version)
    owned = (("a", 2), ("b", 1)) if version > 0 else ()
    assert read_subscription(subscription_bytes(full)) == Subscription(
        ("a", "b"), b"\x01", owned, 7 if version > 1 else -1, "r1" if version > 2 else None, version
    )


def test_what_a_newer_version_appends_is_not_read() -> None:
    raw = subscription_bytes(Subscription(("a",)))
    assert read_subscription(b"\x00\x63" + raw[2:] + b"more") == Subscription(("a",), version=99)


def test_no_bytes_are_no_assignment_and_no_subscription() -> None:
    assert read_assignment(b"") == Assignment(())
    for bad in (b"", b"\x00", b"\xff\xff", b"\x00\x00\x00"):
        with pytest.raises(DecodeError):
            read_subscription(bad)
