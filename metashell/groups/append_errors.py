"""What answers say when records could not be written.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.appendGroupMetadataErrorToResponseError.
"""

from __future__ import annotations

from typing import Final

from metashell.codec.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    INVALID_FETCH_SIZE,
    KAFKA_STORAGE_ERROR,
    MESSAGE_TOO_LARGE,
    NETWORK_EXCEPTION,
    NOT_COORDINATOR,
    NOT_ENOUGH_REPLICAS,
    NOT_LEADER_OR_FOLLOWER,
    RECORD_LIST_TOO_LARGE,
    REQUEST_TIMED_OUT,
    UNKNOWN_SERVER_ERROR,
    UNKNOWN_TOPIC_OR_PARTITION,
)

_TOLD: Final = {
    UNKNOWN_TOPIC_OR_PARTITION: COORDINATOR_NOT_AVAILABLE,
    NOT_ENOUGH_REPLICAS: COORDINATOR_NOT_AVAILABLE,
    REQUEST_TIMED_OUT: COORDINATOR_NOT_AVAILABLE,
    NOT_LEADER_OR_FOLLOWER: NOT_COORDINATOR,
    KAFKA_STORAGE_ERROR: NOT_COORDINATOR,
    MESSAGE_TOO_LARGE: UNKNOWN_SERVER_ERROR,
    RECORD_LIST_TOO_LARGE: UNKNOWN_SERVER_ERROR,
    INVALID_FETCH_SIZE: UNKNOWN_SERVER_ERROR,
    NETWORK_EXCEPTION: COORDINATOR_LOAD_IN_PROGRESS,
}


def append_error(code: int) -> int:
    """The error of the answer for the error of the append."""
    return _TOLD.get(code, code)
