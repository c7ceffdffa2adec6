"""Messages between replicas as flat values: one class a message, whatever its version on the wire. Also the replica's settings and errors.

`wire` turns messages into codec's of a negotiated version and back. A field that a version lacks has its default here, so the
core never asks for a version. What was malformed beyond the fields of a flat value arrives with `shape_ok` False and is answered
by the core in the order of the checks that Kafka makes.

`RaftConfig` has the units and defaults of Kafka 4.3. The errors are those of calls by the own application; nothing that a peer sends
raises.

Units: epochs and node ids are int32, offsets and times (ms) int64; -1 stands for "none" as on the wire; a directory id of zeros is none.
Source: KIP-595, KIP-630, KIP-853, KIP-996, KIP-1166, KIP-1186; VoteRequest.json and its neighbours.

The versions of the raft APIs, the flat message of each API, and what all conversions share stand at the end.
Source: the schemas of Kafka 4.4; KIP-595, KIP-853, KIP-996, KIP-1166, KIP-1186."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
from metashell.common.values import NO_LEADER, ZERO_UUID, OffsetAndEpoch, ReplicaKey
from metashell.quorum.raft import messages as flat

Endpoint: TypeAlias = tuple[str, int]
"""Host as text, port."""
Endpoints: TypeAlias = Mapping[str, Endpoint]
"""By listener name, upper-cased; the order is the sender's."""

UNKNOWN_HIGH_WATERMARK: Final = -1
HIGH_WATERMARK_NOT_SENT: Final = (1 << 63) - 1
"""What a Fetch below version 18 says of its high watermark: it is released by any answer of the leader's."""


@dataclass(slots=True)
class PartitionResponse:
    """The fields of every answer about the metadata partition. Where `top_error` is not 0 the other fields were not sent."""

    top_error: int = 0
    error: int = 0
    leader_id: int = NO_LEADER
    epoch: int = -1
    leader_endpoint: Endpoint | None = None
    shape_ok: bool = field(default=True, kw_only=True)


@dataclass(slots=True)
class VoteRequest:
    """A candidate's or prospective's question; `last_offset` is its log end offset, exclusive."""

    cluster_id: str | None
    voter_id: int
    voter_directory_id: bytes
    epoch: int
    candidate_id: int
    candidate_directory_id: bytes
    last_epoch: int
    last_offset: int
    pre_vote: bool = False
    shape_ok: bool = True

    @property
    def claimed_end(self) -> tuple[int, int]:
        """(offset, epoch) of the end that the sender says its log has."""
        return self.last_offset, self.last_epoch


@dataclass(slots=True)
class VoteResponse(PartitionResponse):
    granted: bool = False


@dataclass(slots=True)
class BeginQuorumEpochRequest:
    """A leader announces itself to a voter."""

    cluster_id: str | None
    voter_id: int
    voter_directory_id: bytes
    leader_id: int
    epoch: int
    endpoints: Endpoints = field(default_factory=dict)
    shape_ok: bool = True


class BeginQuorumEpochResponse(PartitionResponse):
    __slots__ = ()


@dataclass(slots=True)
class EndQuorumEpochRequest:
    """A leader gives up its epoch; `candidates` are in the order in which they should stand."""

    cluster_id: str | None
    leader_id: int
    epoch: int
    candidates: tuple[ReplicaKey, ...] = ()
    endpoints: Endpoints = field(default_factory=dict)
    shape_ok: bool = True


class EndQuorumEpochResponse(PartitionResponse):
    __slots__ = ()


@dataclass(slots=True)
class FetchRequest:
    """A replica asks for what follows `fetch_offset`; `last_epoch` is its last fetched epoch, never -1."""

    cluster_id: str | None
    replica_id: int
    directory_id: bytes
    epoch: int
    fetch_offset: int
    last_epoch: int
    max_wait_ms: int
    max_size: int
    high_watermark: int = HIGH_WATERMARK_NOT_SENT
    shape_ok: bool = True

    @property
    def claimed_end(self) -> tuple[int, int]:
        """As VoteRequest."""
        return self.fetch_offset, self.last_epoch


@dataclass(slots=True)
class FetchResponse(PartitionResponse):
    """`diverging` is where the leader's log ends for the asked epoch; `records` are whole batches, empty for none."""

    high_watermark: int = UNKNOWN_HIGH_WATERMARK
    log_start_offset: int = -1
    diverging: OffsetAndEpoch | None = None
    snapshot_id: OffsetAndEpoch | None = None
    records: bytes = b""


@dataclass(slots=True)
class FetchSnapshotRequest:
    """A replica asks for the bytes of a snapshot from `position` on."""

    cluster_id: str | None
    replica_id: int
    directory_id: bytes
    epoch: int
    snapshot_id: OffsetAndEpoch
    position: int
    max_size: int
    is_known_partition: bool = True
    shape_ok: bool = True


@dataclass(slots=True)
class FetchSnapshotResponse(PartitionResponse):
    """`size` is the snapshot's whole size in bytes; `records` need not end at a batch."""

    snapshot_id: OffsetAndEpoch = field(default_factory=lambda: OffsetAndEpoch(-1, -1))
    size: int = 0
    position: int = 0
    records: bytes = b""


@dataclass(slots=True)
class AddRaftVoterRequest:
    """KIP-853; `timeout_ms` has no effect, as in Kafka."""

    cluster_id: str | None
    voter_id: int
    directory_id: bytes
    endpoints: Endpoints
    timeout_ms: int
    ack_when_committed: bool = True


@dataclass(slots=True)
class RemoveRaftVoterRequest:
    """KIP-853."""

    cluster_id: str | None
    voter_id: int
    directory_id: bytes


