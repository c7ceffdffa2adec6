"""Prints records of Kafka's internal topics as kafka-dump-log of 4.4.0 does: the coordinators' logs and `__remote_log_metadata`.

For the coordinators only the layouts of 4.4.0 are tried. Bytes left over after a key or value are ignored, and an error message is
printed in place of a key that does not decode. A record of the remote log is printed as Java's toString, not as JSON.
Source: DumpLogSegments.CoordinatorRecordMessageParser, OffsetsMessageParser; RemoteLogMetadataSerde and the toString methods of
org.apache.kafka.server.log.remote.storage."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from metashell.codec.coordinator import COORDINATOR_LOGS, PREFIX_SIZE, TRANSACTION_STATES, int16_at
from metashell.codec.dispatch import REMOTE_LOG_TYPES
from metashell.codec.java import json_text
from metashell.codec.metadata_records import (
    FRAME_VERSION,
    KIP631_REFUSED,
    FrameError,
    kafka_error,
    read_frame,
    refuse_newer_structs,
    unknown_type_error,
)
from metashell.codec.record_text import DELETE_STATES, NO_MESSAGE_TEXT, SEGMENT_STATES, java_read_error
from metashell.codec.registry import MessageType, message_type
from metashell.codec.schema import TrailingBytesError
from metashell.common.errors import DecodeError
from metashell.common.values import uuid_text
from metashell.inspect.dump.writer import KeyTexts, Made, Versions

JsonText = Callable[[bytes, int, int], str]
DELETED = "<DELETE>"
_SUBSCRIPTION = "ConsumerProtocolSubscription"
_EMBEDDED = (("subscription", _SUBSCRIPTION), ("assignment", "ConsumerProtocolAssignment"))
_EMBEDDED_VERSION_MAX = 3
_STATUS = re.compile(r'"transactionStatus":(-?\d+)')


class MissingKeyError(DecodeError):
    """A record has no key, which ends the run."""


class CoordinatorPayloads:
    """Makes the texts of keys and values of a coordinator's log.

    `keys` and `values` hold a function that writes the fields, and the text before them, by the first two bytes of a key, or of a key
    and its value.
    """

    def __init__(self, decoder: str) -> None:
        self.log = COORDINATOR_LOGS[decoder]
        self.keys = Made(self._key_writer)
        self.values = Made(self._value_writer)

    def parse(self, offset: int, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
        """The texts of a record's key and payload. Errors: MissingKeyError."""
        if key is None:
            raise MissingKeyError(f"Failed to decode message at offset {offset} using the specified decoder (message had a missing key)")
        try:
            write, before = self.keys[key[:PREFIX_SIZE]]
            key_text = f"{before}{write(key, PREFIX_SIZE, len(key))}}}"
            if value is None:
                return key_text, DELETED
            write, before = self.values[key[:PREFIX_SIZE] + value[:PREFIX_SIZE]]
            return key_text, f"{before}{write(value, PREFIX_SIZE, len(value))}}}"
        except _UnknownTypeError as error:
            return f"Unknown record type {error} at offset {offset}, skipping.", None
        except DecodeError as error:
            return f"Error at offset {offset}, skipping. {error}", None

    def loop_texts(self, prefix: str) -> KeyTexts:
        """The texts for the tight loop: that of a key, after `prefix`, and the writers of its values."""

        def versions(start: bytes) -> Versions:
            return Made(lambda version: self._loop_value(start, version))

        values = Made(versions)

        def make(key: bytes) -> tuple[str, Versions]:
            start = key[:PREFIX_SIZE]
            try:
                write, before = self.keys[start]
            except _UnknownTypeError as error:
                raise DecodeError(f"record type {error}") from None
            return f"{prefix}{before}{write(key, PREFIX_SIZE, len(key))}}}", values[start]

        return KeyTexts(make)

    def _loop_value(self, start: bytes, version: bytes) -> tuple[JsonText | None, str]:
        write, before = self.values[start + version]
        message = self.log.value_message(int16_at(start, 0))
        assert message is not None
        # A value that the quick writer refuses is read again with every check.
        quick = write if message.name in _REWORDED else message.json_reader(int16_at(version, 0))
        return quick, f" payload: {before}"

    def _key_writer(self, start: bytes) -> tuple[JsonText, str]:
        if len(start) < PREFIX_SIZE:
            raise DecodeError("Could not read version from key's buffer.")
        type = int16_at(start, 0)
        message = self.log.key_message(type)
        if message is None:
            raise _UnknownTypeError(type)
        return tolerant_writer(message, 0, type, "key"), f'{{"type":"{type}","data":'

    def _value_writer(self, starts: bytes) -> tuple[JsonText, str]:
        if len(starts) < 2 * PREFIX_SIZE:
            raise DecodeError("Could not read version from value's buffer.")
        type, version = int16_at(starts, 0), int16_at(starts, PREFIX_SIZE)
        message = self.log.value_message(type)
        assert message is not None, "the key's type is known"
        if not message.versions[0] <= version <= message.versions[1]:
            raise DecodeError(f"Found an unknown record version {version} for {type} type")
        write = tolerant_writer(message, version, version, "value")
        if message.name in _REWORDED:
            write = _REWORDED[message.name](message, version, write)
        return write, f'{{"version":"{version}","data":'


