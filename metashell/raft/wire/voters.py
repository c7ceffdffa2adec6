"""AddRaftVoter, RemoveRaftVoter and UpdateRaftVoter. Source: their schemas; KIP-853, KIP-1186."""

from __future__ import annotations

from typing import Final

from metashell.codec import messages as codec
from metashell.codec.api_keys import ADD_RAFT_VOTER, REMOVE_RAFT_VOTER, UPDATE_RAFT_VOTER
from metashell.raft import messages as flat
from metashell.raft.wire.common import PORT_MAX, Row, endpoints_from, endpoints_to
from metashell.raft.wire.versions import UnsupportedVersionError


def add_request_to(message: flat.AddRaftVoterRequest, version: int) -> codec.AddRaftVoterRequest:
    """Errors: UnsupportedVersionError where version 0 would wait for the commit although nobody asked for it."""
    if not message.ack_when_committed and version < 1:
        raise UnsupportedVersionError(f"AddRaftVoterRequest version {version} has no AckWhenCommitted")
    return codec.AddRaftVoterRequest(
        cluster_id=message.cluster_id,
        timeout_ms=message.timeout_ms,
        voter_id=message.voter_id,
        voter_directory_id=message.directory_id,
        listeners=endpoints_to(codec.AddRaftVoterRequest.Listener, message.endpoints),
        ack_when_committed=message.ack_when_committed,
    )


def add_request_from(message: codec.AddRaftVoterRequest, version: int) -> flat.AddRaftVoterRequest:
    return flat.AddRaftVoterRequest(
        message.cluster_id,
        message.voter_id,
        message.voter_directory_id,
        endpoints_from(message.listeners),
        message.timeout_ms,
        message.ack_when_committed,
    )


def add_response_to(message: flat.AddRaftVoterResponse, version: int) -> codec.AddRaftVoterResponse:
    return codec.AddRaftVoterResponse(error_code=message.error, error_message=message.message)


def add_response_from(message: codec.AddRaftVoterResponse, version: int) -> flat.AddRaftVoterResponse:
    return flat.AddRaftVoterResponse(message.error_code, message.error_message)


def remove_request_to(message: flat.RemoveRaftVoterRequest, version: int) -> codec.RemoveRaftVoterRequest:
    return codec.RemoveRaftVoterRequest(cluster_id=message.cluster_id, voter_id=message.voter_id, voter_directory_id=message.directory_id)


def remove_request_from(message: codec.RemoveRaftVoterRequest, version: int) -> flat.RemoveRaftVoterRequest:
    return flat.RemoveRaftVoterRequest(message.cluster_id, message.voter_id, message.voter_directory_id)


def remove_response_to(message: flat.RemoveRaftVoterResponse, version: int) -> codec.RemoveRaftVoterResponse:
    return codec.RemoveRaftVoterResponse(error_code=message.error, error_message=message.message)


def remove_response_from(message: codec.RemoveRaftVoterResponse, version: int) -> flat.RemoveRaftVoterResponse:
    return flat.RemoveRaftVoterResponse(message.error_code, message.error_message)


def update_request_to(message: flat.UpdateRaftVoterRequest, version: int) -> codec.UpdateRaftVoterRequest:
    made_by = codec.UpdateRaftVoterRequest
    return made_by(
        cluster_id=message.cluster_id,
        current_leader_epoch=message.epoch,
        voter_id=message.voter_id,
        voter_directory_id=message.directory_id,
        listeners=endpoints_to(made_by.Listener, message.endpoints),
        k_raft_version_feature=made_by.KRaftVersionFeature(
            min_supported_version=message.min_version, max_supported_version=message.max_version
        ),
    )


def update_request_from(message: codec.UpdateRaftVoterRequest, version: int) -> flat.UpdateRaftVoterRequest:
    feature = message.k_raft_version_feature
    return flat.UpdateRaftVoterRequest(
        message.cluster_id,
        message.current_leader_epoch,
        message.voter_id,
        message.voter_directory_id,
        endpoints_from(message.listeners),
        feature.min_supported_version,
        feature.max_supported_version,
    )


def update_response_to(message: flat.UpdateRaftVoterResponse, version: int) -> codec.UpdateRaftVoterResponse:
    host, port = message.leader_endpoint or ("", 0)
    leader = codec.UpdateRaftVoterResponse.CurrentLeader(leader_id=message.leader_id, leader_epoch=message.epoch, host=host, port=port)
    return codec.UpdateRaftVoterResponse(error_code=message.error, current_leader=leader)


def update_response_from(message: codec.UpdateRaftVoterResponse, version: int) -> flat.UpdateRaftVoterResponse:
    leader = message.current_leader
    known = leader.host and 0 <= leader.port <= PORT_MAX
    endpoint = (leader.host, leader.port) if known else None
    return flat.UpdateRaftVoterResponse(message.error_code, leader.leader_id, leader.leader_epoch, endpoint)


ROWS: Final = {
    ADD_RAFT_VOTER: Row(add_request_to, add_request_from, add_response_to, add_response_from),
    REMOVE_RAFT_VOTER: Row(remove_request_to, remove_request_from, remove_response_to, remove_response_from),
    UPDATE_RAFT_VOTER: Row(update_request_to, update_request_from, update_response_to, update_response_from),
}
