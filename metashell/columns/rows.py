"""Where the records of many batches lie: one tight loop over their lengths, then numpy over all their headers at once.

A batch whose records do not all look as usual is walked by codec's careful walk instead, which says where it is at fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from metashell.codec.batches import LOG_APPEND_TIME, BatchHeader, RecordBatch
from metashell.codec.record_walk import walk_records
from metashell.columns.vectors import VARLONG_SIZE_MAX, Array, Buffer, Ints, Mask, zigzag
from metashell.errors import DecodeError

NULL = -1


@dataclass(slots=True)
class Rows:
    """The records of a chunk, in order; positions are indexes into its buffer, sizes are -1 for null.

    `batch` is the number of each record's batch in the chunk.
    """

    batch: Ints
    offset: Ints
    timestamp: Ints
    key_start: Ints
    key_size: Ints
    value_start: Ints
    value_size: Ints

    def __len__(self) -> int:
        return len(self.offset)

    def part(self, chosen: Mask | Ints) -> Rows:
        return Rows(*(column[chosen] for column in self.columns()))

    def columns(self) -> tuple[Ints, ...]:
        return (self.batch, self.offset, self.timestamp, self.key_start, self.key_size, self.value_start, self.value_size)


def _no_rows() -> Rows:
    return Rows(*(np.zeros(0, np.int64) for _ in range(7)))


@dataclass(slots=True)
class RecordFault:
    """The record of a batch from which on it cannot be read."""

    batch: int
    reason: str


@dataclass(slots=True)
class _Area:
    """The records of one batch in the chunk's buffer."""

    number: int
    start: int
    end: int
    count: int


