"""The tables of the state in the form that they had before ids were UUIDs: for one release, on request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from metashell.columns.state.schemas import SCHEMAS
from metashell.columns.typed.ids import UUID

_TEXTS: Final = pa.list_(pa.string())


def _listeners(named: list[tuple[str, Any]]) -> list[str]:
    return [f"{name}://{at['host']}:{at['port']} {at['security_protocol']}" for name, at in named]


def _endpoints(named: list[tuple[str, Any]]) -> list[str]:
    return [f"{name}://{at['host']}:{at['port']}" for name, at in named]


def _features(named: list[tuple[str, Any]]) -> list[str]:
    return [f"{name} {found['min_supported_version']}-{found['max_supported_version']}" for name, found in named]


_LISTS: Final[dict[str, Callable[[list[tuple[str, Any]]], list[str]]]] = {
    "listeners": _listeners,
    "endpoints": _endpoints,
    "features": _features,
}


def _old_schema(schema: pa.Schema) -> pa.Schema:
    """Ids are text, times are numbers, maps are lists of texts."""
    fields = []
    for field in schema:
        if pa.types.is_map(field.type):
            fields.append(field.with_type(_TEXTS))
        elif pa.types.is_timestamp(field.type):
            fields.append(field.with_type(pa.int64()))
        elif field.name.endswith("_text"):
            fields.append(field.with_name(field.name.removesuffix("_text")))
        elif UUID not in (field.type, getattr(field.type, "value_type", None)):
            fields.append(field)
    return pa.schema(fields)


OLD_SCHEMAS: Final = {name: _old_schema(schema) for name, schema in SCHEMAS.items()}


def old_batch(name: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch as it was; texts may be dictionaries, as in the batch."""
    arrays = []
    for field in OLD_SCHEMAS[name]:
        text = f"{field.name}_text"
        array = batch.column(text if text in batch.schema.names else field.name)
        if pa.types.is_map(array.type):
            make = _LISTS[field.name]
            array = pa.array([None if named is None else make(named) for named in array.to_pylist()], _TEXTS)
        arrays.append(array.cast(pa.int64()) if pa.types.is_timestamp(array.type) else array)
    return pa.RecordBatch.from_arrays(arrays, OLD_SCHEMAS[name].names)
