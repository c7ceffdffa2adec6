"""Maps of maps that never hold an empty one: what has no value any more is not there."""

from __future__ import annotations

from typing import TypeVar

from immutables import Map, MapMutation

Outer = TypeVar("Outer")
Inner = TypeVar("Inner")
Value = TypeVar("Value")


def put(maps: MapMutation[Outer, Map[Inner, Value]], outer: Outer, inner: Inner, value: Value) -> None:
    """Set one value."""
    values = maps.get(outer)
    maps[outer] = Map({inner: value}) if values is None else values.set(inner, value)


def drop(maps: MapMutation[Outer, Map[Inner, Value]], outer: Outer, inner: Inner) -> bool:
    """Take one value away, and the map that it was the last one of; whether it was there."""
    values = maps.get(outer)
    if values is None or inner not in values:
        return False
    values = values.delete(inner)
    if values:
        maps[outer] = values
    else:
        del maps[outer]
    return True
