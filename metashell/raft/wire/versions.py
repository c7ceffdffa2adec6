"""Which versions of the raft APIs we have, and which flat message belongs to which API.

Source: the schemas of Kafka 4.4; KIP-595, KIP-853, KIP-996, KIP-1166, KIP-1186.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from metashell.codec.api_keys import (
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
from metashell.errors import MetashellError
from metashell.raft import messages as flat

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
    """A message that cannot be said in the version that was agreed on: the core gets it as a failure with UNSUPPORTED_VERSION."""


def api_key_of(message: flat.Request | flat.Response) -> int:
    """The api key of a flat message."""
    return _KEYS[type(message)]
