"""Whether batches follow one another: the one check of their order.

Neither base offset nor leader epoch is covered by a batch's CRC, so nothing else would notice them changed.
"""

from metashell.codec.batches import RecordBatch
from metashell.log.source_fault import SourceFault


def order_fault(expected_offset: int | None, epoch: int | None, here: tuple[int, int], *, may_skip: bool = False) -> str | None:
    """Why a batch with the base offset and leader epoch of `here` does not follow, None where it does.

    Shape: the batch before it ended right before `expected_offset` and was of `epoch`; None where nothing is known of it. Compaction
    leaves gaps in the logs of topics (`may_skip`), never in a metadata log.
    """
    offset, own_epoch = here
    if expected_offset is not None and offset > expected_offset and not may_skip:
        return missing_offsets(expected_offset, offset)
    if expected_offset is not None and offset < expected_offset:
        return f"offset goes back to {offset} after {expected_offset - 1}"
    if epoch is not None and own_epoch < epoch:
        return f"leader epoch goes back to {own_epoch} after {epoch}"
    return None


def missing_offsets(first: int, end: int) -> str:
    """The fault where the offsets from `first` to before `end` are in no batch."""
    return f"offset {first} is missing" if end == first + 1 else f"offsets {first} to {end - 1} are missing"


class OrderCheck:
    """Watches that each batch starts where the one before it ended, in no earlier epoch."""

    def __init__(self, expected_offset: int | None, epoch: int | None = None, *, may_skip: bool = False) -> None:
        self.expected_offset = expected_offset
        self.epoch = epoch
        self._may_skip = may_skip

    def follows(self, offset: int, epoch: int) -> bool:
        """Whether a batch may come next."""
        return order_fault(self.expected_offset, self.epoch, (offset, epoch), may_skip=self._may_skip) is None

    def check(self, batch: RecordBatch) -> SourceFault | None:
        """The fault of a batch out of order; the next one is compared with this one either way."""
        header = batch.header
        reason = order_fault(self.expected_offset, self.epoch, (header.base_offset, header.leader_epoch), may_skip=self._may_skip)
        self.expected_offset = header.last_offset + 1
        self.epoch = header.leader_epoch
        return SourceFault(batch.file, header.base_offset, batch.position, reason) if reason else None

    def forget(self) -> None:
        """After a batch that was itself at fault, anything may follow."""
        self.expected_offset = self.epoch = None
