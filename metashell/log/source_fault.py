"""What a source could not read, and the check that batches follow one another."""

from __future__ import annotations

from typing import NamedTuple

from metashell.codec.batches import RecordBatch
from metashell.log.segment import BatchFault


class SourceFault(NamedTuple):
    """One place in a source that could not be used.

    `offset` is the log offset there, -1 if unknown; `position` the byte in `file`, -1 where the fault is no place in it (a
    missing file). A fault that `is_tail` is the normal end of a running or stopped node's last segment.
    """

    file: str
    offset: int
    position: int
    reason: str
    is_tail: bool = False

    def __str__(self) -> str:
        place = f"byte {self.position}: " if self.position >= 0 else ""
        return f"{self.file}: {place}{self.reason}"


def fault_of(item: BatchFault, *, is_last: bool = False) -> SourceFault:
    """The source's fault for one in a file; `is_last` if the file is the last segment of a directory."""
    offset = -1 if item.offset is None else item.offset
    return SourceFault(item.file, offset, item.position, item.reason, is_tail=is_last and item.may_be_tail)


class OrderCheck:
    """Watches that each batch starts where the one before it ended, in no earlier epoch.

    Neither base offset nor leader epoch is covered by a batch's CRC, so nothing else would notice them changed.
    """

    def __init__(self, expected_offset: int | None, epoch: int | None = None) -> None:
        self.expected_offset = expected_offset
        self._epoch = epoch

    def check(self, batch: RecordBatch) -> SourceFault | None:
        """The fault of a batch out of order; the next one is compared with this one either way."""
        header = batch.header
        reason = self._reason(header.base_offset, header.leader_epoch)
        self.expected_offset = header.last_offset + 1
        self._epoch = header.leader_epoch
        return SourceFault(batch.file, header.base_offset, batch.position, reason) if reason else None

    def forget(self) -> None:
        """After a batch that was itself at fault, anything may follow."""
        self.expected_offset = self._epoch = None

    def _reason(self, offset: int, epoch: int) -> str | None:
        expected = self.expected_offset
        if expected is not None and offset > expected:
            return f"offsets {expected} to {offset - 1} are missing"
        if expected is not None and offset < expected:
            return f"offset goes back to {offset} after {expected - 1}"
        if self._epoch is not None and epoch < self._epoch:
            return f"leader epoch goes back to {epoch} after {self._epoch}"
        return None