@dataclass(slots=True)
class UpdateRaftVoterRequest:
    """A voter's endpoints, and the kraft.version levels it supports, for the leader."""

    cluster_id: str | None
    epoch: int
    voter_id: int
    directory_id: bytes
    endpoints: Endpoints
    min_version: int
    max_version: int


@dataclass(slots=True)
class ChangeVoterResponse:
    """The answer to Add and RemoveRaftVoter."""

    error: int = 0
    message: str | None = None


class AddRaftVoterResponse(ChangeVoterResponse):
    __slots__ = ()


class RemoveRaftVoterResponse(ChangeVoterResponse):
    __slots__ = ()


@dataclass(slots=True)
class UpdateRaftVoterResponse:
    error: int = 0
    leader_id: int = NO_LEADER
    epoch: int = -1
    leader_endpoint: Endpoint | None = None


@dataclass(slots=True)
class DescribeQuorumRequest:
    """`partitions` are the asked topic partitions, for the answer that names what is not known."""

    partitions: tuple[tuple[str, int], ...] = (("__cluster_metadata", 0),)


@dataclass(slots=True)
class ReplicaState:
    """One replica as the leader knows it; -1 where it does not."""

    id: int
    directory_id: bytes = ZERO_UUID
    log_end_offset: int = -1
    last_fetch_timestamp: int = -1
    last_caught_up_timestamp: int = -1


@dataclass(slots=True)
class DescribeQuorumResponse:
    """`unknown` repeats the asked partitions where they are not the metadata partition alone."""

    top_error: int = 0
    error: int = 0
    leader_id: int = NO_LEADER
    epoch: int = -1
    high_watermark: int = UNKNOWN_HIGH_WATERMARK
    voters: tuple[ReplicaState, ...] = ()
    observers: tuple[ReplicaState, ...] = ()
    nodes: tuple[tuple[int, Endpoints], ...] = ()
    unknown: tuple[tuple[str, int], ...] = ()


@dataclass(slots=True)
class ApiVersionsRequest:
    """A leader asks a would-be voter which levels of kraft.version it supports."""


@dataclass(slots=True)
class ApiVersionsResponse:
    """`kraft_versions` is (min, max), None where the peer did not name the feature."""

    top_error: int = 0
    kraft_versions: tuple[int, int] | None = None


AboutPartition: TypeAlias = VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest | FetchRequest | FetchSnapshotRequest
"""The requests that name the metadata partition, and may be of another shape."""
LogClaim: TypeAlias = VoteRequest | FetchRequest
"""The requests in which a replica says how far its log reaches, and by which votes are won and batches are committed."""
PlainRequest: TypeAlias = (
    BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchSnapshotRequest
    | AddRaftVoterRequest
    | RemoveRaftVoterRequest
    | UpdateRaftVoterRequest
    | DescribeQuorumRequest
    | ApiVersionsRequest
)
Request: TypeAlias = LogClaim | PlainRequest
Response: TypeAlias = (
    VoteResponse
    | BeginQuorumEpochResponse
    | EndQuorumEpochResponse
    | FetchResponse
    | FetchSnapshotResponse
    | AddRaftVoterResponse
    | RemoveRaftVoterResponse
    | UpdateRaftVoterResponse
    | DescribeQuorumResponse
    | ApiVersionsResponse
)


# The settings and errors of a replica


BATCH_SIZE_MAX = 8 * 1024 * 1024
"""Bytes of one batch, which is also the most that one atomic append may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaftConfig:
    """The identity of a replica, the peers that it knows at first, and its timing.

    `local` is None for an anonymous observer (replica id -1). `listeners` are all own controller listeners as advertised, the default one
    first. `static_voters` is controller.quorum.voters by id; `bootstrap_servers` controller.quorum.bootstrap.servers.
    `may_stand` False never leaves Unattached, Follower or Resigned: it votes and replicates but asks for no vote and no pre-vote.
    Units: ms, bytes. Source: QuorumConfig, KRaftConfigs.
    """

    cluster_id: str
    local: ReplicaKey | None
    listeners: Endpoints = field(default_factory=dict)
    default_listener: str = "CONTROLLER"
    static_voters: Mapping[int, Endpoint] = field(default_factory=dict)
    bootstrap_servers: tuple[Endpoint, ...] = ()
    is_controller: bool = True
    may_stand: bool = True
    auto_join: bool = False
    election_timeout_ms: int = 1_000
    fetch_timeout_ms: int = 2_000
    election_backoff_max_ms: int = 1_000
    append_linger_ms: int = 25
    request_timeout_ms: int = 2_000
    retry_backoff_ms: int = 20
    fetch_max_wait_ms: int = 500
    fetch_max_size: int = 1024 * 1024
    fetch_snapshot_max_size: int = 1024 * 1024
    retention_size: int = 100 * 1024 * 1024
    retention_ms: int = 7 * 24 * 3_600_000
    clean_interval_ms: int = 60_000
    min_kraft_version: int = 0
    max_kraft_version: int = 1

    def __post_init__(self) -> None:
        """Listener names are compared upper-cased, so they are upper-cased here once."""
        object.__setattr__(self, "default_listener", self.default_listener.upper())
        object.__setattr__(self, "listeners", {name.upper(): endpoint for name, endpoint in self.listeners.items()})


class RaftError(MetashellError):
    """The base of all errors of calls into a replica."""


class NotLeaderError(RaftError):
    """The replica does not lead, or not in the epoch that the caller named."""


class RecordBatchTooLargeError(RaftError):
    """The values of one atomic append do not fit in a batch; nothing was appended."""


class BufferAllocationError(RaftError):
    """Too much was prepared and not yet written; nothing was appended. Try again after the next step."""


class InvalidUpdateVersionError(RaftError):
    """A level of kraft.version that cannot be finalized; nothing was appended."""


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
