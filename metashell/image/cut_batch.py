"""What of a log lies before an offset: the batches up to there, and the first records of the one in which that offset lies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from metashell.codec.batches import LEAD_SIZE, BatchHeader, Record
from metashell.codec.record_walk import walk_records
from metashell.image.source import Batch


def batches_before(batches: Iterable[Batch], end: int) -> Iterator[Batch]:
    """The batches before offset `end`; of the one in which it lies the records before it.

    A base offset is in no checksum. So one that does not follow the batch before it says nothing by itself: it counts if the batch behind
    it follows; else that one says where both are.
    """
    held: Batch | None = None
    expected = by_place = -1
    for batch in batches:
        header = batch.header
        base, last = header.base_offset, header.last_offset
        if held is not None:
            if base != by_place and (base == expected or last >= end):
                # Offsets are missing before the one that was held.
                break
            if by_place - _length(held) >= end:
                return
            yield held
            held = None
        elif last >= end and expected >= 0 and base != expected:
            held, by_place, expected = batch, expected + last + 1 - base, last + 1
            continue
        if last >= end:
            if base < end:
                yield CutBatch(batch, end)
            return
        yield batch
        expected = last + 1
    if held is not None and held.header.base_offset < end:
        yield CutBatch(held, end)


def _length(batch: Batch) -> int:
    return batch.header.last_offset + 1 - batch.header.base_offset


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
