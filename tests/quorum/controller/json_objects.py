"""Objects of codec from the JSON form of Kafka's converters."""

from __future__ import annotations

import base64
from typing import Any

from metashell.codec.registry import MessageType, message_type
from metashell.common.values import uuid_from_text


def from_json(family: str, name: str, fields: dict[str, Any]) -> Any:
    """The object whose fields are given; what is left out has its default. Errors: KeyError for a field that the message lacks."""
    message = message_type(family, name)
    return _fill(message, message.schema, message.cls(), fields)


def _fill(message: MessageType, struct: Any, made: Any, fields: dict[str, Any]) -> Any:
    known = {field.json_name: field for field in struct.fields}
    for name, value in fields.items():
        field = known[name]
        value = tuple(_one(message, field, item) for item in value) if field.is_array and value is not None else _one(message, field, value)
        setattr(made, field.attribute, value)
    return made


def _one(message: MessageType, field: Any, value: Any) -> Any:
    if value is None:
        return None
    if field.is_struct:
        return _fill(message, message.schema.structs[field.type], message.structs[field.type](), value)
    if field.type == "uuid":
        return uuid_from_text(value)
    if field.type == "bytes":
        return base64.b64decode(value)
    return float(value) if field.type == "float64" else value
