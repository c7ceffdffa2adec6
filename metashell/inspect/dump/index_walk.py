"""Walks an index and the log that it points into, for both voices."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from metashell.codec.batches import (
    HEADER_SIZE,
    LEAD_SIZE,
    LOG_APPEND_TIME,
    MAGIC_END,
    BatchHeader,
    RecordBatch,
    unpack_header,
    walk_records,
)
from metashell.codec.framing import FRAME_SIZE_MAX, LENGTH_MIN, read_messages
from metashell.common.errors import DecodeError
from metashell.disk.files import OpenFile, WindowReader
from metashell.disk.indexes import OFFSET_ENTRY, TIME_ENTRY, OffsetIndex, whole_entries

PIECE_SIZE = 1 << 16
NO_TIMESTAMP = -1
_HEAD = Struct(">qi4xb6xi").unpack_from
_HEAD_SIZE = 27


class OffsetEntry(NamedTuple):
    """An entry of an offset index; `last_offset` is that of the batch at its position, 0 if `trouble` says that there is none."""

    offset: int
    position: int
    last_offset: int
    trouble: str | None


class TimeEntry(NamedTuple):
    """An entry of a time index; `found_offset` is the last offset of the first batch that ends at or after its offset, -1 for none.

    `max_timestamp` is the latest timestamp in that batch.
    """

    timestamp: int
    offset: int
    found_offset: int
    max_timestamp: int
    trouble: str | None


class LogHeads:
    """Finds the batch that begins at a position of a log. It reads only the batch's first bytes."""

    def __init__(self, log: OpenFile, batch_size_max: int) -> None:
        self.log = log
        self.batch_size_max = batch_size_max
        self.size = log.size() or 0
        self.buf = b""
        self.start = 0

    def last_offset(self, position: int) -> int:
        """The last offset of the batch at `position`. Errors: DecodeError where there is none."""
        at = position - self.start
        if at < 0 or at + _HEAD_SIZE > len(self.buf):
            if not 0 <= position <= self.size:
                raise DecodeError(f"position {position} is not in the log, which has {self.size} bytes")
            self.buf = self.log.read_at(position, PIECE_SIZE)
            self.start, at = position, 0
        end = min(self.size, position + self.batch_size_max)
        if position >= end - MAGIC_END:
            raise DecodeError(f"position {position} has no batch")
        if at + _HEAD_SIZE > len(self.buf):
            return self._short_log(position)
        base_offset, length, magic, last_delta = _HEAD(self.buf, at)
        if length < LENGTH_MIN:
            raise DecodeError(f"position {position}: Found record size {length} smaller than minimum record overhead (14)")
        if position > end - LEAD_SIZE - length:
            raise DecodeError(f"position {position} has no whole batch of {length + LEAD_SIZE} bytes")
        if magic < 2:
            return int(base_offset)
        if position + HEADER_SIZE > self.size:
            raise DecodeError(f"position {position}: the file ends inside a record batch header")
        return int(base_offset + last_delta)

    def _short_log(self, position: int) -> int:
        """The last offset of a message of magic 0 or 1 that is smaller than the head of a batch."""
        data = self.log.read_at(position, _HEAD_SIZE)
        length = int.from_bytes(data[8:LEAD_SIZE], "big", signed=True)
        if length < LENGTH_MIN or length + LEAD_SIZE > len(data) or data[MAGIC_END - 1] in range(2, 128):
            raise DecodeError(f"position {position} has no whole batch")
        return int.from_bytes(data[:8], "big", signed=True)


def walk_offset_index(data: bytes, base_offset: int, heads: LogHeads | None) -> Iterator[OffsetEntry]:
    """The entries of an offset index up to preallocated zeros, each compared with the log if there is one."""
    is_first = True
    for relative, position in OFFSET_ENTRY.iter_unpack(whole_entries(data, OFFSET_ENTRY)):
        if relative == 0 and not is_first:
            return
        is_first = False
        offset = base_offset + relative
        if heads is None:
            yield OffsetEntry(offset, position, offset, None)
            continue
        try:
            yield OffsetEntry(offset, position, heads.last_offset(position), None)
        except DecodeError as error:
            yield OffsetEntry(offset, position, 0, str(error))


