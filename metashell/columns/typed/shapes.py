"""Arrays in another shape: the same values in types that somebody else knows, and lists with other elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metashell.columns.typed.ids import SIZE, UUID

TypeOf = Callable[[pa.DataType], pa.DataType]
"""From the type of a leaf to the one that it gets."""


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Dictionaries as what they hold."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def binary_ids_type(kind: pa.DataType) -> pa.DataType:
    """Ids as their 16 bytes, without the mark of a UUID."""
    return pa.binary() if kind == UUID else plain_type(kind)


def spark_type(kind: pa.DataType) -> pa.DataType:
    """What Spark takes: ids as bytes, times in microseconds."""
    return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else binary_ids_type(kind)


def _file_type(kind: pa.DataType) -> pa.DataType:
    """pandas reads no list of UUIDs, so ids that lie in lists themselves are bytes in files."""
    return pa.list_(pa.binary()) if pa.types.is_list(kind) and kind.value_type == UUID else kind


def file_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of a table as files have it that keep types."""
    return pa.schema([field.with_type(_file_type(field.type)) for field in schema], schema.metadata)


def file_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch as such files have it."""
    for at, field in enumerate(batch.schema):
        kind = _file_type(field.type)
        if kind is not field.type:
            batch = batch.set_column(at, field.with_type(kind), shaped(batch.column(at), kind))
    return batch


def shaped_type(kind: pa.DataType, leaf: TypeOf) -> pa.DataType:
    """A type whose leaves are others."""
    if pa.types.is_map(kind):
        return pa.map_(shaped_type(kind.key_type, leaf), shaped_type(kind.item_type, leaf))
    if pa.types.is_list(kind):
        return pa.list_(shaped_type(kind.value_type, leaf))
    if pa.types.is_struct(kind):
        return pa.struct([shaped_field(field, leaf) for field in kind])
    return leaf(kind)


def shaped_field(field: pa.Field, leaf: TypeOf) -> pa.Field:
    return field.with_type(shaped_type(field.type, leaf))


def shaped_schema(schema: pa.Schema, leaf: TypeOf) -> pa.Schema:
    return pa.schema([shaped_field(field, leaf) for field in schema], schema.metadata)


def shaped_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch in the types of a schema that `shaped_schema` made of its own."""
    arrays = [shaped(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def shaped(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """The array in a type that `shaped_type` made of its own. Only leaves are copied, and ids not even then."""
    if array.type == kind:
        return array
    if pa.types.is_map(kind) or pa.types.is_list(kind):
        array = flat(array)
        entries = pa.struct([kind.key_field, kind.item_field]) if pa.types.is_map(kind) else kind.value_type
        return with_children(kind, array, [shaped(_entries_of(array), entries)])
    if pa.types.is_struct(kind):
        array = flat(array)
        return with_children(kind, array, [shaped(array.field(at), kind.field(at).type) for at in range(kind.num_fields)])
    if isinstance(array, pa.ExtensionArray):
        return shaped(array.storage, kind)
    if pa.types.is_fixed_size_binary(array.type) and pa.types.is_binary(kind):
        return _of_variable_size(flat(array))
    return array.cast(kind)


def _entries_of(array: Any) -> pa.Array:
    if not pa.types.is_map(array.type):
        return array.values
    pairs = array.view(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
    return pairs.values


def _of_variable_size(ids: pa.Array) -> pa.Array:
    validity, data = ids.buffers()
    offsets = pa.py_buffer(np.arange(0, SIZE * len(ids) + 1, SIZE, dtype=np.int32))
    return pa.Array.from_buffers(pa.binary(), len(ids), [validity, offsets, data], ids.null_count)


def flat(array: pa.Array) -> pa.Array:
    """The array as one that begins where its buffers do."""
    return array.take(pa.array(np.arange(len(array)))) if array.offset else array


def parents_of(lists: pa.ListArray) -> npt.NDArray[np.int64]:
    """For each element of the lists' values the list that it is of, 0 for what lies in none."""
    offsets = lists.offsets.to_numpy()
    parents = np.zeros(len(lists.values), np.int64)
    if len(lists):
        parents[offsets[0] : offsets[-1]] = np.repeat(np.arange(len(lists)), np.diff(offsets))
    return parents


def with_children(kind: pa.DataType, array: pa.Array, children: list[Any]) -> pa.Array:
    """A nested array with other children: which rows are null, and where lists begin, stays as it is."""
    buffers = array.buffers()[: 1 if pa.types.is_struct(kind) else 2]
    return pa.Array.from_buffers(kind, len(array), buffers, array.null_count, array.offset, children)


def lists_like(lists: pa.ListArray, counts: npt.NDArray[np.int64], values: pa.Array) -> pa.ListArray:
    """Lists of other lengths; null stays null."""
    offsets = np.zeros(len(counts) + 1, np.int32)
    offsets[1:] = np.cumsum(counts)
    validity = flat(lists).buffers()[0]
    return pa.Array.from_buffers(lists.type, len(lists), [validity, pa.py_buffer(offsets)], lists.null_count, 0, [values])
