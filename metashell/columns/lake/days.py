"""Of which cluster and which day the rows of a batch are."""

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


def by_cluster(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of a batch by their cluster, each without that column, in their order."""
    clusters = batch.column("cluster_id")
    found = clusters.unique().to_pylist()
    rows = batch.drop_columns(["cluster_id"])
    if len(found) == 1:
        yield found[0], rows
        return
    numbers = (clusters if pa.types.is_dictionary(clusters.type) else clusters.dictionary_encode()).indices.to_numpy()
    order = np.argsort(numbers, kind="stable")
    sorted_clusters, rows = clusters.take(pa.array(order)), rows.take(pa.array(order))
    bounds = [0, *(np.flatnonzero(np.diff(numbers[order])) + 1).tolist(), len(order)]
    for start, end in pairwise(bounds):
        yield sorted_clusters[start].as_py(), rows.slice(start, end - start)


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


def with_day(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with the column `date`: their day in UTC, null where `by_day` has none."""
    at = batch.schema.get_field_index("timestamp")
    if at < 0:
        return batch.append_column("date", pa.nulls(batch.num_rows, pa.date32()))
    days = _days(batch.column(at))
    is_none = days == _NONE
    numbers = pa.array(np.where(is_none, 0, days).astype(np.int32), mask=is_none)
    return batch.append_column("date", numbers.cast(pa.date32()))


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
