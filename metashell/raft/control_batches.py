"""Control records: what raft itself writes into the log and into snapshots, as batches and back.

A value of a control record is one of `ControlValue`; a VotersRecord is the `VoterSet` it names. Batches have the shape that Kafka
writes: no compression, record timestamps and offsets counted from the batch, no headers. Parsing refuses what kills a real Kafka
that reads it (unknown types, transaction markers, timestamp deltas, headers) and what no VoterSet can hold.
Source: KIP-595, KIP-630, KIP-853; org.apache.kafka.raft.internals.RecordsIterator, MemoryRecords.writeLeaderChangeMessage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from metashell.codec.batch_writer import write_control_bodies
from metashell.codec.batches import BatchHeader, Record, RecordBatch
from metashell.codec.control import (
    CONTROL_TYPE_NAMES,
    KRAFT_VERSION,
    KRAFT_VOTERS,
    LEADER_CHANGE,
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
    control_type,
    read_control_record,
)
from metashell.codec.metadata_version import KRAFT_VERSION as KRAFT_VERSION_FEATURE
from metashell.codec.registry import message_type
from metashell.codec.releases import supported_features, unsupported_features
from metashell.errors import DecodeError
from metashell.raft.config import BATCH_SIZE_MAX
from metashell.raft.messages import Endpoint
from metashell.raft.voter_set import Voter, VoterSet
from metashell.values import ReplicaKey

_MIN_LEVEL, _MAX_LEVEL = supported_features()[KRAFT_VERSION_FEATURE]


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
LOG_TYPES: Final = frozenset((LEADER_CHANGE, KRAFT_VERSION, KRAFT_VOTERS))
SNAPSHOT_TYPES: Final = frozenset((SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS))


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
    if type == KRAFT_VERSION and body.k_raft_version > _MAX_LEVEL:
        [unsupported] = unsupported_features({KRAFT_VERSION_FEATURE: body.k_raft_version})
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
    return KRAFT_VERSION, message_type("control", "KRaftVersionRecord").cls(version=0, k_raft_version=value.level)


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
    KRAFT_VERSION: _version,
    KRAFT_VOTERS: _voters,
    SNAPSHOT_HEADER: _header,
    SNAPSHOT_FOOTER: _footer,
}
