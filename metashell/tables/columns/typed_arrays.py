"""Arrays in other types: ids as UUIDs and text, times as timestamps, lists as maps, and rows as text for JSON and CSV.

Times are written as ISO 8601 in UTC with milliseconds, UUIDs with hyphens, maps as objects. Ids that are only bytes have Kafka's form
where a field says that they are ids. Each distinct id or list is converted once."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import compute

from metashell.common.values import REDACTED, uuid_text
from metashell.tables.schemas import UUID_MARK

UUID: Final = pa.uuid()
SIZE: Final = 16
TEXT_SIZE: Final = 22
TextOf = Callable[[bytes], str]
_STORAGE: Final = pa.binary(SIZE)
_WHOLE_TRIPLES: Final = 18
_ENCODED: Final = 24


def stored(raw: pa.Array) -> pa.Array:
    """Ids of variable size, all of 16 bytes, as fixed ones; bytes are copied only where some are null."""
    count = len(raw)
    if raw.null_count:
        return raw.cast(_STORAGE)
    offsets = np.frombuffer(raw.buffers()[1], np.int32, 1, 4 * raw.offset) if count else (0,)
    data = raw.buffers()[2]
    if not count or data is None:
        return pa.array([], _STORAGE)
    return pa.Array.from_buffers(_STORAGE, count, [None, data.slice(int(offsets[0]), SIZE * count)], 0)


def as_uuids(fixed: pa.Array) -> pa.Array:
    """Return an array of 16-byte values as UUIDs."""
    return pa.ExtensionArray.from_storage(UUID, fixed)


def id_texts(fixed: pa.Array, text_of: TextOf | None = None) -> pa.DictionaryArray:
    """Return the texts of ids, null for null; each distinct one is made once, by `text_of` where they are not only Kafka's text."""
    encoded = fixed.dictionary_encode()
    found = encoded.dictionary
    made = _distinct_texts(found) if text_of is None else pa.array(map(text_of, found.to_pylist()), pa.string())
    return pa.DictionaryArray.from_arrays(encoded.indices, made)


def _distinct_texts(fixed: pa.Array) -> pa.Array:
    """Encode all ids at once: zeros complete three bytes, which base64 writes as four characters, so all texts have one length."""
    count = len(fixed)
    if not count:
        return pa.array([], pa.string())
    data = np.frombuffer(fixed.buffers()[1], np.uint8, SIZE * count, SIZE * fixed.offset)
    padded = np.zeros((count, _WHOLE_TRIPLES), np.uint8)
    padded[:, :SIZE] = data.reshape(count, SIZE)
    encoded = np.frombuffer(urlsafe_b64encode(padded.tobytes()), np.uint8).reshape(count, _ENCODED)
    characters = np.ascontiguousarray(encoded[:, :TEXT_SIZE])
    offsets = np.arange(0, TEXT_SIZE * count + 1, TEXT_SIZE, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(characters)], 0)


# ---- times

TIME: Final = pa.timestamp("ms", "UTC")
DAY_MS: Final = 86_400_000
EARLIEST_MS: Final = -62_135_596_800_000 + DAY_MS
"""The second day of year 1: before that year neither Python nor SQL has a date, and readers show times in zones up to a day away."""
LATEST_MS: Final = 253_402_300_799_999 - DAY_MS
"""The last day but one of year 9999."""
NO_TIME: Final = -1
"""The number that Kafka writes where there is no time."""


def times(numbers: pa.Array, none: int = NO_TIME) -> pa.Array:
    """Timestamps of Unix milliseconds; null for NO_TIME, `none` and what no calendar has. Bytes are copied only where some are null."""
    count = len(numbers)
    if numbers.null_count == count:
        return pa.nulls(count, TIME)
    values = numbers_of(numbers)
    if values.min() > max(NO_TIME, none) and values.max() <= LATEST_MS:
        return numbers.view(TIME)
    hidden = (values == NO_TIME) | (values == none) | (values < EARLIEST_MS) | (values > LATEST_MS)
    if not hidden.any():
        return numbers.view(TIME)
    # Values below a null stay within range too: some readers convert them all.
    kept = np.where(hidden, 0, values)
    if numbers.null_count:
        hidden |= np.asarray(numbers.is_null())
    return pa.array(kept, mask=hidden).view(TIME)


def numbers_of(array: pa.Array) -> npt.NDArray[Any]:
    """Return the values of an array of integers, whatever lies below its nulls."""
    # Not by `to_pandas_dtype`, for which older releases of pyarrow want pandas.
    kind = np.dtype(f"{'u' if pa.types.is_unsigned_integer(array.type) else 'i'}{array.type.bit_width // 8}")
    data = array.buffers()[1]
    if data is None:
        return np.zeros(len(array), kind)
    return np.frombuffer(data, kind, len(array), kind.itemsize * array.offset)


