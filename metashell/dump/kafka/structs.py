"""What Kafka's readers refuse of a version above the newest: its structs."""

from __future__ import annotations

from typing import Any

from metashell.codec.registry import MessageType
from metashell.errors import DecodeError


def refuse_newer_structs(message: MessageType, version: int, body: Any) -> None:
    """A message of a version above the newest is read as the newest; a struct inside it refuses to be. Errors: DecodeError."""
    if version > message.versions[1] and _holds_structs(body):
        raise DecodeError(f"version {version} of a struct is not known")


def _holds_structs(body: Any) -> bool:
    """Whether any struct lies in a message's fields, alone or in an array."""
    for name in type(body).__slots__:
        value = getattr(body, name)
        item = value[0] if isinstance(value, tuple) and value and name != "unknown_tags" else value
        if hasattr(type(item), "__slots__") and hasattr(item, "unknown_tags"):
            return True
    return False
