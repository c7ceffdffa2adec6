"""Where in the log a loader is, in both voices of `Provenance`."""

from __future__ import annotations

from metashell.codec.batches import BatchHeader
from metashell.image.provenance import Provenance
from metashell.values import OffsetAndEpoch


class PositionTracker:
    """Follows the batches that a loader replays."""

    def __init__(self, provenance: Provenance, snapshot_id: OffsetAndEpoch | None) -> None:
        self._provenance = provenance
        self._snapshot_id = snapshot_id
        self._before_transaction = provenance
        self.header_timestamp_ms = -1
        """The largest timestamp of the log that a snapshot stands for, from its header; -1 before one was read."""
        self.transaction_start = -1

    def pass_batch(self, header: BatchHeader, in_snapshot: bool) -> None:
        """Take note that a batch has been replayed."""
        changes: dict[str, int] = {}
        if not header.is_control and header.count > 0:
            changes = {
                "file_offset": header.last_offset,
                "file_epoch": header.leader_epoch,
                "file_timestamp_ms": header.max_timestamp,
            }
        if in_snapshot:
            changes |= self._snapshot_position(header)
        else:
            changes |= {"offset": header.last_offset, "epoch": header.leader_epoch, "timestamp_ms": header.max_timestamp}
            changes["end_offset"] = header.last_offset + 1
        self._provenance = self._provenance._replace(**changes)

    def _snapshot_position(self, header: BatchHeader) -> dict[str, int]:
        # A checkpoint's name says where in the log it stands; under another name all there is are the file's own numbers.
        if self._snapshot_id is not None:
            end, epoch = self._snapshot_id.offset, self._snapshot_id.epoch
        else:
            end, epoch = header.last_offset + 1, header.leader_epoch
        return {"offset": end - 1, "epoch": epoch, "timestamp_ms": self.header_timestamp_ms, "end_offset": end}

    def begin_transaction(self, offset: int, header: BatchHeader) -> None:
        """Take note of where a transaction begins, in the middle of a batch perhaps."""
        self.transaction_start = offset
        self._before_transaction = self._provenance
        if offset > header.base_offset:
            self._before_transaction = self._provenance._replace(
                offset=offset - 1, epoch=header.leader_epoch, timestamp_ms=header.max_timestamp
            )

    def log_offset(self, offset: int, in_snapshot: bool) -> int:
        """The log offset at which a control record counts: one in a snapshot, at its last contained offset."""
        if not in_snapshot:
            return offset
        return -1 if self._snapshot_id is None else self._snapshot_id.offset - 1

    def provenance(self, in_transaction: bool) -> Provenance:
        """The position of an image that shows no open transaction, although reading has gone on."""
        if not in_transaction:
            return self._provenance
        return self._before_transaction._replace(end_offset=self._provenance.end_offset)
