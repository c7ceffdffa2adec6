"""The voters of the quorum, and the control records that raft writes: voter sets, kraft.version, leader changes, headers of snapshots.

A `VoterSet` says who the voters are, where they listen, and which levels of kraft.version they support. It never changes: each change makes
another one, or None where it is not allowed. Sets are equal where all keys, endpoints and levels are; the order of listeners does not
count. Ids are ascending in every set. `AddVoter` and `RemoveVoter` are changes in progress, from the request until the record is committed.

A value of a control record is one of `ControlValue`; a VotersRecord is the `VoterSet` it names. Batches have the shape that Kafka
writes: no compression, record timestamps and offsets counted from the batch, no headers. Parsing refuses what kills a real Kafka
that reads it (unknown types, transaction markers, timestamp deltas, headers) and what no VoterSet can hold.

Source: KIP-595, KIP-630, KIP-853; org.apache.kafka.raft.VoterSet, org.apache.kafka.raft.internals.RecordsIterator,
MemoryRecords.writeLeaderChangeMessage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from metashell.codec.batch_writer import (
    CONTROL_TYPE_NAMES,
    KRAFT_VERSION_RECORD,
    KRAFT_VOTERS,
    LEADER_CHANGE,
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
    control_type,
    read_control_record,
    write_control_bodies,
)
from metashell.codec.batches import BatchHeader, Record, RecordBatch
from metashell.codec.registry import message_type
from metashell.codec.releases import KRAFT_VERSION, supported_features, unsupported_features
from metashell.common.errors import DecodeError
from metashell.common.values import ZERO_UUID, ReplicaKey
from metashell.quorum.raft.messages import BATCH_SIZE_MAX, AddRaftVoterResponse, Endpoint, Endpoints, RaftConfig, RemoveRaftVoterResponse


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
        """Return its endpoint of a listener, by the upper-cased name."""
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
        """Return a voter's endpoint, None where the voter or its listener is not known."""
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


class ChangeInProgress:
    """`offset` is that of the record with the new voters, None while there is none; `token` is the request that waits for the answer."""

    __slots__ = ("deadline_ms", "is_answered", "key", "offset", "token")

    def __init__(self, token: object, key: ReplicaKey, offset: int | None, deadline_ms: int) -> None:
        self.token = token
        self.key = key
        self.offset = offset
        self.deadline_ms = deadline_ms
        self.is_answered = False


class AddVoter(ChangeInProgress):
    """A voter that is being added: first it is asked for its levels, then its record waits for the commit."""

    __slots__ = ("endpoints", "waits_for_commit")
    make_response = AddRaftVoterResponse

    def __init__(self, token: object, key: ReplicaKey, endpoints: Endpoints, waits_for_commit: bool, deadline_ms: int) -> None:
        super().__init__(token, key, None, deadline_ms)
        self.endpoints = endpoints
        self.waits_for_commit = waits_for_commit


class RemoveVoter(ChangeInProgress):
    """A voter that is being removed, by the record at `offset`."""

    __slots__ = ()
    make_response = RemoveRaftVoterResponse


VoterChange: TypeAlias = AddVoter | RemoveVoter


_MIN_LEVEL, _MAX_LEVEL = supported_features()[KRAFT_VERSION]


class NewerControlError(DecodeError):
    """A control record of a type, or a level of kraft.version, that this release does not know. `log_offset` is where it lies."""

    def __init__(self, message: str, log_offset: int) -> None:
        super().__init__(message)
        self.log_offset = log_offset


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderChange:
    """The first record of an epoch: its leader, the voters at its election, and those that granted, the leader among them."""

    leader_id: int
    voters: tuple[int, ...]
    granting: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KRaftVersion:
    """The finalized level of the feature kraft.version."""

    level: int


@dataclass(frozen=True, slots=True)
class SnapshotHeader:
    """The first record of a snapshot; the timestamp (ms) is the newest of the log that the snapshot stands for."""

    last_contained_log_timestamp: int


@dataclass(frozen=True, slots=True)
class SnapshotFooter:
    """The last record of a snapshot."""


ControlValue: TypeAlias = LeaderChange | KRaftVersion | VoterSet | SnapshotHeader | SnapshotFooter
LOG_TYPES: Final = frozenset((LEADER_CHANGE, KRAFT_VERSION_RECORD, KRAFT_VOTERS))
SNAPSHOT_TYPES: Final = frozenset((SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION_RECORD, KRAFT_VOTERS))


def write_control_batch(base_offset: int, epoch: int, timestamp: int, values: Sequence[ControlValue]) -> bytes:
    """One batch of control records. Units: `timestamp` is Unix ms. Errors: EncodeError for an endpoint that does not fit."""
    bodies = [_RECORD_OF[value.__class__](value) for value in values]
    return write_control_bodies(base_offset, bodies, timestamp, leader_epoch=epoch)


