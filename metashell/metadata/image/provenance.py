"""The parts of an image beside the metadata: its source, the voter set and the leader, the faults of replay, the losses of writing.

Voters and leader come from the control records of the Raft layer. A fault is a record that replay could not apply. A loss is information
that a record of an older metadata.version cannot hold; the caller's `LossHandler` decides whether that is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from metashell.common.errors import MetashellError


class Provenance(NamedTuple):
    """The position of an image in the log, in our own voice and in Kafka's.

    Shape: `offset` is the last offset that the image contains, `epoch` the leader epoch there; for a checkpoint they
    come from its name and its header. `file_*` are the numbers that Kafka's shell prints: the last data record's offset in the
    file's own numbering, its batch's epoch, and that batch's largest timestamp. All are -1 for nothing.
    `end_offset` is where reading ended. Records before `certain_to` are committed, None if none is known to be.
    `begins_at` is the offset of the first record if the records before it are neither in the log nor in a snapshot, so that the image
    lacks them, else 0. Units: timestamps are Unix milliseconds; ends are exclusive.
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
    """The voters, ordered by id, and the offset of the record that names them.

    Shape: the offset is that of the log; a record inside a snapshot counts at the snapshot's last contained offset.
    """

    offset: int
    voters: tuple[Voter, ...]


class Leader(NamedTuple):
    """The winner of the newest election in the log, and the ids of its voters in order, which with kraft.version 0 stand nowhere else."""

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
    """One thing in the input that is missing in the image, or that may be wrong there.

    Shape: `offset` is the log offset of the record (inside a checkpoint in the file's own numbering), `position` the byte of its batch in
    `file`; -1 if there is none. `record_type` is Kafka's upper-case name, empty for a fault of the file or the batch. `newer` names the
    part that is newer than this software (`record type 30`, `TOPIC_RECORD version 1`), so that nothing is damaged; it is empty for every
    other fault. `is_whole` says that all of such a record was read and applied. `record_count` is more than 1 if the fault stands for all
    records of its kind, of which it is the first.
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

    `applied` says that it changed the image all the same: a topic whose name was taken, for example, replaces the former one.
    """

    def __init__(self, message: str, *, applied: bool = False) -> None:
        super().__init__(message)
        self.applied = applied


VersionedRecord = tuple[Any, int]
"""A record's body and the version to write it in."""

LossHandler = Callable[[str], None]
"""Called once for each kind of information that does not fit; it raises, or the writer goes on without it."""


class ImageLossError(MetashellError):
    """Information that the wanted metadata.version cannot hold; `loss` says which."""

    def __init__(self, loss: str, level_name: str) -> None:
        super().__init__(f"metadata.version {level_name} cannot hold {loss}")
        self.loss = loss
