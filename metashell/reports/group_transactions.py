"""The base table `group_transactions`: transactional batches of `__consumer_offsets`, and the markers that commit or abort them.

A consumer that reads and writes exactly once commits its offsets in transactions. They lie in the log long before it is decided whether
they count (KIP-98).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa
from pyarrow import compute

from metashell.reports.group_members import Row

GROUP_TRANSACTIONS_SCHEMA: Final = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("file", pa.string()),
        ("log_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("epoch", pa.int32()),
        ("timestamp", pa.int64()),
        ("producer_id", pa.int64()),
        ("marker", pa.string()),
    ]
)
_MARKERS: Final = ("COMMIT", "ABORT")


def _transaction_row(row: Row, last_offset: int, marker: str | None) -> Row:
    place = {name: row[name] for name in ("cluster_id", "file", "epoch", "timestamp", "producer_id")}
    return {**place, "log_offset": row["offset"], "last_offset": last_offset, "marker": marker}


def _batch(row: Row) -> Iterator[Row]:
    yield _transaction_row(row, row["last_offset"], None)


def _marker(row: Row) -> Iterator[Row]:
    yield _transaction_row(row, row["offset"], row["type"])


def only_transactions(source: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of a source that are about transactions: few, mostly, and found without objects."""
    if source == "control":
        return batch.filter(compute.is_in(batch.column("type"), value_set=pa.array(_MARKERS)))
    return batch.filter(compute.and_(batch.column("is_transactional"), compute.invert(batch.column("is_control"))))


GROUP_TRANSACTIONS_SOURCES: Final[dict[str, Callable[[Row], Iterator[Row]]]] = {"batches": _batch, "control": _marker}
"""The tables of columns/ that group_transactions is made of."""
