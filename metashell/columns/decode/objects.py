"""Arrow columns from objects: what the column reader does not understand, and messages with structs in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

import pyarrow as pa

from metashell.codec.schema import FieldSchema, MessageSchema
from metashell.columns.schemas import arrow_type

Convert = Callable[[Any], Any]


def converter(field: FieldSchema, schema: MessageSchema) -> Convert:
    """What makes a field's value into what pyarrow takes: structs become tuples, tuples of them lists."""
    if not field.is_struct:
        return (lambda value: None if value is None else list(value)) if field.is_array else _same
    element = _struct_converter(field, schema)
    if field.is_array:
        return lambda value: None if value is None else list(map(element, value))
    return lambda value: None if value is None else element(value)


def _same(value: Any) -> Any:
    return value


def _struct_converter(field: FieldSchema, schema: MessageSchema) -> Convert:
    fields = schema.structs[field.type].fields
    members = [(inner.attribute, converter(inner, schema)) for inner in fields]
    if len(members) > 1 and all(make is _same for _, make in members):
        return attrgetter(*(attribute for attribute, _ in members))
    return lambda value: tuple(make(getattr(value, attribute)) for attribute, make in members)


def column_of_objects(objects: Iterable[Any], field: FieldSchema, schema: MessageSchema) -> pa.Array:
    """One field of many objects; None among the objects is a null row."""
    make = converter(field, schema)
    attribute = field.attribute
    if make is _same:
        values = [None if item is None else getattr(item, attribute) for item in objects]
    else:
        values = [None if item is None else make(getattr(item, attribute)) for item in objects]
    return pa.array(values, arrow_type(field, schema))
