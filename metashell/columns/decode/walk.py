"""Where records start, for many batches at once.

A record's start follows from the length of the one before it, so a batch can only be walked front to back; but all batches of a chunk
are walked side by side, a record of each at a time. The rest of the few longest batches is walked one by one.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from metashell.columns.decode.vectors import Buffer, Ints, Mask

SIDE_BY_SIDE_MIN = 128
"""Fewer batches are quicker one by one: a step costs 12 us and 10 ns a batch, a record that is walked alone 90 ns."""
_RECORD_SIZE_MIN = 7
"""Length, attributes, two deltas, two sizes and the number of headers, a byte each."""


def record_starts(buffer: Buffer, start: Ints, end: Ints, count: Ints) -> tuple[Ints, Mask]:
    """Where the records start that fill areas of the buffer, area after area, and which areas they do fill.

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


def _sizes() -> Ints:
    """How long a record is, with its length, by the two bytes that it starts with, the first one lower: 0 where the length goes on."""
    pair = np.arange(1 << 16)
    low, high = pair & 255, pair >> 8
    return np.where(low < 128, (low >> 1) + 1, np.where(high < 128, ((low & 127 | high << 7) >> 1) + 2, 0))


_SIZES: Final = _sizes()


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
