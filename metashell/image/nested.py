"""Maps of maps that never hold an empty one: what has no value any more is not there."""

from __future__ import annotations

from typing import Generic, TypeVar

from immutables import Map

Outer = TypeVar("Outer")
Inner = TypeVar("Inner")
Value = TypeVar("Value")


class NestedDelta(Generic[Outer, Inner, Value]):
    """Gathers changes of a map of maps, which stays as it is."""

    def __init__(self, image: Map[Outer, Map[Inner, Value]]) -> None:
        self._maps = image.mutate()

    def _put(self, outer: Outer, inner: Inner, value: Value) -> None:
        """Set one value."""
        values = self._maps.get(outer)
        self._maps[outer] = Map({inner: value}) if values is None else values.set(inner, value)

    def _drop(self, outer: Outer, inner: Inner) -> bool:
        """Take one value away, and the map that it was the last one of; whether it was there."""
        values = self._maps.get(outer)
        if values is None or inner not in values:
            return False
        values = values.delete(inner)
        if values:
            self._maps[outer] = values
        else:
            del self._maps[outer]
        return True

    def apply(self) -> Map[Outer, Map[Inner, Value]]:
        """The next map; the delta has done its work then."""
        return self._maps.finish()