def read_control_batch(data: bytes, header: BatchHeader, allowed: frozenset[int] = LOG_TYPES) -> list[ControlValue]:
    """The values of a control batch, one an offset from its base on.

    Shape: `data` is exactly the batch; its CRC was checked. `allowed` are the types that may be there.
    Errors: DecodeError, one line, for whatever a reader of the log could not take.
    """
    values: list[ControlValue] = []
    for record in RecordBatch(header, 0, data).records(BATCH_SIZE_MAX):
        values.append(_read_value(record, header, header.base_offset + len(values), allowed))
    if len(values) != header.last_offset_delta + 1:
        raise DecodeError(
            f"control batch at offset {header.base_offset} has {len(values)} records for {header.last_offset_delta + 1} offsets"
        )
    return values


def _read_value(record: Record, header: BatchHeader, offset: int, allowed: frozenset[int]) -> ControlValue:
    if record.offset != offset:
        raise DecodeError(f"control record at offset {offset} says it is at {record.offset}")
    if record.timestamp != header.base_timestamp:
        raise DecodeError(f"control record at offset {offset} has another timestamp than its batch")
    if record.headers:
        raise DecodeError(f"control record at offset {offset} has headers")
    type = control_type(record.key)
    if type not in CONTROL_TYPE_NAMES:
        raise NewerControlError(f"control record type {type} is not known", offset)
    if type not in allowed:
        raise DecodeError(f"control record at offset {offset} has type {type}, which does not belong there")
    body = read_control_record(record.key, record.value).body
    if type == KRAFT_VERSION_RECORD and body.k_raft_version > _MAX_LEVEL:
        [unsupported] = unsupported_features({KRAFT_VERSION: body.k_raft_version})
        raise NewerControlError(unsupported.text, offset)
    value: ControlValue = _VALUE_OF[type](body)
    return value


def _leader_change_record(value: Any) -> tuple[int, Any]:
    cls = message_type("control", "LeaderChangeMessage").cls
    body = cls(
        version=0,
        leader_id=value.leader_id,
        voters=tuple(cls.Voter(voter_id=id) for id in value.voters),
        granting_voters=tuple(cls.Voter(voter_id=id) for id in value.granting),
    )
    return LEADER_CHANGE, body


def _version_record(value: Any) -> tuple[int, Any]:
    return KRAFT_VERSION_RECORD, message_type("control", "KRaftVersionRecord").cls(version=0, k_raft_version=value.level)


def _voters_record(value: Any) -> tuple[int, Any]:
    cls = message_type("control", "VotersRecord").cls
    voters = tuple(
        cls.Voter(
            voter_id=voter.key.id,
            voter_directory_id=voter.key.directory_id,
            endpoints=tuple(cls.Endpoint(name=name, host=host, port=port) for name, (host, port) in voter.endpoints.items()),
            k_raft_version_feature=cls.KRaftVersionFeature(
                min_supported_version=voter.min_version, max_supported_version=voter.max_version
            ),
        )
        for voter in value.voters.values()
    )
    return KRAFT_VOTERS, cls(version=0, voters=voters)


def _header_record(value: Any) -> tuple[int, Any]:
    cls = message_type("control", "SnapshotHeaderRecord").cls
    return SNAPSHOT_HEADER, cls(version=0, last_contained_log_timestamp=value.last_contained_log_timestamp)


def _footer_record(value: Any) -> tuple[int, Any]:
    return SNAPSHOT_FOOTER, message_type("control", "SnapshotFooterRecord").cls(version=0)


def _leader_change(body: Any) -> LeaderChange:
    return LeaderChange(
        leader_id=body.leader_id,
        voters=tuple(voter.voter_id for voter in body.voters),
        granting=tuple(voter.voter_id for voter in body.granting_voters),
    )


def _version(body: Any) -> KRaftVersion:
    if body.k_raft_version < _MIN_LEVEL:
        raise DecodeError(f"kraft.version {body.k_raft_version} is not known")
    return KRaftVersion(body.k_raft_version)


def _voters(body: Any) -> VoterSet:
    voters = [_voter(voter) for voter in body.voters]
    found = VoterSet(voters)
    if not voters:
        raise DecodeError("voters record names no voter")
    if len(found) != len(voters) or found.ids[0] < 0:
        raise DecodeError(f"voters record has ids {[voter.key.id for voter in voters]}")
    return found


def _voter(body: Any) -> Voter:
    endpoints: dict[str, Endpoint] = {endpoint.name.upper(): (endpoint.host, endpoint.port) for endpoint in body.endpoints}
    feature = body.k_raft_version_feature
    key = ReplicaKey(body.voter_id, body.voter_directory_id)
    return Voter(key, endpoints, feature.min_supported_version, feature.max_supported_version)


def _header(body: Any) -> SnapshotHeader:
    return SnapshotHeader(body.last_contained_log_timestamp)


def _footer(body: Any) -> SnapshotFooter:
    return SnapshotFooter()


_RECORD_OF: dict[type, Any] = {
    LeaderChange: _leader_change_record,
    KRaftVersion: _version_record,
    VoterSet: _voters_record,
    SnapshotHeader: _header_record,
    SnapshotFooter: _footer_record,
}
_VALUE_OF: dict[int, Any] = {
    LEADER_CHANGE: _leader_change,
    KRAFT_VERSION_RECORD: _version,
    KRAFT_VOTERS: _voters,
    SNAPSHOT_HEADER: _header,
    SNAPSHOT_FOOTER: _footer,
}
