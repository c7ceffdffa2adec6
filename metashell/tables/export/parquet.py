"""Tables as Parquet files: encodings that fit columns like ours, at a third of the cost and half the size of pyarrow's own choice."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from inspect import signature
from typing import IO, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow.parquet import ParquetWriter

from metashell.disk.file_system import errors_naming
from metashell.tables.columns.chunk_records import SAME_IN_A_FILE, names_once, only_name
from metashell.tables.columns.typed_arrays import (
    SIZE,
    UUID,
    file_schema,
    flat,
    numbers_of,
    plain_type,
    shaped,
    shaped_schema,
    with_children,
)
from metashell.tables.export.column_chunks import (
    I64,
    LIST,
    MAGIC,
    STRUCT,
    Array,
    Chunk,
    Column,
    Indices,
    Items,
    Levels,
    Struct,
    chunks_of,
    constant_chunk,
    empty_chunk,
    encode_struct,
    indexed_chunk,
    indices_of,
    is_known,
    like_levels,
    list_levels,
    read_footer,
    row_levels,
)
from metashell.tables.schemas import SPARK_ROW_METADATA, spark_row_metadata

_PLAIN: Final = frozenset(("payload", "crc", "bytes"))
"""Values that hardly repeat: a dictionary would cost more than it saves."""
_PAGE_ROWS: Final = 1 << 20
"""Pages end by their size alone: with pyarrow's limit of 20 000 rows a file is 12 % larger, and no reader of ours skips pages."""
_HAS_PAGE_ROWS = "max_rows_per_page" in signature(ParquetWriter).parameters
_WRITTEN_AT_ONCE: Final = 1 << 14
"""Rows of a column that pyarrow handles at once: with its 1 024 writing takes 6 % longer."""


