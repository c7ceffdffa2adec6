"""What dump-log of 4.4.0 prints about control records.

It decodes every value with the layout of version 0, whatever version the value names, and prints the version that
stands there; bytes left over do not disturb it. Source: DumpLogSegments, ControlRecordUtils, EndTransactionMarker.
"""

from __future__ import annotations

from typing import Any

from metashell.codec.control import (
    ABORT,
    COMMIT,
    CONTROL_TYPE_NAMES,
    KRAFT_VERSION,
    KRAFT_VOTERS,
    LEADER_CHANGE,
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
    control_message,
    control_type,
    value_layout,
)
from metashell.codec.plain import TrailingBytesError
from metashell.codec.registry import MessageType
from metashell.errors import DecodeError

_WORDS = {
    LEADER_CHANGE: "LeaderChange:",
    SNAPSHOT_HEADER: "SnapshotHeader",
    SNAPSHOT_FOOTER: "SnapshotFooter",
    KRAFT_VERSION: "KRaftVersion",
    KRAFT_VOTERS: "KRaftVoters",
}
_MARKER_SIZE = 6


def control_text(key: bytes | None, value: bytes | None) -> str:
    """The part of a record's line that describes a control record, with the blank before it.

    Errors: DecodeError where Kafka ends with a trace.
    """
    type = control_type(key)
    if type in (ABORT, COMMIT):
        return f" endTxnMarker: {CONTROL_TYPE_NAMES[type]} coordinatorEpoch: {_coordinator_epoch(value)}"
    word = _WORDS.get(type)
    message = control_message(type)
    if word is None or message is None:
        return f" controlType: UNKNOWN({type})"
    body = _read_as_version_0(message, value)
    return f" {word} {message.object_json(body, value_layout(message, body.version))}"


def _read_as_version_0(message: MessageType, value: bytes | None) -> Any:
    if value is None:
        raise DecodeError("control record has no value")
    try:
        return message.read(value, 0)
    except TrailingBytesError as error:
        return message.read(value, 0, 0, len(value) - error.left_over)


def _coordinator_epoch(value: bytes | None) -> int:
    size = -1 if value is None else len(value)
    if value is None or size < _MARKER_SIZE:
        raise DecodeError(f"Invalid value size found for end transaction marker. Must have at least 6 bytes, but found only {size}")
    version = int.from_bytes(value[:2], "big", signed=True)
    if version < 0:
        raise DecodeError(f"Invalid version found for end transaction marker: {version}. May indicate data corruption")
    return int.from_bytes(value[2:_MARKER_SIZE], "big", signed=True)
