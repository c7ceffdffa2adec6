"""Where in the log a loader is, in both voices of `Provenance`."""

from __future__ import annotations

from metashell.codec.batches import BatchHeader
from metashell.image.provenance import Provenance
from metashell.values import OffsetAndEpoch


class PositionTracker:
    """Follows the batches that a loader replays."""

    __slots__ = ("_before_transaction", "_data", "_log", "_snapshot", "_snapshot_id", "_start", "header_timestamp_ms", "transaction_start")

    def __init__(self, start: Provenance, snapshot_id: OffsetAndEpoch | None) -> None:
        self._start = start
        self._snapshot_id = snapshot_id
        self._data: BatchHeader | None = None
        self._log: BatchHeader | None = None
        self._snapshot: BatchHeader | None = None
        self._before_transaction = start
        self.header_timestamp_ms = -1
        """The largest timestamp of the log that a snapshot stands for, from its header; -1 before one was read."""
        self.transaction_start = -1

    def pass_batch(self, header: BatchHeader, in_snapshot: bool) -> None:
        """Take note that a batch has been replayed; nothing is worked out before it is asked for."""
        if in_snapshot:
            self._snapshot = header
        else:
            if self._log is None and self._snapshot is None and self._snapshot_id is None and self._start.end_offset == 0:
                self._start = self._start._replace(begins_at=header.base_offset)
            self._log = header
        if header.count > 0 and not header.is_control:
            self._data = header

    def begin_transaction(self, offset: int, header: BatchHeader) -> None:
        """Take note of where a transaction begins, in the middle of a batch perhaps."""
        self.transaction_start = offset
        self._before_transaction = self.provenance()
        if offset > header.base_offset:
            self._before_transaction = self._before_transaction._replace(
                offset=offset - 1, epoch=header.leader_epoch, timestamp_ms=header.max_timestamp
            )

    def log_offset(self, offset: int, in_snapshot: bool) -> int:
        """The log offset at which a control record counts: one in a snapshot, at its last contained offset."""
        if not in_snapshot:
            return offset
        return -1 if self._snapshot_id is None else self._snapshot_id.offset - 1

    def provenance(self) -> Provenance:
        """The position after all that was replayed."""
        provenance = self._start
        if self._data is not None:
            provenance = provenance._replace(
                file_offset=self._data.last_offset,
                file_epoch=self._data.leader_epoch,
                file_timestamp_ms=self._data.max_timestamp,
            )
        if self._log is not None:
            end = self._log.last_offset + 1
            return _at(provenance, end, self._log.leader_epoch, self._log.max_timestamp)
        if self._snapshot is None:
            return provenance
        # A checkpoint's name says where in the log it stands; under another name all there is are the file's own numbers.
        if self._snapshot_id is not None:
            return _at(provenance, self._snapshot_id.offset, self._snapshot_id.epoch, self.header_timestamp_ms)
        return _at(provenance, self._snapshot.last_offset + 1, self._snapshot.leader_epoch, self.header_timestamp_ms)

    def provenance_before_transaction(self) -> Provenance:
        """The position of an image that shows no open transaction, although reading has gone on."""
        return self._before_transaction._replace(end_offset=self.provenance().end_offset)


def _at(provenance: Provenance, end: int, epoch: int, timestamp_ms: int) -> Provenance:
    return provenance._replace(offset=end - 1, epoch=epoch, timestamp_ms=timestamp_ms, end_offset=end)
