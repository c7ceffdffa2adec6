"""Error answers: a table with the answer of each API to a request that is refused as a whole.

Also the error of the answer if the records of a decision could not be written.
Source: the getErrorResponse methods of org.apache.kafka.common.requests of 4.3.1;
org.apache.kafka.coordinator.group.GroupMetadataManager.appendGroupMetadataErrorToResponseError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.codes import (
    ADD_OFFSETS_TO_TXN,
    CONSUMER_GROUP_DESCRIBE,
    CONSUMER_GROUP_HEARTBEAT,
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    END_TXN,
    FIND_COORDINATOR,
    HEARTBEAT,
    INIT_PRODUCER_ID,
    JOIN_GROUP,
    LEAVE_GROUP,
    LIST_GROUPS,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    OFFSET_FETCH,
    SHARE_GROUP_DESCRIBE,
    SHARE_GROUP_HEARTBEAT,
    STREAMS_GROUP_DESCRIBE,
    STREAMS_GROUP_HEARTBEAT,
    SYNC_GROUP,
    TXN_OFFSET_COMMIT,
)
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
    error_message,
)
from metashell.groups.decision import Answer, GroupError, Request

ALL_OPERATIONS: Final = 0b1101_0100_1000
"""The operations on a group that are authorized without ACLs: READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS and ALTER_CONFIGS."""
CLUSTER_OPERATIONS: Final = 0b1_1111_1010_0000
"""Those on a cluster: CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS and IDEMPOTENT_WRITE."""


def error_body(request: Request, code: int, message: str | None = None) -> Any:
    """Return the response object that refuses a request. `message` is null for APIs that have one and get none here.

    Errors: KeyError for an API that is not the coordinator's.
    """
    return _BODIES[request.api_key](request, code, message)


def refuse_request(request: Request, error: GroupError) -> Answer:
    """Return the answer to a request that failed as a whole."""
    return Answer(request.ticket, error_body(request, error.code, error.message))


def commit_error_topics(body: Any, code: int, topic_kind: Any, partition_kind: Any) -> tuple[Any, ...]:
    """Return the same error for each partition of a commit."""
    return tuple(
        topic_kind(
            name=topic.name,
            partitions=tuple(partition_kind(partition_index=partition.partition_index, error_code=code) for partition in topic.partitions),
            **({"topic_id": topic.topic_id} if hasattr(topic, "topic_id") else {}),
        )
        for topic in body.topics
    )


def fetch_error_group(group: Any, code: int) -> messages.OffsetFetchResponse.OffsetFetchResponseGroup:
    """Return the refusal of one group's offsets, for OffsetFetch from version 8 on."""
    return messages.OffsetFetchResponse.OffsetFetchResponseGroup(group_id=group.group_id, error_code=code)


def coordinator_error(key: str, code: int, message: str | None) -> messages.FindCoordinatorResponse.Coordinator:
    """Return the answer for a key without coordinator, for FindCoordinator from version 4 on."""
    return messages.FindCoordinatorResponse.Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=message)


def _code_only(kind: Any) -> Callable[[Request, int, str | None], Any]:
    return lambda request, code, message: kind(error_code=code)


def _join(request: Request, code: int, message: str | None) -> messages.JoinGroupResponse:
    name = None if request.version >= 7 else ""
    return messages.JoinGroupResponse(error_code=code, protocol_name=name)


def _offset_commit(request: Request, code: int, message: str | None) -> messages.OffsetCommitResponse:
    kind = messages.OffsetCommitResponse
    topics = commit_error_topics(request.body, code, kind.OffsetCommitResponseTopic, kind.OffsetCommitResponsePartition)
    return kind(topics=topics)


def _txn_offset_commit(request: Request, code: int, message: str | None) -> messages.TxnOffsetCommitResponse:
    kind = messages.TxnOffsetCommitResponse
    topics = commit_error_topics(request.body, code, kind.TxnOffsetCommitResponseTopic, kind.TxnOffsetCommitResponsePartition)
    return kind(topics=topics)


