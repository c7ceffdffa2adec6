"""Versions of the raft APIs, the flat message of each API, and what all conversions share: the one partition, and endpoints by listener.

Source: the schemas of Kafka 4.4; KIP-595, KIP-853, KIP-996, KIP-1166, KIP-1186."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from metashell.codec.codes import (
    ADD_RAFT_VOTER,
    API_VERSIONS,
    BEGIN_QUORUM_EPOCH,
    DESCRIBE_QUORUM,
    END_QUORUM_EPOCH,
    FETCH,
    FETCH_SNAPSHOT,
    REMOVE_RAFT_VOTER,
    UPDATE_RAFT_VOTER,
    VOTE,
)
from metashell.common.errors import MetashellError
from metashell.quorum.raft import messages as flat
from metashell.quorum.raft.messages import Endpoint, Endpoints, Request, Response

VersionRanges: TypeAlias = Mapping[int, tuple[int, int]]
"""Api key to the lowest and the highest version."""


REQUEST_CLASSES: Final[Mapping[int, type[flat.Request]]] = MappingProxyType(
    {
        FETCH: flat.FetchRequest,
        API_VERSIONS: flat.ApiVersionsRequest,
        VOTE: flat.VoteRequest,
        BEGIN_QUORUM_EPOCH: flat.BeginQuorumEpochRequest,
        END_QUORUM_EPOCH: flat.EndQuorumEpochRequest,
        DESCRIBE_QUORUM: flat.DescribeQuorumRequest,
        FETCH_SNAPSHOT: flat.FetchSnapshotRequest,
        ADD_RAFT_VOTER: flat.AddRaftVoterRequest,
        REMOVE_RAFT_VOTER: flat.RemoveRaftVoterRequest,
        UPDATE_RAFT_VOTER: flat.UpdateRaftVoterRequest,
    }
)
RESPONSE_CLASSES: Final[Mapping[int, type[flat.Response]]] = MappingProxyType(
    {
        FETCH: flat.FetchResponse,
        API_VERSIONS: flat.ApiVersionsResponse,
        VOTE: flat.VoteResponse,
        BEGIN_QUORUM_EPOCH: flat.BeginQuorumEpochResponse,
        END_QUORUM_EPOCH: flat.EndQuorumEpochResponse,
        DESCRIBE_QUORUM: flat.DescribeQuorumResponse,
        FETCH_SNAPSHOT: flat.FetchSnapshotResponse,
        ADD_RAFT_VOTER: flat.AddRaftVoterResponse,
        REMOVE_RAFT_VOTER: flat.RemoveRaftVoterResponse,
        UPDATE_RAFT_VOTER: flat.UpdateRaftVoterResponse,
    }
)
_KEYS: Final[Mapping[type[object], int]] = {found: key for classes in (REQUEST_CLASSES, RESPONSE_CLASSES) for key, found in classes.items()}

OURS: Final[VersionRanges] = MappingProxyType(
    {
        FETCH: (4, 18),
        API_VERSIONS: (0, 5),
        VOTE: (0, 2),
        BEGIN_QUORUM_EPOCH: (0, 1),
        END_QUORUM_EPOCH: (0, 1),
        DESCRIBE_QUORUM: (0, 2),
        FETCH_SNAPSHOT: (0, 1),
        ADD_RAFT_VOTER: (0, 1),
        REMOVE_RAFT_VOTER: (0, 0),
        UPDATE_RAFT_VOTER: (0, 0),
    }
)
"""What a controller of Kafka 4.2 and later has."""


class UnsupportedVersionError(MetashellError):
    """A message does not fit the negotiated version: the core gets a failure with UNSUPPORTED_VERSION."""


def api_key_of(message: flat.Request | flat.Response) -> int:
    """The api key of a flat message."""
    return _KEYS[type(message)]


TOPIC: Final = "__cluster_metadata"
PORT_MAX: Final = 65535


class Row(NamedTuple):
    """The functions that turn an API's flat messages into codec's of a version, and back."""

    request_to: Callable[[Any, int], Any]
    request_from: Callable[[Any, int], Request]
    response_to: Callable[[Any, int], Any]
    response_from: Callable[[Any, int], Response]


def only_partition(topics: Sequence[Any]) -> Any | None:
    """The one partition of the one topic, where that is the metadata partition; else None."""
    if len(topics) != 1 or topics[0].topic_name != TOPIC:
        return None
    partitions = topics[0].partitions
    return partitions[0] if len(partitions) == 1 and partitions[0].partition_index == 0 else None


def endpoints_from(entries: Iterable[Any]) -> Endpoints:
    """Listener structs as endpoints; names upper-cased, of two with one name the later counts."""
    return {entry.name.upper(): (entry.host, entry.port) for entry in entries}


def endpoints_to(make: Callable[..., Any], endpoints: Endpoints) -> tuple[Any, ...]:
    """Endpoints as listener structs."""
    return tuple(make(name=name, host=host, port=port) for name, (host, port) in endpoints.items())


def leader_endpoint_from(entries: Iterable[Any], leader_id: int) -> Endpoint | None:
    """The address of a leader among NodeEndpoints: the first of that node that has a port which exists (Fetch has it as int32)."""
    for entry in entries:
        if entry.node_id == leader_id and 0 <= entry.port <= PORT_MAX:
            return entry.host, entry.port
    return None


def leader_endpoint_to(make: Callable[..., Any], leader_id: int, endpoint: Endpoint | None) -> tuple[Any, ...]:
    """NodeEndpoints with the leader alone, or none."""
    return () if endpoint is None else (make(node_id=leader_id, host=endpoint[0], port=endpoint[1]),)
