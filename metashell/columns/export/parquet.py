"""Tables as Parquet files: encodings that fit columns like ours, at half the cost and size of pyarrow's own choice."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from inspect import signature
from typing import Any

import pyarrow as pa
from pyarrow.parquet import ParquetWriter

from metashell.columns.decode.place import SAME_IN_A_FILE, with_names_once
from metashell.columns.meanings.comments import SPARK_ROW_METADATA, spark_row_metadata
from metashell.columns.typed.ids import UUID
from metashell.columns.typed.shapes import file_batch, file_schema, plain_type, shaped_schema
from metashell.log.outputs import naming

_RISING = frozenset(("offset", "timestamp", "position", "last_offset", "max_timestamp", "base_timestamp"))
"""Numbers that mostly rise: Parquet stores their differences."""
_PLAIN = frozenset(("payload", "crc", "bytes"))
"""Values that hardly repeat: a dictionary would cost more than it saves."""
_LARGE_ROWS = 1000
_PAGE_ROWS = 1 << 20
"""Pages end by their size alone: with pyarrow's limit of 20 000 rows a file is 12 % larger, and no reader of ours skips pages."""
_HAS_PAGE_ROWS = "max_rows_per_page" in signature(ParquetWriter).parameters


class ParquetTable:
    """A table that is written to one file. Each call of `write` makes a row group; the rows of a batch are of one log file.

    The names of cluster and file are passed once per batch, and so may be other texts; readers still find plain text.
    """

    def __init__(self, where: Any, schema: pa.Schema, filesystem: Any = None) -> None:
        written = schema = file_schema(schema)
        for name in SAME_IN_A_FILE:
            if (at := schema.get_field_index(name)) >= 0:
                written = written.set(at, pa.field(name, pa.dictionary(pa.int32(), pa.string())))
        self._errors: Callable[[], AbstractContextManager[None]]
        # What a store says is told by whoever opened it.
        self._errors = partial(naming, where) if isinstance(where, str) and filesystem is None else nullcontext
        with self._errors():
            self._writer = ParquetWriter(where, written, filesystem, store_schema=False, **parquet_settings(schema))
        # Readers see the schema of the table, not the one with dictionaries.
        metadata = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
        plain = shaped_schema(schema, plain_type)
        for_spark = {SPARK_ROW_METADATA: spark_row_metadata(plain)}
        self._writer.add_key_value_metadata({**metadata, **for_spark, "ARROW:schema": b64encode(plain.serialize()).decode()})

    def write(self, batches: Sequence[pa.RecordBatch]) -> None:
        row_count = sum(batch.num_rows for batch in batches)
        batches = [file_batch(batch) for batch in batches]
        if row_count < _LARGE_ROWS * len(batches):
            table = _encoded(pa.Table.from_batches(batches).combine_chunks())
        else:
            table = pa.Table.from_batches([with_names_once(batch) for batch in batches]).unify_dictionaries()
        with self._errors():
            self._writer.write_table(table, row_group_size=max(row_count, 1))

    def close(self) -> None:
        with self._errors():
            self._writer.close()


def _encoded(table: pa.Table) -> pa.Table:
    """The same for many small batches, where looking at every name costs less than handling each batch."""
    for name in SAME_IN_A_FILE:
        at = table.schema.get_field_index(name)
        if at >= 0:
            table = table.set_column(at, name, table.column(at).dictionary_encode())
    return table


def parquet_settings(schema: pa.Schema) -> dict[str, Any]:
    """How pyarrow writes a table: the encodings that pay for columns like ours.

    Statistics are kept of what a query narrows its search by: numbers, names and times of the row itself, not those within lists, nor ids.
    """
    leaves = [(path, kind) for field in schema for path, kind in _leaves(field.name, field.type)]
    return {
        **({"max_rows_per_page": _PAGE_ROWS} if _HAS_PAGE_ROWS else {}),
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": [path for path, _ in leaves if path not in _RISING and path not in _PLAIN],
        "column_encoding": {path: "DELTA_BINARY_PACKED" for path, _ in leaves if path in _RISING},
        "write_statistics": [path for path, kind in leaves if "." not in path and not _is_id(path, kind)],
    }


def _is_id(path: str, kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or kind == UUID or path.endswith("_id_text")


def _leaves(path: str, kind: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """Parquet's columns of an Arrow column: one for each primitive in it, by path."""
    if pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", kind.value_type)
    elif pa.types.is_map(kind):
        yield from _leaves(f"{path}.key_value.key", kind.key_type)
        yield from _leaves(f"{path}.key_value.value", kind.item_type)
    elif pa.types.is_struct(kind):
        for field in kind:
            yield from _leaves(f"{path}.{field.name}", field.type)
    else:
        yield path, kind