class _UnknownTypeError(Exception):
    """A record type that 4.4.0 does not know; the message is its number."""


def tolerant_writer(message: MessageType, version: int, told_version: int, part: str) -> JsonText:
    """A function that writes a message as JSON and ignores bytes after it. Errors: DecodeError in Kafka's words."""
    quick = message.json_reader(version)

    def write(buf: bytes, start: int, end: int) -> str:
        try:
            return quick(buf, start, end)
        except TrailingBytesError as error:
            return quick(buf, start, end - error.left_over)
        except DecodeError:
            reason = java_read_error(message, buf, version, start, end)
            raise DecodeError(f"Could not read record with version {told_version} from {part}'s buffer due to: {reason}.") from None

    return write


def _with_embedded(message: MessageType, version: int, plain: JsonText) -> JsonText:
    """A function that writes the metadata of a classic group, with its members' subscriptions and assignments decoded."""
    read = message.reader(version)

    def write(buf: bytes, start: int, end: int) -> str:
        text = plain(buf, start, end)
        if not text.startswith('{"protocolType":"consumer"') or text.endswith('"members":[]}'):
            return text
        try:
            value = read(buf, start, end)
        except TrailingBytesError as error:
            value = read(buf, start, end - error.left_over)
        shown = message.to_json_value(value, version)
        for member, member_shown in zip(value.members, shown["members"], strict=True):
            for name, blob_name in _EMBEDDED:
                member_shown[name] = _embedded(blob_name, getattr(member, name), member_shown[name])
        return json_text(shown)

    return write


def _embedded(name: str, blob: bytes, undecoded: str) -> Any:
    """A subscription or assignment as JSON; as base64 text where Kafka does not decode it."""
    if len(blob) < PREFIX_SIZE:
        return undecoded
    message = message_type("data", name)
    version = int16_at(blob, 0)
    layout = min(max(version, 0), _EMBEDDED_VERSION_MAX)
    try:
        value = message.read(blob, layout, PREFIX_SIZE)
    except TrailingBytesError as error:
        value = message.read(blob, layout, PREFIX_SIZE, len(blob) - error.left_over)
    except DecodeError:
        return undecoded
    holds_structs = value.owned_partitions if name == _SUBSCRIPTION else value.assigned_partitions
    if version > _EMBEDDED_VERSION_MAX and holds_structs:
        # A message of a newer version is read as the newest known, but a struct inside it is not.
        return undecoded
    return message.to_json_value(value, layout)


def _with_status_name(_message: MessageType, _version: int, plain: JsonText) -> JsonText:
    """A function that writes the state of a transaction, with its status as a name; an unknown status is a number as a text."""

    def write(buf: bytes, start: int, end: int) -> str:
        # Only numbers stand before the status, so the first match is the status.
        return _STATUS.sub(_status_text, plain(buf, start, end), count=1)

    return write


def _status_text(found: re.Match[str]) -> str:
    status = int(found[1])
    known = 0 <= status < len(TRANSACTION_STATES)
    name = "".join(word.capitalize() for word in TRANSACTION_STATES[status].split("_")) if known else found[1]
    return f'"transactionStatus":"{name}"'


_REWORDED: dict[str, Callable[[MessageType, int, JsonText], JsonText]] = {
    "GroupMetadataValue": _with_embedded,
    "TransactionLogValue": _with_status_name,
}
"""The records that Kafka's tool does not print field by field, with their writers."""


_NO_VALUE = (
    'Cannot invoke "java.nio.ByteBuffer.remaining()" because the return value of '
    '"org.apache.kafka.common.record.internal.Record.value()" is null'
)


