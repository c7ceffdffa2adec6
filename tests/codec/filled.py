"""Messages of one version, made from the schema: every field set to something else than its default, or as few as possible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from metashell.codec.registry import MessageType
from metashell.codec.schema import FieldSchema, StructSchema

_SET: Final = {"bool": True, "float64": 1.5, "string": "x", "bytes": b"x", "records": b"x", "uuid": b"x" * 16}
_PLAIN: Final = {"bool": False, "float64": 0.0, "string": "", "bytes": b"", "records": b"", "uuid": bytes(16)}


def filled(message: MessageType, version: int, given: Mapping[str, Any], *, is_full: bool = True) -> Any:
    """An object whose arrays have one entry each. `given` has values by attribute, also for fields that would stay at their default."""
    return _struct(message, message.schema, message.cls(), version, given, is_full)


def _struct(message: MessageType, struct: StructSchema, made: Any, version: int, given: Mapping[str, Any], is_full: bool) -> Any:
    for field in struct.at(version):
        if field.attribute in given and _fits(field, version, given[field.attribute]):
            value = given[field.attribute]
            value = (value,) if field.is_array and value is not None else value
        elif field.is_struct:
            value = _struct(message, message.schema.structs[field.type], message.structs[field.type](), version, given, is_full)
            value = (value,) if field.is_array else value
        elif field.is_array:
            value = (_SET.get(field.type, 1),)
        elif is_full:
            value = _other_than_default(field)
        else:
            continue
        setattr(made, field.attribute, value)
    return made


def _fits(field: FieldSchema, version: int, value: Any) -> bool:
    """Whether a value is of a field's type: several messages use one name for different things."""
    if value is None:
        return version in field.nullable
    return not field.is_struct and isinstance(value, type(_SET.get(field.type, 1)))


def _other_than_default(field: FieldSchema) -> Any:
    if field.type in _SET:
        value = _SET[field.type]
        return value if value != field.default else _PLAIN[field.type]
    return 1 if field.default != 1 else 2
