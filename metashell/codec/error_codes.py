"""Kafka's error codes by name, their messages, and the error codes in a response.

Codes are plain integers, as on the wire, so that a newer peer's unknown code is an ordinary value.
Source: org.apache.kafka.common.protocol.Errors of 4.4.0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from metashell.codec.compiler import Entity

UNKNOWN_SERVER_ERROR: Final = -1
NONE: Final = 0
OFFSET_OUT_OF_RANGE: Final = 1
CORRUPT_MESSAGE: Final = 2
UNKNOWN_TOPIC_OR_PARTITION: Final = 3
INVALID_FETCH_SIZE: Final = 4
LEADER_NOT_AVAILABLE: Final = 5
NOT_LEADER_OR_FOLLOWER: Final = 6
REQUEST_TIMED_OUT: Final = 7
BROKER_NOT_AVAILABLE: Final = 8
REPLICA_NOT_AVAILABLE: Final = 9
MESSAGE_TOO_LARGE: Final = 10
STALE_CONTROLLER_EPOCH: Final = 11
OFFSET_METADATA_TOO_LARGE: Final = 12
NETWORK_EXCEPTION: Final = 13
COORDINATOR_LOAD_IN_PROGRESS: Final = 14
COORDINATOR_NOT_AVAILABLE: Final = 15
NOT_COORDINATOR: Final = 16
INVALID_TOPIC_EXCEPTION: Final = 17
RECORD_LIST_TOO_LARGE: Final = 18
NOT_ENOUGH_REPLICAS: Final = 19
NOT_ENOUGH_REPLICAS_AFTER_APPEND: Final = 20
INVALID_REQUIRED_ACKS: Final = 21
ILLEGAL_GENERATION: Final = 22
INCONSISTENT_GROUP_PROTOCOL: Final = 23
INVALID_GROUP_ID: Final = 24
UNKNOWN_MEMBER_ID: Final = 25
INVALID_SESSION_TIMEOUT: Final = 26
REBALANCE_IN_PROGRESS: Final = 27
INVALID_COMMIT_OFFSET_SIZE: Final = 28
TOPIC_AUTHORIZATION_FAILED: Final = 29
GROUP_AUTHORIZATION_FAILED: Final = 30
CLUSTER_AUTHORIZATION_FAILED: Final = 31
INVALID_TIMESTAMP: Final = 32
UNSUPPORTED_SASL_MECHANISM: Final = 33
ILLEGAL_SASL_STATE: Final = 34
UNSUPPORTED_VERSION: Final = 35
TOPIC_ALREADY_EXISTS: Final = 36
INVALID_PARTITIONS: Final = 37
INVALID_REPLICATION_FACTOR: Final = 38
INVALID_REPLICA_ASSIGNMENT: Final = 39
INVALID_CONFIG: Final = 40
NOT_CONTROLLER: Final = 41
INVALID_REQUEST: Final = 42
UNSUPPORTED_FOR_MESSAGE_FORMAT: Final = 43
POLICY_VIOLATION: Final = 44
OUT_OF_ORDER_SEQUENCE_NUMBER: Final = 45
DUPLICATE_SEQUENCE_NUMBER: Final = 46
INVALID_PRODUCER_EPOCH: Final = 47
INVALID_TXN_STATE: Final = 48
INVALID_PRODUCER_ID_MAPPING: Final = 49
INVALID_TRANSACTION_TIMEOUT: Final = 50
CONCURRENT_TRANSACTIONS: Final = 51
TRANSACTION_COORDINATOR_FENCED: Final = 52
TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Final = 53
SECURITY_DISABLED: Final = 54
OPERATION_NOT_ATTEMPTED: Final = 55
KAFKA_STORAGE_ERROR: Final = 56
LOG_DIR_NOT_FOUND: Final = 57
SASL_AUTHENTICATION_FAILED: Final = 58
UNKNOWN_PRODUCER_ID: Final = 59
REASSIGNMENT_IN_PROGRESS: Final = 60
DELEGATION_TOKEN_AUTH_DISABLED: Final = 61
DELEGATION_TOKEN_NOT_FOUND: Final = 62
DELEGATION_TOKEN_OWNER_MISMATCH: Final = 63
DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: Final = 64
DELEGATION_TOKEN_AUTHORIZATION_FAILED: Final = 65
DELEGATION_TOKEN_EXPIRED: Final = 66
INVALID_PRINCIPAL_TYPE: Final = 67
NON_EMPTY_GROUP: Final = 68
GROUP_ID_NOT_FOUND: Final = 69
FETCH_SESSION_ID_NOT_FOUND: Final = 70
INVALID_FETCH_SESSION_EPOCH: Final = 71
LISTENER_NOT_FOUND: Final = 72
TOPIC_DELETION_DISABLED: Final = 73
FENCED_LEADER_EPOCH: Final = 74
UNKNOWN_LEADER_EPOCH: Final = 75
UNSUPPORTED_COMPRESSION_TYPE: Final = 76
STALE_BROKER_EPOCH: Final = 77
OFFSET_NOT_AVAILABLE: Final = 78
MEMBER_ID_REQUIRED: Final = 79
PREFERRED_LEADER_NOT_AVAILABLE: Final = 80
GROUP_MAX_SIZE_REACHED: Final = 81
FENCED_INSTANCE_ID: Final = 82
ELIGIBLE_LEADERS_NOT_AVAILABLE: Final = 83
ELECTION_NOT_NEEDED: Final = 84
NO_REASSIGNMENT_IN_PROGRESS: Final = 85
GROUP_SUBSCRIBED_TO_TOPIC: Final = 86
INVALID_RECORD: Final = 87
UNSTABLE_OFFSET_COMMIT: Final = 88
THROTTLING_QUOTA_EXCEEDED: Final = 89
PRODUCER_FENCED: Final = 90
RESOURCE_NOT_FOUND: Final = 91
DUPLICATE_RESOURCE: Final = 92
UNACCEPTABLE_CREDENTIAL: Final = 93
INCONSISTENT_VOTER_SET: Final = 94
INVALID_UPDATE_VERSION: Final = 95
FEATURE_UPDATE_FAILED: Final = 96
PRINCIPAL_DESERIALIZATION_FAILURE: Final = 97
SNAPSHOT_NOT_FOUND: Final = 98
POSITION_OUT_OF_RANGE: Final = 99
UNKNOWN_TOPIC_ID: Final = 100
DUPLICATE_BROKER_REGISTRATION: Final = 101
BROKER_ID_NOT_REGISTERED: Final = 102
INCONSISTENT_TOPIC_ID: Final = 103
INCONSISTENT_CLUSTER_ID: Final = 104
TRANSACTIONAL_ID_NOT_FOUND: Final = 105
FETCH_SESSION_TOPIC_ID_ERROR: Final = 106
INELIGIBLE_REPLICA: Final = 107
NEW_LEADER_ELECTED: Final = 108
OFFSET_MOVED_TO_TIERED_STORAGE: Final = 109
FENCED_MEMBER_EPOCH: Final = 110
UNRELEASED_INSTANCE_ID: Final = 111
UNSUPPORTED_ASSIGNOR: Final = 112
STALE_MEMBER_EPOCH: Final = 113
MISMATCHED_ENDPOINT_TYPE: Final = 114
UNSUPPORTED_ENDPOINT_TYPE: Final = 115
UNKNOWN_CONTROLLER_ID: Final = 116
UNKNOWN_SUBSCRIPTION_ID: Final = 117
TELEMETRY_TOO_LARGE: Final = 118
INVALID_REGISTRATION: Final = 119
TRANSACTION_ABORTABLE: Final = 120
INVALID_RECORD_STATE: Final = 121
SHARE_SESSION_NOT_FOUND: Final = 122
INVALID_SHARE_SESSION_EPOCH: Final = 123
FENCED_STATE_EPOCH: Final = 124
INVALID_VOTER_KEY: Final = 125
DUPLICATE_VOTER: Final = 126
VOTER_NOT_FOUND: Final = 127
INVALID_REGULAR_EXPRESSION: Final = 128
REBOOTSTRAP_REQUIRED: Final = 129
STREAMS_INVALID_TOPOLOGY: Final = 130
STREAMS_INVALID_TOPOLOGY_EPOCH: Final = 131
STREAMS_TOPOLOGY_FENCED: Final = 132
SHARE_SESSION_LIMIT_REACHED: Final = 133
GROUP_DELETION_FAILED: Final = 134
STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED: Final = 135
CONTROLLER_ID_NOT_REGISTERED: Final = 136


def error_name(code: int) -> str:
    """The name of a code, or `error 999` for an unknown one."""
    return next((name for name, value in globals().items() if value == code and name.isupper()), f"error {code}")


def error_text(code: int) -> str:
    """The code as messages show it: `NOT_CONTROLLER (41)`, or `error 999` for an unknown one."""
    name = error_name(code)
    return f"{name} ({code})" if name.isupper() else name


def error_message(code: int) -> str:
    """Kafka's message for a code. An unknown code means UNKNOWN_SERVER_ERROR, as in Kafka's own clients."""
    return MESSAGES.get(code, MESSAGES[UNKNOWN_SERVER_ERROR])


MESSAGES: Final = {
    -1: "The server experienced an unexpected error when processing the request.",
    1: "The requested offset is not within the range of offsets maintained by the server.",
    2: ("This message has failed its CRC checksum, exceeds the valid size, has a null key for a compacted topic, or is otherwise corrupt."),
    3: "This server does not host this topic-partition.",
    4: "The requested fetch size is invalid.",
    5: "There is no leader for this topic-partition as we are in the middle of a leadership election.",
    6: (
        "For requests intended only for the leader, this error indicates that the broker is not the current leader. For"
        " requests intended for any replica, this error indicates that the broker is not a replica of the topic "
        "partition."
    ),
    7: "The request timed out.",
    8: "The broker is not available.",
    9: (
        "The replica is not available for the requested topic-partition. Produce/Fetch requests and other requests "
        "intended only for the leader or follower return NOT_LEADER_OR_FOLLOWER if the broker is not a replica of the "
        "topic-partition."
    ),
    10: "The request included a message larger than the max message size the server will accept.",
    11: "The controller moved to another broker.",
    12: "The metadata field of the offset request was too large.",
    13: "The server disconnected before a response was received.",
    14: "The coordinator is loading and hence can't process requests.",
    15: "The coordinator is not available.",
    16: "This is not the correct coordinator.",
    17: "The request attempted to perform an operation on an invalid topic.",
    18: "The request included message batch larger than the configured segment size on the server.",
    19: "Messages are rejected since there are fewer in-sync replicas than required.",
    20: "Messages are written to the log, but to fewer in-sync replicas than required.",
    21: "Produce request specified an invalid value for required acks.",
    22: "Specified group generation id is not valid.",
    23: (
        "The group member's supported protocols are incompatible with those of existing members or first group member "
        "tried to join with empty protocol type or empty protocol list."
    ),
    24: "The group id is invalid.",
    25: "The coordinator is not aware of this member.",
    26: (
        "The session timeout is not within the range allowed by the broker (as configured by "
        "group.min.session.timeout.ms and group.max.session.timeout.ms)."
    ),
    27: "The group is rebalancing, so a rejoin is needed.",
    28: "The committing offset data size is not valid.",
    29: "Topic authorization failed.",
    30: "Group authorization failed.",
    31: "Cluster authorization failed.",
    32: "The timestamp of the message is out of acceptable range.",
    33: "The broker does not support the requested SASL mechanism.",
    34: "Request is not valid given the current SASL state.",
    35: "The version of API is not supported.",
    36: "Topic with this name already exists.",
    37: "Number of partitions is below 1.",
    38: "Replication factor is below 1 or larger than the number of available brokers.",
    39: "Replica assignment is invalid.",
    40: "Configuration is invalid.",
    41: "This is not the correct controller for this cluster.",
    42: (
        "This most likely occurs because of a request being malformed by the client library or the message was sent to "
        "an incompatible broker. See the broker logs for more details."
    ),
    43: "The message format version on the broker does not support the request.",
    44: "Request parameters do not satisfy the configured policy.",
    45: "The broker received an out of order sequence number.",
    46: "The broker received a duplicate sequence number.",
    47: "Producer attempted to produce with an old epoch.",
    48: "The producer attempted a transactional operation in an invalid state.",
    49: "The producer attempted to use a producer id which is not currently assigned to its transactional id.",
    50: ("The transaction timeout is larger than the maximum value allowed by the broker (as configured by transaction.max.timeout.ms)."),
    51: "The producer attempted to update a transaction while another concurrent operation on the same transaction was ongoing.",
    52: ("Indicates that the transaction coordinator sending a WriteTxnMarker is no longer the current coordinator for a given producer."),
    53: "Transactional Id authorization failed.",
    54: "Security features are disabled.",
    55: (
        "The broker did not attempt to execute this operation. This may happen for batched RPCs where some operations "
        "in the batch failed, causing the broker to respond without trying the rest."
    ),
    56: "Disk error when trying to access log file on the disk.",
    57: "The user-specified log directory is not found in the broker config.",
    58: "SASL Authentication failed.",
    59: (
        "This exception is raised by the broker if it could not locate the producer metadata associated with the "
        "producerId in question. This could happen if, for instance, the producer's records were deleted because their "
        "retention time had elapsed. Once the last records of the producerId are removed, the producer's metadata is "
        "removed from the broker, and future appends by the producer will return this exception."
    ),
    60: "A partition reassignment is in progress.",
    61: "Delegation Token feature is not enabled.",
    62: "Delegation Token is not found on server.",
    63: "Specified Principal is not valid Owner/Renewer.",
    64: ("Delegation Token requests are not allowed on PLAINTEXT/1-way SSL channels and on delegation token authenticated channels."),
    65: "Delegation Token authorization failed.",
    66: "Delegation Token is expired.",
    67: "Supplied principalType is not supported.",
    68: "The group is not empty.",
    69: "The group id does not exist.",
    70: "The fetch session ID was not found.",
    71: "The fetch session epoch is invalid.",
    72: "There is no listener on the leader broker that matches the listener on which metadata request was processed.",
    73: "Topic deletion is disabled.",
    74: "The leader epoch in the request is older than the epoch on the broker.",
    75: "The leader epoch in the request is newer than the epoch on the broker.",
    76: "The requesting client does not support the compression type of given partition.",
    77: "Broker epoch has changed.",
    78: (
        "The leader high watermark has not caught up from a recent leader election so the offsets cannot be guaranteed "
        "to be monotonically increasing."
    ),
    79: "The group member needs to have a valid member id before actually entering a consumer group.",
    80: "The preferred leader was not available.",
    81: "The group has reached its maximum size.",
    82: (
        "The broker rejected this static consumer since another consumer with the same group.instance.id has registered"
        " with a different member.id."
    ),
    83: "Eligible topic partition leaders are not available.",
    84: "Leader election not needed for topic partition.",
    85: "No partition reassignment is in progress.",
    86: "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it.",
    87: "This record has failed the validation on broker and hence will be rejected.",
    88: "There are unstable offsets that need to be cleared.",
    89: "The throttling quota has been exceeded.",
    90: "There is a newer producer with the same transactionalId which fences the current one.",
    91: "A request illegally referred to a resource that does not exist.",
    92: "A request illegally referred to the same resource twice.",
    93: "Requested credential would not meet criteria for acceptability.",
    94: "Indicates that the either the sender or recipient of a voter-only request is not one of the expected voters.",
    95: "The given update version was invalid.",
    96: "Unable to update finalized features due to an unexpected server error.",
    97: (
        "Request principal deserialization failed during forwarding. This indicates an internal error on the broker cluster security setup."
    ),
    98: "Requested snapshot was not found.",
    99: "Requested position is not greater than or equal to zero, and less than the size of the snapshot.",
    100: "This server does not host this topic ID.",
    101: "This broker ID is already in use.",
    102: "The given broker ID was not registered.",
    103: "The log's topic ID did not match the topic ID in the request.",
    104: "The clusterId in the request does not match that found on the server.",
    105: "The transactionalId could not be found.",
    106: "The fetch session encountered inconsistent topic ID usage.",
    107: "The new ISR contains at least one ineligible replica.",
    108: "The AlterPartition request successfully updated the partition state but the leader has changed.",
    109: "The requested offset is moved to tiered storage.",
    110: "The member epoch is fenced by the group coordinator. The member must abandon all its partitions and rejoin.",
    111: "The instance ID is still used by another member in the consumer group. That member must leave first.",
    112: "The assignor or its version range is not supported by the consumer group.",
    113: ("The member epoch is stale. The member must retry after receiving its updated member epoch via the ConsumerGroupHeartbeat API."),
    114: "The request was sent to an endpoint of the wrong type.",
    115: "This endpoint type is not supported yet.",
    116: "This controller ID is not known.",
    117: "Client sent a push telemetry request with an invalid or outdated subscription ID.",
    118: "Client sent a push telemetry request larger than the maximum size the broker will accept.",
    119: "The controller has considered the broker registration to be invalid.",
    120: (
        "The server encountered an error with the transaction. The client can abort the transaction to continue using "
        "this transactional ID."
    ),
    121: "The record state is invalid. The acknowledgement of delivery could not be completed.",
    122: "The share session was not found.",
    123: "The share session epoch is invalid.",
    124: "The coordinator rejected the request because the state epoch did not match.",
    125: "The voter key doesn't match the receiving replica's key.",
    126: "The voter is already part of the set of voters.",
    127: "The voter is not part of the set of voters.",
    128: "The regular expression is not valid.",
    129: "Client metadata is stale. The client should rebootstrap to obtain new metadata.",
    130: "The supplied topology is invalid.",
    131: "The supplied topology epoch is invalid.",
    132: "The supplied topology epoch is outdated.",
    133: "The limit of share sessions has been reached.",
    134: "DeleteGroups could not complete; see the error message on the per-group result for details.",
    135: "The broker could not process the topology description update; see the error message for details.",
    136: "The given controller ID was not registered.",
}


_LISTS: dict[type[Entity], tuple[str, ...]] = {}
"""The attributes that are lists, by the class of a response or of a part of one."""


def first_error_code(answer: Entity | None) -> int:
    """The error code of a response: its own, else the first one in its parts; NONE without an error."""
    if answer is None:
        return NONE
    code: int = getattr(answer, "error_code", NONE)
    if code != NONE:
        return code
    for name in _lists_of(answer):
        for part in getattr(answer, name) or ():
            if not isinstance(part, Entity):
                break
            if (code := first_error_code(part)) != NONE:
                return code
    return NONE


def all_error_codes(answer: Entity) -> Iterator[int]:
    """The error code of every item of a response, NONE for success; only the response's own code if that is an error."""
    code: int | None = getattr(answer, "error_code", None)
    if code:
        yield code
        return
    is_whole = True
    for name in _lists_of(answer):
        for part in getattr(answer, name) or ():
            if not isinstance(part, Entity):
                break
            for found in all_error_codes(part):
                is_whole = False
                yield found
    if is_whole and code is not None:
        yield code


def _lists_of(answer: Entity) -> tuple[str, ...]:
    kind = type(answer)
    names = _LISTS.get(kind)
    if names is None:
        plain = kind()
        fields: tuple[str, ...] = kind.__slots__
        names = _LISTS[kind] = tuple(name for name in fields if name != "unknown_tags" and getattr(plain, name) == ())
    return names
