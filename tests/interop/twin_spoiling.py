"""Spoils a request in one place: another number, name or uuid, a list that is empty, null or has an item twice."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from metashell.codec.registry import MessageType, message_type
from tests.quorum.controller.random_requests import INTEGERS, STRINGS

_BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
_UUIDS = ("AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg", "BwcHBwcHBwcHBwcHBwcHBw")
_TEXTS = tuple(text for text in STRINGS if text.isprintable())
Place = tuple[Any, Any, Any]
"""(dictionary or list that holds the value, key or index, field)."""


def spoil(draw: Callable[[Any], Any], api: str, version: int, fields: dict[str, Any]) -> dict[str, Any]:
    """A copy of a request in its JSON form that has another value somewhere."""
    made = copy.deepcopy(fields)
    message = message_type("request", f"{api}Request")
    places = list(_places(message, message.schema, made, version))
    if not places:
        return made
    holder, key, field = places[draw(st.integers(0, len(places) - 1))]
    holder[key] = _another(draw, field, holder[key], version)
    return made


def _places(message: MessageType, struct: Any, fields: dict[str, Any], version: int) -> list[Place]:
    found: list[Place] = []
    for field in struct.at(version):
        if field.json_name not in fields or field.type in ("bytes", "records"):
            continue
        value = fields[field.json_name]
        found.append((fields, field.json_name, field))
        if field.is_array and value:
            for at, item in enumerate(value):
                if field.is_struct:
                    found += _places(message, message.schema.structs[field.type], item, version)
                else:
                    found.append((value, at, field.element()))
        elif field.is_struct and value:
            found += _places(message, message.schema.structs[field.type], value, version)
    return found


def _another(draw: Callable[[Any], Any], field: Any, value: Any, version: int) -> Any:
    choices: list[Any]
    if field.is_array:
        items = value or []
        choices = [[], [*items, *items[:1]], items[1:], items[::-1]]
    elif field.is_struct:
        return value
    elif field.type == "string":
        choices = [*_TEXTS]
    elif field.type == "bool":
        choices = [not value]
    elif field.type == "float64":
        choices = [0.0, -1.0, 1e30, 0.5]
    elif field.type == "uuid":
        choices = [*_UUIDS]
    elif field.json_name == "timeoutMs":
        # What is neither long nor over already is a race.
        choices = [0, -1, (1 << 31) - 1]
    elif field.type == "uint16":
        choices = [0, 1, 65535]
    else:
        limit = 1 << _BITS.get(field.type, 31)
        choices = [number for number in (*INTEGERS, value + 1, value - 1, limit - 1, -limit) if -limit <= number < limit]
    if version in field.nullable:
        choices.append(None)
    return draw(st.sampled_from(choices))
