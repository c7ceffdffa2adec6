"""Where the records of many batches lie: one tight loop over their lengths, then numpy over all their headers at once.

A batch whose records do not all look as usual is walked by codec's careful walk instead, which says where it is at fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metashell.codec.batches import HEADER_SIZE, LEAD_SIZE
from metashell.codec.record_walk import walk_records
from metashell.columns.headers import Headers
from metashell.columns.vectors import VARLONG_SIZE_MAX, Array, Buffer, Ints, Mask, zigzag
from metashell.errors import DecodeError

NULL = -1
_NULL_CODE = 1


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


@dataclass(slots=True)
class RecordFault:
    """The record of a batch from which on it cannot be read."""

    batch: int
    reason: str


@dataclass(slots=True)
class Area:
    """The records of one batch in the chunk's buffer."""

    number: int
    start: int
    end: int
    count: int


@dataclass(slots=True)
class Walked:
    """Where records start, the numbers of their batches, how many records each of those has, and where its records end."""

    starts: list[int]
    numbers: list[int]
    counts: list[int]
    ends: list[int]


def read_rows(
    headers: Headers, buffer: Buffer, walked: Walked, areas: list[Area], old_rows: list[list[int]], faults: list[RecordFault]
) -> Rows:
    """The records of all batches in order: of those whose records were walked already, of other areas, and of old messages."""
    starts, numbers, counts = walked.starts, walked.numbers, walked.counts
    in_place = len(numbers)
    expanded: list[Area] = []
    careful: list[Area] = []
    for area in areas:
        before = len(starts)
        if walk_starts(buffer.data, area.start, area.end, area.count, starts):
            expanded.append(area)
            numbers.append(area.number)
            counts.append(area.count)
            walked.ends.append(area.end)
        else:
            del starts[before:]
            careful.append(area)
    parts: list[Rows] = []
    if starts:
        usual, bad = _usual_rows(headers, buffer, walked)
        parts.append(usual)
        careful += [expanded[index - in_place] if index >= in_place else _area_of(headers, numbers[index], counts[index]) for index in bad]
    parts += [_careful(headers, buffer, area, faults) for area in careful]
    if old_rows:
        parts.append(_rows_of(old_rows))
    if not parts:
        return _rows_of([])
    if len(parts) == 1 and not areas:
        return parts[0]
    joined = Rows(*(np.concatenate(columns) for columns in zip(*(part.columns() for part in parts), strict=True)))
    return joined.part(np.argsort(joined.batch, kind="stable"))


def _usual_rows(headers: Headers, buffer: Buffer, walked: Walked) -> tuple[Rows, list[int]]:
    """The records that look as usual, and which of the batches hold others."""
    starts, numbers, counts = np.array(walked.starts), np.array(walked.numbers), np.array(walked.counts)
    # A record ends where the next one starts, but for the last of each batch.
    ends = np.empty_like(starts)
    ends[:-1] = starts[1:]
    holding = counts > 0
    ends[np.cumsum(counts)[holding] - 1] = np.array(walked.ends)[holding]
    rows, odd = _read_headers(buffer, starts, ends, np.repeat(numbers, counts), headers)
    if odd is None:
        return rows, []
    owner = np.repeat(np.arange(len(numbers)), counts)
    bad = np.unique(owner[odd])
    return rows.part(~np.isin(owner, bad)), bad.tolist()


def _area_of(headers: Headers, number: int, count: int) -> Area:
    """Where the records of a batch lie that was walked where it stands."""
    at = int(headers.at[number])
    return Area(number, at + HEADER_SIZE, at + LEAD_SIZE + int(headers.length[number]), count)


def _careful(headers: Headers, buffer: Buffer, area: Area, faults: list[RecordFault]) -> Rows:
    rows: list[list[int]] = []
    try:
        for row in _careful_rows(buffer.data, area, headers):
            rows.append(row)
    except DecodeError as error:
        faults.append(RecordFault(area.number, str(error)))
    return _rows_of(rows)


