"""Tables as Parquet files: encodings that fit columns like ours, at half the cost and size of pyarrow's own choice."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow.parquet import ParquetWriter

from metashell.columns.decode.place import SAME_IN_A_FILE, with_names_once

_RISING = frozenset(("offset", "timestamp", "position", "last_offset", "max_timestamp", "base_timestamp"))
"""Numbers that mostly rise, of which Parquet keeps the differences."""
_PLAIN = frozenset(("payload", "crc", "bytes"))
"""What hardly recurs: a dictionary would only cost."""
_LARGE_ROWS = 1000


class ParquetTable:
    """A table on its way to one file: each call of `write` makes a row group of batches whose rows are of one log file each.

    The cluster's and the file's name are handed over once a batch; readers find plain text all the same.
    """

    def __init__(self, where: Any, schema: pa.Schema, filesystem: Any = None) -> None:
        told = schema
        for name in SAME_IN_A_FILE:
            if (at := schema.get_field_index(name)) >= 0:
                told = told.set(at, pa.field(name, pa.dictionary(pa.int32(), pa.string())))
        self._writer = ParquetWriter(where, told, filesystem, store_schema=False, **parquet_settings(schema))
        # Arrow's schema as readers shall see it, in place of that which the writer is given.
        metadata = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
        self._writer.add_key_value_metadata({**metadata, "ARROW:schema": b64encode(schema.serialize()).decode()})

    def write(self, batches: Sequence[pa.RecordBatch]) -> None:
        row_count = sum(batch.num_rows for batch in batches)
        if row_count < _LARGE_ROWS * len(batches):
            table = _encoded(pa.Table.from_batches(batches).combine_chunks())
        else:
            table = pa.Table.from_batches([with_names_once(batch) for batch in batches]).unify_dictionaries()
        self._writer.write_table(table, row_group_size=max(row_count, 1))

    def close(self) -> None:
        self._writer.close()


def _encoded(table: pa.Table) -> pa.Table:
    """The same of many small batches: each of its own would cost more than to look at every name."""
    for name in SAME_IN_A_FILE:
        at = table.schema.get_field_index(name)
        if at >= 0:
            table = table.set_column(at, name, table.column(at).dictionary_encode())
    return table


def parquet_settings(schema: pa.Schema) -> dict[str, Any]:
    """How pyarrow shall write a table: what pays for columns like ours.

    Statistics are kept of what a query narrows its search by: numbers, names and times of the row itself, not those within lists, nor ids.
    """
    leaves = [(path, kind) for field in schema for path, kind in _leaves(field.name, field.type)]
    return {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": [path for path, _ in leaves if path not in _RISING and path not in _PLAIN],
        "column_encoding": {path: "DELTA_BINARY_PACKED" for path, _ in leaves if path in _RISING},
        "write_statistics": [path for path, kind in leaves if "." not in path and not pa.types.is_binary(kind)],
    }


def _leaves(path: str, kind: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """Parquet's columns of an Arrow column: one for each primitive in it, by path."""
    if pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", kind.value_type)
    elif pa.types.is_struct(kind):
        for field in kind:
            yield from _leaves(f"{path}.{field.name}", field.type)
    else:
        yield path, kind
