"""AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter, DescribeQuorum and ApiVersions.

Source: their schemas; KIP-584, KIP-595, KIP-853, KIP-1186."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final

from metashell import __version__
from metashell.codec import messages as codec
from metashell.codec.codes import ADD_RAFT_VOTER, API_VERSIONS, DESCRIBE_QUORUM, REMOVE_RAFT_VOTER, UPDATE_RAFT_VOTER
from metashell.codec.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from metashell.quorum.raft import messages as flat
from metashell.quorum.raft.messages import OURS, PORT_MAX, TOPIC, Row, UnsupportedVersionError, endpoints_from, endpoints_to


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


VOTER_ROWS: Final = {
    ADD_RAFT_VOTER: Row(add_request_to, add_request_from, add_response_to, add_response_from),
    REMOVE_RAFT_VOTER: Row(remove_request_to, remove_request_from, remove_response_to, remove_response_from),
    UPDATE_RAFT_VOTER: Row(update_request_to, update_request_from, update_response_to, update_response_from),
}


# DescribeQuorum and ApiVersions


KRAFT_VERSION: Final = "kraft.version"
FEATURES_FROM: Final = 3
FEATURES_FROM_ZERO: Final = 4
"""Older clients cannot read a feature whose lowest level is 0, so it is left out for them."""


def describe_request_to(message: flat.DescribeQuorumRequest, version: int) -> codec.DescribeQuorumRequest:
    made_by = codec.DescribeQuorumRequest
    topics = []
    for name, partitions in _by_topic(message.partitions):
        topics.append(
            made_by.TopicData(topic_name=name, partitions=tuple(made_by.PartitionData(partition_index=index) for index in partitions))
        )
    return made_by(topics=tuple(topics))


def describe_request_from(message: codec.DescribeQuorumRequest, version: int) -> flat.DescribeQuorumRequest:
    return flat.DescribeQuorumRequest(_listed(message.topics))


def describe_response_to(message: flat.DescribeQuorumResponse, version: int) -> codec.DescribeQuorumResponse:
    made_by = codec.DescribeQuorumResponse
    if message.top_error:
        return made_by(error_code=message.top_error)
    if names_unknown(message):
        return made_by(topics=_unknown_topics(message.unknown))
    partition = made_by.PartitionData(
        error_code=message.error,
        leader_id=message.leader_id,
        leader_epoch=message.epoch,
        high_watermark=message.high_watermark,
        current_voters=_states_to(message.voters, version),
        observers=_states_to(message.observers, version),
    )
    made = made_by(topics=(made_by.TopicData(topic_name=TOPIC, partitions=(partition,)),))
    if version >= 2:
        listener = made_by.Listener
        made.nodes = tuple(made_by.Node(node_id=id, listeners=endpoints_to(listener, endpoints)) for id, endpoints in message.nodes)
    return made


def describe_response_from(message: codec.DescribeQuorumResponse, version: int) -> flat.DescribeQuorumResponse:
    if message.error_code:
        return flat.DescribeQuorumResponse(top_error=message.error_code)
    listed = _listed(message.topics)
    found = message.topics[0].partitions[0] if listed == ((TOPIC, 0),) and len(message.topics) == 1 else None
    if found is None or found.error_code == UNKNOWN_TOPIC_OR_PARTITION:
        return flat.DescribeQuorumResponse(error=UNKNOWN_TOPIC_OR_PARTITION, unknown=listed)
    return flat.DescribeQuorumResponse(
        error=found.error_code,
        leader_id=found.leader_id,
        epoch=found.leader_epoch,
        high_watermark=found.high_watermark,
        voters=_states_from(found.current_voters),
        observers=_states_from(found.observers),
        nodes=tuple((node.node_id, endpoints_from(node.listeners)) for node in message.nodes),
    )


def names_unknown(message: flat.DescribeQuorumResponse) -> bool:
    """Whether an answer only repeats partitions that nobody knows."""
    return bool(message.unknown) or message.error == UNKNOWN_TOPIC_OR_PARTITION


def api_versions_request_to(message: flat.ApiVersionsRequest, version: int) -> codec.ApiVersionsRequest:
    return codec.ApiVersionsRequest(client_software_name="metashell", client_software_version=__version__)


def api_versions_request_from(message: codec.ApiVersionsRequest, version: int) -> flat.ApiVersionsRequest:
    return flat.ApiVersionsRequest()


def api_versions_response_to(message: flat.ApiVersionsResponse, version: int) -> codec.ApiVersionsResponse:
    made_by = codec.ApiVersionsResponse
    if message.top_error:
        return made_by(error_code=message.top_error)
    made = made_by(
        api_keys=tuple(made_by.ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in sorted(OURS.items()))
    )
    levels = message.kraft_versions
    if levels is not None and tells_feature(levels[0], version):
        made.supported_features = (made_by.SupportedFeatureKey(name=KRAFT_VERSION, min_version=levels[0], max_version=levels[1]),)
    return made


def api_versions_response_from(message: codec.ApiVersionsResponse, version: int) -> flat.ApiVersionsResponse:
    if message.error_code:
        return flat.ApiVersionsResponse(message.error_code)
    for feature in message.supported_features:
        if feature.name == KRAFT_VERSION:
            return flat.ApiVersionsResponse(0, (feature.min_version, feature.max_version))
    return flat.ApiVersionsResponse()


def tells_feature(lowest: int, version: int) -> bool:
    """Whether an answer of a version holds a feature with that lowest level."""
    return version >= FEATURES_FROM_ZERO or (version >= FEATURES_FROM and lowest > 0)


def _states_to(states: Iterable[flat.ReplicaState], version: int) -> tuple[Any, ...]:
    made = []
    for state in states:
        entry = codec.DescribeQuorumResponse.ReplicaState(
            replica_id=state.id,
            log_end_offset=state.log_end_offset,
            last_fetch_timestamp=state.last_fetch_timestamp,
            last_caught_up_timestamp=state.last_caught_up_timestamp,
        )
        if version >= 2:
            entry.replica_directory_id = state.directory_id
        made.append(entry)
    return tuple(made)


def _states_from(entries: Iterable[Any]) -> tuple[flat.ReplicaState, ...]:
    return tuple(
        flat.ReplicaState(
            entry.replica_id,
            entry.replica_directory_id,
            entry.log_end_offset,
            entry.last_fetch_timestamp,
            entry.last_caught_up_timestamp,
        )
        for entry in entries
    )


def _listed(topics: Iterable[Any]) -> tuple[tuple[str, int], ...]:
    return tuple((topic.topic_name, partition.partition_index) for topic in topics for partition in topic.partitions)


def _by_topic(partitions: Sequence[tuple[str, int]]) -> list[tuple[str, list[int]]]:
    return [(name, [index for _, index in group]) for name, group in groupby(partitions, lambda partition: partition[0])]


def _unknown_topics(unknown: Sequence[tuple[str, int]]) -> tuple[Any, ...]:
    made_by = codec.DescribeQuorumResponse
    topics = []
    for name, indexes in _by_topic(unknown):
        partitions = tuple(made_by.PartitionData(partition_index=index, error_code=UNKNOWN_TOPIC_OR_PARTITION) for index in indexes)
        topics.append(made_by.TopicData(topic_name=name, partitions=partitions))
    return tuple(topics)


DESCRIBE_ROWS: Final = {
    API_VERSIONS: Row(api_versions_request_to, api_versions_request_from, api_versions_response_to, api_versions_response_from),
    DESCRIBE_QUORUM: Row(describe_request_to, describe_request_from, describe_response_to, describe_response_from),
}
