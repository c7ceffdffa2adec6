"""Rows as text: plain values for JSON and CSV, with uuids in Kafka's form."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from metashell.codec.redaction import REDACTED
from metashell.columns.schemas import UUID_MARK
from metashell.values import uuid_text

Convert = Callable[[Any], Any]
_REDACTED_BYTES = REDACTED.encode()
_UUID_SIZE = 16
_MARK = {key.encode(): value.encode() for key, value in UUID_MARK.items()}


def row_values(batch: pa.RecordBatch, fields: Iterable[pa.Field] | None = None) -> Iterator[list[Any]]:
    """The rows as lists of values that JSON knows; `fields` are those of the batch, if its own do not say what its columns are."""
    columns = []
    for column, field in zip(batch.columns, fields or batch.schema, strict=True):
        convert, values = converter(field), column.to_pylist()
        columns.append(values if convert is None else [convert(value) for value in values])
    return map(list, zip(*columns, strict=True))


def converter(field: pa.Field) -> Convert | None:
    """What makes a column's Python values into values for JSON; None where they are already."""
    kind = field.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return _uuid if field.metadata is not None and _MARK.items() <= field.metadata.items() else bytes_value
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = converter(pa.field("item", kind.value_type, metadata=field.metadata))
        return None if inner is None else _each(inner)
    if pa.types.is_struct(kind):
        return _members([(inner.name, converter(inner)) for inner in kind])
    if pa.types.is_temporal(kind) or pa.types.is_decimal(kind) or pa.types.is_map(kind):
        return _plain
    return None


def _each(convert: Convert) -> Convert:
    return lambda values: None if values is None else [convert(value) for value in values]


def _members(members: list[tuple[str, Convert | None]]) -> Convert:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        return {name: value[name] if make is None else make(value[name]) for name, make in members}

    return convert


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
    if isinstance(value, list):
        return {str(key): _plain(item) for key, item in value}
    return value if value is None or isinstance(value, int | float | str | bool) else str(value)
