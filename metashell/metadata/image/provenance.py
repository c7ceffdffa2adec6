"""What an image carries beside the metadata: its source, the voter set and the leader, the faults of replay, and the loss of writing.

Voters and leader come from the control records of the Raft layer. A fault is a record that replay could not apply. A loss is information
that a record of an older metadata.version cannot hold; the caller's `LossHandler` decides whether that is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from metashell.common.errors import MetashellError


class Provenance(NamedTuple):
    """The position of an image in the log, in two voices.

    Shape: `offset` is the last offset that the image contains, `epoch` the leader epoch there; of a checkpoint they
    come from its name and its header. `file_*` are what Kafka's shell prints: the last data record's offset in the
    file's own numbering, its batch's epoch, and that batch's largest timestamp. All are -1 for nothing.
    `end_offset` is where reading ended; what lies before `certain_to` is committed for certain, None if nothing is
    known to be. `begins_at` is the offset of the first record where what came before it is neither there nor in a snapshot, else 0:
    then the image lacks what those records said. Units: timestamps are Unix milliseconds; ends are exclusive.
    Source: org.apache.kafka.image.MetadataProvenance.
    """

    offset: int = -1
    epoch: int = -1
    timestamp_ms: int = -1
    file_offset: int = -1
    file_epoch: int = -1
    file_timestamp_ms: int = -1
    source_kind: str = ""
    source: str = ""
    certain_to: int | None = None
    end_offset: int = 0
    begins_at: int = 0


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


class Fault(NamedTuple):
    """One thing in the input that is not in the image, or is there with a doubt.

    Shape: `offset` is the log offset of the record (of the snapshot's own numbering inside a checkpoint), `position` the
    byte of its batch in `file`; -1 where there is none. `record_type` is Kafka's upper-case name, empty for a fault of
    the file or the batch. `newer` names the part that is newer than what is known (`record type 30`, `TOPIC_RECORD version 1`), so that
    nothing is damaged; it is empty for every other fault. `is_whole` says of such a record that all of it was read and applied.
    `record_count` is more than 1 where one stands for all records of its kind, of which it is the first.
    """

    file: str
    offset: int
    position: int
    record_type: str
    reason: str
    newer: str = ""
    is_whole: bool = False
    record_count: int = 1

    def __str__(self) -> str:
        words = [self.file] if self.file else []
        if self.offset >= 0:
            words.append(f"offset {self.offset}")
        elif self.position >= 0:
            words.append(f"byte {self.position}")
        words.append(f"{self.record_type}: {self.reason}" if self.record_type else self.reason)
        return ": ".join(words)


class ReplayError(MetashellError):
    """A record that does not fit the image it is replayed on.

    `applied` says whether it changed the image all the same: a level that is newer than ours, for example, is kept.
    """

    def __init__(self, message: str, *, applied: bool = False) -> None:
        super().__init__(message)
        self.applied = applied


VersionedRecord = tuple[Any, int]
"""A record's body and the version to write it in."""

LossHandler = Callable[[str], None]
"""Told once for each kind of information that does not fit; it raises, or the writing goes on without it."""


class ImageLossError(MetashellError):
    """Information that the wanted metadata.version cannot hold; `loss` says which."""

    def __init__(self, loss: str, level_name: str) -> None:
        super().__init__(f"metadata.version {level_name} cannot hold {loss}")
        self.loss = loss
