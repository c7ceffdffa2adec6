"""The checkpoints that format writes: the first metadata records, and the first voters.

Source: BatchFileWriter of 4.3.1, RecordsSnapshotWriter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.codec.batch_writer import write_batch, write_control_bodies
from metashell.codec.batches import Record
from metashell.codec.control import (
    KRAFT_VERSION,
    KRAFT_VOTERS,
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
)
from metashell.codec.frame import write_metadata_record
from metashell.codec.messages import KRaftVersionRecord, SnapshotFooterRecord, SnapshotHeaderRecord, VotersRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metashell.storage.voters import Voter

_KRAFT_VERSION_MAX = 1
_FOOTER = ((SNAPSHOT_FOOTER, SnapshotFooterRecord(version=0)),)


def first_checkpoint(header_ms: int, now_ms: int, controls: Sequence[tuple[int, Any]], records: Sequence[Any]) -> bytes:
    """A checkpoint before offset 0, of control records and of the records that the first leader writes into the log.

    Units: `header_ms` is the last contained timestamp that its header names, in Unix ms.
    """
    head = [(SNAPSHOT_HEADER, SnapshotHeaderRecord(version=0, last_contained_log_timestamp=header_ms)), *controls]
    data = [Record(offset, now_ms, None, write_metadata_record(body, 0)) for offset, body in enumerate(records, len(head))]
    return (
        write_control_bodies(0, head, now_ms, leader_epoch=0)
        + (write_batch(len(head), data, leader_epoch=0) if data else b"")
        + write_control_bodies(len(head) + len(data), _FOOTER, now_ms, leader_epoch=0)
    )


def quorum_controls(kraft_version: int, voters: Sequence[Voter], listener: str) -> list[tuple[int, Any]]:
    """The control records of a quorum's first voters, none for a static one."""
    if not kraft_version:
        return []
    found: list[tuple[int, Any]] = [(KRAFT_VERSION, KRaftVersionRecord(version=0, k_raft_version=kraft_version))]
    return [*found, (KRAFT_VOTERS, _voters_record(voters, listener))] if voters else found


def _voters_record(voters: Sequence[Voter], listener: str) -> VotersRecord:
    return VotersRecord(
        version=0,
        voters=tuple(
            VotersRecord.Voter(
                voter_id=voter.node_id,
                voter_directory_id=voter.directory_id,
                endpoints=(VotersRecord.Endpoint(name=listener, host=voter.host, port=voter.port),),
                k_raft_version_feature=VotersRecord.KRaftVersionFeature(min_supported_version=0, max_supported_version=_KRAFT_VERSION_MAX),
            )
            for voter in voters
        ),
    )