def _offset_fetch(request: Request, code: int, message: str | None) -> messages.OffsetFetchResponse:
    body, kind = request.body, messages.OffsetFetchResponse
    if request.version >= 8:
        return kind(groups=tuple(fetch_error_group(group, code) for group in body.groups))
    if request.version >= 2:
        return kind(error_code=code)
    return kind(
        topics=tuple(
            kind.OffsetFetchResponseTopic(
                name=topic.name,
                partitions=tuple(
                    kind.OffsetFetchResponsePartition(partition_index=index, committed_offset=-1, metadata="", error_code=code)
                    for index in topic.partition_indexes
                ),
            )
            for topic in body.topics or ()
        )
    )


def _delete_groups(request: Request, code: int, message: str | None) -> messages.DeleteGroupsResponse:
    kind = messages.DeleteGroupsResponse
    names = dict.fromkeys(request.body.groups_names)
    return kind(results=tuple(kind.DeletableGroupResult(group_id=name, error_code=code) for name in names))


def _describe_groups(request: Request, code: int, message: str | None) -> messages.DescribeGroupsResponse:
    kind = messages.DescribeGroupsResponse
    return kind(groups=tuple(kind.DescribedGroup(group_id=name, error_code=code, error_message=message) for name in request.body.groups))


def _describe(kind: Any) -> Callable[[Request, int, str | None], Any]:
    def answer(request: Request, code: int, message: str | None) -> Any:
        ids = request.body.group_ids
        return kind(groups=tuple(kind.DescribedGroup(group_id=id, error_code=code, error_message=message) for id in ids))

    return answer


def _modern_heartbeat(kind: Any) -> Callable[[Request, int, str | None], Any]:
    return lambda request, code, message: kind(error_code=code, error_message=message)


def _streams_heartbeat(request: Request, code: int, message: str | None) -> messages.StreamsGroupHeartbeatResponse:
    return messages.StreamsGroupHeartbeatResponse(error_code=code, error_message=message, status=())


def _find_coordinator(request: Request, code: int, message: str | None) -> messages.FindCoordinatorResponse:
    message = error_message(code) if message is None else message
    if request.version >= 4:
        return messages.FindCoordinatorResponse(
            coordinators=tuple(coordinator_error(key, code, message) for key in request.body.coordinator_keys)
        )
    return messages.FindCoordinatorResponse(error_code=code, error_message=message, node_id=-1, host="", port=-1)


def _init_producer_id(request: Request, code: int, message: str | None) -> messages.InitProducerIdResponse:
    return messages.InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)


_BODIES: Final[dict[int, Callable[[Request, int, str | None], Any]]] = {
    OFFSET_COMMIT: _offset_commit,
    OFFSET_FETCH: _offset_fetch,
    FIND_COORDINATOR: _find_coordinator,
    JOIN_GROUP: _join,
    HEARTBEAT: _code_only(messages.HeartbeatResponse),
    LEAVE_GROUP: _code_only(messages.LeaveGroupResponse),
    SYNC_GROUP: _code_only(messages.SyncGroupResponse),
    DESCRIBE_GROUPS: _describe_groups,
    LIST_GROUPS: _code_only(messages.ListGroupsResponse),
    INIT_PRODUCER_ID: _init_producer_id,
    ADD_OFFSETS_TO_TXN: _code_only(messages.AddOffsetsToTxnResponse),
    END_TXN: _code_only(messages.EndTxnResponse),
    TXN_OFFSET_COMMIT: _txn_offset_commit,
    DELETE_GROUPS: _delete_groups,
    OFFSET_DELETE: _code_only(messages.OffsetDeleteResponse),
    CONSUMER_GROUP_HEARTBEAT: _modern_heartbeat(messages.ConsumerGroupHeartbeatResponse),
    CONSUMER_GROUP_DESCRIBE: _describe(messages.ConsumerGroupDescribeResponse),
    SHARE_GROUP_HEARTBEAT: _modern_heartbeat(messages.ShareGroupHeartbeatResponse),
    SHARE_GROUP_DESCRIBE: _describe(messages.ShareGroupDescribeResponse),
    STREAMS_GROUP_HEARTBEAT: _streams_heartbeat,
    STREAMS_GROUP_DESCRIBE: _describe(messages.StreamsGroupDescribeResponse),
}


_ANSWERED_AS: Final = {
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


def append_error_code(code: int) -> int:
    """Return the error that the client gets if an append failed with `code`.

    The client sent no record and chose no topic: MESSAGE_TOO_LARGE would tell it nothing, COORDINATOR_NOT_AVAILABLE makes it retry.
    """
    return _ANSWERED_AS.get(code, code)