class LogBatches:
    """The positions and last offsets of a log's batches, from some position on."""

    def __init__(self, log: OpenFile, max_decompressed: int) -> None:
        self.log = log
        self.max_decompressed = max_decompressed
        self.positions = array("q")
        self.last_offsets = array("q")
        self.sizes = array("q")
        self.trouble: str | None = None
        self.is_ascending = True

    def scan_from(self, position: int) -> None:
        """Note all batches from `position` on, and the reason why the walk ends."""
        for column in (self.positions, self.last_offsets, self.sizes):
            del column[:]
        reader = WindowReader(self.log, None, FRAME_SIZE_MAX)
        before = -1
        self.is_ascending = True
        while True:
            window = reader.read(position)
            buf = window.buf
            for start, size in window.frames:
                header = unpack_header(buf, start) if buf[start + MAGIC_END - 1] in range(2, 128) and size >= HEADER_SIZE else None
                last = int.from_bytes(buf[start : start + 8], "big", signed=True) if header is None else header[0] + header[6]
                self.is_ascending = self.is_ascending and last >= before
                before = last
                self.positions.append(window.position + start)
                self.last_offsets.append(last)
                self.sizes.append(size)
            if window.stop is not None:
                bad = window.stop.kind == "bad-size"
                self.trouble = (
                    f"position {window.stop.position}: Found record size {window.stop.length} smaller than minimum record overhead (14)"
                    if bad
                    else None
                )
                return
            position = window.next

    def slot_of(self, position: int) -> int:
        """The number of the batch at `position`; walks the log again from there if no batch is known at it."""
        slot = bisect_left(self.positions, position)
        if slot < len(self.positions) and self.positions[slot] == position:
            return slot
        if self.positions and slot == len(self.positions) and position >= self.positions[-1] + self.sizes[-1]:
            return slot
        self.scan_from(position)
        return 0

    def find(self, slot: int, offset: int) -> int:
        """The number of the first batch from `slot` on whose last offset is not below `offset`; the number of batches if there is none."""
        if self.is_ascending:
            return bisect_left(self.last_offsets, offset, slot)
        numbers = range(slot, len(self.last_offsets))
        return next((number for number in numbers if self.last_offsets[number] >= offset), len(self.last_offsets))

    def max_timestamp(self, number: int) -> int:
        """The latest timestamp of a batch's records. Errors: DecodeError for records that do not decode."""
        size, position = self.sizes[number], self.positions[number]
        data = self.log.read_at(position, size)
        if data[MAGIC_END - 1] not in range(2, 128):
            return max((record.timestamp for record in read_messages(data, self.max_decompressed)), default=NO_TIMESTAMP)
        if size < HEADER_SIZE:
            raise DecodeError(f"batch of {size} bytes is shorter than its header", offset=position)
        header = BatchHeader(*unpack_header(data))
        area, start, end = RecordBatch(header, position, data).records_area(self.max_decompressed)
        latest = NO_TIMESTAMP
        for fields in walk_records(area, start, end, header.count):
            is_append_time = header.attributes & LOG_APPEND_TIME
            latest = max(latest, header.max_timestamp if is_append_time else header.base_timestamp + fields[1])
        return latest


def walk_time_index(
    data: bytes,
    base_offset: int,
    offsets: OffsetIndex,
    log: OpenFile | None,
    max_decompressed: int,
) -> Iterator[TimeEntry]:
    """The entries of a time index up to preallocated zeros, each compared with the log if there is one."""
    batches = LogBatches(log, max_decompressed) if log is not None else None
    size = (log.size() or 0) if log is not None else 0
    for number, (timestamp, relative) in enumerate(TIME_ENTRY.iter_unpack(whole_entries(data, TIME_ENTRY))):
        if relative == 0 and number:
            return
        offset = base_offset + relative
        if batches is None:
            yield TimeEntry(timestamp, offset, offset, timestamp, None)
            continue
        _, position = offsets.lookup(offset)
        if not 0 <= position <= size:
            yield TimeEntry(timestamp, offset, -1, 0, f"position {position} is not in the log, which has {size} bytes")
            continue
        try:
            yield _time_entry(batches, timestamp, offset, position)
        except DecodeError as error:
            yield TimeEntry(timestamp, offset, -1, 0, str(error))


def _time_entry(batches: LogBatches, timestamp: int, offset: int, position: int) -> TimeEntry:
    slot = batches.slot_of(position)
    if batches.trouble is not None:
        raise DecodeError(batches.trouble)
    number = batches.find(slot, offset)
    if number >= len(batches.last_offsets):
        return TimeEntry(timestamp, offset, -1, 0, None)
    found = batches.last_offsets[number]
    try:
        latest = batches.max_timestamp(number)
    except DecodeError:
        if found == offset:
            raise
        latest = NO_TIMESTAMP
    return TimeEntry(timestamp, offset, found, latest, None)
