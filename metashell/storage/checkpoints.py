"""The two checkpoints that format writes: the first metadata records, and the first voters.

Source: BatchFileWriter, RecordsSnapshotWriter of 4.3.1; tools.md 3.3.
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


def bootstrap_checkpoint(records: Sequence[Any], now_ms: int) -> bytes:
    """A checkpoint of records that a controller appends to its first log."""
    values = [write_metadata_record(body, 0) for body in records]
    data = [Record(offset, now_ms, None, value) for offset, value in enumerate(values, 1)]
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=0)
    return (
        write_control_bodies(0, [(SNAPSHOT_HEADER, header)], now_ms, leader_epoch=0)
        + write_batch(1, data, leader_epoch=0)
        + write_control_bodies(len(data) + 1, _FOOTER, now_ms, leader_epoch=0)
    )


def voters_checkpoint(voters: Sequence[Voter], listener: str, kraft_version: int, now_ms: int) -> bytes:
    """The checkpoint before offset 0, which names the voters of a new quorum."""
    head: list[tuple[int, Any]] = [
        (SNAPSHOT_HEADER, SnapshotHeaderRecord(version=0, last_contained_log_timestamp=now_ms)),
    ]
    if kraft_version > 0:
        head.append((KRAFT_VERSION, KRaftVersionRecord(version=0, k_raft_version=kraft_version)))
        head.append((KRAFT_VOTERS, _voters_record(voters, listener)))
    return write_control_bodies(0, head, now_ms, leader_epoch=0) + write_control_bodies(len(head), _FOOTER, now_ms, leader_epoch=0)


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
