"""The tables of some clusters' state.

Columns whose values repeat are stored as dictionaries, which DuckDB reads; `plain` makes batches of the types that SCHEMAS has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from metashell.columns.decode.options import Form
from metashell.columns.state.old import OLD_SCHEMAS, old_batch
from metashell.columns.state.partitions import partition_batches, same_text, topic_batch
from metashell.columns.state.reading import Cluster
from metashell.columns.state.rows import MAKERS, Row, config_rows, source_row
from metashell.columns.state.schemas import PARTITIONS, SCHEMAS
from metashell.columns.typed import ids
from metashell.columns.typed.shapes import shaped_batch, shaped_schema, spark_type, with_children
from metashell.columns.typed.tables import sql_batch
from metashell.columns.typed.times import times
from metashell.values import directory_text, uuid_text

_SMALL_ROWS = 1 << 16
_TEXT_OF = "_text"


def state_schemas(columns: Form = "typed") -> dict[str, pa.Schema]:
    """The schemas of the tables in one form, "raw" for the one of before."""
    return OLD_SCHEMAS if columns == "raw" else SCHEMAS


def spark_state_schema(name: str, columns: Form = "typed") -> pa.Schema:
    """The schema of a table as Spark takes it."""
    return shaped_schema(state_schemas(columns)[name], spark_type)


def state_table(name: str, clusters: Sequence[Cluster], *, show_secrets: bool = False, columns: Form = "typed") -> pa.Table:
    """One table with the rows of all clusters, as DuckDB takes it."""
    made = (batch for cluster in clusters for batch in state_batches(name, cluster, show_secrets=show_secrets, columns=columns))
    batches = list(map(sql_batch, made))
    return pa.Table.from_batches(batches, None if batches else state_schemas(columns)[name])


def state_batches(name: str, cluster: Cluster, *, show_secrets: bool = False, columns: Form = "typed") -> Iterator[pa.RecordBatch]:
    """The rows of one cluster."""
    made = _batches(name, cluster, show_secrets)
    return made if columns == "typed" else (old_batch(name, batch) for batch in made)


def _batches(name: str, cluster: Cluster, show_secrets: bool) -> Iterator[pa.RecordBatch]:
    if name == PARTITIONS:
        yield from partition_batches(cluster.image, cluster.cluster_id)
    elif name == "topics":
        yield topic_batch(cluster.image, cluster.cluster_id)
    else:
        rows = list(_rows(name, cluster, show_secrets))
        for start in range(0, len(rows), _SMALL_ROWS):
            some = rows[start : start + _SMALL_ROWS]
            arrays = [_column(field, some) for field in list(SCHEMAS[name])[:-1]]
            yield pa.RecordBatch.from_arrays([*arrays, same_text(cluster.cluster_id, len(some))], SCHEMAS[name].names)


def _rows(name: str, cluster: Cluster, show_secrets: bool) -> Iterator[Row]:
    if name == "sources":
        return iter((source_row(cluster),))
    if name == "configs":
        return config_rows(cluster.image, show_secrets=show_secrets)
    return MAKERS[name](cluster.image)


def _column(field: pa.Field, rows: Sequence[Row]) -> pa.Array:
    """A column of some rows; the text of an id is made from the id."""
    name, kind = field.name, field.type
    if name.endswith(_TEXT_OF):
        found = [row.get(name.removesuffix(_TEXT_OF)) for row in rows]
        return pa.array([_id_text(value) for value in found], kind)
    values = [row.get(name) for row in rows]
    if kind == ids.UUID:
        return ids.as_uuids(pa.array(values, pa.binary(ids.SIZE)))
    if pa.types.is_timestamp(kind):
        return times(pa.array(values, pa.int64()))
    if pa.types.is_map(kind):
        return pa.array([None if value is None else list(value.items()) for value in values], kind)
    if pa.types.is_list(kind) and kind.value_type == ids.UUID:
        lists = pa.array(values, pa.list_(pa.binary(ids.SIZE)))
        return with_children(kind, lists, [ids.as_uuids(lists.values)])
    return pa.array(values, kind)


def _id_text(value: Any) -> Any:
    if value is None:
        return None
    return uuid_text(value) if isinstance(value, bytes) else list(map(directory_text, value))


def spark_state_batch(name: str, batch: pa.RecordBatch, columns: Form = "typed") -> pa.RecordBatch:
    """A batch as Spark takes it: without dictionaries, ids as their bytes, times in microseconds."""
    return shaped_batch(batch, spark_state_schema(name, columns))


def plain(name: str, batch: pa.RecordBatch, columns: Form = "typed") -> pa.RecordBatch:
    """The batch with the types of its schema, for what knows no dictionaries."""
    return shaped_batch(batch, state_schemas(columns)[name])