class ParquetTable:
    """A table that is written to one file. Each call of `write` makes a row group.

    The names of cluster and file are passed once per batch, and so may be other texts; readers still find plain text.
    """

    def __init__(self, where: str | IO[bytes], schema: pa.Schema) -> None:
        self._layout = _layout(schema.serialize().to_pybytes())
        self._groups: list[bytes] = []
        self._rows = 0
        self._is_closed = False
        self._where = where if isinstance(where, str) else None
        with self._errors():
            # The caller that opened the file reports a store's error.
            self._file: IO[bytes] = open(where, "wb") if isinstance(where, str) else where  # noqa: SIM115 - open until close
            self._size = 0
            self._put(MAGIC)

    def write(self, rows: Sequence[pa.RecordBatch] | pa.Table) -> None:
        table = rows if isinstance(rows, pa.Table) else table_of(rows)
        if not table.num_rows:
            return
        chunks = row_group(table, self._layout.columns, self._written)
        start = self._size
        entries = []
        with self._errors():
            for chunk in chunks:
                entries.append(chunk.entry(self._size))
                for page in chunk.pages:
                    self._put(page)
        sizes = {2: sum(chunk.plain_size for chunk in chunks), 3: table.num_rows, 5: start, 6: self._size - start}
        group = {1: (LIST, Items(STRUCT, entries)), **{number: (I64, size) for number, size in sizes.items()}}
        self._groups.append(encode_struct(STRUCT, group))
        self._rows += table.num_rows

    def close(self) -> None:
        """Write the footer; a second call does nothing. A file of ours is closed also where that fails, as on a full disk."""
        if self._is_closed:
            return
        self._is_closed = True
        with self._errors():
            try:
                footer = encode_struct(STRUCT, {**self._layout.footer, 3: (I64, self._rows), 4: (LIST, Items(STRUCT, self._groups))})
                self._put(footer + len(footer).to_bytes(4, "little") + MAGIC)
            finally:
                if self._where is not None:
                    self._file.close()

    def _written(self, table: pa.Table) -> list[Chunk]:
        """Return the chunks of columns as pyarrow writes them."""
        return chunks_of(memoryview(_file_of(table, self._layout.settings)))

    def _put(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self._size += len(data)

    def _errors(self) -> AbstractContextManager[None]:
        return nullcontext() if self._where is None else errors_naming(self._where)


def _file_of(table: pa.Table | pa.Schema, settings: dict[str, Any], metadata: dict[str, str] | None = None) -> pa.Buffer:
    """Return a whole file in memory, of a table in one row group or of a schema."""
    sink = pa.BufferOutputStream()
    schema = table if isinstance(table, pa.Schema) else table.schema
    with ParquetWriter(sink, schema, store_schema=False, **settings) as writer:
        if isinstance(table, pa.Table):
            writer.write_table(table, row_group_size=table.num_rows)
        if metadata:
            writer.add_key_value_metadata(metadata)
    return sink.getvalue()


class _Layout(NamedTuple):
    """Shared by the files of a table: how pyarrow writes them, Parquet's columns of each of ours, and the footer of a file without rows."""

    settings: dict[str, Any]
    columns: dict[str, list[Column]]
    footer: Struct


@lru_cache(64)
def _layout(schema_bytes: bytes) -> _Layout:
    """Return the layout for a schema, which is given as bytes: two that differ in metadata only would be one key."""
    schema = file_schema(pa.ipc.read_schema(pa.py_buffer(schema_bytes)))
    # Readers see the schema of the table, not the one with dictionaries.
    plain = shaped_schema(schema, plain_type)
    settings = parquet_settings(schema)
    bounded = settings["write_statistics"]
    columns = {field.name: [Column(path, field.type, path in bounded) for path, _ in _leaves(field.name, field.type)] for field in plain}
    metadata = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    metadata |= {SPARK_ROW_METADATA: spark_row_metadata(plain), "ARROW:schema": b64encode(plain.serialize()).decode()}
    footer = read_footer(memoryview(_file_of(plain, settings, metadata)))
    kept: Struct = {number: (kind, encode_struct(kind, value) if kind == LIST else value) for number, (kind, value) in footer.items()}
    return _Layout(settings, columns, kept)


def parquet_settings(schema: pa.Schema) -> dict[str, Any]:
    """Return how pyarrow writes a table: the encodings that pay for columns like ours.

    Statistics are kept of what a query narrows its search by: numbers, names and times of the row itself, not those within lists, nor ids.
    """
    leaves = [(path, kind) for field in schema for path, kind in _leaves(field.name, field.type)]
    return {
        **({"max_rows_per_page": _PAGE_ROWS} if _HAS_PAGE_ROWS else {}),
        "write_batch_size": _WRITTEN_AT_ONCE,
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": [path for path, _ in leaves if path not in RISING and path not in _PLAIN],
        "column_encoding": {path: "DELTA_BINARY_PACKED" for path, _ in leaves if path in RISING},
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


# ---- row groups

RISING: Final = frozenset(("offset", "timestamp", "position", "last_offset", "max_timestamp", "base_timestamp"))
"""Numbers that mostly rise: Parquet stores their differences."""
LARGE_ROWS = 1000
"""From so many rows on it pays to look at a batch for itself, or to write a dictionary ourselves."""
_PLACES: Final = 1 << 16
"""More positions than two bytes can number need pyarrow's packing."""
_SHORT: Final = 1 << 8
"""The number of positions that one byte can number."""
_WIDE: Final = 4
_VALUES_MAX: Final = 1 << 22
"""More values are pyarrow's too, which makes several pages of them."""

_FILE: Final = "file"

Written = Callable[[pa.Table], Sequence[Chunk]]


def row_group(table: pa.Table, columns: Mapping[str, Sequence[Column]], written: Written) -> list[Chunk]:
    """Return the chunks of a row group, in order. `columns` has Parquet's columns of each of ours; `written` lets pyarrow write a table."""
    return _RowGroup(table.num_rows, columns).chunks(table, written)


class _Values(NamedTuple):
    """The values of a column that are not null, and of lists where each begins; `is_valid` is None where no row is null."""

    cells: Array
    offsets: Array | None
    is_valid: Array | None

    def levels(self, column: Column, rows: int) -> Levels:
        if self.offsets is not None:
            return list_levels(self.offsets, self.is_valid)
        return like_levels(column, rows) if self.is_valid is None else row_levels(self.is_valid)

    def is_shaped_as(self, other: _Values) -> bool:
        pairs = ((self.offsets, other.offsets), (self.is_valid, other.is_valid))
        return all(left is right or (left is not None and right is not None and np.array_equal(left, right)) for left, right in pairs)


class _RowGroup:
    """Takes the columns one by one: what a way of writing does not suit goes on to the next one."""

    def __init__(self, rows: int, columns: Mapping[str, Sequence[Column]]) -> None:
        self.rows = rows
        self.columns = columns
        self.found: dict[str, Chunk] = {}
        self.texts: dict[str, tuple[Indices, _Values, int]] = {}
        """Of a column of texts the indices, as a page and as numbers, and the size of the dictionary."""

    def chunks(self, table: pa.Table, written: Written) -> list[Chunk]:
        table = self._places(table)
        ways = (self._constant, self._numbers, self._texts, self._ids) if self.rows >= LARGE_ROWS else (self._constant,)
        left = table.schema.names
        for way in ways:
            left = [name for name in left if not way(name, self.columns[name], table.column(name))]
        if left:
            for chunk in written(_as_in_files(table.select(left), self.columns)):
                self.found[chunk.path] = chunk
        return [self.found[column.path] for found in self.columns.values() for column in found]

    def _put(self, chunk: Chunk) -> bool:
        self.found[chunk.path] = chunk
        return True

    def _places(self, table: pa.Table) -> pa.Table:
        """Write cluster and file, if all rows have the same ones; gives the other columns, with one name for each file."""
        files = table.column(_FILE) if _FILE in table.schema.names else None
        for name in SAME_IN_A_FILE:
            if name not in table.schema.names:
                continue
            names = table.column(name).chunks
            pairs = [(each, None if files is None else files.chunk(at)) for at, each in enumerate(names) if len(each)]
            texts = {only_name(*pair) for pair in pairs}
            if len(texts) == 1 and None not in texts:
                self._put(constant_chunk(self.columns[name][0], pa.array(list(texts), pa.string()), self.rows))
                table = table.drop_columns([name])
            else:
                once = pa.chunked_array([names_once(*pair) for pair in pairs])
                table = table.set_column(table.schema.get_field_index(name), name, once)
        return table

    def _constant(self, name: str, columns: Sequence[Column], values: pa.ChunkedArray) -> bool:
        """Write a column whose rows are all alike, where that is cheap to see. Return whether it was written."""
        column = columns[0]
        if len(columns) > 1 or not is_known(column.type):
            return False
        if values.null_count:
            return values.null_count == self.rows and self._put(empty_chunk(column, self.rows, is_null=True))
        chunks = [chunk for chunk in values.chunks if len(chunk)]
        if column.is_list:
            is_empty = all(chunk.offsets[0] == chunk.offsets[-1] for chunk in chunks)
            return is_empty and self._put(empty_chunk(column, self.rows, is_null=False))
        value = _only_value(chunks)
        return value is not None and self._put(constant_chunk(column, value, self.rows))

    def _numbers(self, name: str, columns: Sequence[Column], values: pa.ChunkedArray) -> bool:
        """Write a column of small numbers, or of lists of such, as ids of nodes and partitions or counts. Return whether it was written."""
        if len(columns) > 1 or name in RISING or not pa.types.is_integer(_type_of_values(values)):
            return False
        found = _values_of(values, numbers_of)
        indexed = None if found is None else _small_numbers(found.cells)
        if found is None or indexed is None:
            return False
        return self._put(indexed_chunk(columns[0], indices_of(found.levels(columns[0], self.rows), indexed[0]), indexed[1]))

    def _texts(self, name: str, columns: Sequence[Column], values: pa.ChunkedArray) -> bool:
        """Write a column of texts that come with a dictionary, or of lists of such. Return whether it was written."""
        if len(columns) > 1 or not pa.types.is_dictionary(_type_of_values(values)):
            return False
        dictionary, found = _with_one_dictionary(values)
        if found is None or not 0 < 2 * len(dictionary) <= len(found.cells) or len(dictionary) > _PLACES or dictionary.null_count:
            return False
        if columns[0].has_statistics:
            used, cells = np.unique(found.cells, return_inverse=True)
            found, dictionary = found._replace(cells=cells), dictionary.take(pa.array(used))
        cells = found.cells.astype(np.uint8 if len(dictionary) <= _SHORT else np.uint16)
        indices = indices_of(found.levels(columns[0], self.rows), cells)
        self.texts[name] = indices, found, len(dictionary)
        return self._put(indexed_chunk(columns[0], indices, dictionary))

    def _ids(self, name: str, columns: Sequence[Column], values: pa.ChunkedArray) -> bool:
        """Write a column of ids, or of lists of such, with the indices of their texts' dictionary. Return whether it was written."""
        text = self.texts.get(f"{name}_text")
        if text is None or _type_of_values(values) != UUID:
            return False
        indices, places, count = text
        found = _values_of(values, _ids_of)
        if found is None or not found.is_shaped_as(places):
            return False
        dictionary = np.zeros(count, np.complex128)
        dictionary[places.cells] = found.cells
        if (dictionary[places.cells].view(np.int64) != found.cells.view(np.int64)).any():
            return False
        return self._put(indexed_chunk(columns[0], indices, dictionary.view(np.int64).reshape(-1, 2)))


def _only_value(chunks: Sequence[pa.Array]) -> Array | pa.Array | None:
    """Return the value that all rows have; None if they differ, or if it would cost too much to see."""
    kind = chunks[0].type
    if pa.types.is_dictionary(kind):
        found = [_only(numbers_of(chunk.indices)) for chunk in chunks]
        words = {None if at is None else chunk.dictionary[int(at[0])].as_py() for chunk, at in zip(chunks, found, strict=True)}
        return pa.array(list(words), pa.string()) if len(words) == 1 and None not in words else None
    if kind == UUID:
        ids = [_only(_ids_of(chunk).view(np.int64).reshape(-1, 2)) for chunk in chunks]
        return ids[0] if all(each is not None and (each == ids[0]).all() for each in ids) else None
    if pa.types.is_integer(kind) or pa.types.is_timestamp(kind):
        numbers = [_only(numbers_of(chunk)) for chunk in chunks]
        return numbers[0] if all(each is not None and each == numbers[0] for each in numbers) else None
    return None


def _only(cells: Array) -> Array | None:
    """Return the first of some values that are all equal."""
    first = cells[:1]
    return first if (cells[-1:] == first).all() and (cells == first).all() else None


def _ids_of(ids: pa.Array) -> Array:
    """Ids without nulls, as what numpy has of 16 bytes: it gathers rows of two numbers six times as slowly."""
    stored = ids.storage
    return np.frombuffer(stored.buffers()[1], np.complex128, len(stored), SIZE * stored.offset)


def _type_of_values(values: pa.ChunkedArray) -> pa.DataType:
    return values.type.value_type if pa.types.is_list(values.type) else values.type


def _values_of(values: pa.ChunkedArray, cells_of: Callable[[pa.Array], Array]) -> _Values | None:
    """Return the values of a column; None if there are none, or too many, or null in a list."""
    chunks = [chunk for chunk in values.chunks if len(chunk)]
    is_valid = np.concatenate([np.asarray(chunk.is_valid()) for chunk in chunks]) if values.null_count else None
    offsets = None
    if pa.types.is_list(values.type):
        bounds = [np.frombuffer(chunk.buffers()[1], np.int32, len(chunk) + 1, 4 * chunk.offset) for chunk in chunks]
        counts = np.concatenate([np.diff(each) for each in bounds])
        chunks = [chunk.values.slice(each[0], each[-1] - each[0]) for chunk, each in zip(chunks, bounds, strict=True)]
        if any(chunk.null_count for chunk in chunks) or (is_valid is not None and counts[~is_valid].any()):
            return None
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    cells = np.concatenate([cells_of(chunk) for chunk in chunks])
    if offsets is None and is_valid is not None:
        cells = cells[is_valid]
    return _Values(cells, offsets, is_valid) if 0 < len(cells) <= _VALUES_MAX else None


def _small_numbers(numbers: Array) -> tuple[Array, Array] | None:
    """For each number its place among those that there are, and these, in order; None where they lie too far apart, or hardly repeat."""
    least, most = int(numbers.min()), int(numbers.max())
    reach = most - least + 1
    if reach > _PLACES:
        return None
    wide = numbers if numbers.dtype.itemsize >= _WIDE else numbers.astype(np.int32)
    if reach <= _SHORT:
        # Some of them may be missing.
        return (wide - least).astype(np.uint8), least + np.arange(reach)
    places = wide.astype(np.int64) - least
    is_used = np.zeros(reach, np.bool_)
    is_used[places] = True
    used = np.flatnonzero(is_used)
    if 4 * len(used) > len(numbers):
        return None
    ranks = np.zeros(reach, np.uint8 if len(used) <= _SHORT else np.uint16)
    ranks[used] = np.arange(len(used))
    return ranks[places], used + least


def _with_one_dictionary(values: pa.ChunkedArray) -> tuple[pa.Array, _Values | None]:
    """Return the dictionary of all chunks, and the values as places in it."""
    kind = _type_of_values(values)
    if not pa.types.is_list(values.type):
        unified = values.unify_dictionaries()
        return unified.chunk(0).dictionary, _values_of(unified, lambda chunk: numbers_of(chunk.indices))
    lists = [flat(chunk) for chunk in values.chunks]
    inner = pa.chunked_array([each.values for each in lists], kind).unify_dictionaries()
    made = [with_children(values.type, each, [one]) for each, one in zip(lists, inner.chunks, strict=True)]
    return inner.chunk(0).dictionary, _values_of(pa.chunked_array(made, values.type), lambda chunk: numbers_of(chunk.indices))


def table_of(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    """Batches of one schema as a table; small ones together, since each chunk of a column costs."""
    table = pa.Table.from_batches(batches)
    return table if table.num_rows >= LARGE_ROWS * len(batches) else table.combine_chunks()


def _as_in_files(table: pa.Table, columns: Mapping[str, Sequence[Column]]) -> pa.Table:
    """Return the table for pyarrow: with one dictionary for all chunks, or it writes value by value; lists of ids as in `file_batch`.

    `columns` are Parquet's: an id is bytes where its column is.

    Texts that may be null are written value by value: where all of a dictionary but one is used, and null, pyarrow takes the bounds of all
    of it, and says that they are exact (26.0). DuckDB 2 answers by them.
    """
    table = table.unify_dictionaries()
    for at, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) and table.column(at).null_count:
            table = table.set_column(at, field.name, table.column(at).cast(field.type.value_type))
        if pa.types.is_list(field.type) and field.type.value_type == UUID:
            kind = pa.list_(pa.binary())
            table = table.set_column(at, field.name, pa.chunked_array([shaped(chunk, kind) for chunk in table.column(at).chunks], kind))
        if field.type == UUID and columns[field.name][0].type != UUID:
            kind = columns[field.name][0].type
            table = table.set_column(at, field.name, pa.chunked_array([shaped(chunk, kind) for chunk in table.column(at).chunks], kind))
    return table
