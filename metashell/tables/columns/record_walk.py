"""Finds the records of many batches: the headers of all records at once.

A record's start follows from the length of the one before it, so a batch can only be walked front to back; but all batches of a chunk are
walked side by side, one record of each at a time. The rest of the few longest batches is walked one by one. A batch with an unusual
record goes through codec's careful walk instead, which reports the fault and its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from metashell.codec.batches import HEADER_SIZE, walk_records
from metashell.common.errors import DecodeError
from metashell.tables.columns.vectors import VARLONG_SIZE_MAX, Array, Buffer, Headers, Ints, Mask, zigzag

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

    def pieces(self, count: int) -> Iterator[Rows]:
        """Yield the rows, at most so many at once; none at all are one piece."""
        if len(self) <= count:
            yield self
            return
        for start in range(0, len(self), count):
            yield Rows(*(column[start : start + count] for column in self.columns()))

    def record(self, buffer: Buffer, row: int) -> tuple[bytes | None, bytes | None]:
        """Key and value of one record."""
        places = (self.key_start, self.key_size), (self.value_start, self.value_size)
        key, value = (None if size[row] < 0 else buffer.data[start[row] : start[row] + size[row]] for start, size in places)
        return key, value

    def columns(self) -> tuple[Ints, ...]:
        return (self.batch, self.offset, self.timestamp, self.key_start, self.key_size, self.value_start, self.value_size)


@dataclass(slots=True)
class RecordFault:
    """A batch whose records cannot be read from some place on."""

    batch: int
    reason: str


@dataclass(slots=True)
class Area:
    """The records of one batch in the chunk's buffer."""

    number: int
    start: int
    end: int
    count: int


def read_rows(
    headers: Headers, buffer: Buffer, elsewhere: list[int], areas: list[Area], old_rows: list[list[int]], faults: list[RecordFault]
) -> Rows:
    """Return the records of all batches in order: they follow their batch's header, but for those of the batches `elsewhere`.

    The records of those lie in `areas`, if any, or are `old_rows` already.
    """
    start, end, count = headers.at + HEADER_SIZE, headers.at + headers.size, headers.count.astype(np.int64)
    for number in elsewhere:
        count[number], end[number] = 0, start[number]
    for area in areas:
        start[area.number], end[area.number], count[area.number] = area.start, area.end, area.count
    starts, good = record_starts(buffer, start, end, count)
    numbers = np.flatnonzero(good)
    parts: list[Rows] = []
    careful = np.flatnonzero(~good).tolist()
    if len(starts):
        usual, bad = _usual_rows(headers, buffer, starts, numbers, count[numbers], end[numbers])
        parts.append(usual)
        careful += bad
    for number in careful:
        parts.append(_careful(headers, buffer, Area(number, int(start[number]), int(end[number]), int(count[number])), faults))
    if old_rows:
        parts.append(_rows_of(old_rows))
    if not parts:
        return no_rows()
    if len(parts) == 1:
        return parts[0]
    joined = Rows(*(np.concatenate(columns) for columns in zip(*(part.columns() for part in parts), strict=True)))
    return joined.part(np.argsort(joined.batch, kind="stable"))


def read_block(headers: Headers, buffer: Buffer, starts: list[int], end: int, faults: list[RecordFault]) -> Rows:
    """Return records of the only batch of `headers` up to the first fault; they start at `starts`, the last one ends at `end`."""
    first, count = np.zeros(1, np.int64), np.full(1, len(starts), np.int64)
    rows, bad = _usual_rows(headers, buffer, np.array(starts, np.int64), first, count, first + end)
    return _careful(headers, buffer, Area(0, starts[0], end, len(starts)), faults) if bad else rows


def no_rows() -> Rows:
    return _rows_of([])


def _usual_rows(headers: Headers, buffer: Buffer, starts: Ints, numbers: Ints, counts: Ints, ends_at: Ints) -> tuple[Rows, list[int]]:
    """Return the usual records, and the batches that hold others.

    Shape: batch `numbers[i]` has `counts[i]` records, which end at `ends_at[i]`.
    """
    # A record ends where the next one starts, but for the last of each batch.
    ends = np.empty_like(starts)
    ends[:-1] = starts[1:]
    holding = counts > 0
    ends[np.cumsum(counts)[holding] - 1] = ends_at[holding]
    owner = np.repeat(numbers, counts)
    rows, odd = _read_headers(buffer, starts, ends, owner, headers)
    if odd is None:
        return rows, []
    bad = np.unique(owner[odd])
    return rows.part(~np.isin(owner, bad)), bad.tolist()