class RemoteLogPayloads:
    """Makes the texts of remote log metadata records, which have no keys."""

    def parse(self, offset: int, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
        try:
            return None, _text(value)
        except DecodeError as error:
            return None, f"Error at offset {offset}, skipping. {error}"


def _text(value: bytes | None) -> str:
    if value is None:
        raise DecodeError(_NO_VALUE)
    if value.startswith(b"\0"):
        raise FrameError(KIP631_REFUSED)
    frame = read_frame(value, 0, len(value))
    if frame.frame_version != FRAME_VERSION:
        raise FrameError(KIP631_REFUSED)
    name = REMOTE_LOG_TYPES.get(frame.type_id)
    if name is None:
        raise FrameError(unknown_type_error(frame.type_id))
    try:
        message = message_type("remote_log", name)
        body = message.read(value, frame.version, frame.body_start)
        refuse_newer_structs(message, frame.version, body)
    except DecodeError as error:
        raise FrameError(kafka_error(error, frame.type_id)) from error
    return _WRITERS[name](body)


def _segment(body: Any) -> str:
    _check_offsets(body)
    _check_epochs(body)
    state = _segment_state(body)
    return (
        f"RemoteLogSegmentMetadata{{remoteLogSegmentId={_segment_id(body)}, startOffset={body.start_offset}, "
        f"endOffset={body.end_offset}, brokerId={body.broker_id}, maxTimestampMs={body.max_timestamp_ms}, "
        f"eventTimestampMs={body.event_timestamp_ms}, segmentLeaderEpochs={_epochs(body)}, "
        f"segmentSizeInBytes={body.segment_size_in_bytes}, customMetadata={_custom(body)}, state={state}, "
        f"txnIdxEmpty={_bool(body.txn_index_empty)}}}"
    )


def _snapshot(body: Any) -> str:
    state = _segment_state(body)
    _check_epochs(body)
    return (
        f"RemoteLogSegmentMetadataSnapshot{{segmentId={uuid_text(body.segment_id)}, startOffset={body.start_offset}, "
        f"endOffset={body.end_offset}, maxTimestampMs={body.max_timestamp_ms}, segmentLeaderEpochs={_epochs(body)}, "
        f"segmentSizeInBytes={body.segment_size_in_bytes}, customMetadata={_custom(body)}, state={state}, "
        f"txnIdxEmpty={_bool(body.txn_index_empty)}}}"
    )


def _update(body: Any) -> str:
    return (
        f"RemoteLogSegmentMetadataUpdate{{remoteLogSegmentId={_segment_id(body)}, customMetadata={_custom(body)}, "
        f"state={_segment_state(body)}, eventTimestampMs={body.event_timestamp_ms}, brokerId={body.broker_id}}}"
    )


def _partition_delete(body: Any) -> str:
    return (
        f"RemotePartitionDeleteMetadata{{topicPartition={_partition(body.topic_id_partition)}, "
        f"state={_state(DELETE_STATES, body.remote_partition_delete_state, NO_MESSAGE_TEXT)}, "
        f"eventTimestampMs={body.event_timestamp_ms}, brokerId={body.broker_id}}}"
    )


_WRITERS = {
    "RemoteLogSegmentMetadataRecord": _segment,
    "RemoteLogSegmentMetadataUpdateRecord": _update,
    "RemotePartitionDeleteMetadataRecord": _partition_delete,
    "RemoteLogSegmentMetadataSnapshotRecord": _snapshot,
}


def _check_offsets(body: Any) -> None:
    """Check offsets as the constructor of a Java segment does. Errors: DecodeError in its words; so do the checks below."""
    what = "remote segment"
    if body.start_offset < 0:
        raise DecodeError(f"Unexpected start offset = {body.start_offset}. StartOffset for a {what} cannot be negative")
    if body.end_offset < body.start_offset:
        raise DecodeError(
            f"Unexpected end offset = {body.end_offset}. EndOffset for a {what} cannot be less than startOffset = {body.start_offset}"
        )


def _check_epochs(body: Any) -> None:
    if not body.segment_leader_epochs:
        raise DecodeError("segmentLeaderEpochs can not be null or empty")


def _segment_state(body: Any) -> str:
    return _state(SEGMENT_STATES, body.remote_log_segment_state, "state can not be null")


def _state(names: tuple[str, ...], number: int, refusal: str) -> str:
    if not 0 <= number < len(names):
        raise DecodeError(refusal)
    return names[number]


def _segment_id(body: Any) -> str:
    segment = body.remote_log_segment_id
    return f"RemoteLogSegmentId{{topicIdPartition={_partition(segment.topic_id_partition)}, id={uuid_text(segment.id)}}}"


def _partition(entry: Any) -> str:
    return f"{uuid_text(entry.id)}:{entry.name}-{entry.partition}"


def _epochs(body: Any) -> str:
    epochs = {entry.leader_epoch: entry.offset for entry in body.segment_leader_epochs}
    return f"{{{', '.join(f'{epoch}={epochs[epoch]}' for epoch in sorted(epochs))}}}"


def _custom(body: Any) -> str:
    if body.custom_metadata is None:
        return "Optional.empty"
    return f"Optional[CustomMetadata{{{len(body.custom_metadata)} bytes}}]"


def _bool(value: bool) -> str:
    return "true" if value else "false"
