"""The voters of the quorum: who they are, where they listen, and which levels of kraft.version they support.

A `VoterSet` never changes: each change makes another one, or None where it is not allowed. Sets are equal where all keys, endpoints
and levels are; the order of listeners does not count. Ids are ascending in every set.
Source: org.apache.kafka.raft.VoterSet; KIP-853.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from metashell.raft.config import RaftConfig
from metashell.raft.messages import Endpoint, Endpoints
from metashell.values import ZERO_UUID, ReplicaKey


@dataclass(frozen=True, slots=True)
class Voter:
    """One voter; `min_version` and `max_version` bound the kraft.version levels it supports."""

    key: ReplicaKey
    endpoints: Endpoints
    min_version: int = 0
    max_version: int = 0

    def __hash__(self) -> int:
        return hash(self.key)

    def supports(self, level: int) -> bool:
        return self.min_version <= level <= self.max_version

    def endpoint(self, listener: str) -> Endpoint | None:
        """Where it listens under a listener's upper-cased name."""
        return self.endpoints.get(listener)


def _id_of(voter: Voter) -> int:
    return voter.key.id


class VoterSet:
    """Voters by id. `majority_size` is the smallest number of them that is more than half."""

    __slots__ = ("_hash", "ids", "keys", "majority_size", "voters")

    def __init__(self, voters: Iterable[Voter] = ()) -> None:
        by_id = {voter.key.id: voter for voter in sorted(voters, key=_id_of)}
        self.voters: Mapping[int, Voter] = by_id
        self.ids: tuple[int, ...] = tuple(by_id)
        self.keys: tuple[ReplicaKey, ...] = tuple(voter.key for voter in by_id.values())
        self.majority_size = len(by_id) // 2 + 1
        self._hash: int | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, id: int) -> bool:
        return id in self.voters

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, VoterSet) and self.voters == other.voters)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.keys)
        return self._hash

    def __repr__(self) -> str:
        return f"VoterSet({list(self.voters.values())!r})"

    def is_voter(self, key: ReplicaKey | None) -> bool:
        """Whether the ids are equal, and the directory ids where the set knows one."""
        if key is None:
            return False
        voter = self.voters.get(key.id)
        return voter is not None and (voter.key.directory_id == ZERO_UUID or voter.key.directory_id == key.directory_id)

    def is_only_voter(self, key: ReplicaKey | None) -> bool:
        return len(self.ids) == 1 and self.is_voter(key)

    def endpoint(self, id: int, listener: str) -> Endpoint | None:
        """Where a voter listens, None where it or its listener is not known."""
        voter = self.voters.get(id)
        return None if voter is None else voter.endpoints.get(listener)

    def endpoints(self, id: int) -> Endpoints:
        """All listeners of a voter, empty for a stranger."""
        voter = self.voters.get(id)
        return {} if voter is None else voter.endpoints

    def with_voter(self, voter: Voter) -> VoterSet | None:
        """The set with one more voter, None where its id is there under any directory id."""
        return None if voter.key.id in self.voters else VoterSet((*self.voters.values(), voter))

    def without(self, key: ReplicaKey) -> VoterSet | None:
        """The set without the voter of exactly this key, None where there is none or it is the last one."""
        voter = self.voters.get(key.id)
        if voter is None or voter.key != key or len(self.ids) == 1:
            return None
        return VoterSet(other for other in self.voters.values() if other is not voter)

    def updated(self, voter: Voter) -> VoterSet | None:
        """The set with a voter's entry replaced, None where `is_voter` does not hold for its key."""
        return self.updated_by_id(voter) if self.is_voter(voter.key) else None

    def updated_by_id(self, voter: Voter) -> VoterSet | None:
        """As `updated`, but whatever directory id the set has for it."""
        if voter.key.id not in self.voters:
            return None
        return VoterSet(voter if other.key.id == voter.key.id else other for other in self.voters.values())

    def overlaps(self, other: VoterSet) -> bool:
        """Whether any majority of one has a member in any majority of the other, for sets that differ by a step."""
        common = len(set(self.keys).intersection(other.keys))
        return len(self) - common <= 1 and len(other) - common <= 1

    def supports(self, level: int) -> bool:
        """Whether every voter supports a level of kraft.version."""
        return all(voter.supports(level) for voter in self.voters.values())

    @staticmethod
    def from_static(config: RaftConfig) -> VoterSet:
        """The set of controller.quorum.voters: no directory ids, one endpoint each, kraft.version 0 only."""
        return VoterSet(Voter(ReplicaKey(id), {config.default_listener: endpoint}) for id, endpoint in config.static_voters.items())
