"""The tables of some clusters' state.

Columns whose values repeat are stored as dictionaries, which DuckDB reads; `plain` makes batches of the types that SCHEMAS has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from metashell.columns.state.partitions import partition_batches, same_text, topic_batch
from metashell.columns.state.reading import Cluster
from metashell.columns.state.rows import MAKERS, Row, config_rows, source_row
from metashell.columns.state.schemas import PARTITIONS, SCHEMAS

_SMALL_ROWS = 1 << 16


def state_table(name: str, clusters: Sequence[Cluster], *, show_secrets: bool = False) -> pa.Table:
    """One table with the rows of all clusters."""
    batches = [batch for cluster in clusters for batch in state_batches(name, cluster, show_secrets=show_secrets)]
    return pa.Table.from_batches(batches) if batches else SCHEMAS[name].empty_table()


def state_batches(name: str, cluster: Cluster, *, show_secrets: bool = False) -> Iterator[pa.RecordBatch]:
    """The rows of one cluster."""
    if name == PARTITIONS:
        yield from partition_batches(cluster.image, cluster.cluster_id)
    elif name == "topics":
        yield topic_batch(cluster.image, cluster.cluster_id)
    else:
        rows = list(_rows(name, cluster, show_secrets))
        for start in range(0, len(rows), _SMALL_ROWS):
            some = pa.RecordBatch.from_pylist(rows[start : start + _SMALL_ROWS], schema=SCHEMAS[name])
            yield some.set_column(some.num_columns - 1, "cluster_id", same_text(cluster.cluster_id, some.num_rows))


def _rows(name: str, cluster: Cluster, show_secrets: bool) -> Iterator[Row]:
    if name == "sources":
        return iter((source_row(cluster),))
    if name == "configs":
        return config_rows(cluster.image, show_secrets=show_secrets)
    return MAKERS[name](cluster.image)


def plain(name: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with the types of SCHEMAS, for what knows no dictionaries."""
    return batch.cast(SCHEMAS[name])
