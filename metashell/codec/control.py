"""Control records: what the raft layer writes into the log and into snapshots, and transaction markers.

The key is int16 version, int16 type. The value begins with an int16 version that is also the field Version of its
schema. Source: org.apache.kafka.common.record.ControlRecordType, ControlRecordUtils; KIP-595, KIP-630, KIP-853.
"""

from __future__ import annotations

from struct import Struct
from typing import Any

from metashell.codec.registry import MessageType, message_type
from metashell.errors import DecodeError

_TWO_INT16 = Struct(">hh")
_INT16 = Struct(">h")

ABORT, COMMIT, LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS = range(7)
CONTROL_TYPE_NAMES = {
    ABORT: "ABORT",
    COMMIT: "COMMIT",
    LEADER_CHANGE: "LEADER_CHANGE",
    SNAPSHOT_HEADER: "SNAPSHOT_HEADER",
    SNAPSHOT_FOOTER: "SNAPSHOT_FOOTER",
    KRAFT_VERSION: "KRAFT_VERSION",
    KRAFT_VOTERS: "KRAFT_VOTERS",
}
CONTROL_MESSAGES = {
    ABORT: "EndTxnMarker",
    COMMIT: "EndTxnMarker",
    LEADER_CHANGE: "LeaderChangeMessage",
    SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    KRAFT_VERSION: "KRaftVersionRecord",
    KRAFT_VOTERS: "VotersRecord",
}


class ControlRecord:
    """A control record: its type, the version its value was written with, and the value as an object.

    `body` is the raw bytes where the type is not known; `fault` then says so.
    """

    __slots__ = ("body", "fault", "type", "version")

    def __init__(self, type: int, version: int, body: Any, fault: str | None = None) -> None:
        self.type = type
        self.version = version
        self.body = body
        self.fault = fault

    @property
    def type_name(self) -> str:
        return CONTROL_TYPE_NAMES.get(self.type) or f"UNKNOWN_CONTROL_{self.type}"

    @property
    def message(self) -> MessageType | None:
        """The message that `body` is of; None for raw bytes."""
        return control_message(self.type) if not isinstance(self.body, bytes) else None


def control_message(type: int) -> MessageType | None:
    """The message of a control record type, None for an unknown one."""
    name = CONTROL_MESSAGES.get(type)
    return None if name is None else message_type("control", name)


def control_type(key: bytes | None) -> int:
    """The type that a control record's key names.

    Errors: DecodeError for a missing or short key or a negative version. Higher versions are read as version 0.
    """
    if key is None or len(key) < 4:
        raise DecodeError(f"control record key has {0 if key is None else len(key)} byte(s), not 4")
    version, type = _TWO_INT16.unpack_from(key)
    if version < 0:
        raise DecodeError(f"control record key has version {version}")
    return int(type)


def value_layout(message: MessageType, version: int) -> int:
    """The layout to read a control value of a version with: its own, or the newest there is."""
    return min(max(version, message.versions[0]), message.versions[1])


def read_control_record(key: bytes | None, value: bytes | None) -> ControlRecord:
    """The control record of a key and value.

    Errors: DecodeError if either does not fit; an unknown type is kept as bytes with a fault.
    """
    type = control_type(key)
    value = value or b""
    message = control_message(type)
    version = _INT16.unpack_from(value)[0] if len(value) >= 2 else 0
    if message is None:
        return ControlRecord(type, version, value, f"unknown control record type {type}")
    if type in (ABORT, COMMIT):
        # The marker's version stands before its body, which has no version field of its own.
        return ControlRecord(type, version, message.read(value, 0, 2, min(6, len(value))))
    return ControlRecord(type, version, message.read(value, value_layout(message, version)))


def write_control_record(type: int, body: Any, version: int = 0) -> tuple[bytes, bytes]:
    """The key and value of a control record."""
    message = control_message(type)
    assert message is not None, f"no control record type {type}"
    value = message.write(body, version)
    if type in (ABORT, COMMIT):
        value = _INT16.pack(version) + value
    return _TWO_INT16.pack(0, type), value