# ---- shapes

TypeOf = Callable[[pa.DataType], pa.DataType]
"""From the type of a leaf to the one that it gets."""


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Dictionaries as what they hold."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def binary_ids_type(kind: pa.DataType) -> pa.DataType:
    """Ids as their 16 bytes, without the mark of a UUID."""
    return pa.binary() if kind == UUID else plain_type(kind)


def spark_type(kind: pa.DataType) -> pa.DataType:
    """Return the column as Spark takes it: ids as bytes, times in microseconds."""
    return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else binary_ids_type(kind)


def _file_type(kind: pa.DataType) -> pa.DataType:
    """pandas reads no list of UUIDs, so ids that lie in lists themselves are bytes in files."""
    return pa.list_(pa.binary()) if pa.types.is_list(kind) and kind.value_type == UUID else kind


def file_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a table as files have it that keep types."""
    return pa.schema([field.with_type(_file_type(field.type)) for field in schema], schema.metadata)


def file_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch as such files have it."""
    for at, field in enumerate(batch.schema):
        kind = _file_type(field.type)
        if kind is not field.type:
            batch = batch.set_column(at, field.with_type(kind), shaped(batch.column(at), kind))
    return batch


def shaped_type(kind: pa.DataType, leaf: TypeOf) -> pa.DataType:
    """Return a type whose leaves are others."""
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
    """Return the batch in the types of a schema that `shaped_schema` made of its own."""
    arrays = [shaped(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def shaped(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the array in a type that `shaped_type` made of its own. Only leaves are copied, and ids not even then."""
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
    """Return the array as one that begins where its buffers do."""
    return array.take(pa.array(np.arange(len(array)))) if array.offset else array


def parents_of(lists: pa.ListArray) -> npt.NDArray[np.int64]:
    """For each element of the lists' values the list that it is of, 0 for what lies in none."""
    offsets = lists.offsets.to_numpy()
    parents = np.zeros(len(lists.values), np.int64)
    if len(lists):
        parents[offsets[0] : offsets[-1]] = np.repeat(np.arange(len(lists)), np.diff(offsets))
    return parents


def with_children(kind: pa.DataType, array: pa.Array, children: list[Any]) -> pa.Array:
    """Return a nested array with other children: which rows are null, and where lists begin, stays as it is."""
    buffers = array.buffers()[: 1 if pa.types.is_struct(kind) else 2]
    return pa.Array.from_buffers(kind, len(array), buffers, array.null_count, array.offset, children)


def lists_like(lists: pa.ListArray, counts: npt.NDArray[np.int64], values: pa.Array) -> pa.ListArray:
    """Lists of other lengths; null stays null."""
    offsets = np.zeros(len(counts) + 1, np.int32)
    offsets[1:] = np.cumsum(counts)
    validity = flat(lists).buffers()[0]
    return pa.Array.from_buffers(lists.type, len(lists), [validity, pa.py_buffer(offsets)], lists.null_count, 0, [values])


# ---- lists of keys and values as maps


def last_of_each_key(lists: pa.ListArray) -> pa.ListArray:
    """Return the lists without what a later entry of the same key replaces: DuckDB refuses a map whose key comes twice.

    The key is the first member of an entry.
    """
    entries = lists.values
    if len(entries) < 2:
        return lists
    keys = entries.field(0).dictionary_encode()
    places = parents_of(lists).astype(np.int64) * max(len(keys.dictionary), 1) + keys.indices.to_numpy()
    # Of equal places the first from the end is the last.
    _, kept = np.unique(places[::-1], return_index=True)
    if len(kept) == len(places):
        return lists
    chosen = np.sort(len(places) - 1 - kept)
    counts = np.bincount(parents_of(lists)[chosen], minlength=len(lists))
    return lists_like(lists, counts, entries.take(pa.array(chosen)))


# ---- lists of integers by number

DistinctNumbers = np.ndarray[Any, np.dtype[Any]]


def list_codes(lists: pa.ListArray) -> tuple[DistinctNumbers, pa.ListArray]:
    """Return the number of each list among the distinct ones, -1 for null, and these. Items are integers of one width, and never null."""
    offsets = lists.offsets.to_numpy()
    first, last = int(offsets[0]), int(offsets[-1])
    width = lists.type.value_type.bit_width // 8
    assert (last - first) * width < 1 << 31, "a batch is smaller"
    items = lists.values.slice(first, last - first)
    bytes_of_items = items.buffers()[1].slice(items.offset * width, len(items) * width) if len(items) else pa.py_buffer(b"")
    places = ((offsets - first) * width).astype(np.int32)
    blobs = pa.Array.from_buffers(pa.binary(), len(lists), [None, pa.py_buffer(places), bytes_of_items])
    if lists.null_count:
        blobs = compute.if_else(lists.is_valid(), blobs, pa.scalar(None, pa.binary()))
    found = blobs.dictionary_encode()
    return found.indices.fill_null(-1).to_numpy(zero_copy_only=False), _lists_of(found.dictionary, lists.type)


def _lists_of(blobs: pa.BinaryArray, kind: pa.DataType) -> pa.ListArray:
    """Return the lists whose items' bytes these are."""
    width = kind.value_type.bit_width // 8
    offsets = np.frombuffer(blobs.buffers()[1], np.int32, len(blobs) + 1, blobs.offset * 4) // width
    items = blobs.buffers()[2] or pa.py_buffer(b"")
    values = pa.Array.from_buffers(kind.value_type, items.size // width, [None, items])
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values, type=kind)


# ---- rows as plain values for JSON and CSV

_REDACTED_BYTES = REDACTED.encode()
_UUID_SIZE = 16
_MARK = {key.encode(): value.encode() for key, value in UUID_MARK.items()}
Values = list[Any]


def row_values(batch: pa.RecordBatch, fields: Iterable[pa.Field] | None = None) -> Iterator[Values]:
    """Yield the rows as lists of values that JSON knows; `fields` are those of the batch, if its own do not say what its columns are."""
    columns = [json_values(column, field) for column, field in zip(batch.columns, fields or batch.schema, strict=True)]
    return map(list, zip(*columns, strict=True))


def json_values(array: pa.Array, field: pa.Field) -> Values:
    """Return the values of an array as JSON knows them; `field` says of bytes whether they are ids."""
    return _values(array, field.metadata is not None and _MARK.items() <= field.metadata.items())


def _values(array: pa.Array, are_ids: bool) -> Values:
    kind = array.type
    if pa.types.is_dictionary(kind):
        words = _values(array.dictionary, are_ids)
        return [None if index is None else words[index] for index in array.indices.to_pylist()]
    if isinstance(array, pa.UuidArray):
        return [None if value is None else hyphenated(value) for value in array.storage.to_pylist()]
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return list(map(_uuid if are_ids else bytes_value, array.to_pylist()))
    if pa.types.is_timestamp(kind):
        return time_texts(array)
    if pa.types.is_map(kind):
        return _maps(array, are_ids)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _lists(array, _values(array.values, are_ids))
    if pa.types.is_struct(kind):
        columns = [json_values(array.field(at), kind.field(at)) for at in range(kind.num_fields)]
        names = [inner.name for inner in kind]
        made = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)] if columns else [{}] * len(array)
        return _with_nulls(array, made)
    if pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
        return list(map(_plain, array.to_pylist()))
    return list(array.to_pylist())


def _lists(array: pa.Array, items: Values) -> Values:
    ends = array.offsets.to_pylist()
    return _with_nulls(array, [items[start:end] for start, end in pairwise(ends)])


def _maps(array: pa.MapArray, are_ids: bool) -> Values:
    pairs = array.view(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
    keys, items = _values(pairs.values.field(0), False), _values(pairs.values.field(1), are_ids)
    entries: Values = list(zip(map(str, keys), items, strict=True))
    return [None if found is None else dict(found) for found in _lists(pairs, entries)]


def _with_nulls(array: pa.Array, values: Values) -> Values:
    if not array.null_count:
        return values
    return [value if valid else None for value, valid in zip(values, array.is_valid().to_pylist(), strict=True)]


def time_texts(array: pa.Array) -> Values:
    """Return times as `2026-11-20T12:25:33.440Z`, like `amounts.time_text`: with microseconds if a time has any, without Z if no zone."""
    micros = array.cast(pa.timestamp("us", array.type.tz), safe=False).cast(pa.int64()).fill_null(0).to_numpy()
    zone = "" if array.type.tz is None else "Z"
    texts = np.datetime_as_string(micros.view("datetime64[us]"), unit="us").tolist()
    return _with_nulls(array, [(text[:-3] if text.endswith("000") else text) + zone for text in texts])


def hyphenated(value: bytes) -> str:
    """16 bytes as `6f2c1a3e-...`: the form that SQL and most programs know."""
    text = value.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _uuid(value: bytes | None) -> str | None:
    if value is None:
        return None
    return uuid_text(value) if len(value) == _UUID_SIZE else bytes_value(value)


def bytes_value(value: bytes | None) -> str | None:
    """Bytes of unknown meaning as base64."""
    if value is None:
        return None
    return REDACTED if value == _REDACTED_BYTES else b64encode(value).decode("ascii")


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, date | datetime):
        return value.isoformat()
    return value if value is None or isinstance(value, int | float | str | bool) else str(value)
