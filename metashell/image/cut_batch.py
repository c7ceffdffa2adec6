"""The first records of a batch: what an image at an offset takes of the batch in which that offset lies."""

from __future__ import annotations

from collections.abc import Iterator

from metashell.codec.batches import LEAD_SIZE, BatchHeader, Record
from metashell.codec.record_walk import walk_records
from metashell.image.source import Batch


class CutBatch:
    """A batch without its records from offset `end_offset` on; what is wrong with it is wrong with the rest too."""

    def __init__(self, batch: Batch, end_offset: int) -> None:
        header = batch.header
        self._batch = batch
        self._end_offset = end_offset
        self.position = batch.position
        self.file = batch.file
        self.header = BatchHeader(
            header.base_offset,
            header.size_bytes - LEAD_SIZE,
            header.leader_epoch,
            header.magic,
            header.crc,
            header.attributes,
            end_offset - 1 - header.base_offset,
            header.base_timestamp,
            header.max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            min(header.count, end_offset - header.base_offset),
        )

    def crc_fault(self) -> str | None:
        """See RecordBatch: the checksum is that of the whole batch."""
        return self._batch.crc_fault()

    def records_area(self, max_size: int) -> tuple[bytes, int, int]:
        """The buffer that holds the records that are left, and their start and end in it. Errors: DecodeError."""
        buf, start, end = self._batch.records_area(max_size)
        stop = start
        for _, fields in zip(range(self.header.count), walk_records(buf, start, end, self._batch.header.count), strict=False):
            stop = fields[7]
        return buf, start, stop

    def records(self) -> Iterator[Record]:
        """The records that are left. Errors: DecodeError."""
        return (record for record in self._batch.records() if record.offset < self._end_offset)
