"""Which day the rows of a batch are of."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from itertools import pairwise

import numpy as np
import pyarrow as pa

from metashell.columns.decode.vectors import Ints

_DAY_MS = 86_400_000
_NONE = np.iinfo(np.int64).min
_FIRST, _LAST = date.min.toordinal() - 719_163, date.max.toordinal() - 719_163
"""The days that a calendar has, counted from 1970."""


def by_day(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of a batch by their day in UTC, as `2026-11-20`; empty for rows without a time, and for times that no calendar has."""
    at = batch.schema.get_field_index("timestamp")
    if at < 0 or not batch.num_rows:
        yield "", batch
        return
    days = _days(batch.column(at))
    if days.min() == days.max():
        yield _text(int(days[0])), batch
        return
    if np.any(days[1:] < days[:-1]):
        order = np.argsort(days, kind="stable")
        days, batch = days[order], batch.take(pa.array(order))
    bounds = [0, *(np.flatnonzero(days[1:] != days[:-1]) + 1).tolist(), len(days)]
    for start, end in pairwise(bounds):
        yield _text(int(days[start])), batch.slice(start, end - start)


def _days(times: pa.Array) -> Ints:
    """Days since 1970 of times in ms, as numbers or as timestamps; `_NONE` where there is none."""
    if pa.types.is_timestamp(times.type):
        times = times.cast(pa.timestamp("ms", times.type.tz), safe=False).cast(pa.int64())
    ms: Ints = times.fill_null(-1).to_numpy(zero_copy_only=False)
    days: Ints = np.floor_divide(ms, _DAY_MS)
    days[(ms == -1) | (days < _FIRST) | (days > _LAST)] = _NONE
    return days


def _text(day: int) -> str:
    return "" if day == _NONE else date.fromordinal(day + 719_163).isoformat()
