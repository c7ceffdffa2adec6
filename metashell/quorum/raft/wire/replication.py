"""Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch and FetchSnapshot: the requests of replicas to each other.

Versions of Fetch below 13 name the topic by text, which no leader takes: such a message has the wrong shape.
Source: their schemas; KIP-595, KIP-630, KIP-853, KIP-996, KIP-1166; RaftUtil."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from metashell.codec import messages as codec
from metashell.codec.codes import BEGIN_QUORUM_EPOCH, END_QUORUM_EPOCH, FETCH, FETCH_SNAPSHOT, VOTE
from metashell.common.values import METADATA_TOPIC_ID, OffsetAndEpoch, ReplicaKey
from metashell.quorum.raft import messages as flat
from metashell.quorum.raft.messages import (
    TOPIC,
    Row,
    UnsupportedVersionError,
    endpoints_from,
    endpoints_to,
    leader_endpoint_from,
    leader_endpoint_to,
    only_partition,
)

R = TypeVar("R", bound=flat.PartitionResponse)


def vote_request_to(message: flat.VoteRequest, version: int) -> codec.VoteRequest:
    """Errors: UnsupportedVersionError for a pre-vote below version 2."""
    if message.pre_vote and version < 2:
        raise UnsupportedVersionError(f"VoteRequest version {version} has no PreVote")
    made = codec.VoteRequest(cluster_id=message.cluster_id, voter_id=message.voter_id)
    if message.shape_ok:
        partition = codec.VoteRequest.PartitionData(
            replica_epoch=message.epoch,
            replica_id=message.candidate_id,
            replica_directory_id=message.candidate_directory_id,
            voter_directory_id=message.voter_directory_id,
            last_offset_epoch=message.last_epoch,
            last_offset=message.last_offset,
            pre_vote=message.pre_vote,
        )
        made.topics = (codec.VoteRequest.TopicData(topic_name=TOPIC, partitions=(partition,)),)
    return made


def vote_request_from(message: codec.VoteRequest, version: int) -> flat.VoteRequest:
    partition = only_partition(message.topics)
    found = partition if partition is not None else codec.VoteRequest.PartitionData()
    return flat.VoteRequest(
        message.cluster_id,
        message.voter_id,
        found.voter_directory_id,
        found.replica_epoch,
        found.replica_id,
        found.replica_directory_id,
        found.last_offset_epoch,
        found.last_offset,
        found.pre_vote,
        partition is not None,
    )


def vote_response_to(message: flat.VoteResponse, version: int) -> codec.VoteResponse:
    made: codec.VoteResponse = _response_to(codec.VoteResponse, message, version)
    for topic in made.topics:
        topic.partitions[0].vote_granted = message.granted
    return made


def vote_response_from(message: codec.VoteResponse, version: int) -> flat.VoteResponse:
    made = _response_from(flat.VoteResponse, message)
    if made.shape_ok and not made.top_error:
        made.granted = message.topics[0].partitions[0].vote_granted
    return made


def begin_request_to(message: flat.BeginQuorumEpochRequest, version: int) -> codec.BeginQuorumEpochRequest:
    made = codec.BeginQuorumEpochRequest(
        cluster_id=message.cluster_id,
        voter_id=message.voter_id,
        leader_endpoints=endpoints_to(codec.BeginQuorumEpochRequest.LeaderEndpoint, message.endpoints),
    )
    if message.shape_ok:
        partition = codec.BeginQuorumEpochRequest.PartitionData(
            voter_directory_id=message.voter_directory_id, leader_id=message.leader_id, leader_epoch=message.epoch
        )
        made.topics = (codec.BeginQuorumEpochRequest.TopicData(topic_name=TOPIC, partitions=(partition,)),)
    return made


def begin_request_from(message: codec.BeginQuorumEpochRequest, version: int) -> flat.BeginQuorumEpochRequest:
    partition = only_partition(message.topics)
    found = partition if partition is not None else codec.BeginQuorumEpochRequest.PartitionData()
    return flat.BeginQuorumEpochRequest(
        message.cluster_id,
        message.voter_id,
        found.voter_directory_id,
        found.leader_id,
        found.leader_epoch,
        endpoints_from(message.leader_endpoints),
        partition is not None,
    )


def end_request_to(message: flat.EndQuorumEpochRequest, version: int) -> codec.EndQuorumEpochRequest:
    made = codec.EndQuorumEpochRequest(
        cluster_id=message.cluster_id, leader_endpoints=endpoints_to(codec.EndQuorumEpochRequest.LeaderEndpoint, message.endpoints)
    )
    if message.shape_ok:
        info = codec.EndQuorumEpochRequest.ReplicaInfo
        partition = codec.EndQuorumEpochRequest.PartitionData(
            leader_id=message.leader_id,
            leader_epoch=message.epoch,
            preferred_successors=tuple(key.id for key in message.candidates),
            preferred_candidates=tuple(info(candidate_id=key.id, candidate_directory_id=key.directory_id) for key in message.candidates),
        )
        made.topics = (codec.EndQuorumEpochRequest.TopicData(topic_name=TOPIC, partitions=(partition,)),)
    return made


def end_request_from(message: codec.EndQuorumEpochRequest, version: int) -> flat.EndQuorumEpochRequest:
    partition = only_partition(message.topics)
    found = partition if partition is not None else codec.EndQuorumEpochRequest.PartitionData()
    if version == 0:
        candidates = tuple(ReplicaKey(successor) for successor in found.preferred_successors)
    else:
        candidates = tuple(ReplicaKey(info.candidate_id, info.candidate_directory_id) for info in found.preferred_candidates)
    endpoints = endpoints_from(message.leader_endpoints)
    return flat.EndQuorumEpochRequest(message.cluster_id, found.leader_id, found.leader_epoch, candidates, endpoints, partition is not None)


def _response_to(made_by: Any, message: flat.PartitionResponse, version: int) -> Any:
    """Build the common part of the three responses: all but the vote."""
    if message.top_error or not message.shape_ok:
        return made_by(error_code=message.top_error)
    partition = made_by.PartitionData(error_code=message.error, leader_id=message.leader_id, leader_epoch=message.epoch)
    made = made_by(topics=(made_by.TopicData(topic_name=TOPIC, partitions=(partition,)),))
    if version >= 1:
        made.node_endpoints = leader_endpoint_to(made_by.NodeEndpoint, message.leader_id, message.leader_endpoint)
    return made


def _response_from(made_by: type[R], message: Any) -> R:
    if message.error_code:
        return made_by(top_error=message.error_code)
    partition = only_partition(message.topics)
    if partition is None:
        return made_by(shape_ok=False)
    leader_endpoint = leader_endpoint_from(message.node_endpoints, partition.leader_id)
    return made_by(0, partition.error_code, partition.leader_id, partition.leader_epoch, leader_endpoint)


ELECTION_ROWS: Final = {
    VOTE: Row(vote_request_to, vote_request_from, vote_response_to, vote_response_from),
    BEGIN_QUORUM_EPOCH: Row(
        begin_request_to,
        begin_request_from,
        lambda message, version: _response_to(codec.BeginQuorumEpochResponse, message, version),
        lambda message, version: _response_from(flat.BeginQuorumEpochResponse, message),
    ),
    END_QUORUM_EPOCH: Row(
        end_request_to,
        end_request_from,
        lambda message, version: _response_to(codec.EndQuorumEpochResponse, message, version),
        lambda message, version: _response_from(flat.EndQuorumEpochResponse, message),
    ),
}


# Fetch and FetchSnapshot


TOPIC_IDS_FROM: Final = 13
LAST_EPOCH_FROM: Final = 12
REPLICA_STATE_FROM: Final = 15
ENDPOINTS_FROM: Final = 17
"""The schema has NodeEndpoints from 16 on; raft fills them from 17 on."""


def fetch_request_to(message: flat.FetchRequest, version: int) -> codec.FetchRequest:
    """Errors: UnsupportedVersionError below version 12, which has no last fetched epoch."""
    if version < LAST_EPOCH_FROM:
        raise UnsupportedVersionError(f"FetchRequest version {version} has no LastFetchedEpoch")
    made = codec.FetchRequest(cluster_id=message.cluster_id, max_wait_ms=message.max_wait_ms, max_bytes=message.max_size)
    if version < REPLICA_STATE_FROM:
        made.replica_id = message.replica_id
    else:
        made.replica_state = codec.FetchRequest.ReplicaState(replica_id=message.replica_id)
    if message.shape_ok:
        partition = codec.FetchRequest.FetchPartition(
            current_leader_epoch=message.epoch,
            fetch_offset=message.fetch_offset,
            last_fetched_epoch=message.last_epoch,
            replica_directory_id=message.directory_id,
            high_watermark=message.high_watermark,
        )
        made.topics = (codec.FetchRequest.FetchTopic(topic=TOPIC, topic_id=METADATA_TOPIC_ID, partitions=(partition,)),)
    return made


def fetch_request_from(message: codec.FetchRequest, version: int) -> flat.FetchRequest:
    partition = _only_by_id(message.topics, "partition")
    found = partition if partition is not None else codec.FetchRequest.FetchPartition()
    return flat.FetchRequest(
        message.cluster_id,
        message.replica_id if version < REPLICA_STATE_FROM else message.replica_state.replica_id,
        found.replica_directory_id,
        found.current_leader_epoch,
        found.fetch_offset,
        found.last_fetched_epoch,
        message.max_wait_ms,
        message.max_bytes,
        found.high_watermark,
        partition is not None,
    )


def fetch_response_to(message: flat.FetchResponse, version: int) -> codec.FetchResponse:
    if message.top_error or not message.shape_ok or version < TOPIC_IDS_FROM:
        return codec.FetchResponse(error_code=message.top_error)
    made_by = codec.FetchResponse
    partition = made_by.PartitionData(
        error_code=message.error,
        high_watermark=message.high_watermark,
        log_start_offset=message.log_start_offset,
        current_leader=made_by.LeaderIdAndEpoch(leader_id=message.leader_id, leader_epoch=message.epoch),
        records=message.records,
    )
    if message.diverging is not None:
        partition.diverging_epoch = made_by.EpochEndOffset(epoch=message.diverging.epoch, end_offset=message.diverging.offset)
    if message.snapshot_id is not None:
        partition.snapshot_id = made_by.SnapshotId(end_offset=message.snapshot_id.offset, epoch=message.snapshot_id.epoch)
    made = made_by(responses=(made_by.FetchableTopicResponse(topic_id=METADATA_TOPIC_ID, partitions=(partition,)),))
    if version >= ENDPOINTS_FROM:
        made.node_endpoints = leader_endpoint_to(made_by.NodeEndpoint, message.leader_id, message.leader_endpoint)
    return made


def fetch_response_from(message: codec.FetchResponse, version: int) -> flat.FetchResponse:
    if message.error_code:
        return flat.FetchResponse(top_error=message.error_code)
    partition = _only_by_id(message.responses, "partition_index")
    if partition is None:
        return flat.FetchResponse(shape_ok=False)
    leader, diverging, snapshot = partition.current_leader, partition.diverging_epoch, partition.snapshot_id
    return flat.FetchResponse(
        error=partition.error_code,
        leader_id=leader.leader_id,
        epoch=leader.leader_epoch,
        leader_endpoint=leader_endpoint_from(message.node_endpoints, leader.leader_id),
        high_watermark=partition.high_watermark,
        log_start_offset=partition.log_start_offset,
        diverging=OffsetAndEpoch(diverging.end_offset, diverging.epoch) if diverging.epoch >= 0 else None,
        snapshot_id=OffsetAndEpoch(snapshot.end_offset, snapshot.epoch) if snapshot.end_offset >= 0 or snapshot.epoch >= 0 else None,
        records=partition.records or b"",
    )


def snapshot_request_to(message: flat.FetchSnapshotRequest, version: int) -> codec.FetchSnapshotRequest:
    made_by = codec.FetchSnapshotRequest
    made = made_by(cluster_id=message.cluster_id, replica_id=message.replica_id, max_bytes=message.max_size)
    if message.shape_ok:
        partition = made_by.PartitionSnapshot(
            current_leader_epoch=message.epoch,
            snapshot_id=made_by.SnapshotId(end_offset=message.snapshot_id.offset, epoch=message.snapshot_id.epoch),
            position=message.position,
            replica_directory_id=message.directory_id,
        )
        name = TOPIC if message.is_known_partition else ""
        made.topics = (made_by.TopicSnapshot(name=name, partitions=(partition,)),)
    return made


def snapshot_request_from(message: codec.FetchSnapshotRequest, version: int) -> flat.FetchSnapshotRequest:
    shape_ok = len(message.topics) == 1 and len(message.topics[0].partitions) == 1
    found = message.topics[0].partitions[0] if shape_ok else codec.FetchSnapshotRequest.PartitionSnapshot()
    return flat.FetchSnapshotRequest(
        message.cluster_id,
        message.replica_id,
        found.replica_directory_id,
        found.current_leader_epoch,
        OffsetAndEpoch(found.snapshot_id.end_offset, found.snapshot_id.epoch),
        found.position,
        message.max_bytes,
        is_known_partition=not shape_ok or (message.topics[0].name == TOPIC and found.partition == 0),
        shape_ok=shape_ok,
    )


def snapshot_response_to(message: flat.FetchSnapshotResponse, version: int) -> codec.FetchSnapshotResponse:
    made_by = codec.FetchSnapshotResponse
    if message.top_error or not message.shape_ok:
        return made_by(error_code=message.top_error)
    partition = made_by.PartitionSnapshot(
        error_code=message.error,
        snapshot_id=made_by.SnapshotId(end_offset=message.snapshot_id.offset, epoch=message.snapshot_id.epoch),
        current_leader=made_by.LeaderIdAndEpoch(leader_id=message.leader_id, leader_epoch=message.epoch),
        size=message.size,
        position=message.position,
        unaligned_records=message.records,
    )
    made = made_by(topics=(made_by.TopicSnapshot(name=TOPIC, partitions=(partition,)),))
    if version >= 1:
        made.node_endpoints = leader_endpoint_to(made_by.NodeEndpoint, message.leader_id, message.leader_endpoint)
    return made


def snapshot_response_from(message: codec.FetchSnapshotResponse, version: int) -> flat.FetchSnapshotResponse:
    if message.error_code:
        return flat.FetchSnapshotResponse(top_error=message.error_code)
    topics = message.topics
    if len(topics) != 1 or topics[0].name != TOPIC or len(topics[0].partitions) != 1 or topics[0].partitions[0].index != 0:
        return flat.FetchSnapshotResponse(shape_ok=False)
    found = topics[0].partitions[0]
    return flat.FetchSnapshotResponse(
        error=found.error_code,
        leader_id=found.current_leader.leader_id,
        epoch=found.current_leader.leader_epoch,
        leader_endpoint=leader_endpoint_from(message.node_endpoints, found.current_leader.leader_id),
        snapshot_id=OffsetAndEpoch(found.snapshot_id.end_offset, found.snapshot_id.epoch),
        size=found.size,
        position=found.position,
        records=found.unaligned_records or b"",
    )


def _only_by_id(topics: Any, index_name: str) -> Any | None:
    if len(topics) != 1 or topics[0].topic_id != METADATA_TOPIC_ID:
        return None
    partitions = topics[0].partitions
    return partitions[0] if len(partitions) == 1 and getattr(partitions[0], index_name) == 0 else None


FETCH_ROWS: Final = {
    FETCH: Row(fetch_request_to, fetch_request_from, fetch_response_to, fetch_response_from),
    FETCH_SNAPSHOT: Row(snapshot_request_to, snapshot_request_from, snapshot_response_to, snapshot_response_from),
}
