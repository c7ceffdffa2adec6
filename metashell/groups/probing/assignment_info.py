"""What a Streams leader gives each client, in every version, as Kafka Streams makes and reads it (groups.md 3.5).

Source: org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo.
"""

from __future__ import annotations

from metashell.codec.blobs.streams_assignment import (
    LATEST_VERSION,
    CorruptCountError,
    StreamsAssignment,
    read_streams_assignment,
    streams_assignment_bytes,
)
from metashell.errors import DecodeError, EncodeError
from metashell.groups.probing.errors import ProbingError, task_assignment_error


def encode_assignment(info: StreamsAssignment) -> bytes:
    """Errors: ProbingError for a version that we cannot write, and for named topologies before version 10."""
    if not 1 <= info.version <= LATEST_VERSION:
        raise ProbingError("IllegalArgumentException", f"version must be between 1 and {LATEST_VERSION}; was: {info.version}")
    try:
        return streams_assignment_bytes(info)
    except EncodeError as error:
        raise task_assignment_error(str(error)) from None


def decode_assignment(raw: bytes) -> StreamsAssignment:
    """What the bytes say; bytes behind it are not looked at. Errors: ProbingError, as Kafka Streams fails."""
    if len(raw) >= 4:
        version = int.from_bytes(raw[:4], "big", signed=True)
        if not 1 <= version <= LATEST_VERSION:
            raise task_assignment_error(
                f"Unable to decode assignment data: used version: {version}; latest supported version: {LATEST_VERSION}"
            )
    try:
        return read_streams_assignment(raw, may_have_more=True)
    except CorruptCountError:
        raise task_assignment_error("Corrupted user data byte[].") from None
    except DecodeError:
        raise task_assignment_error("Failed to decode AssignmentInfo") from None
