"""Records of `__remote_log_metadata` as dump-log of 4.4.0 prints them: the text of Java's objects, not JSON.

Source: RemoteLogMetadataSerde and the toString methods of org.apache.kafka.server.log.remote.storage; tools.md 1.11.
"""

from __future__ import annotations

from typing import Any

from metashell.codec.dispatch import REMOTE_LOG_TYPES
from metashell.codec.frame import (
    FRAME_VERSION,
    KIP631_REFUSED,
    FrameError,
    kafka_error,
    read_frame,
    refuse_newer_structs,
    unknown_type_error,
)
from metashell.codec.java_errors import NO_MESSAGE
from metashell.codec.record_text import DELETE_STATES, SEGMENT_STATES
from metashell.codec.registry import message_type
from metashell.errors import DecodeError
from metashell.values import uuid_text

_NO_VALUE = (
    'Cannot invoke "java.nio.ByteBuffer.remaining()" because the return value of '
    '"org.apache.kafka.common.record.internal.Record.value()" is null'
)


class RemoteLogPayloads:
    """The texts of the records of the remote log's metadata; they have no keys."""

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
        f"state={_state(DELETE_STATES, body.remote_partition_delete_state, NO_MESSAGE)}, "
        f"eventTimestampMs={body.event_timestamp_ms}, brokerId={body.broker_id}}}"
    )


_WRITERS = {
    "RemoteLogSegmentMetadataRecord": _segment,
    "RemoteLogSegmentMetadataUpdateRecord": _update,
    "RemotePartitionDeleteMetadataRecord": _partition_delete,
    "RemoteLogSegmentMetadataSnapshotRecord": _snapshot,
}


def _check_offsets(body: Any) -> None:
    """What a segment's constructor refuses. Errors: DecodeError in its words, as of the checks below."""
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