@dataclass(slots=True)
class Chunk:
    """Batches that are decoded together: their headers, and the pieces that their buffer will be joined of."""

    batches: list[RecordBatch] = field(default_factory=list)
    faults: list[RecordFault] = field(default_factory=list)
    size: int = 0
    row_count: int = 0
    _pieces: list[bytes] = field(default_factory=list)
    _areas: list[_Area] = field(default_factory=list)
    _old: list[list[int]] = field(default_factory=list)

    def add(self, batch: RecordBatch, max_decompressed: int) -> None:
        """Take a batch in; one that does not decompress is a fault of its own."""
        number = len(self.batches)
        self.batches.append(batch)
        try:
            if batch.header.magic < 2:
                self._add_old(number, batch, max_decompressed)
            elif batch.header.count:
                buf, start, end = batch.records_area(max_decompressed)
                self._areas.append(_Area(number, self.size + start, self.size + end, batch.header.count))
                self._take(buf)
                self.row_count += max(batch.header.count, 0)
        except DecodeError as error:
            self.faults.append(RecordFault(number, str(error)))

    def _take(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self.size += len(piece)

    def _add_old(self, number: int, batch: RecordBatch, max_decompressed: int) -> None:
        """Messages of magic 0 and 1, whose keys and values are laid into the buffer one by one."""
        for record in batch.records(max_decompressed):
            row = [number, record.offset, record.timestamp]
            for part in (record.key, record.value):
                row += (self.size, NULL if part is None else len(part))
                self._take(part or b"")
            self._old.append(row)
            self.row_count += 1

    def read(self) -> tuple[Buffer, Rows]:
        """The chunk's buffer and its records; what a batch is at fault for is in `faults` afterwards."""
        buffer = Buffer(self._pieces)
        self._pieces = []
        usual, unusual = self._walk(buffer)
        parts = [usual] if len(usual) else []
        parts += [self._careful(buffer, area) for area in unusual]
        if self._old:
            parts.append(_rows_of(self._old))
        if len(parts) == 1:
            return buffer, parts[0]
        if not parts:
            return buffer, _no_rows()
        joined = Rows(*(np.concatenate(columns) for columns in zip(*(part.columns() for part in parts), strict=True)))
        return buffer, joined.part(np.argsort(joined.batch, kind="stable"))

    def _walk(self, buffer: Buffer) -> tuple[Rows, list[_Area]]:
        """The records of the batches that look as usual, and the batches that do not."""
        starts: list[int] = []
        walked: list[_Area] = []
        unusual: list[_Area] = []
        for area in self._areas:
            before = len(starts)
            if walk_starts(buffer.data, area.start, area.end, area.count, starts):
                walked.append(area)
            else:
                del starts[before:]
                unusual.append(area)
        if not starts:
            return _no_rows(), unusual
        numbers = np.array([area.number for area in walked])
        owner = np.repeat(np.arange(len(walked)), [area.count for area in walked])
        rows, odd = _read_headers(buffer, np.array(starts), numbers[owner], [batch.header for batch in self.batches])
        if odd is None:
            return rows, unusual
        bad = np.unique(owner[odd])
        unusual += [walked[index] for index in bad.tolist()]
        return rows.part(~np.isin(owner, bad)), unusual

    def _careful(self, buffer: Buffer, area: _Area) -> Rows:
        header = self.batches[area.number].header
        rows: list[list[int]] = []
        try:
            for row in _careful_rows(buffer.data, area, header):
                rows.append(row)
        except DecodeError as error:
            self.faults.append(RecordFault(area.number, str(error)))
        return _rows_of(rows)


def walk_starts(buf: bytes, at: int, end: int, count: int, starts: list[int]) -> bool:
    """Append where each of `count` records starts; whether they fill the area to its end, as far as their lengths say."""
    append = starts.append
    for _ in range(count):
        append(at)
        size = buf[at]
        if size > 127:
            high = buf[at + 1]
            if high < 128:
                at += (size & 127 | high << 7) >> 1
                at += 2
            else:
                low = size & 127 | (high & 127) << 7 | buf[at + 2] << 14
                if buf[at + 2] > 127:
                    return False
                at += (low >> 1) + 3
        else:
            at += (size >> 1) + 1
        if at > end:
            return False
    return at == end


def _read_headers(buffer: Buffer, starts: Ints, numbers: Ints, headers: list[BatchHeader]) -> tuple[Rows, Mask | None]:
    """The header fields of all records, and which are not as usual (None if all are)."""
    size, at, odd_size = buffer.uvarints(starts)
    record_end = at + (size >> 1)
    timestamp_delta, at, odd_time = buffer.uvarints(at + 1, VARLONG_SIZE_MAX)
    offset_delta, at, odd_offset = buffer.uvarints(at)
    key_size, key_start, odd_key = _sizes(buffer, at)
    at = np.minimum(key_start + np.maximum(key_size, 0), buffer.size)
    value_size, value_start, odd_value = _sizes(buffer, at)
    value_end = value_start + np.maximum(value_size, 0)
    odd = (size & 1 != 0) | (value_end + 1 != record_end) | (buffer.bytes[np.minimum(value_end, buffer.size)] != 0)
    odd |= offset_delta >> 32 != 0
    for more in (odd_size, odd_time, odd_offset, odd_key, odd_value):
        if more is not None:
            odd |= more
    base_offset = np.array([header.base_offset for header in headers])
    base_time = np.array([header.base_timestamp for header in headers])
    timestamp = base_time[numbers] + zigzag(timestamp_delta)
    appended = np.array([header.attributes & LOG_APPEND_TIME != 0 for header in headers])
    if appended.any():
        max_time = np.array([header.max_timestamp for header in headers])
        timestamp = np.where(appended[numbers], max_time[numbers], timestamp)
    offset = base_offset[numbers] + zigzag(offset_delta)
    rows = Rows(numbers, offset, timestamp, key_start, key_size, value_start, value_size)
    return rows, odd if odd.any() else None


def _sizes(buffer: Buffer, at: Ints) -> tuple[Ints, Ints, Mask | None]:
    """The sizes of nullable fields, -1 for null, and where the fields start."""
    raw, start, odd = buffer.uvarints(at)
    size = zigzag(raw)
    too_large = size > buffer.size
    if too_large.any():
        odd = too_large if odd is None else odd | too_large
        size = np.where(too_large, 0, size)
    return np.maximum(size, NULL), start, odd


def _careful_rows(buf: bytes, area: _Area, header: BatchHeader) -> Iterator[list[int]]:
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME else None
    for fields in walk_records(buf, area.start, area.end, area.count):
        offset_delta, timestamp_delta, key_start, key_size, value_start, value_size, _, _ = fields
        timestamp = header.base_timestamp + timestamp_delta if append_time is None else append_time
        yield [area.number, header.base_offset + offset_delta, timestamp, key_start, key_size, value_start, value_size]


def _rows_of(rows: list[list[int]]) -> Rows:
    """Rows of Python numbers; timestamps that Java's long would let overflow wrap as they do there."""
    wrapped = [[(number + (1 << 63)) % (1 << 64) - (1 << 63) for number in row] for row in rows]
    table: Array = np.array(wrapped, np.int64).reshape(len(rows), 7)
    return Rows(*(np.ascontiguousarray(table[:, index]) for index in range(7)))
