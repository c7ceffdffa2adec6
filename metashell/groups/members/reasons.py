"""Why a member joins again, in the words that the Java consumer sends along (KIP-800).

Source: org.apache.kafka.clients.consumer.internals.AbstractCoordinator.joinGroupIfNeeded.
"""

from __future__ import annotations

from typing import Final

from metashell.codec import error_codes

_EXCEPTIONS: Final = {
    error_codes.UNKNOWN_SERVER_ERROR: "UnknownServerException",
    error_codes.REQUEST_TIMED_OUT: "TimeoutException",
    error_codes.NETWORK_EXCEPTION: "DisconnectException",
    error_codes.COORDINATOR_LOAD_IN_PROGRESS: "CoordinatorLoadInProgressException",
    error_codes.COORDINATOR_NOT_AVAILABLE: "CoordinatorNotAvailableException",
    error_codes.NOT_COORDINATOR: "NotCoordinatorException",
    error_codes.ILLEGAL_GENERATION: "IllegalGenerationException",
    error_codes.UNKNOWN_MEMBER_ID: "UnknownMemberIdException",
    error_codes.REBALANCE_IN_PROGRESS: "RebalanceInProgressException",
}


def rebalance_failed(code: int | None) -> str:
    """By the class of Java's exception. No code: the member left its group while it waited for the answer."""
    name = "UnjoinedGroupException" if code is None else _EXCEPTIONS.get(code, "KafkaException")
    return f"rebalance failed due to {name}"
