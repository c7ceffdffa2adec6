"""Vote, BeginQuorumEpoch and EndQuorumEpoch. Source: their schemas; KIP-595, KIP-853, KIP-996; RaftUtil."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from metashell.codec import messages as codec
from metashell.codec.api_keys import BEGIN_QUORUM_EPOCH, END_QUORUM_EPOCH, VOTE
from metashell.raft import messages as flat
from metashell.raft.wire.common import TOPIC, Row, endpoints_from, endpoints_to, leader_endpoint_from, leader_endpoint_to, only_partition
from metashell.raft.wire.versions import UnsupportedVersionError
from metashell.values import ReplicaKey

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
    """What the three responses have in common: all but the vote."""
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


ROWS: Final = {
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
