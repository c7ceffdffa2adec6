"""The views that are made here by numpy, while the logs are read, instead of by their SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from typing import Final

import pyarrow as pa

from metashell.reports.partitions.gathering import Gathered
from metashell.reports.partitions.states import PARTITION_VIEWS, make_views
from metashell.reports.record_sums import RECORD_SUMS, RECORD_SUMS_TABLE, RecordSums
from metashell.reports.undone import Span

NUMPY_VIEWS: Final = (*PARTITION_VIEWS, RECORD_SUMS)
PARTITION_TABLES: Final = ("partition", "partition_change", "clear_elr")
NUMPY_TABLES: Final = (*PARTITION_TABLES, RECORD_SUMS_TABLE)
"""The base tables that the views are made of; `topic_names` is asked for besides."""
_PART_BYTES: Final = 32 << 20
"""So much of the logs is folded at one time, where that makes no more than `_PARTS_MAX` parts: each is an open file."""
_PARTS_MAX: Final = 100


class Folds:
    """Takes rows of `NUMPY_TABLES`, then gives `NUMPY_VIEWS`."""

    def __init__(self, bytes_read: int) -> None:
        self._closing = ExitStack()
        self._partitions = self._closing.enter_context(closing(Gathered(min(1 + bytes_read // _PART_BYTES, _PARTS_MAX))))
        self._records = self._closing.enter_context(closing(RecordSums()))

    def close(self) -> None:
        self._closing.close()

    def add(self, table: str, batch: pa.RecordBatch) -> None:
        """Take rows of one file."""
        if table == RECORD_SUMS_TABLE:
            self._records.add(batch)
        else:
            self._partitions.add(table, batch)

    def make(self, view: str, topic_names: Callable[[], pa.Table], undone: Sequence[Span]) -> dict[str, pa.Table]:
        """A view, and those that are made with it. Errors: MetashellError for offsets that no log can reach; OSError for a full disk."""
        return {view: self._records.table()} if view == RECORD_SUMS else make_views(self._partitions, topic_names, undone)
