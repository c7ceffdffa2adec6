"""An object as Python values that `json.dumps` takes, under the names of Kafka's JSON converters."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable
from math import isfinite
from typing import Any

from metashell.codec.json_forms import java_double
from metashell.codec.schema import FieldSchema, MessageSchema, StructSchema
from metashell.codec.source import default_of
from metashell.values import UUID_TEXTS


def json_value(value: Any, struct: StructSchema, schema: MessageSchema, version: int, make: Callable[[str], Any]) -> dict[str, Any]:
    """The fields of an object at a version; tagged ones at their default are left out, as Kafka does."""
    result: dict[str, Any] = {}
    for field in struct.at(version):
        item = getattr(value, field.attribute)
        if field.is_tagged(version) and _is_default(field, item, make):
            continue
        name = f"{field.json_name}SizeInBytes" if field.type == "records" else field.json_name
        result[name] = _field_value(field, item, schema, version, make)
    return result


def _is_default(field: FieldSchema, item: Any, make: Callable[[str], Any]) -> bool:
    default = default_of(field, make)
    if item is None or default is None:
        return item is default
    return bool((tuple(item) if field.is_array else item) == default)


def _field_value(field: FieldSchema, item: Any, schema: MessageSchema, version: int, make: Callable[[str], Any]) -> Any:
    if item is None:
        return None
    if field.is_array:
        return [_scalar(field, element, schema, version, make) for element in item]
    return _scalar(field, item, schema, version, make)


def _scalar(field: FieldSchema, item: Any, schema: MessageSchema, version: int, make: Callable[[str], Any]) -> Any:
    if field.is_struct:
        return json_value(item, schema.structs[field.type], schema, version, make)
    match field.type:
        case "uuid":
            return UUID_TEXTS[item]
        case "bytes":
            return b2a_base64(item, newline=False).decode("ascii")
        case "records":
            return len(item)
        case "float64":
            return item if isfinite(item) else java_double(item)
        case _:
            return item