def walk_starts(buf: bytes, at: int, end: int, count: int, starts: list[int]) -> bool:
    """Append where each of `count` records starts; whether they fill the area to its end, as far as their lengths say."""
    append = starts.append
    for _ in range(count):
        if at >= end:
            return False
        append(at)
        size = buf[at]
        if size < 128:
            at += (size >> 1) + 1
        else:
            high = buf[at + 1]
            if high < 128:
                at += ((size & 127 | high << 7) >> 1) + 2
            else:
                at += ((size & 127 | (high & 127) << 7 | buf[at + 2] << 14) >> 1) + 3
    return at == end


def _read_headers(buffer: Buffer, starts: Ints, ends: Ints, numbers: Ints, headers: Headers) -> tuple[Rows, Mask | None]:
    """The header fields of all records, and which are not as usual (None if all are).

    The walk has followed the lengths already, so only their sign and size are looked at.
    """
    first = buffer.bytes[starts]
    odd = first & 1 != 0
    at = starts + 2 + (first > 127)  # behind the length and one byte of attributes
    longer = first > 127
    longer &= buffer.bytes[starts + 1] > 127
    if longer.any():
        at[longer] += 1
        odd |= longer & (buffer.bytes[starts + 2] > 127)
    timestamp_delta, at, odd_time = buffer.uvarints(at, VARLONG_SIZE_MAX)
    offset_delta, at, odd_offset = buffer.uvarints(at)
    key_size, key_start, odd_key = _sizes(buffer, at)
    at = np.minimum(key_start + np.maximum(key_size, 0), buffer.size)
    value_size, value_start, odd_value = _sizes(buffer, at)
    value_end = value_start + np.maximum(value_size, 0)
    odd |= (value_end + 1 != ends) | (buffer.bytes[np.minimum(value_end, buffer.size)] != 0)
    odd |= offset_delta >> 32 != 0
    for more in (odd_time, odd_offset, odd_key, odd_value):
        if more is not None:
            odd |= more
    timestamp = headers.base_timestamp[numbers] + zigzag(timestamp_delta)
    appended = headers.is_log_append_time
    if appended.any():
        timestamp = np.where(appended[numbers], headers.max_timestamp[numbers], timestamp)
    offset = headers.base_offset[numbers] + zigzag(offset_delta)
    rows = Rows(numbers, offset, timestamp, key_start, key_size, value_start, value_size)
    return rows, odd if odd.any() else None


def _sizes(buffer: Buffer, at: Ints) -> tuple[Ints, Ints, Mask | None]:
    """The sizes of nullable fields, -1 for null, and where the fields start."""
    if (buffer.bytes[at] == _NULL_CODE).all():
        return np.full(len(at), NULL, np.int64), at + 1, None
    raw, start, odd = buffer.uvarints(at)
    size = zigzag(raw)
    if len(size) and int(size.max()) > buffer.size:
        too_large = size > buffer.size
        odd = too_large if odd is None else odd | too_large
        size[too_large] = 0
    return np.maximum(size, NULL), start, odd


def _careful_rows(buf: bytes, area: Area, headers: Headers) -> Iterator[list[int]]:
    number = area.number
    base_offset, base_timestamp = int(headers.base_offset[number]), int(headers.base_timestamp[number])
    append_time = int(headers.max_timestamp[number]) if headers.is_log_append_time[number] else None
    for fields in walk_records(buf, area.start, area.end, area.count):
        offset_delta, timestamp_delta, key_start, key_size, value_start, value_size, _, _ = fields
        timestamp = base_timestamp + timestamp_delta if append_time is None else append_time
        yield [number, base_offset + offset_delta, timestamp, key_start, key_size, value_start, value_size]


def _rows_of(rows: list[list[int]]) -> Rows:
    """Rows of Python numbers; timestamps that Java's long would let overflow wrap as they do there."""
    wrapped = [[(number + (1 << 63)) % (1 << 64) - (1 << 63) for number in row] for row in rows]
    table: Array = np.array(wrapped, np.int64).reshape(len(rows), 7)
    return Rows(*(np.ascontiguousarray(table[:, index]) for index in range(7)))
