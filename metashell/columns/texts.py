"""Rows as text: plain values for JSON and CSV, whatever type a column has.

Times are ISO 8601 in UTC with milliseconds, UUIDs have hyphens, maps are objects. Ids that are only bytes are in Kafka's form where a
field says that they are ids.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from metashell.codec.redaction import REDACTED
from metashell.columns.schemas import UUID_MARK
from metashell.values import uuid_text

_REDACTED_BYTES = REDACTED.encode()
_UUID_SIZE = 16
_MARK = {key.encode(): value.encode() for key, value in UUID_MARK.items()}
Values = list[Any]


def row_values(batch: pa.RecordBatch, fields: Iterable[pa.Field] | None = None) -> Iterator[Values]:
    """The rows as lists of values that JSON knows; `fields` are those of the batch, if its own do not say what its columns are."""
    columns = [json_values(column, field) for column, field in zip(batch.columns, fields or batch.schema, strict=True)]
    return map(list, zip(*columns, strict=True))


def json_values(array: pa.Array, field: pa.Field) -> Values:
    """The values of an array as JSON knows them; `field` says of bytes whether they are ids."""
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
    """`2026-11-20T12:25:33.440Z`, as `amounts.time_text` writes it; microseconds where a time has any, no Z where no zone is meant."""
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
