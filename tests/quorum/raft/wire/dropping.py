"""What a peer of an older version sees of a flat message, without a byte being written.

Always equal to decoding what encoding made; tests hold it to that. The simulation calls it for every message between two generations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from metashell.codec.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from metashell.common.values import ZERO_UUID, OffsetAndEpoch, ReplicaKey
from metashell.quorum.raft import messages as flat
from metashell.quorum.raft.messages import UnsupportedVersionError
from metashell.quorum.raft.wire import replication
from metashell.quorum.raft.wire.administration import names_unknown, tells_feature

_M = TypeVar("_M")
TOP_ERROR_FROM: Final = 7
"""The version of Fetch from which an answer has an error of its own."""


def drop(message: _M, version: int) -> _M:
    """The message as a peer of that version reads it: the same object where nothing is lost, else a new one.

    Errors: UnsupportedVersionError, as `encode_request`.
    """
    made: _M = _TABLE[type(message)](message, version)
    return made


def _vote_request(message: flat.VoteRequest, version: int) -> flat.VoteRequest:
    if message.pre_vote and version < 2:
        raise UnsupportedVersionError(f"VoteRequest version {version} has no PreVote")
    if not message.shape_ok:
        voter_id = message.voter_id if version >= 1 else -1
        return flat.VoteRequest(message.cluster_id, voter_id, ZERO_UUID, 0, 0, ZERO_UUID, 0, 0, shape_ok=False)
    if version >= 1:
        return message
    return replace(message, voter_id=-1, voter_directory_id=ZERO_UUID, candidate_directory_id=ZERO_UUID)


def _vote_response(message: flat.VoteResponse, version: int) -> flat.VoteResponse:
    return _alone(message) or _without_endpoint(message, version >= 1)


def _begin_request(message: flat.BeginQuorumEpochRequest, version: int) -> flat.BeginQuorumEpochRequest:
    if not message.shape_ok:
        voter_id, endpoints = (message.voter_id, message.endpoints) if version >= 1 else (-1, {})
        return flat.BeginQuorumEpochRequest(message.cluster_id, voter_id, ZERO_UUID, 0, 0, endpoints, shape_ok=False)
    return message if version >= 1 else replace(message, voter_id=-1, voter_directory_id=ZERO_UUID, endpoints={})


def _begin_response(message: flat.BeginQuorumEpochResponse, version: int) -> flat.BeginQuorumEpochResponse:
    return _alone(message) or _without_endpoint(message, version >= 1)


def _end_request(message: flat.EndQuorumEpochRequest, version: int) -> flat.EndQuorumEpochRequest:
    if not message.shape_ok:
        endpoints = message.endpoints if version >= 1 else {}
        return flat.EndQuorumEpochRequest(message.cluster_id, 0, 0, (), endpoints, shape_ok=False)
    if version >= 1:
        return message
    return replace(message, candidates=tuple(ReplicaKey(key.id) for key in message.candidates), endpoints={})


def _end_response(message: flat.EndQuorumEpochResponse, version: int) -> flat.EndQuorumEpochResponse:
    return _alone(message) or _without_endpoint(message, version >= 1)


def _fetch_request(message: flat.FetchRequest, version: int) -> flat.FetchRequest:
    if version < replication.LAST_EPOCH_FROM:
        raise UnsupportedVersionError(f"FetchRequest version {version} has no LastFetchedEpoch")
    if not message.shape_ok or version < replication.TOPIC_IDS_FROM:
        return flat.FetchRequest(
            message.cluster_id, message.replica_id, ZERO_UUID, -1, 0, -1, message.max_wait_ms, message.max_size, shape_ok=False
        )
    if version >= 18:
        return message
    directory_id = message.directory_id if version >= 17 else ZERO_UUID
    return replace(message, directory_id=directory_id, high_watermark=flat.HIGH_WATERMARK_NOT_SENT)


def _fetch_response(message: flat.FetchResponse, version: int) -> flat.FetchResponse:
    if message.top_error and version < TOP_ERROR_FROM:
        return flat.FetchResponse(shape_ok=False)
    alone = _alone(message)
    if alone is not None:
        return alone
    if version < replication.TOPIC_IDS_FROM:
        return flat.FetchResponse(shape_ok=False)
    if message.diverging is not None and message.diverging.epoch < 0:
        message = replace(message, diverging=None)
    if message.snapshot_id is not None and message.snapshot_id.offset < 0 and message.snapshot_id.epoch < 0:
        message = replace(message, snapshot_id=None)
    return _without_endpoint(message, version >= replication.ENDPOINTS_FROM)


def _snapshot_request(message: flat.FetchSnapshotRequest, version: int) -> flat.FetchSnapshotRequest:
    if not message.shape_ok:
        none = OffsetAndEpoch(0, 0)
        return flat.FetchSnapshotRequest(message.cluster_id, message.replica_id, ZERO_UUID, 0, none, 0, message.max_size, shape_ok=False)
    return message if version >= 1 else replace(message, directory_id=ZERO_UUID)


def _snapshot_response(message: flat.FetchSnapshotResponse, version: int) -> flat.FetchSnapshotResponse:
    return _alone(message) or _without_endpoint(message, version >= 1)


def _add_request(message: flat.AddRaftVoterRequest, version: int) -> flat.AddRaftVoterRequest:
    if not message.ack_when_committed and version < 1:
        raise UnsupportedVersionError(f"AddRaftVoterRequest version {version} has no AckWhenCommitted")
    return message


def _same(message: _M, version: int) -> _M:
    return message


def _update_response(message: flat.UpdateRaftVoterResponse, version: int) -> flat.UpdateRaftVoterResponse:
    nameless = message.leader_endpoint is not None and not message.leader_endpoint[0]
    return replace(message, leader_endpoint=None) if nameless else message


def _describe_response(message: flat.DescribeQuorumResponse, version: int) -> flat.DescribeQuorumResponse:
    if message.top_error:
        return flat.DescribeQuorumResponse(top_error=message.top_error)
    if names_unknown(message):
        return flat.DescribeQuorumResponse(error=UNKNOWN_TOPIC_OR_PARTITION, unknown=message.unknown)
    if version >= 2:
        return message
    voters, observers = (tuple(_older_state(state, version) for state in states) for states in (message.voters, message.observers))
    return replace(message, voters=voters, observers=observers, nodes=())


def _older_state(state: flat.ReplicaState, version: int) -> flat.ReplicaState:
    if version >= 1:
        return replace(state, directory_id=ZERO_UUID)
    return flat.ReplicaState(state.id, log_end_offset=state.log_end_offset)


def _api_versions_response(message: flat.ApiVersionsResponse, version: int) -> flat.ApiVersionsResponse:
    if message.top_error:
        return flat.ApiVersionsResponse(message.top_error)
    levels = message.kraft_versions
    return message if levels is None or tells_feature(levels[0], version) else flat.ApiVersionsResponse()


def _alone(message: _M) -> _M | None:
    """A response with what stands alone in it, a top-level error or a wrong shape; None where neither is."""
    any_message: Any = message
    if any_message.top_error:
        return type(message)(top_error=any_message.top_error)  # type: ignore[call-arg]
    return None if any_message.shape_ok else type(message)(shape_ok=False)  # type: ignore[call-arg]


def _without_endpoint(message: _M, has_endpoints: bool) -> _M:
    any_message: Any = message
    lost = any_message.leader_endpoint is not None and not has_endpoints
    made: _M = replace(any_message, leader_endpoint=None) if lost else message
    return made


_TABLE: Final[Mapping[type[object], Callable[[Any, int], Any]]] = {
    flat.VoteRequest: _vote_request,
    flat.VoteResponse: _vote_response,
    flat.BeginQuorumEpochRequest: _begin_request,
    flat.BeginQuorumEpochResponse: _begin_response,
    flat.EndQuorumEpochRequest: _end_request,
    flat.EndQuorumEpochResponse: _end_response,
    flat.FetchRequest: _fetch_request,
    flat.FetchResponse: _fetch_response,
    flat.FetchSnapshotRequest: _snapshot_request,
    flat.FetchSnapshotResponse: _snapshot_response,
    flat.AddRaftVoterRequest: _add_request,
    flat.AddRaftVoterResponse: _same,
    flat.RemoveRaftVoterRequest: _same,
    flat.RemoveRaftVoterResponse: _same,
    flat.UpdateRaftVoterRequest: _same,
    flat.UpdateRaftVoterResponse: _update_response,
    flat.DescribeQuorumRequest: _same,
    flat.DescribeQuorumResponse: _describe_response,
    flat.ApiVersionsRequest: _same,
    flat.ApiVersionsResponse: _api_versions_response,
}
