"""What the raft layer writes beside the metadata: the voter set, and who leads."""

from typing import Any, NamedTuple


class VoterEndpoint(NamedTuple):
    """One listener of a voter."""

    name: str
    host: str
    port: int


class Voter(NamedTuple):
    """A member of the quorum; a directory id of zeros is an unknown one."""

    id: int
    directory_id: bytes
    endpoints: tuple[VoterEndpoint, ...] = ()
    min_supported_version: int = 0
    max_supported_version: int = 0


class VoterSet(NamedTuple):
    """The voters, ordered by id, and the offset of the record that named them.

    Shape: the offset is that of the log; a record inside a snapshot counts at the snapshot's last contained offset.
    """

    offset: int
    voters: tuple[Voter, ...]


class Leader(NamedTuple):
    """Who won the newest election that the log records, and the ids of who could vote, ordered; static voters are named nowhere else."""

    id: int
    epoch: int
    voter_ids: tuple[int, ...] = ()


def voter_set(record: Any, offset: int) -> VoterSet:
    """The voter set that a VotersRecord names."""
    voters = (
        Voter(
            voter.voter_id,
            voter.voter_directory_id,
            tuple(VoterEndpoint(endpoint.name, endpoint.host, endpoint.port) for endpoint in voter.endpoints),
            voter.k_raft_version_feature.min_supported_version,
            voter.k_raft_version_feature.max_supported_version,
        )
        for voter in record.voters
    )
    return VoterSet(offset, tuple(sorted(voters)))