def _careful(headers: Headers, buffer: Buffer, area: Area, faults: list[RecordFault]) -> Rows:
    rows: list[list[int]] = []
    try:
        for row in _careful_rows(buffer.data, area, headers):
            rows.append(row)
    except DecodeError as error:
        faults.append(RecordFault(area.number, str(error)))
    return _rows_of(rows)


def _read_headers(buffer: Buffer, starts: Ints, ends: Ints, numbers: Ints, headers: Headers) -> tuple[Rows, Mask | None]:
    """Return the header fields of all records, and which of them are unusual (None: none is).

    The walk has followed the lengths already, so only their sign and size are looked at.
    """
    heads = buffer.words(starts)
    odd = heads & 1 != 0
    at = starts + 2  # behind the length and one byte of attributes
    longer = heads >> 7 & 1
    if longer.any():
        longest = heads >> 15 & longer
        at += longer + longest
        odd |= heads >> 23 & longest != 0
    fields = _short_fields(buffer.words(at), at)
    if fields is None:
        fields, odd = _any_fields(buffer, at, odd)
    timestamp_delta, offset_delta, key_start, key_size, value_start, value_size = fields
    value_end = value_start + np.maximum(value_size, 0)
    odd |= (value_end + 1 != ends) | (buffer.bytes[np.minimum(value_end, buffer.size)] != 0)
    timestamp = headers.base_timestamp[numbers] + zigzag(timestamp_delta)
    appended = headers.is_log_append_time
    if appended.any():
        timestamp = np.where(appended[numbers], headers.max_timestamp[numbers], timestamp)
    offset = headers.base_offset[numbers] + zigzag(offset_delta)
    rows = Rows(numbers, offset, timestamp, key_start, key_size, value_start, value_size)
    return rows, odd if odd.any() else None


def _short_fields(words: Ints, at: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints] | None:
    """Return the fields of records without a key whose deltas take up to two bytes each, and the value's size three: one word has them.

    Shape: `words` are the eight bytes from `at` on, the first one lowest. None where a record is not so short.
    """
    timestamp_delta, size, words = _short(words)
    offset_delta, more, words = _short(words)
    if size is None or more is None or (words & 0xFF != _NULL_CODE).any():
        return None
    key_start = at + (size + more + 1)
    words = words >> 8
    value = words & 127
    value_start = key_start + 1
    longer = words >> 7 & 1
    if longer.any():
        longest = words >> 15 & longer
        value |= words >> 1 & longer * (127 << 7)
        value |= words >> 2 & longest * (127 << 14)
        if (words >> 23 & longest).any():
            return None
        value_start += longer + longest
    return timestamp_delta, offset_delta, key_start, np.full(len(at), NULL, np.int64), value_start, np.maximum(zigzag(value), NULL)


def _short(words: Ints) -> tuple[Ints, Ints | int | None, Ints]:
    """Varints of at most two bytes at the start of words, their sizes (None: some are longer), and the words behind them."""
    longer = words >> 7 & 1
    if not longer.any():
        return words & 127, 1, words >> 8
    if (words >> 15 & longer).any():
        return words, None, words
    size = longer + 1
    return words & 127 | words >> 1 & longer * (127 << 7), size, words >> size * 8


def _any_fields(buffer: Buffer, at: Ints, odd: Mask) -> tuple[tuple[Ints, Ints, Ints, Ints, Ints, Ints], Mask]:
    """Return the fields of records of any size, read field after field, and which records are unusual."""
    timestamp_delta, at, odd_time = buffer.uvarints(at, VARLONG_SIZE_MAX)
    offset_delta, at, odd_offset = buffer.uvarints(at)
    key_size, key_start, odd_key = _sizes(buffer, at)
    at = np.minimum(key_start + np.maximum(key_size, 0), buffer.size)
    value_size, value_start, odd_value = _sizes(buffer, at)
    odd |= offset_delta >> 32 != 0
    for more in (odd_time, odd_offset, odd_key, odd_value):
        if more is not None:
            odd |= more
    return (timestamp_delta, offset_delta, key_start, key_size, value_start, value_size), odd


