"""Arrow columns from objects: what the column reader does not understand, and messages with structs in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from metashell.codec.schema import FieldSchema, MessageSchema
from metashell.columns.schemas import arrow_type

Convert = Callable[[Any], Any]


def converter(field: FieldSchema, schema: MessageSchema) -> Convert:
    """What makes a field's value into what pyarrow takes: structs become dictionaries, tuples of them lists."""
    element = _struct_converter(field, schema) if field.is_struct else None
    if not field.is_array:
        return element if element is not None else _same
    if element is None:
        return lambda value: None if value is None else list(value)
    convert = element
    return lambda value: None if value is None else [convert(item) for item in value]


def _same(value: Any) -> Any:
    return value


def _struct_converter(field: FieldSchema, schema: MessageSchema) -> Convert:
    struct = schema.structs[field.type]
    members = [(inner.attribute.rstrip("_"), inner.attribute, converter(inner, schema)) for inner in struct.fields]

    def convert(value: Any) -> dict[str, Any] | None:
        if value is None:
            return None
        return {name: make(getattr(value, attribute)) for name, attribute, make in members}

    return convert


def column_of_objects(objects: Iterable[Any], field: FieldSchema, schema: MessageSchema) -> pa.Array:
    """One field of many objects; None among the objects is a null row."""
    make = converter(field, schema)
    attribute = field.attribute
    values = [None if item is None else make(getattr(item, attribute)) for item in objects]
    return pa.array(values, arrow_type(field, schema))