def _sizes(buffer: Buffer, at: Ints) -> tuple[Ints, Ints, Mask | None]:
    """Return the sizes of nullable fields, -1 for null, and where the fields start."""
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
    """Rows of Python numbers; timestamps wrap like Java's long."""
    wrapped = [[(number + (1 << 63)) % (1 << 64) - (1 << 63) for number in row] for row in rows]
    table: Array = np.array(wrapped, np.int64).reshape(len(rows), 7)
    return Rows(*(np.ascontiguousarray(table[:, index]) for index in range(7)))


SIDE_BY_SIDE_MIN = 128
"""Fewer batches are quicker one by one: a step costs 12 us and 10 ns a batch, a record that is walked alone 90 ns."""
_RECORD_SIZE_MIN = 7
"""Length, attributes, two deltas, two sizes and the number of headers, a byte each."""


def record_starts(buffer: Buffer, start: Ints, end: Ints, count: Ints) -> tuple[Ints, Mask]:
    """Return where the records start that fill areas of the buffer, area after area, and which areas they do fill.

    Shape: `count[i]` records from `start[i]` to `end[i]`. An area that they do not fill, as far as their lengths say, gives no starts.
    """
    good = (count >= 0) & (count * _RECORD_SIZE_MIN <= end - start)
    count = np.where(good, count, 0)
    places = np.cumsum(count) - count
    starts = np.empty(int(count.sum()), np.int64)
    # Areas of many records first, so that those which have a record number `step` are the first so many.
    order = np.argsort(-count, kind="stable")
    at, place, left = start[order], places[order], count[order]
    steps = int(left[0]) if len(left) else 0
    lane_counts = np.searchsorted(-left, -np.arange(steps), "left").tolist()
    step = next((step for step, lanes in enumerate(lane_counts) if lanes < SIDE_BY_SIDE_MIN), steps)
    # No area ends behind the buffer, so a walk past its end is never good.
    limit = buffer.size + 1
    for lanes in lane_counts[:step]:
        now, following = at[:lanes], place[:lanes]
        starts[following] = now
        following += 1
        _advance(buffer, now, limit)
    for lane in range(lane_counts[step] if step < steps else 0):
        alone: list[int] = []
        records = int(left[lane]) - step
        at[lane] = walk_alone(buffer.data, int(at[lane]), int(end[order[lane]]), records, alone)
        first = int(place[lane])
        starts[first : first + len(alone)] = alone
    good[order] &= at == end[order]
    if not good.all():
        starts = starts[np.repeat(good, count)]
    return starts, good


def _advance(buffer: Buffer, at: Ints, limit: int) -> None:
    """Move all places behind the records that start there, at most to `limit`."""
    sizes = _SIZES[buffer.pairs(at)]
    if not sizes.all():
        longer = np.flatnonzero(sizes == 0)
        begin = at[longer]
        low, high, highest = (buffer.bytes[begin + step].astype(np.int64) for step in range(3))
        doubled = low & 127 | (high & 127) << 7 | highest << 14
        sizes[longer] = np.where(highest > 127, limit, (doubled >> 1) + 3)
    at += sizes
    np.minimum(at, limit, out=at)


def _varint_sizes() -> Ints:
    """Return the size of a record with its length field, by its first two bytes, the low one first; 0 if the length has more bytes."""
    pair = np.arange(1 << 16)
    low, high = pair & 255, pair >> 8
    return np.where(low < 128, (low >> 1) + 1, np.where(high < 128, ((low & 127 | high << 7) >> 1) + 2, 0))


_SIZES: Final = _varint_sizes()


def walk_alone(buf: bytes, at: int, end: int, count: int, starts: list[int]) -> int:
    """Append where each of `count` records starts, as long as they lie before `end`; gives where the last one ends, -1 if they do not."""
    append = starts.append
    for _ in range(count):
        if at >= end:
            return -1
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
    return at


def walk_block(buf: bytes, at: int, end: int, count: int, starts: list[int]) -> int:
    """Append where each of at most `count` records starts, as long as they are usual and end by `end`; return where the last one ends."""
    append = starts.append
    for _ in range(count):
        if at >= end:
            break
        size = buf[at]
        if size & 1:
            break
        if size < 128:
            following = at + (size >> 1) + 1
        else:
            high = buf[at + 1]
            if high < 128:
                following = at + ((size & 127 | high << 7) >> 1) + 2
            elif (highest := buf[at + 2]) < 128:
                following = at + ((size & 127 | (high & 127) << 7 | highest << 14) >> 1) + 3
            else:
                break
        if following > end:
            break
        append(at)
        at = following
    return at
